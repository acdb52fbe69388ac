"""People whose skill is known get it back from the answers that they gave before the reference was shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from procedures import random_procedure
from surgvalid import make_questions, make_report, score, study
from surgvalid.questions.release import asked_in, freeze, parts_in
from surgvalid.questions.stages.ceiling import human_ceiling
from surgvalid.questions.stages.history import Action, History, HistoryEntry

SKILL = {"anna": 0.9, "ben": 0.7}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    procedures = [random_procedure(seed, most_objects=10, longest_s=600) for seed in range(12)]
    return make_questions(procedures, per_video=25, tracks=["frame"]).to_dir(tmp_path_factory.mktemp("made"))


def answered(folder: Path, seed: int) -> tuple[History, dict[str, float]]:
    """Answers to the closed questions of two raters, and how many of them were right."""
    draw, entries = np.random.default_rng(seed), list[HistoryEntry]()
    right: dict[str, list[bool]] = {who: [] for who in SKILL}
    for share in parts_in(folder).values():
        for row in share.references:
            entries.append(HistoryEntry(row["qID"], Action.PROPOSED, "surgvalid", "1"))
            wrong = {"binary": {"yes": "no", "no": "yes"}.get(row["answer"]), "number": "99", "fo_class": "Mesh, Clip"}
            other = wrong.get(row["format"])
            for who, skill in SKILL.items():
                if other and other != row["answer"]:
                    knows = bool(draw.random() < skill)
                    right[who].append(knows)
                    said = row["answer"] if knows else other
                    entries.append(HistoryEntry(row["qID"], Action.ANSWERED, who, "1", "answer", "", said))
    return History(tuple(entries)), {who: float(np.mean(known)) for who, known in right.items()}


def test_two_raters_get_their_skill_back_with_intervals(folder: Path) -> None:
    inside = 0
    for seed in range(20):
        history, right = answered(folder, seed)
        table, _ = human_ceiling(asked_in(parts_in(folder)), history)
        rows = {(row["level"], row["name"]): row for row in table.to_dicts()}
        for who, skill in SKILL.items():
            row = rows["rater", who]
            assert row["accuracy"] == pytest.approx(right[who])
            inside += row["low"] <= skill <= row["high"]
        assert rows["overall", ""]["accuracy"] == pytest.approx(np.mean(list(right.values())))
        assert rows["overall", ""]["raters"] == 2
    assert inside >= 34


def test_the_first_answer_counts_and_later_ones_do_not(folder: Path) -> None:
    history, _ = answered(folder, 3)
    first = [entry for entry in history.entries if entry.action is Action.ANSWERED][:8]
    later = History((*history.entries, *(replace(entry, at="3", after="99") for entry in first)))
    parts = list(asked_in(parts_in(folder)))
    assert human_ceiling(parts, history)[0].equals(human_ceiling(parts, later)[0])


def test_a_template_on_which_people_differ_is_named_and_a_release_carries_the_ceiling(
    folder: Path, tmp_path: Path
) -> None:
    history, _ = answered(folder, 5)
    findings = human_ceiling(asked_in(parts_in(folder)), history)[1]
    assert any(finding.code == "ceiling-disagreement" for finding in findings)
    made = freeze(folder, history=history.table())
    made.to_dir(tmp_path / "v1")
    overall = json.loads((tmp_path / "v1" / "release.json").read_text())["people"]
    assert overall["accuracy"] == pytest.approx(made.tables["ceiling"]["accuracy"][0])
    assert (tmp_path / "v1" / "ceiling.csv").is_file()


def right_in(place: Path, history: History) -> float:
    """How often people are right in one part, by answers alone."""
    right = {row["qID"]: row["answer"] for row in json.loads((place / "references.json").read_text())}
    given = [entry for entry in history.entries if entry.action is Action.ANSWERED and entry.item in right]
    return float(np.mean([entry.after == right[entry.item] for entry in given]))


def test_scores_reports_and_studies_of_a_release_say_how_well_people_do(folder: Path, tmp_path: Path) -> None:
    history, _ = answered(folder, 7)
    made = freeze(folder, history=history.table())
    made.to_dir(tmp_path / "v1")
    place = tmp_path / "v1" / "test" / "frame"
    asked = json.loads((place / "requests.json").read_text())
    answers = [{"qID": row["qID"], "content": "yes", "latency": 1.0} for row in asked]
    (tmp_path / "yes.json").write_text(json.dumps(answers))
    scored = score(place / "requests.json", place / "references.json", tmp_path / "yes.json", model="yes")
    people = made.tables["ceiling"].filter((pl.col("level") != "part") | (pl.col("name") == "test/frame"))
    assert scored.tables["ceiling"].equals(people)
    scored.to_dir(tmp_path / "scores" / "yes")
    [alike] = people.filter(level="part").to_dicts()
    assert alike["accuracy"] == pytest.approx(right_in(folder / "test" / "frame", history))
    assert alike["questions"] < people["questions"][0]
    told = f"People answer {alike['accuracy']:.3f} of the closed questions of test/frame rightly"
    page = make_report(tmp_path / "scores").html()
    assert told in page
    assert "People on the questions" in page
    findings = study(tmp_path / "scores" / "yes" / "scores.parquet", metric="correct", missing="worst").findings
    assert any(told in finding.message for finding in findings)
