"""A study reads a file as its author meant it."""

from pathlib import Path

import pytest

from surgvalid.studies.study import study

SCORES = [0.7, 0.8, 0.9, 0.6, 0.7, 0.8, 0.9, 0.6]


@pytest.mark.parametrize("heading", ["patient", "who"])
def test_patients_whose_numbers_differ_by_a_zero_are_several(tmp_path: Path, heading: str) -> None:
    patients = ["001", "1", "01", "2", "02", "3", "4", "5"]
    rows = [f"{one},{score},{score - 0.1:.1f}" for one, score in zip(patients, SCORES, strict=True)]
    (tmp_path / "dice.csv").write_text("\n".join([f"{heading},unet,swin", *rows]) + "\n", encoding="utf-8")
    columns = {"video": heading} if heading == "who" else None
    result = study(tmp_path / "dice.csv", columns=columns)
    assert set(result.tables["patients"]["video"]) == set(patients)
    assert result.unit == ("patient" if heading == "patient" else "video")


def test_a_model_without_a_score_of_a_hard_case_is_told_as_such() -> None:
    table = {"patient": [f"p{row}" for row in range(8)], "unet": [None, *SCORES[1:]], "swin": [0.65] * 8}
    hard = study(table, metric="dice", missing="worst").tables["hard_cases"]
    worst = dict(zip(hard["case"], hard["worst"], strict=True))
    assert worst["p0"] == "unet (no score)"
    assert worst["p2"] == "swin"
