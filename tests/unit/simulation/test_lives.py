"""Objects live as their rules say: they come in their phase, go on a story that can be true, and end as stated."""

from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from surgvalid.schema.procedures.procedure_problems import contradictions
from surgvalid.schema.procedures.tracks import Detail, EventKind
from surgvalid.simulation import PROCEDURE_TYPES, draw_scene, true_procedure
from surgvalid.simulation.procedure_types import SIZES, SPECIMEN_SIZES, Ending

ROUNDS = 12


@cache
def scenes(kind: str):
    return [draw_scene(11, number, procedure=kind, minutes=(25, 60)) for number in range(ROUNDS)]


def lives(kind: str):
    return [(scene, life) for scene in scenes(kind) for life in scene.lives]


def rules_of(kind: str, class_name: str):
    return [rule for rule in PROCEDURE_TYPES[kind].objects if rule.class_name == class_name]


def seconds_of(life, kind: EventKind) -> list[int]:
    return [event.second for event in life.events if event.kind is kind]


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_objects_come_in_the_phase_of_a_rule_and_never_more_than_it_allows(kind):
    for scene in scenes(kind):
        spans = {phase.model.name: (phase.start_s, phase.end_s) for phase in scene.phases}
        for life in scene.lives:
            homes = [spans[rule.phase] for rule in rules_of(kind, life.class_name) if rule.phase in spans]
            assert any(start <= life.born_s <= end for start, end in homes), life.instance
        counts = Counter(life.class_name for life in scene.lives)
        for class_name, count in counts.items():
            assert count <= sum(rule.count[1] for rule in rules_of(kind, class_name))


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_rules_come_true_as_often_as_their_chance(kind):
    classes = {rule.class_name for rule in PROCEDURE_TYPES[kind].objects}
    for class_name in classes:
        rules = rules_of(kind, class_name)
        phases = {phase.name: phase.chance for phase in PROCEDURE_TYPES[kind].phases}
        if any(rule.chance * phases[rule.phase] * phases[rule.until] >= 1 for rule in rules):
            assert all(any(life.class_name == class_name for life in scene.lives) for scene in scenes(kind))


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_a_life_is_a_story_that_can_be_true(kind):
    for scene, life in lives(kind):
        seconds = [event.second for event in life.events]
        assert seconds == sorted(seconds)
        assert all(0 <= second < scene.duration_s for second in seconds)
        assert life.born_s < life.gone_s <= scene.duration_s
        for ending in (EventKind.RETRIEVED, EventKind.BAGGED):
            assert all(second >= life.gone_s - 1 for second in seconds_of(life, ending))
    short = draw_scene(11, 0, procedure=kind, minutes=(2, 2), width_px=96, height_px=54)
    assert contradictions(true_procedure(short)) == []


@pytest.mark.parametrize("minutes", [(1, 1), (4, 6), (12, 15)])
def test_no_hand_holds_two_things_at_once(minutes):
    held = 0
    for kind in PROCEDURE_TYPES:
        for number in range(4):
            drawn = draw_scene(12, number, procedure=kind, minutes=minutes).lives
            holds = sorted((hold.slot, *hold.stretch, life.instance) for life in drawn for hold in life.holds)
            held += len(holds)
            for (hand, _, end_s, one), (other_hand, start_s, _, other) in pairwise(holds):
                assert hand != other_hand or start_s >= end_s + (0.6 if one != other else 0), (one, other)
    assert held > 100


def test_endings_are_those_of_the_rules_apart_from_what_is_forgotten_or_has_no_bag():
    ended: Counter[tuple[str, str]] = Counter()
    for kind in PROCEDURE_TYPES:
        for _, life in lives(kind):
            allowed = {rule.ending for rule in rules_of(kind, life.class_name)}
            last = life.events[-1].kind if life.events else None
            if last is EventKind.LEFT_IN_SITU:
                assert Ending.STAYS in allowed
            elif last is EventKind.BAGGED:
                assert Ending.BAGGED in allowed
            elif last is EventKind.RETRIEVED:
                assert allowed & {Ending.RETRIEVED, Ending.BAGGED}
            else:
                assert life.class_name in ("Sponge", "Gallstone", "Needle"), "only these are ever forgotten"
            ended[life.class_name, last.value if last else "nothing"] += 1
    assert ended["Specimen", "bagged"] > ended["Specimen", "retrieved"]
    forgotten = sum(n for (name, last), n in ended.items() if last not in ("left_in_situ", "bagged", "retrieved"))
    assert 0 < forgotten < 0.1 * sum(ended.values())


