"""The ledger says at every second what a plain walk through the annotations says."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from brute_force_ledger import PlainReading
from procedures import random_procedure, tiny_procedure
from surgvalid.schema.procedures.foreign_objects import FOREIGN_OBJECTS, ForeignObject
from surgvalid.schema.procedures.ledger import RULES, Ledger, State
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Event, EventKind, Procedure, Span, Visibility, track_from_points

SEEDS = range(80)
CLASSES = (None, "Sponge", "Clip", "Gallstone")


def windows(procedure: Procedure, seed: int, count: int = 6) -> list[Window]:
    draw = np.random.default_rng(seed)
    pairs = np.sort(draw.integers(0, procedure.duration_s, (count, 2)), axis=1)
    return [Window(int(a), int(b)) for a, b in pairs] + [Window(0, procedure.duration_s - 1)]


@pytest.mark.parametrize("seed", SEEDS)
def test_states_and_views_agree_at_every_second(seed):
    procedure = random_procedure(seed)
    ledger, plain = Ledger(procedure), PlainReading(procedure)
    for entry in ledger.entries:
        name = entry.instance
        assert [entry.state_at(s).value for s in plain.seconds[::3]] == [
            plain.state(name, s) for s in plain.seconds[::3]
        ]
        assert [s for s in plain.seconds if entry.views.has(s)] == sorted(plain.points[name])
    for second in plain.seconds[::7]:
        assert [entry.instance for entry in ledger.in_view(second)] == plain.seen(second)
        expected = {name: Counter(plain.state(n, second) for n in plain.named(name)) for name in ledger.class_names}
        assert {name: {k.value: v for k, v in c.items()} for name, c in ledger.counts(second).items()} == expected
        for name in CLASSES:
            assert ledger.most_in_view(Window(second, second), name).most == len(plain.seen(second, name))
            assert [e.instance for e in ledger.introduced(name, second)] == plain.introduced(second, name)
            assert [e.instance for e in ledger.outstanding(name, second)] == plain.outstanding(second, name)
            back = [n for n in plain.introduced(second, name) if plain.is_back(n, second)]
            assert [e.instance for e in ledger.retrieved(name, second)] == back


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_agree_with_their_seconds(seed):
    procedure = random_procedure(seed)
    ledger, plain = Ledger(procedure), PlainReading(procedure)
    for window in windows(procedure, seed):
        inside = range(window.start_s, window.end_s + 1)
        for name in CLASSES:
            counted = [len(plain.seen(s, name)) for s in inside]
            assert ledger.most_in_view(window, name) == (max(counted), window.start_s + counted.index(max(counted)))
            assert ledger.seconds_in_view(name, window) == sum(count > 0 for count in counted)
            seen = [n for n in plain.named(name) if any(s in plain.points[n] for s in inside)]
            assert [entry.instance for entry in ledger.seen_in(window, name)] == seen
        told = [e for e in procedure.events if window.start_s <= e.second <= window.end_s and e.kind == "placed"]
        assert ledger.events(window, kinds=[EventKind.PLACED]) == told


@pytest.mark.parametrize("seed", SEEDS)
def test_a_blinking_reader_overlooks_single_seconds(seed):
    procedure = random_procedure(seed)
    blinking, plain = Ledger(procedure).blinking, PlainReading(procedure, blink=True)
    for entry in blinking.entries:
        assert entry.views.seconds.tolist() == sorted(plain.points[entry.instance])


def test_whereabouts_tell_the_last_known_place():
    ledger = Ledger(tiny_procedure())
    at_20 = ledger.whereabouts("sponge 1", 20)
    assert at_20 == (State.IN_BODY, False, 15, "gallbladder fossa")
    assert ledger.whereabouts("sponge 1", 3) == (State.NOT_YET, False, None, None)
    assert ledger.whereabouts("sponge 1", 40).state is State.RETRIEVED
    assert ledger.visibility("sponge 1", 15) is Visibility.OCCLUDED
    assert ledger.visibility("sponge 1", 16) is Visibility.OUTSIDE


def test_absences_lie_between_two_views():
    ledger = Ledger(tiny_procedure())
    assert ledger.absences("Sponge", Window(0, 59)) == [Span(16, 25)]
    assert ledger.absences("Sponge", Window(0, 24)) == []


def test_a_clip_counts_only_once_placed():
    ledger = Ledger(tiny_procedure())
    assert ledger.state("clip 1", 13) is State.NOT_YET
    assert ledger.state("clip 1", 14) is State.IN_BODY
    assert ledger.views("clip 1") == (Span(14, 40),)
    assert ledger.outstanding("Clip", 20) == []


def test_a_stone_in_a_bag_counts_as_retrieved_and_leaves_with_it():
    ledger = Ledger(tiny_procedure())
    assert [e.instance for e in ledger.outstanding("Gallstone", 40)] == ["stone 1"]
    assert ledger.outstanding("Gallstone", 41) == []
    assert [ledger.state("stone 1", s) for s in (41, 49, 50)] == [State.BAGGED, State.BAGGED, State.RETRIEVED]


def test_a_sponge_in_a_bag_is_still_to_be_retrieved():
    sponge = track_from_points("s", "Sponge", [(1, (0, 0, 5, 5))])
    procedure = Procedure("v", "p", "c", 9, 9, 9, (sponge,), (Event(EventKind.BAGGED, 2, "s"),))
    assert [e.instance for e in Ledger(procedure).outstanding(None, 5)] == ["s"]


def test_a_drain_left_by_intent_is_not_outstanding():
    drain = track_from_points("d", "External Drain", [(1, (0, 0, 5, 5))])
    procedure = Procedure("v", "p", "c", 9, 9, 9, (drain,), (Event(EventKind.LEFT_IN_SITU, 4, "d"),))
    ledger = Ledger(procedure)
    assert ledger.outstanding(None, 3) != []
    assert ledger.outstanding(None, 4) == []
    assert [e.instance for e in ledger.inside(None, 4)] == ["d"]


def test_definitions_decide_what_may_stay():
    tack = track_from_points("t", "Tack", [(1, (0, 0, 5, 5))])
    procedure = Procedure("v", "p", "c", 9, 9, 9, (tack,))
    assert Ledger(procedure).outstanding(None, 5) != []
    assert Ledger(procedure, objects=(*FOREIGN_OBJECTS, ForeignObject("Tack", "", True))).outstanding(None, 5) == []


def test_an_object_that_nothing_tells_of_never_counts():
    ghost = track_from_points("g", "Sponge", [])
    ledger = Ledger(Procedure("v", "p", "c", 9, 9, 9, (ghost,)))
    assert ledger.introduced(None, 8) == []
    assert ledger.state("g", 8) is State.NOT_YET


def test_a_masked_second_shows_nothing():
    ledger = Ledger(replace(tiny_procedure(), masked=(Span(7, 9),)))
    assert ledger.views("sponge 1")[:2] == (Span(5, 7), Span(9, 16))


def test_a_procedure_without_objects_has_an_empty_ledger():
    ledger = Ledger(Procedure("v", "p", "c", 9, 9, 9))
    assert ledger.in_view(3) == []
    assert ledger.most_in_view(Window(0, 8)) == (0, 0)
    assert ledger.counts(3) == {}


def test_every_rule_has_a_text():
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(len(rule.text.split()) > 8 for rule in RULES)
