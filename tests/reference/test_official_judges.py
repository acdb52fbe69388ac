"""Whole runs of the official toolkit with its own `APIJudge`, and ours beside them, on one server on loopback."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench.official_toolkit import import_focus

import surgvalid
from fake_server import Answer, Behaviour, completion, serving
from surgvalid.errors import OfficialAborts
from surgvalid.judges.openai import ChatLimits, OpenAIJudge

focus = import_focus()
from focus.evaluation import judges as official  # noqa: E402
from focus.evaluation.evaluator import Evaluator  # noqa: E402

REPLIES = [
    "CORRECT", "INCORRECT", "The answer is CORRECT.", "NOT CORRECT", "partially correct",
    "No, the answer is not CORRECT",
    'Both name the duct.\n```json\n{"verdict": "CORRECT"}\n```', '{"verdict": "INCORRECT"}', "in correct", "UNSURE", "",
    " correct\n", "<think>CORRECT or", "Incorrect; correct would be the liver", "richtig",
]  # fmt: skip
CANDIDATES = ["on the liver", " on the liver ", "in the bag", "", "...", "## Verdict\nCORRECT", "Größe {x}\u200b", "A"]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official.time, "sleep", lambda _: None)


def questions(count: int, seed: int = 0) -> tuple[list[Any], list[Any], list[Any]]:
    chosen = random.Random(seed)
    requests, references, responses = [], [], []
    for i in range(count):
        times = {"start_time": i, "end_time": i + chosen.choice([0, 1.25, 3600.06])}
        kind, text = chosen.choice(["Sigmoid Resection", "", None]), f"Where is it at {{{i % 7}}}?"
        requests.append({"qID": f"q{i}", "videoID": f"v{i % 5}", **times, "procedure_type": kind, "question": text})
        name = chosen.choice(["open_ended", "multiple_choice", "binary"])
        answer = "yes" if name == "binary" else chosen.choice(["on the liver", "in the bag"])
        references.append(
            {"qID": f"q{i}", "primary": chosen.choice(["1a", "2b", "3a"]), "format": name, "answer": answer}
        )
        content = chosen.choice(["yes", "no"]) if name == "binary" else chosen.choice(CANDIDATES)
        responses.append({"qID": f"q{i}", "content": content, "latency": chosen.choice([0, 1, 4.5, 31.0])})
    return requests, references, responses


def whim(replies: list[Answer]) -> Behaviour:
    """A server whose answer depends on nothing but the question it gets."""

    def answer(_: int, body: dict[str, Any]) -> Answer:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        return replies[digest[0] % len(replies)]

    return answer


Ran = tuple[bytes, bytes, list[dict[str, Any]]]


def theirs(folder: Path, data: tuple[list[Any], ...], behaviour: Behaviour, names: list[str], **limit: Any) -> Ran:
    loaders = (focus.load_requests, focus.load_references, focus.load_responses)
    items = []
    for name, rows, load in zip(("requests", "references", "responses"), data, loaders, strict=True):
        (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
        items.append(load(folder / f"{name}.json"))
    with serving(behaviour) as server:
        panel = [official.APIJudge(f"{server.url}/chat/completions", "key", name) for name in names]
        Evaluator(judges=panel, n_boot=20).run(*items, output_dir=folder / "theirs", **limit)
    files = (folder / "theirs/results.csv", folder / "theirs/summary.csv")
    return files[0].read_bytes(), files[1].read_bytes(), server.bodies


def ours(folder: Path, behaviour: Behaviour, names: list[str], **options: Any) -> Ran:
    files = [folder / f"{name}.json" for name in ("requests", "references", "responses")]
    with serving(behaviour) as server:
        panel = [OpenAIJudge(name, server.url, limits=ChatLimits(backoff_s=0.001)) for name in names]
        result = surgvalid.score(*files, profile="orena-focus-0.4.0", judges=panel, replicates=20, **options)
    result.to_dir(folder / "ours", force=True)
    read = [(folder / "ours" / name).read_bytes() for name in ("results.csv", "summary.csv")]
    return read[0], read[1], server.bodies


def distinct(bodies: list[dict[str, Any]]) -> set[str]:
    return {json.dumps(body, sort_keys=True) for body in bodies}


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("limit", [{}, {"track": "frame"}])
def test_runs_are_equal_to_the_byte_and_ask_the_same(tmp_path: Path, names: list[str], limit: Any) -> None:
    behaviour = whim([completion(reply) for reply in REPLIES])
    official_run = theirs(tmp_path, questions(100, seed=len(names)), behaviour, names, **limit)
    own_run = ours(tmp_path, behaviour, names, **limit)
    assert own_run[:2] == official_run[:2]
    assert distinct(own_run[2]) == distinct(official_run[2])


@pytest.mark.parametrize("reply", REPLIES)
def test_every_reply_is_read_alike(tmp_path: Path, reply: str) -> None:
    behaviour = whim([completion(reply)])
    assert ours_after_theirs(tmp_path, questions(8), behaviour)


BROKEN = [
    Answer(b"", 500), Answer(b"{}", 429), Answer(b"no JSON"), Answer(b"{}"), Answer(b"[]"), Answer(b'{"choices": []}'),
    Answer(b'{"choices": [{}]}'), Answer(b"", hang_up=True), Answer(b"{}", 401), completion("CORRECT"),
]  # fmt: skip


def test_servers_that_fail_are_asked_three_times_and_then_wrong(tmp_path: Path) -> None:
    data = questions(40)
    behaviour = whim(BROKEN)
    official_run = theirs(tmp_path, data, behaviour, ["a", "b"])
    own_run = ours(tmp_path, behaviour, ["a", "b"])
    assert own_run[:2] == official_run[:2]
    assert distinct(own_run[2]) == distinct(official_run[2])
    with serving(lambda _, body: Answer(b"", 500)) as server:
        judge = OpenAIJudge("m", server.url, limits=ChatLimits(backoff_s=0.001))
        files = [tmp_path / f"{name}.json" for name in ("requests", "references", "responses")]
        result = surgvalid.score(*files, profile="orena-focus-0.4.0", judges=[judge], replicates=5)
        assert server.asked == 3 * result.tables["judges"]["asked"].item()
    assert result.tables["judges"]["failed"].item() == result.tables["judges"]["cases"].item()


def test_a_server_that_is_not_there_is_tried_for_one_case_and_all_are_wrong(tmp_path: Path) -> None:
    """The toolkit waits three seconds in vain for every case; the result is the same."""
    for name, rows in zip(("requests", "references", "responses"), questions(30), strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    files = [tmp_path / f"{name}.json" for name in ("requests", "references", "responses")]
    judge = OpenAIJudge("m", "http://127.0.0.1:9/v1", limits=ChatLimits(backoff_s=0.001))
    result = surgvalid.score(*files, profile="orena-focus-0.4.0", judges=[judge], replicates=5)
    heard = [row["text"] for row in result.verdicts]
    assert sum("Unreachable" in text for text in heard) == 1
    assert sum("is it running there?" in text for text in heard) == len(heard) - 1 > 1
    judged = {row["qID"] for row in result.verdicts}
    assert not result.results.filter(pl.col("qID").is_in(judged))["correctness"].any()


STOPPING = [
    completion(None), completion(7), completion([{"type": "text", "text": "CORRECT"}]), Answer(b"7"),
    Answer(b'{"choices": [null]}'), Answer(b'{"choices": {"a": 1}}'), Answer(b'{"choices": [{"message": null}]}'),
    Answer(b"null"),
]  # fmt: skip


@pytest.mark.parametrize("answer", STOPPING)
def test_what_stops_the_toolkit_stops_us(tmp_path: Path, answer: Answer) -> None:
    with pytest.raises((AttributeError, TypeError, KeyError)):
        theirs(tmp_path, questions(12), whim([answer]), ["a"])
    with pytest.raises(OfficialAborts):
        ours(tmp_path, whim([answer]), ["a"])


def ours_after_theirs(folder: Path, data: tuple[list[Any], ...], behaviour: Behaviour) -> bool:
    return theirs(folder, data, behaviour, ["a"])[:2] == ours(folder, behaviour, ["a"])[:2]


@pytest.mark.parametrize("value", ["", " ", None, "none", "(empty)"])
def test_an_odd_name_of_a_video_stops_neither(tmp_path: Path, value: Any) -> None:
    requests, references, responses = questions(12)
    for row in requests[::3]:
        row["videoID"] = value
    assert ours_after_theirs(tmp_path, (requests, references, responses), whim([completion("CORRECT")]))


def test_identifiers_that_read_alike_stop_neither(tmp_path: Path) -> None:
    requests, references, responses = questions(6)
    for rows in (requests, references, responses):
        for row, name in zip(rows, [1, "1", "", " ", "1 ", None], strict=True):
            row["qID"] = name
    assert ours_after_theirs(tmp_path, (requests, references, responses), whim([completion("CORRECT")]))


@pytest.mark.parametrize("latency", [2**63, 2**63 - 1, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**25, float("inf")])
@pytest.mark.parametrize("others", [[0], [0.5], [-1, 0.5], [-1]])
def test_latencies_beyond_a_machine_word_are_printed_alike(tmp_path: Path, latency: Any, others: list[Any]) -> None:
    requests, references, responses = questions(6)
    for i, row in enumerate(responses):
        row["latency"] = latency if i == 2 else others[i % len(others)]
    assert ours_after_theirs(tmp_path, (requests, references, responses), whim([completion("CORRECT")]))


@pytest.mark.parametrize("times", [("5", 6), (None, 6), (True, 6), (float("nan"), 6), (10**400, 6), (1, [])])
def test_times_that_no_prompt_can_hold_stop_both(tmp_path: Path, times: tuple[Any, Any]) -> None:
    requests, references, responses = questions(6)
    for row in requests:
        row["start_time"], row["end_time"] = times
    data, behaviour = (requests, references, responses), whim([completion("CORRECT")])
    try:
        expected: Any = theirs(tmp_path, data, behaviour, ["a"])[:2]
    except (TypeError, ValueError, OverflowError):
        with pytest.raises(OfficialAborts):
            ours(tmp_path, behaviour, ["a"])
    else:
        assert ours(tmp_path, behaviour, ["a"])[:2] == expected
    without = theirs(tmp_path, data, behaviour, [])[:2]
    assert ours(tmp_path, behaviour, [])[:2] == without
