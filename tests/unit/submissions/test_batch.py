"""Batches: what is measured, what is only told, what an overrun costs, and answer files that are hostile."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_programs import script
from submission_runs import events, outcomes, records
from surgvalid.asking.journal import Record
from surgvalid.asking.session import Participant
from surgvalid.errors import UnknownName
from surgvalid.sandbox import Launch, Running, open_engine
from surgvalid.sandbox.process import ProcessEngine
from surgvalid.schema.questions.questions import Request
from surgvalid.submissions.batch import NOT_VERIFIED, BatchRules, run_batches
from surgvalid.submissions.batch_files import allowance_s, forfeited, forfeited_count, read_answers
from surgvalid.submissions.inputs import QuestionFolder
from surgvalid.submissions.starter import plain_png

READ = """
import json, os, sys, time
source, target = os.environ["SURG_INPUT"], os.environ["SURG_OUTPUT"]
requests = json.load(open(os.path.join(source, "request.json")))
answers = [{"qID": r["qID"], "content": "yes", "latency": 0.5} for r in requests]
path = os.path.join(target, "answer.json")
"""
WRITE = "\njson.dump(answers, open(path, 'w'))\n"


def inputs(folder: Path, count: int = 4) -> QuestionFolder:
    folder.mkdir(parents=True, exist_ok=True)
    requests = tuple(Request(f"q{i}", f"v{i}", 0, 1, f"p{i % 2}", "?") for i in range(count))
    frame = folder / "frame.png"
    frame.write_bytes(plain_png(4, 4, (0, 0, 0)))
    return QuestionFolder(requests, folder / "request.json", None, None, {r.case: {"frames": frame} for r in requests})


def run(folder: Path, body: str, given_inputs: QuestionFolder | None = None, **rules: Any) -> dict[str, Record]:
    settings: dict[str, Any] = {"share_s": 5.0, "setup_s": 60.0}
    out = run_batches(
        given_inputs or inputs(folder), engine=open_engine("process"),
        entrant=Participant(command=script(folder / "programs" if folder.exists() else folder, READ + body)),
        rules=BatchRules(**settings | rules), out=folder / "out",
    )  # fmt: skip
    return records(out)


def test_a_batch_is_answered_at_once(tmp_path: Path) -> None:
    found = run(tmp_path, WRITE)
    assert outcomes(found) == {f"q{i}": "ok" for i in range(4)}
    (batch,) = events(tmp_path / "out", "batch")
    assert (batch["questions"], batch["allowed_s"], batch["detail"]) == (4, 80.0, "")
    assert batch["evidence"]
    assert math.isclose(sum(r.latency_s for r in found.values()), batch["used_s"], abs_tol=0.01)


@pytest.mark.parametrize("layout", ["folder", "zip", "nested-zip"])
def test_the_container_sees_the_layout_asked_for(tmp_path: Path, layout: str) -> None:
    body = "\nfor a in answers: a['content'] = ' '.join(sorted(os.listdir(source)))" + WRITE
    found = run(tmp_path, body, layout=layout)
    shown = str(found["q0"].content).split()
    assert ("frames" if layout == "folder" else "batch-frames.zip") in shown


def test_batches_are_of_the_size_asked_for(tmp_path: Path) -> None:
    run(tmp_path, WRITE, inputs(tmp_path, 5), batch_size=2)
    assert [b["questions"] for b in events(tmp_path / "out", "batch")] == [2, 2, 1]


def test_what_the_container_says_of_its_own_time_is_marked(tmp_path: Path) -> None:
    body = "\nanswers[0]['latency'] = 5.01; answers[1]['latency'] = float('nan'); answers[2]['latency'] = 5.0" + WRITE
    found = run(tmp_path, body, budget="per-question")
    assert outcomes(found) == {"q0": "timeout", "q1": "timeout", "q2": "ok", "q3": "ok"}
    assert {r.detail for r in found.values()} == {NOT_VERIFIED}
    assert all(math.isfinite(r.latency_s) for r in found.values())


def test_twenty_percent_overrun_ends_the_batch_and_forfeits_all_of_it(tmp_path: Path) -> None:
    found = run(tmp_path, WRITE + "\nopen(path).close(); time.sleep(600)", share_s=0.1, setup_s=0.1)
    assert set(outcomes(found).values()) == {"timeout"}
    assert all(r.detail.startswith("forfeited") for r in found.values())
    assert "stopped after" in events(tmp_path / "out", "batch")[0]["detail"]


@pytest.mark.parametrize(
    ("body", "outcome", "reason"),
    [
        ("", "invalid", "no answer.json"),
        ("\nsys.exit(4)", "crashed", "exit code 4"),
        ("\nopen(path, 'w').write('[{')", "invalid", "answer.json: line 1"),
        ("\nopen(path, 'w').write('[' * 100000)", "invalid", "answer.json"),
        ("\nos.symlink('/etc/passwd', path)", "invalid", "answer.json"),
        ("\nos.mkfifo(path)", "invalid", "answer.json"),
        ("\nos.truncate(open(path, 'w').name, 10**11)", "invalid", "bytes"),
        ("\nopen(path, 'w').write('[]')", "invalid", "has no answer"),
        ("\nanswers = answers * 2" + WRITE, "invalid", "2 times"),
        ("\nfor a in answers: a['content'] = None" + WRITE, "invalid", "no text"),
        ("\nfor a in answers: a['content'] = chr(0xd800)" + WRITE, "invalid", "no text"),
    ],
)
def test_no_answer_file_upsets_the_host(tmp_path: Path, body: str, outcome: str, reason: str) -> None:
    found = run(tmp_path, body, inputs(tmp_path, 2))
    assert set(outcomes(found).values()) == {outcome}
    assert all(reason in r.detail for r in found.values())


def test_answers_written_before_a_crash_count(tmp_path: Path) -> None:
    found = run(tmp_path, "\nanswers.pop()" + WRITE + "\nos._exit(9)", inputs(tmp_path, 2))
    assert outcomes(found) == {"q0": "ok", "q1": "invalid"}
    assert "exit code 9" in found["q1"].detail


def test_a_question_without_media_is_not_asked(tmp_path: Path) -> None:
    some = inputs(tmp_path)
    del some.media["q1"]
    some.problems["q1"] = "q1.png is empty"
    found = run(tmp_path, WRITE, some)
    assert outcomes(found) == {"q0": "ok", "q1": "not_asked", "q2": "ok", "q3": "ok"}
    assert found["q1"].detail == "q1.png is empty"


def test_a_finished_batch_is_not_run_again(tmp_path: Path) -> None:
    some = inputs(tmp_path)
    settings: dict[str, Any] = {"share_s": 5.0, "batch_size": 2}
    entrant = Participant(command=script(tmp_path / "p", READ + WRITE))
    arguments: dict[str, Any] = {
        "engine": open_engine("process"), "entrant": entrant, "rules": BatchRules(**settings), "out": tmp_path / "out",
    }  # fmt: skip
    run_batches(some, **arguments)
    answers = tmp_path / "out" / "answers.jsonl"
    kept = answers.read_text().splitlines(keepends=True)[:3]
    answers.write_text("".join(kept))
    run_batches(some, **arguments)
    assert [b["number"] for b in events(tmp_path / "out", "batch")] == [1, 2, 2]
    lines = answers.read_text().splitlines(keepends=True)
    assert lines[:3] == kept
    assert [json.loads(line)["case"] for line in lines] == ["q0", "q1", "q2", "q3"]


def test_rules_that_nobody_knows_are_refused() -> None:
    with pytest.raises(UnknownName):
        BatchRules(share_s=5, budget="pool")
    with pytest.raises(UnknownName):
        BatchRules(share_s=5, layout="tar")


class BlinkingEngine(ProcessEngine):
    """Its runs are over before anybody can open their output."""

    def start(self, launch: Launch) -> Running:
        running = super().start(launch)
        running._output = None
        return running


def test_where_the_output_could_not_be_opened_the_reason_is_recorded(tmp_path: Path) -> None:
    entrant = Participant(command=script(tmp_path / "programs", READ + WRITE))
    rules = BatchRules(share_s=5.0, setup_s=60.0)
    found = records(
        run_batches(inputs(tmp_path), engine=BlinkingEngine(), entrant=entrant, rules=rules, out=tmp_path / "out")
    )
    assert set(outcomes(found).values()) == {"invalid"}
    assert all("over before it could be opened" in record.detail for record in found.values())


# --- the pooled rule ------------------------------------------------------------------------------

BUCKETS = st.dictionaries(st.text(min_size=1, max_size=6), st.sampled_from("abc"), min_size=1, max_size=60)


def test_the_allowance_is_the_published_one() -> None:
    assert allowance_s(500, 15.0) == 7620.0


@given(BUCKETS, st.floats(0, 400), st.floats(0, 400))
def test_a_longer_overrun_never_loses_fewer(buckets: dict[str, str], one_s: float, other_s: float) -> None:
    early, late = sorted((one_s, other_s))
    less, more = forfeited(buckets, early, 200.0), forfeited(buckets, late, 200.0)
    assert less <= more or len(less) <= len(more)
    assert len(more) == forfeited_count(len(buckets), late, 200.0)


@given(BUCKETS, st.floats(200, 240))
def test_buckets_lose_in_proportion_and_the_same_ones_each_time(buckets: dict[str, str], used_s: float) -> None:
    lost = forfeited(buckets, used_s, 200.0)
    assert lost == forfeited(dict(reversed(buckets.items())), used_s, 200.0)
    for bucket in set(buckets.values()):
        size = sum(b == bucket for b in buckets.values())
        exact = len(lost) * size / len(buckets)
        assert abs(sum(buckets[case] == bucket for case in lost) - exact) < 1


def test_the_ends_are_exact() -> None:
    assert forfeited_count(20, 220.0, 220.0) == 0
    assert forfeited_count(20, 220.0001, 220.0) == 1
    assert [forfeited_count(20, used, 220.0) for used in (264.0, 286.0, 300.0)] == [20, 20, 20]
    assert forfeited_count(20, 1e9, 220.0) == 20


def test_half_characters_in_an_answer_file_spoil_their_own_answer_alone(tmp_path: Path) -> None:
    spoil = "\nanswers[0]['content'] = answers[1]['note'] = chr(0xD800)\nanswers.append({'qID': chr(0xDC00)})"
    found = run(tmp_path, spoil + WRITE)
    assert outcomes(found) == {"q0": "invalid", "q1": "ok", "q2": "ok", "q3": "ok"}


HOSTILE = {
    "many rows": b"[" + b'{"qID":"x","content":{"a":[]}},' * 120_000 + b"{}]",
    "one huge row": b'[{"qID":"q0","content":"' + b"a" * 3_800_000 + b'"}]',
    "deep": b'[{"qID":"q0","content":' + b"[" * 1_900_000,
    "many keys": b'[{"qID":"q0",' + b",".join(b'"%d":1' % n for n in range(400_000)) + b"}]",
    "digits": b'[{"qID":"q0","content":"y","latency":' + b"9" * 3_800_000 + b"}]",
    "backslashes": b'[{"qID":"q0","content":"' + b"\\\\" * 1_900_000 + b'"}]',
    "brackets in text": b'[{"qID":"q0","content":"' + b"[{" * 30_000 + b'","latency":0.1}]',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_file_costs_little_memory(kind: str) -> None:
    """Rows for nobody, and things of the megabytes allowed; half a gigabyte was spent on such a file."""
    tracemalloc.start()
    try:
        found = read_answers(HOSTILE[kind], {"q0", "q1"})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000
    assert set(found.by_name) <= {"q0"}
    assert (found.problem == "") == (kind == "brackets in text")


@given(
    st.lists(st.fixed_dictionaries({"qID": st.sampled_from(["q0", "q1", "other"]), "content": st.text()}), max_size=9)
)
def test_rows_are_read_as_json_reads_them(rows: list[dict[str, str]]) -> None:
    found = read_answers(json.dumps(rows, indent=1).encode(), {"q0", "q1"})
    assert found.problem == ""
    assert {name: [one.content for one in given_] for name, given_ in found.by_name.items()} == {
        name: [row["content"] for row in rows if row["qID"] == name]
        for name in ("q0", "q1") if any(row["qID"] == name for row in rows)
    }  # fmt: skip
    assert found.strange == sum(row["qID"] == "other" for row in rows)


@given(st.binary(max_size=60))
def test_any_bytes_are_answers_or_a_problem(data: bytes) -> None:
    read_answers(b"[" + data, {"q0"})
    read_answers(data, {"q0"})