def test_bagged_objects_name_a_bag_that_is_in_the_body_then():
    checked = 0
    for kind in PROCEDURE_TYPES:
        for scene, life in lives(kind):
            for event in life.events:
                if event.kind is EventKind.BAGGED:
                    bag = next(other for other in scene.lives if other.instance == event.details[Detail.BAG])
                    assert seconds_of(bag, EventKind.INSERTED)[0] <= event.second
                    assert all(event.second < second for second in seconds_of(bag, EventKind.RETRIEVED))
                    checked += 1
    assert checked > 10


def test_specimens_and_stones_are_not_inserted_and_clips_are_placed():
    for kind in PROCEDURE_TYPES:
        for _, life in lives(kind):
            inserted = bool(seconds_of(life, EventKind.INSERTED))
            assert inserted == (life.class_name not in ("Specimen", "Gallstone", "Clip"))
            if life.class_name == "Clip":
                assert life.events[0].kind is EventKind.PLACED
                assert life.events[0].details[Detail.STRUCTURE] in {
                    s for rule in rules_of(kind, "Clip") for s in rule.structures
                }


def test_sizes_vary_by_an_eighth_and_sponges_soak_after_they_came():
    soaked = 0
    for kind in PROCEDURE_TYPES:
        for _, life in lives(kind):
            usual = (
                SPECIMEN_SIZES[PROCEDURE_TYPES[kind].specimen]
                if life.class_name == "Specimen"
                else SIZES[life.class_name]
            )
            factor = life.size[0] / usual[0]
            assert 0.88 <= factor <= 1.12
            assert life.size[1] / usual[1] == pytest.approx(factor)
            for change in life.changes:
                assert (life.class_name, change.name, change.value) == ("Sponge", "colour", "red-brown")
                assert life.born_s < change.second < life.gone_s
                soaked += 1
    sponges = sum(life.class_name == "Sponge" for kind in PROCEDURE_TYPES for _, life in lives(kind))
    assert 0.4 < soaked / sponges < 0.85


def test_an_object_that_is_held_follows_the_hand_and_rests_otherwise():
    scene = scenes("Cholecystectomy")[0]
    for life in scene.lives:
        held = [hold.stretch for hold in life.holds]
        for stretch in life.hidden:
            assert not any(s.start_s < stretch.start_s < s.end_s for s in held), (
                "nothing is covered while it is carried"
            )
        if life.class_name != "Clip":
            continue
        places = life.path.at(np.linspace(life.born_s, life.gone_s, 20))
        assert np.ptp(places[:, :2], axis=0).max() < 1e-9, "a clip stays where it was closed"


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_a_sponge_that_is_taken_up_is_put_where_the_work_is(kind):
    """So the class alone does not tell where it lies, and its path goes to the place that the event names."""
    sites = PROCEDURE_TYPES[kind].sites
    for scene, life in lives(kind):
        if life.class_name != "Sponge":
            continue
        taken = [e for e in life.events if e.kind is EventKind.GRASPED]
        for number, event in enumerate([e for e in life.events if e.kind is EventKind.PLACED]):
            place = event.details[Detail.PLACE]
            x, y, _ = life.path.at(np.array([event.second + 1.0]))[0]
            assert np.hypot(x - sites[place][0], y - sites[place][1]) < 0.8, (life.instance, place)
            if number:
                phase = next(p for p in scene.phases if p.start_s <= taken[number - 1].second + 0.999 < p.end_s + 1)
                near = {p.model.site for p in scene.phases if abs(p.start_s - taken[number - 1].second) <= 1}
                assert place in near | {phase.model.site}
