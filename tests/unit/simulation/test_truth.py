"""The truth at 1 fps is what the pictures show, and its events about the view follow from its tracks."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("numba")

from surgvalid.metrics.detection.masks import mask_of_coco
from surgvalid.schema.procedures.procedure_problems import contradictions, procedure_problems
from surgvalid.schema.procedures.tracks import EventKind, Visibility
from surgvalid.simulation import PROCEDURE_TYPES, Renderer, draw_scene, simulate, true_procedure
from surgvalid.simulation.render.world import INSTRUMENT
from surgvalid.simulation.timelines import Episode
from surgvalid.simulation.truth import LEAST_ABSENCE_S

SIZE = {"width_px": 240, "height_px": 136}


@cache
def pair(kind: str = "Cholecystectomy", number: int = 0, center: str = "Center A"):
    scene = draw_scene(19, number, procedure=kind, center=center, minutes=(3, 4), **SIZE)
    kept = {}
    procedure = true_procedure(scene, keep=lambda second, one: kept.update({(second, one.instance): one}))
    return scene, procedure, kept


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_the_truth_is_sound_and_free_of_contradictions(kind):
    _, procedure, _ = pair(kind)
    assert procedure_problems(procedure) == []
    assert contradictions(procedure) == []
    assert procedure.phases[-1].end_s == procedure.duration_s


@pytest.mark.parametrize("center", ["Center A", "Center C"])
def test_every_object_in_view_has_its_pixels_and_its_box_is_theirs(center):
    _, procedure, kept = pair(center=center)
    points = [(int(s), t.instance) for t in procedure.tracks for s in t.seconds[t.in_view]]
    assert set(points) == set(kept)
    assert len(points) > 60
    for second, instance in points:
        rows, columns = np.nonzero(kept[second, instance].pixels)
        x, y, width, height = procedure.track(instance).point_at(second).box
        assert (columns.min(), rows.min()) == (x, y)
        assert (columns.max() + 1, rows.max() + 1) == (x + width, y + height)


def test_the_truth_is_that_of_the_painted_frame():
    """Labels of whole frames, drawn with their neighbours and every effect, hold the pixels that the truth counts."""
    scene, procedure, kept = pair()
    renderer, looked_at = Renderer(scene), 0
    for second in range(0, scene.duration_s, 23):
        frame, moment = renderer.frame(float(second)), renderer.world.at(float(second))
        for number, thing in enumerate(moment.things):
            belongs = (frame.labels == number) | (frame.foil == number)
            one = kept.get((second, thing.name))
            if one is not None:
                assert not (one.pixels & ~belongs).any()
                looked_at += 1
            elif thing.kind == INSTRUMENT and not moment.masked:
                seen = (frame.labels == number) & (frame.arrives >= 0.25)
                told = [t for t in procedure.instruments if t.instance == thing.name and t.point_at(second)]
                assert bool(told) == (seen.sum() >= 40 * seen.size / (480 * 270))
                if told:
                    rows, columns = np.nonzero(seen)
                    box = told[0].point_at(second).box
                    assert (columns.min(), rows.min()) == (box.x, box.y)
                    assert (np.ptp(columns) + 1, np.ptp(rows) + 1) == (box.width, box.height)
                    looked_at += 1
    assert looked_at > 8


def test_doubtful_points_are_outside_and_hold_a_box():
    doubts = 0
    for kind in PROCEDURE_TYPES:
        for track in pair(kind)[1].tracks:
            assert (track.visibility[track.doubtful] == Visibility.OUTSIDE).all()
            assert (track.boxes[track.doubtful, 2:] > 0).all()
            doubts += int(track.doubtful.sum())
            assert not (~track.in_view & ~track.doubtful).any()
    assert doubts > 10


def test_the_truth_is_the_same_with_and_without_instruments():
    scene, procedure, _ = pair()
    assert true_procedure(scene, instruments=False).tracks == procedure.tracks


def test_leaving_and_coming_back_are_told_where_the_track_has_a_long_gap():
    for kind in PROCEDURE_TYPES:
        _, procedure, _ = pair(kind)
        for track in procedure.tracks:
            told = [e for e in procedure.events if e.instance == track.instance]
            seconds = track.seconds[track.in_view]
            gaps = np.flatnonzero(np.diff(seconds) > LEAST_ABSENCE_S)
            back = [e.second for e in told if e.kind is EventKind.REAPPEARED]
            assert back == seconds[gaps + 1].tolist()
            first = [e.second for e in told if e.kind is EventKind.FIRST_SEEN]
            assert first == seconds[:1].tolist()


def test_what_is_in_a_bag_is_in_view_until_the_bag_is_gone():
    inside = 0
    for number in range(2):
        scene = draw_scene(23, number, procedure="Cholecystectomy", minutes=(25, 40), width_px=96, height_px=54)
        gone = {life.instance: life.gone_s for life in scene.lives}
        bagged = [life for life in scene.lives if life.events and life.events[-1].kind is EventKind.BAGGED]
        renderer = Renderer(scene)
        for life in bagged:
            bag = life.events[-1].details["bag"]
            for time_s in (life.gone_s + 1.0, gone[bag] + 1.0):
                names = {renderer.world.things[at].name for at in renderer.world.at(time_s).inside}
                assert (life.instance in names) == (time_s < gone[bag])
            inside += gone[bag] > life.gone_s + 1
    assert inside > 1


def test_nothing_is_seen_in_a_masked_second():
    scene, _, _ = pair()
    masked = replace(scene, camera=replace(scene.camera, masked=((20, 120),)), duration_s=150)
    procedure = true_procedure(masked)
    for track in (*procedure.tracks, *procedure.instruments):
        assert not ((track.seconds >= 20) & (track.seconds < 120)).any()
    assert not Renderer(masked).frame(60.0).colour.any()


@pytest.mark.parametrize("kind", ["background_smoke", "image_too_dark", "image_lens_fog"])
def test_smoke_fog_and_darkness_take_objects_out_of_view(kind):
    scene, clear, _ = pair()
    veiled = replace(scene, episodes=(Episode(kind, -1e6, 1e6, 1.0),))
    spoiled = true_procedure(veiled, instruments=False)
    before, after = (sum(int(t.in_view.sum()) for t in one.tracks) for one in (clear, spoiled))
    assert after < 0.8 * before


def test_masks_are_written_as_coco_and_read_back_to_the_pixel(tmp_path):
    simulation = simulate(1, seed=31, minutes=(2, 2), centers=["Center C"], **SIZE)
    simulation.to_dir(tmp_path / "sim", masks=True)
    procedure = next(simulation.procedures())
    document = json.loads((tmp_path / "sim" / "masks" / f"{procedure.video}.json").read_text())
    names = {category["id"]: category["name"] for category in document["categories"]}
    assert len(document["images"]) == procedure.duration_s
    points = {(int(s), t.instance): t.point_at(int(s)).box for t in procedure.tracks for s in t.seconds[t.in_view]}
    assert len(document["annotations"]) == len(points) > 20
    for row in document["annotations"]:
        assert tuple(row["bbox"]) == points[row["image_id"], row["instance"]]
        assert names[row["category_id"]] == procedure.track(row["instance"]).class_name
        mask = mask_of_coco(row["segmentation"])
        assert (mask.height, mask.width) == (136, 240)
        assert mask.area == row["area"] > 0
