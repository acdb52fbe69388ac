"""The truth about what is seen: read from what was painted, and nothing in view without its pixels."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from surgvalid.metrics.detection.masks import mask_of_coco
from surgvalid.schema.procedures.tracks import Visibility
from surgvalid.simulation import CENTERS, Renderer, draw_scene, simulate, true_procedure
from surgvalid.simulation.sighting import LEAST_PIXELS, sights
from surgvalid.simulation.timelines import Episode

SIZE = {"width_px": 320, "height_px": 180}


@cache
def scene_of(center: str, number: int = 0, look: str = ""):
    return draw_scene(31, number, center=center, minutes=(4, 5), looks=[look] if look else [], **SIZE)


@cache
def with_masks(center: str, number: int = 0, look: str = ""):
    """The truth about a scene, and per second and object the pixels that are seen."""
    scene, pixels = scene_of(center, number, look), {}

    def keep(silhouette):
        whole = np.zeros((scene.height_px, scene.width_px), dtype=bool)
        whole[silhouette.rect.slices()] = silhouette.seen
        pixels[silhouette.at, silhouette.instance] = whole

    return scene, true_procedure(scene, keep=keep), pixels


def points_in_view(procedure):
    for track in procedure.tracks:
        for second, box, code in zip(track.seconds, track.boxes, track.visibility, strict=True):
            yield track.instance, int(second), box, Visibility(int(code))


@pytest.mark.parametrize("look", ["", "all"])
@pytest.mark.parametrize("center", CENTERS)
def test_every_object_in_view_has_its_pixels_and_its_box_is_theirs(center, look):
    _, procedure, pixels = with_masks(center, look=look)
    points = list(points_in_view(procedure))
    assert len(points) > 100
    assert {(second, instance) for instance, second, _, _ in points} == set(pixels)
    for instance, second, (x, y, width, height), _ in points:
        rows, columns = np.nonzero(pixels[second, instance])
        assert len(rows) >= LEAST_PIXELS
        assert (columns.min(), rows.min()) == (x, y)
        assert (columns.max() + 1, rows.max() + 1) == (x + width, y + height)


@pytest.mark.parametrize("look", ["", "all"])
@pytest.mark.parametrize("center", ["Center C", "Center F"])
def test_nothing_in_the_black_border_of_a_round_picture_is_in_view(center, look):
    scene, procedure, pixels = with_masks(center, look=look)
    renderer = Renderer(scene)
    looked_at = 0
    for second in range(0, procedure.duration_s, 7):
        dark = renderer.frame(float(second)).max(axis=2) < 4
        for mask in (mask for (at, _), mask in pixels.items() if at == second):
            assert not (mask & dark).any()
            looked_at += bool(dark.any())
    assert looked_at > 20


def test_a_round_picture_shows_less_of_the_same_scene():
    whole = replace(scene_of("Center C"), center=replace(CENTERS["Center C"], circle=False))
    kept, cut = (sum(map(len, true_procedure(scene).tracks)) for scene in (whole, scene_of("Center C")))
    assert cut < 0.95 * kept


@pytest.mark.parametrize(
    ("center", "look"),
    [("Center A", ""), ("Center C", ""), ("Center A", "all"), ("Center A", "roll"), ("Center E", "soft"),
     ("Center B", "depth")],
)  # fmt: skip
@pytest.mark.long
def test_the_pixels_of_an_object_change_when_it_is_not_painted(center, look):
    scene, procedure, pixels = with_masks(center, 1, look)
    clear = replace(scene, episodes=())
    looked_at = 0
    for life in scene.lives:
        track = procedure.track(life.instance)
        others = tuple(other for other in scene.lives if other is not life)
        without, painted = Renderer(replace(clear, lives=others)), Renderer(clear)
        for second in track.seconds[len(track) // 3 :: max(len(track) // 2, 1)].tolist():
            mask = pixels[second, life.instance]
            changed = np.abs(painted.frame(float(second)).astype(int) - without.frame(float(second))).max(axis=2) > 2
            assert (changed & mask).sum() > 0.8 * mask.sum(), (life.instance, second)
            looked_at += 1
    assert looked_at > 10


@pytest.mark.parametrize("look", ["", "all"])
@pytest.mark.parametrize("center", ["Center A", "Center C", "Center D"])
def test_sparing_the_pixels_of_undisturbed_objects_changes_nothing(center, look):
    scene = scene_of(center, 2, look)
    seconds = np.arange(scene.duration_s, dtype=float)
    quick, slow = sights(scene, seconds), sights(scene, seconds, quick=False)
    for instance, sight in slow.items():
        assert quick[instance].visibility.tolist() == sight.visibility.tolist()
        seen = sight.visibility != Visibility.OUTSIDE
        assert quick[instance].boxes[seen].tolist() == sight.boxes[seen].tolist()


@pytest.mark.parametrize("strength", [0.55, 0.8, 0.95])
def test_sparing_pixels_changes_nothing_in_fog(strength):
    fog = Episode("image_lens_fog", -1e6, 1e6, strength)
    scene = replace(scene_of("Center D", 2, "fog"), episodes=(fog,))
    seconds = np.arange(0.0, scene.duration_s, 3.0)
    quick, slow = sights(scene, seconds), sights(scene, seconds, quick=False)
    for instance, sight in slow.items():
        assert quick[instance].visibility.tolist() == sight.visibility.tolist()


def under(scene, kind: str, strength: float):
    """The same scene under one artefact that lasts all the time."""
    return true_procedure(replace(scene, episodes=(Episode(kind, -1e6, 1e6, strength),)), instruments=False)


@pytest.mark.parametrize("kind", ["background_smoke", "image_too_dark", "image_too_bright", "image_lens_fog"])
def test_smoke_fog_and_wrong_exposure_take_objects_out_of_view_and_put_nothing_in_front(kind):
    scene = scene_of("Center A", look="fog")
    clear, hazy, spoiled = (under(scene, kind, strength) for strength in (0.0, 0.8, 1.0))
    assert sum(map(len, spoiled.tracks)) < 0.5 * sum(map(len, clear.tracks))
    left = list(points_in_view(hazy))
    assert len(left) > 300, "the strongest spoils everything, and then nothing is left to be told about"
    for instance, second, _, code in left:
        before = clear.track(instance).point_at(second)
        assert before is not None
        assert code is Visibility.VISIBLE or before.visibility is Visibility.OCCLUDED


def test_light_smoke_changes_no_answer_to_what_is_partly_hidden():
    scene = scene_of("Center A")
    clear, hazy = under(scene, "background_smoke", 0.0), under(scene, "background_smoke", 0.65)
    codes = {(i, s): c for i, s, _, c in points_in_view(clear)}
    changed = [codes[i, s] is not c for i, s, _, c in points_in_view(hazy)]
    assert len(changed) > 100
    assert not any(changed)


def test_instruments_and_tissue_hide_in_part():
    _, procedure, _ = with_masks("Center A")
    codes = [code for *_, code in points_in_view(procedure)]
    assert 0.05 < codes.count(Visibility.OCCLUDED) / len(codes) < 0.6


def test_masks_are_written_as_coco_and_read_back_to_the_pixel(tmp_path):
    simulation = simulate(1, seed=31, minutes=(2, 2), centers=["Center C"], **SIZE)
    simulation.to_dir(tmp_path / "sim", masks=True)
    procedure = next(simulation.procedures())
    document = json.loads((tmp_path / "sim" / "masks" / f"{procedure.video}.json").read_text())
    names = {category["id"]: category["name"] for category in document["categories"]}
    assert len(document["images"]) == procedure.duration_s
    points = {(second, instance): box for instance, second, box, _ in points_in_view(procedure)}
    assert len(document["annotations"]) == len(points) > 20
    for row in document["annotations"]:
        assert row["bbox"] == points[row["image_id"], row["instance"]].tolist()
        assert names[row["category_id"]] == procedure.track(row["instance"]).class_name
        mask = mask_of_coco(row["segmentation"])
        assert (mask.height, mask.width) == (180, 320)
        assert mask.area == row["area"] > 0
