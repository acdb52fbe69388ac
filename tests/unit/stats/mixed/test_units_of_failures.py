"""Failure analyses know what is independent as every verb does, whatever its column is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import surgvalid
from surgvalid.errors import TableInvalid

Named = Callable[[int, int], dict[str, str]]


def rows(named: Named) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [
        {**named(who, look), "model": model, "old": who % 2,
         "dice": float(0.7 + 0.05 * np.sin(who) + 0.02 * rng.normal())}
        for who in range(10)
        for look in range(5)
        for model in "AB"
    ]  # fmt: skip


def freedom(named: Named) -> list[float | None]:
    effects = surgvalid.failures(rows(named), outcome="dice", fixed=["old"]).table
    found: list[float | None] = effects.filter(term="old")["df"].to_list()
    return found


@pytest.mark.parametrize("unit", ["patient", "video", "subject", "Pat.-ID", "case_id", "operation", "mrn"])
def test_rows_of_one_patient_are_never_independent(unit: str) -> None:
    assert freedom(lambda who, _: {unit: f"p{who}"}) == pytest.approx([8.0])


@pytest.mark.parametrize("column", ["image", "frame", "case_id", "file"])
def test_patients_are_read_from_names_of_cases(column: str) -> None:
    assert freedom(lambda who, look: {column: f"p{who:02}_frame_{look:03}.png"}) == pytest.approx([8.0])


@pytest.mark.parametrize("patient", ["subject", "mrn"])
def test_patients_go_before_the_videos_within_them(patient: str) -> None:
    assert freedom(lambda who, look: {patient: f"s{who}", "video": f"s{who}v{look}"}) == pytest.approx([8.0])


def test_where_nothing_says_what_is_independent_no_effect_is_claimed() -> None:
    found = surgvalid.failures(
        rows(lambda who, look: {"image": f"img{5 * who + look}.png"}), outcome="dice", fixed=["old"]
    )
    old = found.table.filter(term="old").row(0, named=True)
    assert [old[name] for name in ("p_value", "p_holm", "low", "high", "symbol")] == [None, None, None, None, "x"]
    assert old["estimate"] is not None
    assert "no-unit" in {finding.code for finding in found.findings}
    assert all(found.tables[name]["p_value"].null_count() == found.tables[name].height
               for name in found.tables if "p_value" in found.tables[name].columns)  # fmt: skip


def test_what_is_independent_is_told() -> None:
    result = surgvalid.failures(rows(lambda who, _: {"subject": f"p{who}"}), outcome="dice", fixed=["old"])
    assert "10 patients ('subject') are independent" in [line.sentence for line in result.request.interpreted]


def test_frames_of_one_patient_test_nothing() -> None:
    rows = {"patient": ["p"] * 40, "frame": list(range(20)) * 2, "model": ["a"] * 20 + ["b"] * 20}
    rows["smoke"] = ["yes", "no"] * 20
    rows["dice"] = [0.8 + 0.01 * (n % 7) - 0.1 * (n % 2 == 0) for n in range(40)]
    made = surgvalid.failures(rows, outcome="dice", fixed=["smoke"])
    assert made.table["p_value"].drop_nulls().is_empty()
    assert "one patient" in " ".join(finding.text for finding in made.findings)


@pytest.mark.parametrize("random", [(), ("model", "patient", "video")])
def test_videos_that_are_numbered_within_each_patient_are_not_the_unit(random: tuple[str, ...]) -> None:
    table = rows(lambda who, look: {"patient": f"p{who}", "video": str(look)})
    found = surgvalid.failures(table, outcome="dice", fixed=["old"], random=random).table.filter(term="old")
    assert (found["videos"].to_list(), found["df"].to_list()) == ([10], pytest.approx([8.0]))


def test_numbers_that_restart_in_every_hospital_are_joined_as_is_said() -> None:
    """Every verb asks for `--unit hospital+patient`; this one refused the answer."""
    table = rows(lambda who, look: {"hospital": "ab"[who % 2], "patient": str(who // 2), "image": str(look)})
    with pytest.raises(TableInvalid, match=r"say --unit hospital\+patient if"):
        surgvalid.failures(table, outcome="dice", fixed=["old"])
    for role in ("unit", "video"):
        found = surgvalid.failures(table, outcome="dice", fixed=["old"], columns={role: "hospital+patient"}).table
        assert found.filter(term="old")["df"].to_list() == pytest.approx([8.0])


def test_repeats_are_averaged_as_is_said() -> None:
    table = rows(lambda who, look: {"patient": f"p{who}", "rater": str(look)})
    found = surgvalid.failures(table, outcome="dice", fixed=["old"], columns={"repeat": "rater"})
    assert found.fit.design.rows == 20
