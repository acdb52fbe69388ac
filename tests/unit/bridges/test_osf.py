"""Registrations for the OSF: answers from the registration alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surgvalid import preregister
from surgvalid.bridges import osf
from surgvalid.errors import WouldOverwrite
from surgvalid.studies.preregistration import EXAMPLE


def written(folder: Path, text: str = EXAMPLE) -> dict[str, object]:
    folder.mkdir()
    (folder / "plan.toml").write_text(text)
    osf.write(preregister(folder / "plan.toml"), folder / "osf")
    return dict(json.loads((folder / "osf" / "osf.json").read_text()))


def test_every_answer_is_from_the_registration_and_the_rest_is_empty_by_name(tmp_path: Path) -> None:
    document = written(tmp_path / "a")
    answers = document["registration_responses"]
    assert list(answers) == list(osf.QUESTIONS)
    assert answers["q2"] == "A has a higher phase accuracy than B."
    assert answers["q11"] == "45 videos"
    assert answers["q13"].startswith("When 45 videos are annotated")
    assert "conversion to open surgery" in answers["q20"]
    assert "accuracy" in answers["q15.question"]
    assert "model_a A" in answers["q17.question"]
    assert "## Measured variables\n" in (tmp_path / "a" / "osf" / "osf.md").read_text()
    assert {key for key, text in answers.items() if text} == document["sources"].keys()
    assert {"q3", "q4", "q8"} <= set(document["unanswered"])


def test_another_plan_gives_another_answer(tmp_path: Path) -> None:
    one = written(tmp_path / "a")["registration_responses"]
    other = written(tmp_path / "b", EXAMPLE.replace("sample_size = 45", "sample_size = 60"))["registration_responses"]
    assert {key for key in one if one[key] != other[key]} == {"q11", "q23"}


def test_nothing_is_written_over(tmp_path: Path) -> None:
    written(tmp_path / "a")
    with pytest.raises(WouldOverwrite):
        osf.write(preregister(tmp_path / "a" / "plan.toml"), tmp_path / "a" / "osf")
