"""A score that is not there means the same whether its row is empty or absent, in a long table or a wide one."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.results.result import Result
from surgvalid.schema.tables.table_reading import read_scores
from surgvalid.studies.study import study


def verdicts(gone: tuple[str, ...]) -> list[Result]:
    """The study of 20 patients of two hospitals in three spellings; B, ahead, lacks some patients."""
    rng = np.random.default_rng(3)
    levels = rng.normal(0.75, 0.04, 20)[:, None] + [0, 0.05] + rng.normal(0, 0.01, (20, 2))
    rows = [
        {"patient": f"p{patient:02}", "hospital": "h2" if patient > 15 else "h1", "model": model, "dice": value}
        for patient, both in enumerate(levels.tolist())
        for model, value in zip("AB", both, strict=True)
    ]
    frame = pl.DataFrame(rows)
    lacks = (pl.col("model") == "B") & pl.col("patient").is_in(gone)
    empty = frame.with_columns(dice=pl.when(lacks).then(None).otherwise("dice"))
    wide = empty.pivot("model", index=["patient", "hospital"], values="dice")
    return [surgvalid.study(frame.filter(~lacks)), surgvalid.study(empty), surgvalid.study(wide, metric="dice")]


@pytest.mark.parametrize(
    ("gone", "kind"), [(("p00", "p01", "p02"), "depends"), (("p16", "p17", "p18", "p19"), "better")]
)
def test_absent_rows_are_empty_cells(gone: tuple[str, ...], kind: str) -> None:
    found = verdicts(gone)
    assert [one.judged.kind for one in found] == [kind] * 3
    assert len({one.verdict for one in found}) == 1


def test_missing_scores_of_the_winner_count_as_failures_that_may_recur() -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        [{"patient": f"p{patient:02}", "model": model, "dice": 0.7 + 0.15 * place + rng.normal(0, 0.01)}
         for patient in range(60) for place, model in enumerate("AB")]
    )  # fmt: skip
    gone = (pl.col("model") == "B") & (pl.col("patient") == "p07")
    told = surgvalid.study(frame.filter(~gone)).verdict
    words = "With 1 of 60 patients failing (1 by missing scores, counted as failures)"
    assert any(one.startswith(words) for one in told)
    assert "A failure in up to 4.9 % of patients could have gone unseen in 60." in surgvalid.study(frame).verdict


def test_a_table_of_two_metrics_is_not_said_to_have_one() -> None:
    rows = [{"patient": p, "model": m, "dice": 0.7 + (p + 2 * place) / 100, "iou": 0.5 + (p + 2 * place) / 100}
            for p in range(12) for place, m in enumerate("AB")]  # fmt: skip
    frame = pl.DataFrame(rows)
    page = surgvalid.study(frame).html()
    assert "The primary metric on one set of 12 patients" in page
    assert "One metric on one set of 12 patients" in surgvalid.study(frame.drop("iou")).html()


def _with_endless(model: str) -> dict[str, list]:
    a, b = ([base + 0.01 * n for n in range(20)] for base in (8.0, 9.0))
    for scores, name in ((a, "A"), (b, "B")):
        scores[:3] = [math.inf] * 3 if name == model else scores[:3]
    return {"patient": [f"p{n}" for n in range(20)] * 2, "model": ["A"] * 20 + ["B"] * 20, "hd95": a + b}


def test_endless_distances_are_failures_that_were_seen() -> None:
    sentences = study(_with_endless("A")).verdict
    assert any("3 of 20 patients failing (3 by missing scores" in one for one in sentences)
    assert not any("unseen" in one for one in sentences)


def test_a_model_with_endless_distances_is_not_equal_for_practice() -> None:
    result = study(_with_endless("B"), margin=2)
    assert result.judged.kind == "depends"
    assert result.verdict[0].startswith("Whether they are equal for practice depends on what 3 missing scores of B")


def test_a_number_of_patients_beside_another_says_whose_it_is() -> None:
    table = {
        "patient": [f"p{n}" for n in range(20)] * 2 + [f"p{n}" for n in range(8)],
        "model": ["A"] * 20 + ["B"] * 20 + ["C"] * 8,
        "dice": [0.7 + n / 200 for n in range(20)] + [0.8 + n / 210 for n in range(20)] + [0.75] * 8,
    }
    sentences = study(table, missing="drop-score").verdict
    assert "compared on 8 of 20" in " ".join(sentences).lower()
    assert any(one.endswith("unseen in 20, all that B was run on.") for one in sentences)


def test_answers_that_are_not_there_are_said_to_count_as_they_do():
    """Of questions a missing answer is wrong: no case and no video is left out, and no line says so."""
    rows = [
        {"video": f"v{video:02d}", "question": f"v{video:02d}q{place}", "model": model, "correct": right}
        for video in range(10)
        for place in range(4)
        for model, right in (("A", 1), ("B", None if video == 3 or place == 0 else (video + place) % 2))
    ]
    result = surgvalid.study(pl.DataFrame(rows))
    lines = {line.code: line.sentence for line in result.request.interpreted}
    assert lines["missing"] == "not there: 13 scores of B; they count as the worst value"
    assert "shared" not in lines
    assert result.judged.n == read_scores(pl.DataFrame(rows)).units == 10
    assert result.tables["values"]["cases"].to_list() == [40, 40]


def test_dates_are_no_conditions():
    rows = [
        {"patient": f"p{patient:02d}", "date": f"2025-{1 + patient // 2:02d}-05", "model": model, "dice": dice}
        for patient in range(24)
        for model, dice in (("A", 0.8 - patient % 3 / 50), ("B", 0.82 - patient % 5 / 50))
    ]
    result = surgvalid.study(pl.DataFrame(rows))
    assert "strata" not in result.tables
    assert result.judged.strata == ()
    assert not [one.text for one in result.findings if "date=" in one.text]
