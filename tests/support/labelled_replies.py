"""Labelled replies and what becomes of them: right, wrongly read or wrongly lost, by the rules beside the set."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from repository import REPOSITORY
from surgvalid.asking.reading import ReplyReading, read_reply

SET = REPOSITORY / "tests" / "data" / "replies" / "replies.jsonl"


def scored(path: Path) -> list[dict[str, Any]]:
    """The records of a set that count in rates."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [record for record in records if not record["lenient"]]


SCORED = scored(SET)
ONCE_NEW = {
    name: scored(SET.with_name(f"{name}.jsonl"))
    for name in ("fresh", "held", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
}
ORDINARY = {name: scored(SET.with_name(f"{name}.jsonl")) for name in ("ordinary", "recorded")}
RIGHT, READ, LOST = "right", "wrongly read", "wrongly lost"


def is_set_aside(record: dict[str, Any]) -> bool:
    """Whether the text of a record was not read while the reader was written: a sixth of all, by the hash of its name.

    The counts of this part were looked at after changes, so it is no clean measure of new replies.
    """
    return int(hashlib.sha256(record["id"].encode()).hexdigest(), 16) % 6 == 0


def outcome_of(record: dict[str, Any]) -> tuple[str, ReplyReading]:
    """What becomes of a record."""
    reading = read_reply(record["reply"], record["schema"], finish=record["finish"])
    if not reading.usable:
        return (RIGHT if record["label"] is None else LOST), reading
    equal = record["label"] is not None and _EQUAL.get(record["kind"], _same)(record["label"], reading.value)
    return (RIGHT if equal else READ), reading


def counted(records: Iterable[dict[str, Any]]) -> Counter[str]:
    """How many records end in which way, and how many have a value."""
    counts: Counter[str] = Counter()
    for record in records:
        counts[outcome_of(record)[0]] += 1
        counts["all"] += 1
        counts["with a value"] += record["label"] is not None
    return counts


def _same(label: Any, value: Any) -> bool:
    return bool(label == value)


def _labels(label: dict[str, bool | None], value: dict[str, bool | None]) -> bool:
    if all(one is None for one in label.values()):
        return all(one is False for one in value.values())
    return all(value[name] is one if one is not None else value[name] is not True for name, one in label.items())


def _near(tolerance: float) -> Any:
    return lambda label, value: (
        len(label) == len(value) and all(abs(a - b) <= tolerance for a, b in zip(label, value, strict=True))
    )


def _boxes(label: list[list[Any]], value: list[tuple[Any, ...]]) -> bool:
    left = list(value)
    for name, *numbers in label:
        fitting = [one for one in left if one[0] == name and _near(1)(numbers, one[1:])]
        if not fitting:
            return False
        left.remove(fitting[0])
    return not left


def _open(label: dict[str, list[str]], value: str) -> bool:
    small = value.casefold()
    holds = all(text.casefold() in small for text in label["contains"])
    return holds and not any(text.casefold() in small for text in label["lacks"])


_EQUAL: dict[str, Any] = {
    "labels": _labels,
    "triplet": lambda label, value: set(label) == set(value),
    "focus_fo_class": lambda label, value: set(label) == set(value),
    "span": _near(0.5),
    "focus_time": _near(0.5),
    "boxes": _boxes,
    "focus_percentage": lambda label, value: abs(label - value) <= 0.05,
    "focus_open_ended": _open,
}
