"""A study file to fill in: it asks what cannot be computed, and can be read once it is filled in."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nested_tables import nested_frame
from surgvalid.audit.answers import QUESTIONS
from surgvalid.audit.new_study import new_study
from surgvalid.audit.study_files import STUDY_FILE, read_study
from surgvalid.errors import WouldOverwrite


def test_an_empty_folder_gets_every_question(tmp_path: Path) -> None:
    text = new_study(tmp_path / "new").read_text(encoding="utf-8")
    assert all(f"# {key} = {question.example}" in text for key, question in QUESTIONS.items())
    assert tomllib.loads(text)["title"] == "new"


def test_every_example_is_an_answer(tmp_path: Path) -> None:
    nested_frame().write_csv(tmp_path / "scores.csv")
    path = new_study(tmp_path / "new")
    text = path.read_text(encoding="utf-8").replace("# false is", "## false is").split("[answers]")
    answers = "\n".join(line.removeprefix("# ") for line in text[1].splitlines() if " = " in line)
    path.write_text(f'[data]\nscores = "../scores.csv"\n[answers]\n{answers}\n', encoding="utf-8")
    study, _ = read_study(path)
    assert set(study.answers) == set(QUESTIONS)


def test_what_the_folder_answers_is_not_asked(tmp_path: Path) -> None:
    nested_frame().write_csv(tmp_path / "scores.csv")
    text = new_study(tmp_path).read_text(encoding="utf-8")
    assert 'scores = ["scores.csv"]' in text
    assert "# sparsity" not in text, "there are no predictions over time"
    assert "# ethics" in text
    assert read_study(tmp_path)[0].matrix.models == ["M0", "M1", "M2"]


def test_answers_that_are_given_at_once_stand_in_the_file(tmp_path: Path) -> None:
    given = {"ethics": "approved, 12/2025", "confounders": "device, suction", "tolerance": "10", "funding": "no"}

    def ask(question: str) -> str:
        return next((answer for key, answer in given.items() if question.startswith(QUESTIONS[key].text)), "")

    answers = tomllib.loads(new_study(tmp_path / "new", ask=ask).read_text(encoding="utf-8"))["answers"]
    assert answers == {"ethics": "approved, 12/2025", "confounders": ["device", "suction"], "tolerance": 10,
                       "funding": False}  # fmt: skip


def test_a_study_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    new_study(tmp_path)
    with pytest.raises(WouldOverwrite):
        new_study(tmp_path)
    new_study(tmp_path, force=True)


def test_tables_in_the_folder_are_told_apart(tmp_path: Path) -> None:
    nested_frame().write_csv(tmp_path / "scores.csv")
    (tmp_path / "splits.csv").write_text("split,video\ntrain,t1\ntest,v0\n", encoding="utf-8")
    (tmp_path / "cases.csv").write_text("something,else\n1,2\n", encoding="utf-8")
    text = new_study(tmp_path).read_text(encoding="utf-8")
    assert 'scores = ["scores.csv"]' in text
    assert '\nsplits = "splits.csv"' in text
    assert "\n# cases = " in text, "it has other columns"
    assert set(read_study(tmp_path)[0].tables) == {"splits"}


def test_questions_are_asked_once_and_answers_kept(tmp_path: Path) -> None:
    rows = [f"P{p:02d},{0.7 + 0.01 * (p % 5):.2f},{0.75 + 0.01 * (p % 4):.2f}" for p in range(12)]
    (tmp_path / "dice.csv").write_text("patient,unet,swin\n" + "\n".join(rows), encoding="utf-8")
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "approved, 12/2025" if question.startswith(QUESTIONS["ethics"].text) else ""

    first = new_study(tmp_path, ask=ask).read_text(encoding="utf-8")
    assert 'scores = ["dice.csv"]' in first
    before = len(asked)
    second = new_study(tmp_path, ask=lambda question: "validation" if "On which split" in question else ask(question))
    assert tomllib.loads(second.read_text(encoding="utf-8"))["answers"] == {
        "ethics": "approved, 12/2025", "tuned_on": "validation",
    }  # fmt: skip
    assert len(asked) == 2 * before - 2, "what was answered is not asked again"


def test_answers_given_before_somebody_stops_are_kept(tmp_path: Path) -> None:
    def ask(question: str) -> str:
        if "protocol" in question:
            raise KeyboardInterrupt
        return "none were left out" if question.startswith(QUESTIONS["exclusions"].text) else ""

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            new_study(tmp_path, ask=ask)
        answers = tomllib.loads((tmp_path / STUDY_FILE).read_text(encoding="utf-8"))["answers"]
        assert answers == {"exclusions": "none were left out"}


def test_an_answer_that_cannot_be_meant_is_asked_for_again_and_breaks_no_file(tmp_path: Path) -> None:
    """Whatever was typed stood in the file, which was no TOML then: all other answers were lost."""
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "0.9" if "threshold must be" in question or "not understood" in question else "about 5, say surgeons"

    (tmp_path / "dice.csv").write_text("patient,unet\n" + "".join(f"P{n},0.{n}\n" for n in range(10, 20)))
    study = read_study(new_study(tmp_path, ask=ask))[0]
    assert study.answers["threshold"] == 0.9
    assert study.answers["ethics"] == "about 5, say surgeons"
    assert "target" not in study.answers
    assert sum("Which population" in one for one in asked) == 1
