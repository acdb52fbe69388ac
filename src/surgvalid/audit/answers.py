"""What only people can say about a study: every question once, with the kind of its answer.

A study file answers them under `[answers]`. `false` is an answer too: it was not done. What can be computed is never
asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class AuditQuestion(NamedTuple):
    """One question, and how its answer is written."""

    pitfall: str
    text: str
    kind: str
    """`text`, `number`, `names`, `shares`, `numbers`, `needs` or `claims`."""
    example: str
    """As TOML."""


QUESTIONS: Mapping[str, AuditQuestion] = {
    "target": AuditQuestion(
        "P1.1",
        "Which population is the system for: the wanted shares of centres, procedures, devices, countries?",
        "shares",
        '{center = {"A" = 0.5, "B" = 0.5}}',
    ),
    "exclusions": AuditQuestion(
        "P1.1", "Which videos or frames were left out, and by which criteria?", "text", '"none were left out"'
    ),
    "smallest_difference": AuditQuestion(
        "P1.2", "Which difference of the main metric would matter in the clinic?", "number", "0.05"
    ),
    "confounders": AuditQuestion(
        "P1.3",
        "Which properties of a recording could give the answer away (device, team, an instrument)?",
        "names",
        '["device", "suction"]',
    ),
    "sparsity": AuditQuestion(
        "P1.4",
        "Which frames, phases or objects were left without annotation on purpose, and why?",
        "text",
        '"phases were annotated at 1 fps from first incision to last stitch"',
    ),
    "protocol": AuditQuestion(
        "P1.5",
        "Which protocol did annotators follow, how many were there and what training had they?",
        "text",
        '"protocol 2.1, three surgical residents, disputes settled by a surgeon"',
    ),
    "tuned_on": AuditQuestion(
        "P1.6", "On which split were models, thresholds and settings chosen?", "text", '"validation"'
    ),
    "requirements": AuditQuestion(
        "P2.1",
        "Which clinical requirements are there, and which metric measures each?",
        "needs",
        '[{requirement = "no clipped duct is missed", metric = "recall", threshold = 0.95}]',
    ),
    "tolerance": AuditQuestion(
        "P2.3",
        "How far may an answer lie from the reference (in s, pixels, ...) and still count as right?",
        "number",
        "10",
    ),
    "tolerance_source": AuditQuestion(
        "P2.3", "Where does that tolerance come from?", "text", '"95 % of rater pairs lie within it"'
    ),
    "conventions": AuditQuestion(
        "P2.5",
        "How exactly was every metric computed (labels, averaging, empty masks, thresholds, frame rate)? "
        "Better under [metrics.NAME] for each.",
        "text",
        '"macro over 7 phases at 1 fps, absent phases left out"',
    ),
    "hyperparameters": AuditQuestion(
        "P2.6",
        "Why do the thresholds and tolerances of the metrics fit this clinical task?",
        "text",
        '"IoU 0.3: rough localisation is enough to point at a polyp"',
    ),
    "intervals": AuditQuestion(
        "P3.1",
        "Which units did reported intervals and tests take as independent: videos, rows, or were there none?",
        "text",
        '"videos"',
    ),
    "aggregation": AuditQuestion(
        "P3.2",
        "How were scores of frames, phases and videos turned into one number?",
        "text",
        '"mean over the frames of a video, then over videos"',
    ),
    "critical_phases": AuditQuestion(
        "P3.2", "Which phases or conditions are critical for the patient?", "names", '["clipping and cutting"]'
    ),
    "phase_weights": AuditQuestion(
        "P3.2", "How much does each phase weigh, where they weigh differently?", "numbers", '{"dissection" = 3}'
    ),
    "threshold": AuditQuestion(
        "P3.3",
        "Which value of the main metric would be good enough for the clinical task, and who says so?",
        "number",
        "0.9",
    ),
    "claims": AuditQuestion(
        "P3.3", "Which models does the study call better than which?", "claims", '[{better = "A", than = "B"}]'
    ),
    "ethics": AuditQuestion(
        "P3.5", "Which ethics approval and consent are there?", "text", '"approved, reference 12/2025"'
    ),
    "funding": AuditQuestion("P3.5", "Who funded the study, and with which interests?", "text", '"public grant"'),
    "bias": AuditQuestion(
        "P3.5", "What is said about bias and fairness: who is not represented?", "text", '"two centres in one country"'
    ),
    "availability": AuditQuestion("P3.5", "Which data and code can others get, and how?", "text", '"code public"'),
}
"""Every question by the key of its answer."""
_KINDS = {
    "text": "a text, or false where it was not done",
    "number": "a number",
    "names": "a list of names",
    "shares": "shares by value for each property",
    "numbers": "a number for each name",
    "needs": "a list of {requirement, metric, threshold}",
    "claims": "a list of {better, than}",
}


def is_answered(value: Any) -> bool:
    """Whether something stands there; `false` is an answer, an empty text, list or table is none."""
    return value is not None and value not in ("", [], {})


def answer_problems(key: str, value: Any) -> Iterator[str]:
    """What is wrong with an answer, in words."""
    if not is_answered(value) or value is False:
        return
    kind = QUESTIONS[key].kind
    if not _fits(kind, value):
        yield f"answers.{key} must be {_KINDS[kind]}, such as {QUESTIONS[key].example}; got {value!r}"
    elif kind == "shares":
        for name, shares in value.items():
            if abs(sum(shares.values()) - 1) > 0.01:
                yield f"answers.{key}.{name}: the shares add up to {sum(shares.values()):g}, not to 1"


def _fits(kind: str, value: Any) -> bool:
    if kind == "text":
        return isinstance(value, str)
    if kind == "number":
        return _is_number(value)
    if kind == "names":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind == "numbers":
        return _are_numbers(value)
    if kind == "shares":
        return isinstance(value, dict) and all(
            _are_numbers(shares) and all(share >= 0 for share in shares.values()) for shares in value.values()
        )
    needed = {"needs": {"requirement"}, "claims": {"better", "than"}}[kind]
    allowed = {"needs": {"requirement", "metric", "threshold"}, "claims": needed}[kind]
    return isinstance(value, list) and all(
        isinstance(one, dict) and needed <= one.keys() <= allowed and _texts(one) for one in value
    )


def _texts(one: Mapping[str, Any]) -> bool:
    texts = {name: value for name, value in one.items() if name != "threshold"}
    return all(isinstance(value, str) for value in texts.values()) and _is_number(one.get("threshold", 0))


def _are_numbers(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(_is_number(number) for number in value.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
