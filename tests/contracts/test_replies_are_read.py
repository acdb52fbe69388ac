"""The reader of replies keeps its error: on labelled replies, and on those whose texts its author had not read.

`python tests/contracts/test_replies_are_read.py` writes the counts that the package carries.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import chain
from typing import Any

import pytest

from labelled_replies import LOST, ONCE_NEW, ORDINARY, READ, SCORED, SET, counted, is_set_aside, outcome_of
from surgvalid.asking.reading import PARSER_VERSION, ReadingPolicy, read_reply
from surgvalid.asking.reading.measured import FILE, measured

NO_ANSWERS = ("refusal", "hedge", "denial")


def test_few_replies_are_read_wrongly_and_few_are_lost() -> None:
    counts = counted(SCORED)
    assert counts["all"] == 904
    assert counts[READ] / counts["all"] <= 0.005
    assert counts[LOST] / counts["with a value"] <= 0.04


def test_replies_that_were_set_aside_are_read_as_well() -> None:
    counts = counted(record for record in SCORED if is_set_aside(record))
    assert counts["all"] == 147
    assert counts[READ] / counts["all"] <= 0.01
    assert counts[LOST] / counts["with a value"] <= 0.06


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("fresh", 440),
        ("held", 708),
        ("third", 650),
        ("fourth", 512),
        ("fifth", 460),
        ("sixth", 352),
        ("seventh", 319),
        ("eighth", 406),
        ("ninth", 429),
    ],
)
def test_replies_that_were_new_once_are_read_as_well(name: str, size: int) -> None:
    counts = counted(ONCE_NEW[name])
    assert counts["all"] == size
    assert counts[READ] / counts["all"] <= 0.01
    assert counts[LOST] / counts["with a value"] <= 0.06


def test_short_replies_written_to_mislead_are_read_as_they_were() -> None:
    counts = counted(ONCE_NEW["tenth"])
    assert counts["all"] == 146
    assert counts[READ] <= 0
    assert counts[LOST] <= 6


@pytest.mark.parametrize(("name", "size", "read", "lost"), [("ordinary", 291, 0, 0), ("recorded", 234, 1, 3)])
def test_replies_as_models_give_them_are_read(name: str, size: int, read: int, lost: int) -> None:
    counts = counted(ORDINARY[name])
    assert counts["all"] == size
    assert counts[READ] <= read
    assert counts[LOST] <= lost


@pytest.mark.parametrize("reason", NO_ANSWERS)
def test_no_refusal_hedge_or_denial_is_read_as_an_answer(reason: str) -> None:
    records = [record for record in chain(SCORED, *ONCE_NEW.values(), *ORDINARY.values()) if record["reason"] == reason]
    assert records
    assert [record["reply"] for record in records if outcome_of(record)[0] == READ] == []


def test_strict_reads_no_more_than_careful_and_lenient_no_refusal() -> None:
    for record in SCORED:
        careful, strict, lenient = (
            read_reply(record["reply"], record["schema"], finish=record["finish"], policy=policy)
            for policy in (ReadingPolicy.CAREFUL, ReadingPolicy.STRICT, ReadingPolicy.LENIENT)
        )
        assert not strict.usable or strict == careful
        assert not careful.usable or lenient == careful
        assert not lenient.usable or careful.usable or lenient.path.startswith("guess: ")
        assert not (record["reason"] == "refusal" and lenient.usable)


def test_the_package_carries_what_was_measured() -> None:
    assert measured() == counts_of_the_set(), "run this file to write the counts of the present reader"


def counts_of_the_set() -> dict[str, Any]:
    groups: dict[str, dict[str, Counter[str]]] = {"kinds": {}, "paths": {}}
    for record in SCORED:
        outcome, reading = outcome_of(record)
        for group, name in (("kinds", record["kind"]), ("paths", reading.path if reading.usable else "")):
            counts = groups[group].setdefault(name, Counter(replies=0, with_value=0, wrongly_read=0, wrongly_lost=0))
            counts.update(
                replies=1,
                with_value=record["label"] is not None,
                wrongly_read=outcome == READ,
                wrongly_lost=outcome == LOST,
            )
    total = sum(groups["kinds"].values(), Counter())
    names = ("replies", "with_value", "wrongly_read", "wrongly_lost")
    made = {
        group: {name: {key: counts[key] for key in names} for name, counts in sorted(held.items()) if name}
        for group, held in groups.items()
    }
    digest = hashlib.sha256(SET.read_bytes()).hexdigest()
    return {"reader": PARSER_VERSION, "set": digest, "total": {key: total[key] for key in names}, **made}


if __name__ == "__main__":
    FILE.write_text(json.dumps(counts_of_the_set(), indent=0, sort_keys=False) + "\n", encoding="utf-8")
