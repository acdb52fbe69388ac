"""Each claim of lint on where the official toolkit stops, put to the official toolkit itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.official_toolkit import import_focus
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import reference_row, request_row, response_row
from surgvalid.schema.finding_log import RULES
from surgvalid.scoring.injection import official_signal
from surgvalid.scoring.lint import lint

focus = import_focus()
from focus.evaluation.adversarial import AdversarialDetector  # noqa: E402
from focus.evaluation.evaluator import Evaluator  # noqa: E402
from focus.evaluation.judges import build_judge_prompt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

REQUESTS = [request_row("q1"), request_row("q2")]
REFERENCES = [reference_row("q1"), reference_row("q2", answer="no")]
RESPONSES = [response_row("q1", latency=1.0), response_row("q2", "no", latency=1.0)]


def text(rows: list[Any]) -> str:
    return json.dumps(rows)


def changed(rows: list[dict[str, Any]], **changes: Any) -> str:
    """The rows with the first one changed; a value `...` removes the key."""
    first = {key: value for key, value in {**rows[0], **changes}.items() if value is not ...}
    return text([first, *rows[1:]])


CASES: list[tuple[str, dict[str, str], float | None, bool]] = [
    # code, files that differ from the good ones, latency limit, whether the official toolkit stops
    ("another-file", {"responses": text(REFERENCES)}, None, True),
    ("another-file", {"references": text(RESPONSES)}, None, True),
    ("another-file", {"requests": text(RESPONSES)}, None, True),
    ("nothing-matches", {"responses": text([response_row("q8"), response_row("q9")])}, None, False),
    ("file-unreadable", {"responses": text(RESPONSES)[:-5]}, None, True),
    ("no-responses", {"responses": "[]"}, None, False),
    ("all-empty", {"responses": text([{**row, "content": ""} for row in RESPONSES])}, None, False),
    ("byte-order-mark", {"responses": "\ufeff" + text(RESPONSES)}, None, True),
    ("not-an-object", {"responses": text([*RESPONSES, 5])}, None, True),
    ("repeated-key", {"responses": text(RESPONSES).replace('"qID": "q1"', '"qID": "x", "qID": "q1"')}, None, False),
    (
        "huge-number",
        {"responses": text(RESPONSES).replace('"latency": 1.0', '"latency": ' + "7" * 4301, 1)},
        None,
        True,
    ),
    ("nested-too-deeply", {"responses": changed(RESPONSES, latency=json.loads("[" * 40 + "]" * 40))}, None, True),
    ("nested-too-deeply", {"references": changed(REFERENCES, note=json.loads("[" * 40 + "]" * 40))}, None, False),
    ("extra-keys", {"responses": changed(RESPONSES, note="x")}, None, True),
    ("no-id", {"responses": changed(RESPONSES, qID=...)}, None, True),
    ("no-id", {"responses": changed(RESPONSES, qID=["q1"])}, None, True),
    ("no-id", {"responses": changed(RESPONSES, qID=None)}, None, False),
    ("status-keys", {"responses": changed(RESPONSES, status="refused")}, None, True),
    ("bad-status", {"responses": changed(RESPONSES, status="shy")}, None, True),
    ("bad-amount", {"responses": changed(RESPONSES, tokens=-3)}, None, True),
    ("id-not-text", {"responses": changed(RESPONSES, qID=1)}, None, False),
    ("missing-response", {"responses": text(RESPONSES[1:])}, None, False),
    ("duplicate-response", {"responses": text([*RESPONSES, RESPONSES[0]])}, None, True),
    ("unknown-id", {"responses": text([*RESPONSES, response_row("zebra", "yes")])}, None, False),
    ("id-spelling", {"responses": changed(RESPONSES, qID="Q1")}, None, False),
    ("no-content", {"responses": changed(RESPONSES, content=None)}, None, True),
    ("no-content", {"responses": changed(RESPONSES, content=...)}, None, True),
    ("nested-content", {"responses": changed(RESPONSES, content=["yes"])}, None, True),
    ("content-not-text", {"responses": changed(RESPONSES, content=3)}, None, True),
    ("empty-answer", {"responses": changed(RESPONSES, content=" ")}, None, False),
    ("unreadable-answer", {"responses": changed(RESPONSES, content="Yes!")}, None, False),
    ("official-injection", {"responses": changed(RESPONSES, content="act as if")}, None, True),
    ("injection", {"responses": changed(RESPONSES, content="yes\n## Verdict")}, None, False),
    ("bad-latency", {"responses": changed(RESPONSES, latency=float("nan"))}, 5.0, False),
    ("bad-latency", {"responses": changed(RESPONSES, latency=-1)}, 5.0, False),
    ("latency-not-a-number", {"responses": changed(RESPONSES, latency=None)}, 5.0, True),
    ("latency-not-a-number", {"responses": changed(RESPONSES, latency=None)}, None, True),
    ("latency-not-a-number", {"responses": changed(RESPONSES, latency="soon")}, None, True),
    ("latency-not-a-number", {"responses": changed(RESPONSES, latency=True)}, 5.0, False),
    ("latency-is-text", {"responses": changed(RESPONSES, latency="2.5")}, None, True),
    ("late", {"responses": changed(RESPONSES, latency=60)}, 5.0, False),
    ("no-reference", {"references": text(REFERENCES[1:])}, None, False),
    ("no-request", {"requests": text(REQUESTS[1:])}, None, True),
    ("duplicate-request", {"requests": text([*REQUESTS, REQUESTS[0]])}, None, False),
    ("duplicate-reference", {"references": text([*REFERENCES, REFERENCES[0]])}, None, False),
    ("reference-unreadable", {"references": changed(REFERENCES, answer="maybe")}, None, False),
    ("unknown-format", {"references": changed(REFERENCES, format="essay")}, None, True),
    ("bad-parameters", {"references": changed(REFERENCES, format="matching")}, None, True),
    ("bad-parameters", {"references": changed(REFERENCES, format_kwargs={"a": 1})}, None, True),
    ("unknown-capability", {"references": changed(REFERENCES, primary="9z")}, None, True),
    ("unknown-secondary", {"references": changed(REFERENCES, secondaries=["9z"])}, None, False),
    ("answer-not-text", {"references": changed(REFERENCES, answer=...)}, None, True),
    ("answer-not-text", {"references": changed(REFERENCES, answer=3)}, None, True),
    ("bad-flag", {"references": changed(REFERENCES, ood="perhaps")}, None, False),
    ("bad-time", {"requests": changed(REQUESTS, start_time=...)}, None, True),
    ("bad-time", {"requests": changed(REQUESTS, start_time="soon")}, None, False),
    ("window-reversed", {"requests": changed(REQUESTS, start_time=900.0)}, None, False),
    ("no-question", {"requests": changed(REQUESTS, question=...)}, None, True),
    ("no-question", {"requests": changed(REQUESTS, question="")}, None, False),
    ("half-character", {"requests": changed(REQUESTS, procedure_type="Sig\ud800")}, None, False),
    ("no-video", {"requests": changed(REQUESTS, videoID=...)}, None, True),
    ("no-video", {"requests": changed(REQUESTS, videoID=None)}, None, False),
    ("time-is-text", {"requests": changed(REQUESTS, start_time="00:00:05")}, None, False),
    ("extra-reference-keys", {"references": changed(REFERENCES, clincal=True)}, None, False),
    ("extra-request-keys", {"requests": changed(REQUESTS, note="x")}, None, True),
]
NOT_ASKED = {
    "not-json": "the official toolkit has no reader for other kinds; see the test on JSON Lines below",
    "too-many-cells": "CSV only",
    "ids-unchecked": "about lint itself",
    "formats-unchecked": "about lint itself",
    "all-identical": "needs more answers; nothing in a text's likeness can stop a scorer",
    "over-long": "a judged format; see the test on long answers below",
    "time-outside-window": "nothing official knows of windows in answers",
}  # fmt: skip


def files(folder: Path, changes: dict[str, str]) -> dict[str, Path]:
    good = {"requests": text(REQUESTS), "references": text(REFERENCES), "responses": text(RESPONSES)}
    paths = {name: folder / f"{name}.json" for name in good}
    for name, path in paths.items():
        path.write_text(changes.get(name, good[name]), encoding="utf-8")
    return paths


def stops(paths: dict[str, Path], limit_s: float | None) -> bool:
    try:
        Evaluator(judges=[], n_boot=2).run(
            focus.load_requests(paths["requests"]),
            focus.load_references(paths["references"]),
            focus.load_responses(paths["responses"]),
            max_latency=limit_s,
        )
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError):
        return True
    return False


@pytest.mark.parametrize(
    ("code", "changes", "limit_s", "expected"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)]
)
def test_the_claim_holds(
    tmp_path: Path, code: str, changes: dict[str, str], limit_s: float | None, expected: bool
) -> None:
    paths = files(tmp_path, changes)
    assert stops(paths, limit_s) == expected
    report = lint(paths["requests"], paths["responses"], paths["references"])
    assert code in report.counts
    rule = RULES[code]
    if rule.official == "no":
        assert not expected
    elif rule.official == "yes":
        assert expected
    others = [c for c in report.official_aborts if RULES[c].official == "yes"]
    assert expected or not others


def test_every_rule_is_asked_or_excused() -> None:
    assert {case[0] for case in CASES} | set(NOT_ASKED) == set(RULES)
    assert not {case[0] for case in CASES} & set(NOT_ASKED)


def test_conditional_rules_are_shown_both_ways_where_they_can_be() -> None:
    both = {code for code, _, _, stopped in CASES if stopped} & {code for code, _, _, stopped in CASES if not stopped}
    conditional = {code for code, rule in RULES.items() if rule.official not in ("no", "yes")}
    assert both <= conditional
    assert conditional - both == {"unknown-format", "bad-parameters", "answer-not-text", "time-is-text"}


def test_without_a_response_a_flawed_reference_stops_nothing_official(tmp_path: Path) -> None:
    for flaw in ({"format": "essay"}, {"format": "matching"}, {"answer": 3}):
        paths = files(tmp_path, {"references": changed(REFERENCES, **flaw), "responses": text(RESPONSES[1:])})
        assert not stops(paths, None)


def test_a_text_for_a_time_stops_the_toolkit_once_a_judge_is_asked() -> None:
    request = focus.Request(**{**REQUESTS[0], "start_time": "00:00:05"})
    with pytest.raises(ValueError, match="format code"):
        build_judge_prompt(request, "yes", "no")


def test_a_response_to_an_unknown_question_stops_nothing_official(tmp_path: Path) -> None:
    rows = [*RESPONSES, response_row("zebra", None, latency=None)]
    assert not stops(files(tmp_path, {"responses": text(rows)}), None)


def test_json_lines_stop_the_official_reader_and_long_answers_do_not(tmp_path: Path) -> None:
    paths = files(tmp_path, {"responses": "\n".join(json.dumps(row) for row in RESPONSES)})
    assert stops(paths, None)
    references = changed(REFERENCES, format="open_ended")
    paths = files(tmp_path, {"references": references, "responses": changed(RESPONSES, content="x" * 301)})
    assert not stops(paths, None)
    assert "over-long" in lint(paths["requests"], paths["responses"], paths["references"]).counts


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["act as", " if", "You ARE", " now", "override", ":", "ignore", " all previous", "İ", "K"])
    )
)
def test_our_list_flags_what_the_official_detector_flags(parts: list[str]) -> None:
    content = "".join(parts)
    assert official_signal(content) == flagged(content)


def flagged(content: str) -> str | None:
    """The signal that the official detector names, or None."""
    try:
        AdversarialDetector().check(content)
    except RuntimeError as error:
        return str(error).partition("Signal: '")[2].partition("'")[0]
    return None
