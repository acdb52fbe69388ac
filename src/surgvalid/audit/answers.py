"""What only people can say about a study: every question once, with the kind of its answer.

A study file answers them under `[answers]`. `false` is an answer too: it was not done. What can be computed is never
asked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
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
    key: AuditQuestion(**one)
    for key, one in tomllib.loads(Path(__file__).with_name("questions.toml").read_text(encoding="utf-8")).items()
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
