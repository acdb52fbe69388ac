from pathlib import Path
from typing import Any

import pytest

from builders import (
    data_set_row,
    perfect_responses,
    question,
    questions,
    reference_row,
    request_row,
    response_row,
    write_json,
)
from surgvalid.errors import FileUnreadable, Misuse, QuestionsInvalid
from surgvalid.schema.findings import Severity
from surgvalid.schema.questions.formats import BadParameters
from surgvalid.schema.questions.question_files import (
    collect_questions,
    load_questions,
    load_responses,
    split_source,
)


def codes(found: Any) -> list[str]:
    return [finding.code for finding in found]


def test_files_and_objects_give_the_same_question_set(tmp_path: Path) -> None:
    asked, known = questions()
    requests = write_json(tmp_path / "requests.json", [item.as_row() for item in asked])
    references = write_json(tmp_path / "references.json", [item.as_row() for item in known])
    from_files, from_objects = load_questions(requests, references), load_questions(asked, known)
    assert from_files.requests == from_objects.requests
    assert list(from_files.references) == list(from_objects.references)
    assert from_files.findings == from_objects.findings == ()
    assert load_responses(perfect_responses(known)).responses == perfect_responses(known)


def test_colliding_data_sets_are_refused_bare_and_read_with_namespaces(tmp_path: Path) -> None:
    heico = write_json(tmp_path / "heico.json", [data_set_row("1"), data_set_row("2")])
    lapchole = write_json(tmp_path / "lapchole.json", [data_set_row("1")])
    with pytest.raises(QuestionsInvalid, match=r"\[1\] the request appears twice.*NAME=PATH"):
        load_questions([heico, lapchole], [heico, lapchole])
    sources = [f"heico={heico}", f"lapchole={lapchole}"]
    merged = load_questions(sources, sources)
    assert list(merged.references) == ["heico/1", "heico/2", "lapchole/1"]
    assert {request.video for request in merged.requests.values()} == {"heico/v1", "lapchole/v1"}
    answers = write_json(tmp_path / "answers.json", [response_row("1")])
    assert load_responses(f"heico={answers}").responses[0].case == "heico/1"


def test_a_path_with_an_equals_sign_that_exists_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b.json").write_text("[]")
    assert split_source("a=b.json") == (None, Path("a=b.json"))
    assert split_source("a=c.json") == ("a", Path("c.json"))
    assert split_source("qwen2.5 (7B)=c.json") == ("qwen2.5 (7B)", Path("c.json"))
    assert split_source("runs/seed=3.json") == (None, Path("runs/seed=3.json"))


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    requests = [
        request_row("q1"),
        request_row("q1"),
        request_row("q2", question=""),
        request_row("q3"),
        request_row(None),
    ]
    references = [
        reference_row("q1", primary="9z"),
        reference_row("q2", "matching", format_kwargs={}),
        reference_row("q3", answer=5),
        reference_row("lost"),
        {**reference_row("q3"), "format": "essay"},
        5,
    ]
    paths = write_json(tmp_path / "requests.json", requests), write_json(tmp_path / "references.json", references)
    with pytest.raises(QuestionsInvalid) as caught:
        load_questions(*paths)
    text = str(caught.value)
    for part in (
        "the request appears twice", "requests.json row 3 [q2] the question has no text", "no usable qID",
        "unknown capability '9z'", "the parameter 'pattern' is missing", "must be text, got 5",
        "[lost] the reference has no matching request", "unknown answer format 'essay'", "expected an object, got int",
    ):  # fmt: skip
        assert part in text
    assert len(caught.value.problems) == 9
    assert set(codes(collect_questions(*paths).findings)) >= {
        "duplicate-request", "no-question", "no-id", "unknown-capability", "bad-parameters", "answer-not-text",
        "no-request", "unknown-format", "not-an-object",
    }  # fmt: skip


def test_a_reference_that_breaks_its_own_format_is_a_warning_with_a_suggestion() -> None:
    asked, known = question("q1", "time", "1:05")
    found = load_questions([asked], [known]).findings
    assert codes(found) == ["reference-unreadable"]
    assert found[0].severity is Severity.WARNING
    assert found[0].nearest == "00:01:05"


def test_requests_without_reference_are_a_note() -> None:
    asked, known = questions(["binary"], each=3)
    found = load_questions(asked, known[:1]).findings
    assert codes(found) == ["no-reference"]
    assert "2 requests have no reference (first: binary-1)" in found[0].message


def test_the_first_of_two_references_is_kept() -> None:
    asked, first = question("q1", "binary", "yes")
    _, second = question("q1", "binary", "no")
    kept = collect_questions([asked], [first, second])
    assert codes(kept.findings) == ["duplicate-reference"]
    assert kept.references["q1"].answer == "yes"


def test_an_unreadable_file_stops_loading_but_is_a_finding_when_collecting(tmp_path: Path) -> None:
    requests = write_json(tmp_path / "requests.json", [request_row("q1"), request_row("q2")])
    requests.write_text(requests.read_text()[:-40], encoding="utf-8")
    references = write_json(tmp_path / "references.json", [reference_row("q1"), reference_row("q2")])
    with pytest.raises(FileUnreadable, match="line 1 column"):
        load_questions(requests, references)
    kept = collect_questions(requests, [references, tmp_path / "absent.json"])
    assert codes(kept.findings) == ["file-unreadable", "file-unreadable", "no-request"]
    assert list(kept.requests) == ["q1"]
    assert list(kept.references) == ["q1", "q2"]


def test_formats_are_built_once_and_odd_parameters_are_refused_in_our_words() -> None:
    asked, known = questions(["time"], each=2)
    kept = collect_questions(asked, known)
    assert kept.format_of(known[0]) is kept.format_of(known[1])
    _, odd = question("q9", "time", parameters={"threshold_seconds": {1, 2}})
    with pytest.raises(BadParameters, match="plain data"):
        kept.format_of(odd)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    _, odd = question("q9", "time", parameters={"threshold_seconds": deep})
    assert codes(collect_questions(asked, [odd]).findings)[:2] == ["no-request", "bad-parameters"]


def test_classes_of_a_definitions_file_are_legal_answers() -> None:
    asked, known = question("q1", "fo_class", "Tack")
    assert codes(collect_questions([asked], [known]).findings) == ["reference-unreadable"]
    assert collect_questions([asked], [known], class_names=("Tack",)).findings == ()


def test_something_that_is_neither_path_nor_question_is_misuse() -> None:
    with pytest.raises(Misuse, match="requests: expected a path, a table, a dictionary or a Request, got int"):
        load_questions([5], [])


def test_responses_are_loaded_with_what_was_noticed(tmp_path: Path) -> None:
    rows = [response_row("q1"), response_row("q2", None), response_row(None), response_row(3, note=1)]
    loaded = load_responses(write_json(tmp_path / "answers.json", rows))
    assert [r.case for r in loaded.responses] == ["q1", "q2", "3"]
    assert codes(loaded.findings) == ["no-content", "no-id", "id-not-text", "extra-keys"]
    assert loaded.findings[0].where == "answers.json row 2"
