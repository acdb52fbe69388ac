"""Wrong answers one by one: which cases, in which order, with which words, and never a file nobody vouched for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from report_folder import HOSTILE_ANSWER, HOSTILE_NAME, shared_challenge
from surgvalid.report.cases import collect as cases
from surgvalid.report.cases.collect import collect, has_term, originals, properties_of
from surgvalid.report.inputs import ReportInputs, read_inputs
from surgvalid.results.reading import StoredResult
from surgvalid.results.request import VerbRequest
from surgvalid.schema.tables.score_table import ScoreTable


def inputs_of(metric: str = "correct", better: str = "larger") -> ReportInputs:
    """Two models on 8 cases with and without smoke; `a` misses every smoky one, `b` the last."""
    rows = [
        (
            model,
            f"c{n}",
            f"v{n}",
            metric,
            float(not ((model == "a" and n % 2) or (model == "b" and n == 0))),
            n % 2 == 1,
        )
        for model in "ab"
        for n in range(8)
    ]
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "metric", "value", "smoke"], orient="row")
    effects = pl.DataFrame({
        "model": ["a", "b"], "term": ["smoke", "smoke"], "estimate": [-3.0, 0.1], "p_value": [0.0001, 0.9],
        "odds_ratio": [0.05, 1.1],
    })  # fmt: skip
    part = StoredResult(kind="failures", tables={"per_model": effects}, records={"fit": {}},
                        request=VerbRequest("failures", {"outcome": "value"}))  # fmt: skip
    return ReportInputs(Path("folder"), (part,), ScoreTable.of(frame, better=better))


def test_cases_that_a_found_weakness_explains_come_first() -> None:
    made = collect(inputs_of())
    assert [case["c"] for case in made.cases] == ["c1", "c3", "c5", "c7", "c0"]
    assert made.total == 5
    assert made.cases[0]["w"] == [[0, "smoke"]]
    assert made.cases[-1]["w"] == []
    assert made.cases[0]["p"] == {"smoke": "yes"}


def test_the_page_carries_so_many_cases_and_says_how_many_there_are() -> None:
    made = collect(inputs_of(), most=2)
    assert (len(made.cases), made.total) == (2, 5)


def test_of_other_scores_the_worst_cases_are_listed() -> None:
    made = collect(inputs_of("hd95_px", "smaller"))
    assert made.cases
    section = cases.section(inputs_of("hd95_px", "smaller"))
    assert section.title == "The worst cases one by one"


@pytest.mark.long
def test_questions_references_and_answers_are_those_of_the_files() -> None:
    made = collect(read_inputs(shared_challenge()))
    asked = {row["qID"]: row for row in json.loads((shared_challenge() / "requests.json").read_text())}
    right = {row["qID"]: row for row in json.loads((shared_challenge() / "references.json").read_text())}
    for case in made.cases[:20]:
        assert case["q"] == asked[case["c"]]["question"]
        assert case["r"] == str(right[case["c"]]["answer"])
        assert len(case["a"]) == 6
    names = read_inputs(shared_challenge()).models
    words = [answer[2] for case in made.cases for answer in case["a"] if names[answer[0]] == HOSTILE_NAME]
    assert HOSTILE_ANSWER in words


def test_a_file_that_changed_or_is_a_link_is_not_shown(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(shared_challenge(), tmp_path / "c"))
    for path in (folder / "requests.json", folder / "references.json"):
        shutil.copyfile(shared_challenge() / path.name, path)
    inputs = read_inputs(folder)
    score = inputs.of("score")[0]
    stored = StoredResult(
        kind="score", stored=score.stored, request=VerbRequest("score", given={"requests": "requests.json"})
    )
    assert originals(stored, "requests", folder) == [str(folder / "requests.json")]
    (folder / "requests.json").write_text("[]")
    assert originals(stored, "requests", folder) == []
    (folder / "requests.json").unlink()
    (folder / "requests.json").symlink_to(shared_challenge() / "requests.json")
    assert originals(stored, "requests", folder) == []


def test_a_manifest_cannot_name_a_file_whose_content_its_writer_does_not_know(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("[1]")
    part = StoredResult(
        kind="score", stored={"inputs": [{"parameter": "requests", "file": "secret.json", "sha256": "0" * 64}]},
        request=VerbRequest("score", given={"requests": str(secret)}),
    )  # fmt: skip
    assert originals(part, "requests", tmp_path) == []


def test_terms_of_numbers_flags_and_levels_are_told_from_a_case() -> None:
    rows = {"model": ["a"] * 4, "case": list("wxyz"), "video": list("wxyz"), "value": [1.0] * 4,
            "ood": [True, False, True, False], "center": ["A", "B", "A", "B"]}  # fmt: skip
    frame = properties_of(ReportInputs(Path("x"), (), ScoreTable.of(pl.DataFrame(rows), better="larger")))
    for term, expected in (("ood", [True, False, True, False]), ("center[B]", [False, True, False, True])):
        condition = has_term(term, frame.columns)
        assert condition is not None
        assert frame.sort("case").select(has=condition)["has"].to_list() == expected
    assert has_term("smoke", frame.columns) is None
