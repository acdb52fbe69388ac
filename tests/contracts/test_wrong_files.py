"""A file that is recognisably another one is the error, in one sentence with the cure, and nothing is written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders import data_set_row, reference_row, request_row, response_row, write_json
from surgvalid.cli import main

QUESTIONS = 40


def files_in(folder: Path) -> dict[str, Path]:
    """Good files of one track, and files that people pass in their place."""
    cases = [f"frame-{i}" for i in range(QUESTIONS)]
    others = [f"segment-{i}" for i in range(QUESTIONS)]
    made = {
        "requests": write_json(folder / "requests.json", map(request_row, cases)),
        "references": write_json(folder / "references.json", map(reference_row, cases)),
        "responses": write_json(folder / "responses.json", map(response_row, cases)),
        "other": write_json(folder / "other.json", map(response_row, others)),
        "other_references": write_json(folder / "other_references.json", map(reference_row, others)),
        "detections": write_json(folder / "detections.json", [{"image_id": 1, "category_id": 2, "score": 0.4}] * 3),
        "capitals": write_json(folder / "capitals.json", [response_row(case.upper()) for case in cases]),
        "misnamed": write_json(folder / "misnamed.json", [{"qID": case, "answer": "yes"} for case in cases]),
        "verdicts": write_json(folder / "verdicts.json", [{"judge": "x", "qID": "q", "verdict": True}] * 3),
    }
    made |= {name: folder / f"{name}.csv" for name in ("dice", "frames", "results")}
    pl.DataFrame({"model": ["A"] * 9, "case": range(9), "value": [0.5] * 9}).write_csv(made["dice"])
    pl.DataFrame({"video": ["v"] * 9, "frame": range(9), "dice_liver": [0.5] * 9}).write_csv(made["frames"])
    results = {"qID": cases, "primary": ["1a"] * QUESTIONS, "answer_format": ["binary"] * QUESTIONS}
    pl.DataFrame({**results, "correctness": [True] * QUESTIONS}).write_csv(made["results"])
    made["coco"] = folder / "coco.json"
    made["coco"].write_text(json.dumps({"images": [{"id": 1}], "annotations": [], "categories": []}))
    made["data_set"] = folder / "data_set.parquet"
    pl.DataFrame([data_set_row(case) for case in cases]).write_parquet(made["data_set"])
    return made


Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["surgvalid", *map(str, words)])
        try:
            main()
        except SystemExit as end:
            printed = capsys.readouterr()
            return int(end.code or 0), printed.err + printed.out
        printed = capsys.readouterr()
        return 0, printed.err + printed.out

    return run


WRONG = {
    "another track's answers": (
        {"responses": "other"},
        "none of the 40 responses ('segment-0') is to one of the 40 questions ('frame-0'); they seem to answer others, "
        "such as another track's; pass the answers to these as --responses",
    ),
    "a table of scores": ({"responses": "dice"}, "seems to be a score table, not responses"),
    "scores of frames": ({"responses": "frames"}, "seems to be a table of scores, not responses"),
    "the references": ({"responses": "references"}, "seems to be references, not responses"),
    "the requests": ({"responses": "requests"}, "seems to be requests, not responses"),
    "a data set": ({"responses": "data_set"}, "pass it as --requests and as --references"),
    "the results of a scoring": ({"responses": "results"}, "seems to be the results of a scoring, not responses"),
    "verdicts": ({"responses": "verdicts"}, "pass it as --judge cached:FILE"),
    "COCO detections": ({"responses": "detections"}, "pass it to surgvalid evaluate detection"),
    "a COCO file": ({"responses": "coco"}, "it seems to be a COCO file"),
    "answers under another key": ({"responses": "misnamed"}, "its rows have no 'content' (but 'answer', 'qID')"),
    "identifiers in capitals": ({"responses": "capitals"}, "('FRAME-0')"),
    "questions and answers swapped": (
        {"responses": "requests", "requests": "responses"},
        "seems to be responses, not requests",
    ),
    "references and answers swapped": (
        {"responses": "references", "references": "responses"},
        "seems to be responses, not references",
    ),
    "references of another track": (
        {"references": "other_references"},
        "none of the 40 references (first: 'segment-0') has a request (first: 'frame-0')",
    ),
    "a score table as requests": ({"requests": "dice"}, "seems to be a score table, not requests"),
}


def words_of(files: dict[str, Path], swapped: dict[str, str]) -> list[object]:
    return [
        word
        for name in ("requests", "references", "responses")
        for word in (f"--{name}", files[swapped.get(name, name)])
    ]


@pytest.mark.parametrize("profile", ["native", "orena-focus-0.4.0"])
@pytest.mark.parametrize("name", WRONG)
def test_score_says_what_the_file_seems_to_be_and_writes_nothing(
    name: str, profile: str, tmp_path: Path, said: Said
) -> None:
    swapped, sentence = WRONG[name]
    words = words_of(files_in(tmp_path), swapped)
    code, text = said("score", *words, "--profile", profile, "--out", tmp_path / "out")
    assert (code, sentence in text) == (2, True), text
    assert text.count("\n") == 1
    assert len(text) < 700
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", WRONG)
def test_lint_says_the_same_and_little_else(name: str, tmp_path: Path, said: Said) -> None:
    swapped, sentence = WRONG[name]
    code, text = said("score", "lint", *words_of(files_in(tmp_path), swapped), "--json")
    report = json.loads(text)
    assert code == 1
    assert any(sentence in finding["message"] for finding in report["findings"])
    assert {"missing-response", "unknown-id"}.isdisjoint(report["counts"])


@pytest.mark.parametrize("name", [name for name, (swapped, _) in WRONG.items() if set(swapped) == {"references"}])
def test_floors_say_the_same(name: str, tmp_path: Path, said: Said) -> None:
    swapped, sentence = WRONG[name]
    code, text = said("score", "baselines", *words_of(files_in(tmp_path), swapped)[:4], "--out", tmp_path / "out")
    assert (code, sentence in text, (tmp_path / "out").exists()) == (2, True, False)


@pytest.mark.parametrize("name", ["responses", "dice", "verdicts"])
def test_diff_says_that_it_compares_results(name: str, tmp_path: Path, said: Said) -> None:
    files = files_in(tmp_path)
    code, text = said("score", "diff", files[name], files["results"], "--out", tmp_path / "out")
    assert (code, "not the results of a scoring" in text) == (2, True)
    assert "pass the results.csv that surgvalid score wrote" in text


def test_a_forgotten_namespace_is_named_with_the_option(tmp_path: Path, said: Said) -> None:
    files = files_in(tmp_path)
    words = [f"--requests=heico={files['requests']}", f"--references=heico={files['references']}"]
    code, text = said("score", *words, "--responses", files["responses"])
    assert (code, "(--responses heico=PATH)" in text) == (2, True)


def test_an_answer_file_without_a_row_is_refused_here_and_scored_as_the_toolkit_does(
    tmp_path: Path, said: Said
) -> None:
    files = files_in(tmp_path)
    write_json(files["responses"], [])
    words = words_of(files, {})
    assert said("score", *words)[1].startswith("responses: there is not a single response")
    assert said("score", *words, "--profile", "orena-focus-0.4.0", "--resamples", "5")[0] == 0


def test_a_single_match_is_no_reason_to_refuse(tmp_path: Path, said: Said) -> None:
    files = files_in(tmp_path)
    write_json(files["responses"], [response_row("frame-3"), response_row("stranger")])
    assert said("score", *words_of(files, {}), "--resamples", "5")[0] == 0


def test_many_problems_are_counted_by_kind_and_json_lists_them_all(tmp_path: Path, said: Said) -> None:
    files = files_in(tmp_path)
    requests = [request_row(f"frame-{i}", question="") for i in range(QUESTIONS)]
    write_json(files["requests"], [*requests, *(request_row(f"frame-{i}") for i in range(20))])
    code, text = said("score", *words_of(files, {}))
    assert code == 2
    assert text.startswith("questions: 60 problems of 2 kinds:\n  40 like: requests.json row 1 ")
    assert "\n  20 like: requests.json row 41 [frame-0] the request appears twice" in text
    assert max(map(len, text.splitlines())) < 500
    code, text = said("score", *words_of(files, {}), "--json")
    listed = json.loads(text[text.index("{") :])
    assert (code, listed["error"], len(listed["problems"])) == (2, "QuestionsInvalid", 60)


@pytest.mark.parametrize(
    ("part", "name", "content", "sentence"),
    [
        ("responses", "a.json", b"PK\x03\x04" + b"a" * 20, "it seems to be a compressed file: unpack it first"),
        ("responses", "a.json", b"\x1f\x8b\x08\x00aaaa", "not text but a compressed file; unpack it first"),
        ("responses", "a.csv", b"qID;content\nframe-0;yes\n", "separated by semicolons; save it with commas instead"),
        ("responses", "a.json", b'["frame-0", "frame-1"]', "not a single response, so there is nothing to score; "),
        ("responses", "a.json", b'{"frame-0": "yes"}', "it starts with '{'; name it .jsonl if each line is an object"),
        ("requests", "a.json", b'["frame-0"]', "a.json element 1 expected an object, got str"),
        ("requests", "a.json", b"[]", "there is not a single one; pass the questions as --requests"),
        ("references", "a.json", b"[]", "none has a reference, so there is nothing to score"),
    ],
)
def test_files_that_hold_no_rows_are_named_for_what_they_are(
    part: str, name: str, content: bytes, sentence: str, tmp_path: Path, said: Said
) -> None:
    files = files_in(tmp_path)
    files[part] = tmp_path / name
    files[part].write_bytes(content)
    code, text = said("score", *words_of(files, {}))
    assert (code, sentence in text) == (2, True), text
    assert text.count("\n") == 1


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path, said: Said) -> None:
    files = {**files_in(tmp_path), "responses": tmp_path}
    assert "a folder; name the file in it" in said("score", *words_of(files, {}))[1]


def test_an_empty_cell_of_a_table_is_no_answer(tmp_path: Path, said: Said) -> None:
    files = files_in(tmp_path)
    files["responses"].write_text('[{"qID": "frame-0", "content": NaN}, {"qID": "frame-1", "content": "yes"}]')
    report = json.loads(said("score", "lint", *words_of(files, {}), "--json")[1])
    assert report["counts"]["no-content"] == 1
