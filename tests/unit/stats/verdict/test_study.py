"""A study reads a file as its author meant it."""

from pathlib import Path

import pytest

from surgvalid.errors import Misuse
from surgvalid.studies.study import study

SCORES = [0.7, 0.8, 0.9, 0.6, 0.7, 0.8, 0.9, 0.6]


@pytest.mark.parametrize("heading", ["patient", "who"])
def test_patients_whose_numbers_differ_by_a_zero_are_one_and_that_is_told(tmp_path: Path, heading: str) -> None:
    patients = ["001", "1", "01", "2", "02", "3", "4", "5"]
    rows = [f"{one},{score},{score - 0.1:.1f}" for one, score in zip(patients, SCORES, strict=True)]
    (tmp_path / "dice.csv").write_text("\n".join([f"{heading},unet,swin", *rows]) + "\n", encoding="utf-8")
    columns = {"video": heading} if heading == "who" else None
    result = study(tmp_path / "dice.csv", columns=columns)
    assert set(result.tables["patients"]["video"]) == {"001", "2", "3", "4", "5"}
    assert any("001 = 1 = 01; 2 = 02" in sentence for sentence in result.tables["readings"]["sentence"])
    assert result.unit == ("patient" if heading == "patient" else "group")


def test_a_model_without_a_score_of_a_hard_case_is_told_as_such() -> None:
    table = {"patient": [f"p{row}" for row in range(8)], "unet": [None, *SCORES[1:]], "swin": [0.65] * 8}
    hard = study(table, metric="dice", missing="worst").tables["hard_cases"]
    worst = dict(zip(hard["case"], hard["worst"], strict=True))
    assert worst["p0"] == "unet (no score)"
    assert worst["p2"] == "swin"


def test_a_condition_that_cannot_be_compared_is_told_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise Misuse("too few rows")

    monkeypatch.setattr("surgvalid.stats.verdict.study.strata", refused)
    rows = {"patient": list("abcdefgh"), "center": list("xxxxyyyy"), "unet": [0.8] * 8, "swin": [0.7] * 7 + [0.6]}
    told = [one for one in study(rows, better="larger").findings if one.code == "condition-not-compared"]
    assert [(one.subject, one.message) for one in told] == [("Condition center", "could not be compared: too few rows")]
