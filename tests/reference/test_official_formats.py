"""Every answer format against the official toolkit's own classes, on thousands of generated pairs."""

from __future__ import annotations

import random
from typing import Any

import pytest
from bench.official_toolkit import import_focus
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from surgvalid.schema.questions.formats import Unreadable, build_format
from surgvalid.schema.questions.taxonomy import Capability

focus = import_focus()

SEEDS = {
    "binary": ["yes", "no", "Yes", "NO", "y", "true", "yes no", "ｙｅｓ", "nо"],
    "number": ["0", "3", "003", "12", "-1", "+3", "3.0", "1,000", "1_0", "two", "٣", "３", "²", "①", "9" * 4301, "Ⅷ"],
    "percentage": [
        "50",
        "50%",
        "50 %",
        "50.5",
        "50.",
        ".5",
        "45%",
        "55%",
        "54.999999",
        "1e2",
        "-5",
        "5,5",
        "٥٠%",
        "9" * 400,
    ],
    "fo_class": [
        "Clip",
        "clip, sponge",
        "none",
        "None,",
        "none, clip",
        "none,none",
        "Clips",
        "Specimen Bag",
        "specimen  bag",
        "Clip;Sponge",
        "Clip., Sponge",
        ",",
        "External Drain,clip,,CLIP",
    ],
    "open_ended": ["liver bed", "", " ", "x" * 300, "x" * 301, " " + "y" * 300 + " ", "ß" * 300],
    "multiple_choice": ["A", "option b", "", "z" * 301],
    "matching": ["ab", "ABC", "a" * 299, "12", "", "a" * 301],
    "time": [
        "00:00:05",
        "00:00:10",
        "00:00:05,00:00:10",
        "00:00:10, 00:00:05",
        "99:59:59",
        "00:60:00",
        "0:00:05",
        "٠٠:٠٠:٠٥",
        "00:00:5",
        "00:00:05,",
        "00:00:05,00:00:05",
        ",",
        "00-00-05",
    ],
}
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "percentage": [{}, {"threshold_pp": 0}, {"threshold_pp": 10.0}, {"threshold_pp": "5"}],
    "fo_class": [{}, {"valid_names": ["Tack", "Clip"]}, {"valid_names": ["clip", "CLIP"]}],
    "open_ended": [{}, {"max_length": 5}],
    "matching": [{"pattern": "[a-z]+"}, {"pattern": "(?i)a.*", "max_length": 3}],
    "time": [{}, {"threshold_seconds": 0}, {"threshold_seconds": 1.6666666666666667}, {"threshold_seconds": 5}],
}
FRAMES = ["{}", " {} ", "{}.", "{} .", "{}..", "\u00a0{}", "{}\u200b", "\x1c{}\n", '"{}"', "{}!", ".{}"]


def pairs(count: int) -> list[tuple[str, dict[str, Any], str, str]]:
    chosen = random.Random(20261)
    found = []
    for _ in range(count):
        name = chosen.choice(list(SEEDS))
        reference, response = (chosen.choice(SEEDS[name]) for _ in range(2))
        if chosen.random() < 0.4:
            response = reference.swapcase()
        frame = chosen.choice(FRAMES)
        found.append((name, chosen.choice(PARAMETERS.get(name, [{}])), reference, frame.format(response)))
    return found


def official(name: str, parameters: dict[str, Any], reference: str, response: str) -> tuple[Any, ...]:
    theirs = focus.get_format_class(name)(**parameters)
    try:
        expected = theirs.read(reference)
    except ValueError:
        return ("reference refused",)
    try:
        got = theirs.read(response)
    except ValueError:
        return ("response refused",)
    return ("read", theirs.compare(expected, got))


def ours(name: str, parameters: dict[str, Any], reference: str, response: str) -> tuple[Any, ...]:
    built = build_format(name, parameters, check_kinds=False)
    try:
        expected = built.parse(reference)
    except Unreadable:
        return ("reference refused",)
    try:
        got = built.parse(response)
    except Unreadable:
        return ("response refused",)
    return ("read", built.compare(expected, got))


def test_twelve_thousand_generated_pairs_are_decided_alike() -> None:
    different = [pair for pair in pairs(12_000) if official(*pair) != ours(*pair)]
    assert different == []


def test_the_generated_pairs_reach_every_outcome_of_every_format() -> None:
    reached = {(pair[0], official(*pair)) for pair in pairs(12_000)}
    for name in ("binary", "number", "percentage", "fo_class", "time"):
        assert {(name, ("read", True)), (name, ("read", False)), (name, ("response refused",))} <= reached


@pytest.mark.parametrize("name", list(SEEDS))
@given(text=st.text(max_size=30) | st.text("0123456789:%., ٣²yesno\u00a0\x1f", max_size=14), data=st.data())
@settings(max_examples=many(150))
def test_any_text_is_read_or_refused_alike(name: str, text: str, data: st.DataObject) -> None:
    parameters = data.draw(st.sampled_from(PARAMETERS.get(name, [{}])))
    pair = (name, parameters, data.draw(st.sampled_from(SEEDS[name])), text)
    assert official(*pair) == ours(*pair)


@given(st.one_of(st.none(), st.integers(), st.text(max_size=40), st.sampled_from([c.name for c in Capability])))
@settings(max_examples=many(300))
@pytest.mark.filterwarnings("ignore:Unable to convert")
def test_capabilities_are_recognised_alike(value: object) -> None:
    theirs = focus.Capability.from_any(value)
    mine = Capability.named(value)
    assert (theirs is None) == (mine is None)
    assert theirs is None or theirs.value == mine


def test_codes_groups_and_class_names_are_the_official_ones() -> None:
    from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES

    for capability in Capability:
        theirs = focus.Capability(capability.value)
        assert (theirs.code, theirs.group.value) == (capability.code, capability.group.value)
    assert focus.FOType.names() == CLASS_NAMES
