from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.ledger import Ledger, State
from surgvalid.schema.procedures.procedure_problems import contradictions, procedure_problems
from surgvalid.schema.procedures.tracks import EventKind, Visibility
from surgvalid.simulation import CHARACTERISTICS, PROCEDURE_TYPES, draw_scene, simulate
from surgvalid.simulation import true_procedure as truth

pytest.importorskip("numba")
true_procedure = cache(truth)
SHORT = {"minutes": (2, 3), "width_px": 96, "height_px": 54}


def told(procedure) -> list[str]:
    return [*procedure_problems(procedure, class_names=CLASS_NAMES), *contradictions(procedure)]


@pytest.fixture(scope="module")
def scenes():
    return list(simulate(10, seed=11, minutes=(3, 5), width_px=96, height_px=54).scenes())


@pytest.mark.parametrize(("minutes", "count"), [((1, 1), 12), ((2, 5), 6), ((10, 12), 1), ((30, 32), 1)])
def test_procedures_of_every_length_are_sound_and_free_of_contradictions(minutes, count):
    for scene in simulate(count, seed=5, minutes=minutes, width_px=96, height_px=54).scenes():
        procedure = true_procedure(scene)
        assert told(procedure) == []
        assert minutes[0] * 60 <= procedure.duration_s <= minutes[1] * 60


def test_the_same_seed_gives_the_same_procedure_and_a_longer_set_starts_with_the_shorter():
    first, again = (
        true_procedure(scene)
        for scene in [*simulate(1, seed=3, **SHORT).scenes(), next(iter(simulate(5, seed=3, **SHORT).scenes()))]
    )
    assert first == again
    assert first != true_procedure(next(iter(simulate(1, seed=4, **SHORT).scenes())))


@pytest.mark.long
def test_phases_follow_the_type_and_fill_the_procedure(scenes):
    for scene in scenes:
        procedure = true_procedure(scene)
        assert [phase.name for phase in procedure.phases] == [model.name for model in scene.kind.phases]
        assert procedure.phases[0].start_s == 0
        assert procedure.phases[-1].end_s == procedure.duration_s
        assert all(a.end_s == b.start_s for a, b in zip(procedure.phases, procedure.phases[1:], strict=False))


def test_objects_come_in_the_phase_that_brings_them(scenes):
    for scene in scenes:
        procedure = true_procedure(scene)
        allowed = {(rule.class_name, rule.phase) for rule in scene.kind.objects}
        for life in scene.lives:
            assert (life.class_name, procedure.phase_at(int(life.born_s))) in allowed


def test_most_objects_that_must_leave_do_and_what_is_bagged_leaves_with_the_bag(scenes):
    outstanding, introduced, bagged = 0, 0, 0
    for scene in scenes:
        ledger = Ledger(true_procedure(scene))
        end = scene.duration_s - 1
        outstanding += len(ledger.outstanding(None, end))
        introduced += sum(ledger.must_be_retrieved(entry.class_name) for entry in ledger.introduced(None, end))
        for entry in ledger.entries:
            if entry.event(EventKind.BAGGED):
                bagged += 1
                assert entry.state_at(end) is State.RETRIEVED
    assert bagged > 3
    assert outstanding < 0.2 * introduced


def test_boxes_lie_within_the_picture_and_nothing_is_seen_while_the_picture_is_masked(scenes):
    for scene in scenes:
        procedure = true_procedure(scene)
        for track in (*procedure.tracks, *procedure.instruments):
            boxes = track.boxes
            assert (boxes[:, :2] >= 0).all()
            assert (boxes[:, 0] + boxes[:, 2] <= scene.width_px + 0.2).all()
            assert (boxes[:, 1] + boxes[:, 3] <= scene.height_px + 0.2).all()
            assert not any(start <= second < end for second in track.seconds for start, end in procedure.masked)


def test_the_picture_size_scales_boxes_and_changes_little_else():
    small, large = (draw_scene(2, 0, minutes=(3, 4), width_px=w, height_px=h) for w, h in ((320, 180), (640, 360)))
    far, count = 0, 0
    for first, second in zip(true_procedure(small).tracks, true_procedure(large).tracks, strict=True):
        both, ours, theirs = np.intersect1d(first.seconds, second.seconds, return_indices=True)
        assert len(both) >= 0.9 * max(len(first), len(second))
        far += int((np.abs(first.boxes[ours] * 2 - second.boxes[theirs]).max(axis=1) > 8).sum())
        count += len(both)
    assert far < 0.03 * count


def test_conditions_are_the_seventeen_characteristics_with_strengths_from_0_to_1(scenes):
    levels = scenes[0].conditions(np.arange(scenes[0].duration_s, dtype=float))
    assert tuple(levels) == (*CHARACTERISTICS, "image_lens_fog", "image_roll")
    assert len(CHARACTERISTICS) == 17
    for level in levels.values():
        assert level.min() >= 0
        assert level.max() <= 1


def test_every_characteristic_occurs_and_can_be_absent(scenes):
    highest, lowest = dict.fromkeys(CHARACTERISTICS, 0.0), dict.fromkeys(CHARACTERISTICS, 1.0)
    for scene in [*scenes, *simulate(3, seed=12, minutes=(10, 12)).scenes()]:
        levels = scene.conditions(np.arange(scene.duration_s, dtype=float))
        for kind in CHARACTERISTICS:
            level = levels[kind]
            highest[kind], lowest[kind] = max(highest[kind], level.max()), min(lowest[kind], level.min())
    assert min(highest.values()) > 0.25
    assert max(lowest.values()) < 0.05


def test_strengths_are_those_of_the_episodes():
    scene = next(iter(simulate(1, seed=9).scenes()))
    episode = next(e for e in scene.episodes if e.kind == "background_blood")
    middle = np.array([(episode.start_s + episode.end_s) / 2])
    alone = replace(scene, episodes=(episode,), camera=replace(scene.camera, masked=()))
    assert alone.conditions(middle)["background_blood"][0] == pytest.approx(episode.strength)


def test_centres_differ_in_how_often_artefacts_come():
    smoke = {}
    for center in ("Center B", "Center F"):
        drawn = simulate(12, seed=3, centers=[center], types=["Cholecystectomy"], minutes=(30, 40)).scenes()
        smoke[center] = sum(episode.kind == "background_smoke" for scene in drawn for episode in scene.episodes)
    assert smoke["Center F"] > 1.5 * smoke["Center B"]


def test_an_object_behind_a_shaft_is_occluded_and_under_another_object_too():
    codes = {Visibility.VISIBLE: 0, Visibility.OCCLUDED: 0}
    for scene in simulate(4, seed=2, minutes=(3, 4), width_px=160, height_px=90).scenes():
        for track in true_procedure(scene).tracks:
            for code in codes:
                codes[code] += int((track.visibility == code).sum())
    share = codes[Visibility.OCCLUDED] / sum(codes.values())
    assert 0.1 < share < 0.8


def test_unknown_names_carry_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'Appendectomy'"):
        draw_scene(0, 0, procedure="Apendectomy")
    with pytest.raises(UnknownName, match="center"):
        draw_scene(0, 0, center="Center Z")


@pytest.mark.parametrize(
    "options",
    [{"minutes": (0.5, 2)}, {"minutes": (5, 4)}, {"minutes": (10, 400)}, {"width_px": 20}, {"height_px": 271}],
)
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(Misuse):
        draw_scene(0, 0, **options)


def test_at_least_one_procedure_must_be_asked_for():
    with pytest.raises(Misuse, match="at least one"):
        list(simulate(0, seed=0).scenes())


def test_there_are_at_least_the_four_promised_types():
    assert {"Cholecystectomy", "Appendectomy", "Sigmoid Resection", "Inguinal Hernia Repair"} <= set(PROCEDURE_TYPES)
