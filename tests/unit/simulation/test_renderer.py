from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from docs.figures.contact_sheet import (
    _SHOWN_ARTEFACTS,
    _cast,
    _clearest,
    _crowding,
    _labelled,
    _squares,
    _strongest,
    contact_sheet,
)

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.simulation import CENTERS, Renderer, draw_scene
from surgvalid.simulation.paint import Paint, flat, graded, sprite_of, stamped
from surgvalid.simulation.renderer import _SpriteStore
from surgvalid.simulation.timelines import Episode
from surgvalid.simulation.truth import true_procedure

SIZE = {"width_px": 320, "height_px": 180}


@pytest.fixture(scope="module")
def cast():
    return _cast(4, SIZE)


@pytest.fixture(scope="module")
def calm():
    """A scene without artefacts, and a time at which clips are in view."""
    scene = replace(draw_scene(1, 0, minutes=(10, 12), width_px=192, height_px=108), episodes=())
    return scene, _clearest([scene], "Clip")[1]


@pytest.mark.parametrize("class_name", CLASS_NAMES)
def test_every_class_is_painted_within_its_box_and_fills_it(cast, class_name):
    scene, time_s, box = _clearest(cast, class_name)
    near = [life for life in scene.lives if life.class_name == class_name]
    with_it, without = Renderer(scene), Renderer(replace(scene, lives=tuple(x for x in scene.lives if x not in near)))
    changed = np.abs(with_it.frame(time_s).astype(int) - without.frame(time_s)).max(axis=2) > 12
    x, y, width, height = box
    window = changed[max(int(y) - 3, 0) : int(y + height) + 4, max(int(x) - 3, 0) : int(x + width) + 4]
    rows, columns = np.flatnonzero(window.any(axis=1)), np.flatnonzero(window.any(axis=0))
    assert rows.size, "nothing was painted"
    assert columns[-1] - columns[0] + 1 >= 0.7 * width
    assert rows[-1] - rows[0] + 1 >= 0.7 * height


def test_a_frame_depends_on_scene_and_time_alone(calm):
    scene, time_s = calm
    alone = Renderer(scene).frame(time_s)
    within = [f[..., :3].copy() for f in Renderer(scene).frames([time_s - 3, time_s - 1, time_s])][-1]
    assert (alone == within).all()


def test_masked_times_are_black(calm):
    scene, time_s = calm
    masked = replace(scene, camera=replace(scene.camera, masked=((int(time_s), int(time_s) + 2),)))
    assert not Renderer(masked).frame(time_s).any()
    assert Renderer(scene).frame(time_s).mean() > 20


@pytest.mark.parametrize(
    "kind",
    [
        "background_blood", "background_smoke", "background_reflections", "background_other_object",
        "image_too_bright", "image_too_dark", "image_lens_dirty",
        "instrument_blood", "instrument_tissue", "instrument_reflections", "instrument_other_object",
        "instrument_too_bright", "instrument_too_dark",
    ],
)  # fmt: skip
def test_every_artefact_changes_the_picture_the_more_the_stronger_it_is(calm, kind):
    scene, _ = calm
    times = np.arange(60, 500, dtype=float)
    view = scene.look(times)
    time_s = float(times[(view.any_tool & ~view.masked & (scene.camera.speed(times) < 0.2)).argmax()])
    plain = Renderer(scene).frame(time_s).astype(int)
    changes = []
    for strength in (0.35, 1.0):
        spoiled = replace(scene, episodes=(Episode(kind, time_s - 60, time_s + 60, strength),))
        changes.append(np.abs(Renderer(spoiled).frame(time_s) - plain).mean())
    assert changes[0] > 0.02
    assert changes[1] > changes[0]


def test_every_centre_looks_different():
    pictures = {}
    for name in CENTERS:
        scene = replace(draw_scene(1, 0, minutes=(10, 12), center=name, width_px=96, height_px=54), episodes=())
        pictures[name] = Renderer(scene).frame(30.0).astype(int)
    names = list(pictures)
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            assert np.abs(pictures[first] - pictures[second]).mean() > 4, (first, second)


def test_sprites_are_cut_off_at_the_edge_and_laid_by_their_pivot():
    white = sprite_of(Paint(flat((5, 5), (1, 1, 1)), np.ones((5, 5))), (2.0, 2.0), CENTERS["Center A"])
    frame = np.zeros((8, 10, 4), dtype=np.uint8)
    stamped(white, 0, 0).lay(frame)
    assert frame[:3, :3, :3].min() == 255
    assert frame[3:, 3:].max() == 0
    stamped(white, 50, 50).lay(frame)
    stamped(white, 9, 7).lay(frame)
    assert frame[5:, 7:, :3].min() == 255


def test_half_an_opacity_mixes_half_and_half():
    grey = sprite_of(Paint(flat((3, 3), (1, 1, 1)), np.full((3, 3), 0.5)), (1.0, 1.0), CENTERS["Center A"])
    frame = np.full((3, 3, 4), 100, dtype=np.uint8)
    stamped(grey, 1, 1).lay(frame)
    assert np.abs(frame[..., :3].astype(int) - 177).max() <= 1


def test_the_sprite_store_stays_within_its_limit():
    store = _SpriteStore(10_000)
    for number in range(50):
        store.get(
            number, lambda: sprite_of(Paint(flat((10, 10), (1, 0, 0)), np.ones((10, 10))), (5, 5), CENTERS["Center A"])
        )
    assert store.held <= 10_000
    assert len(store.sprites) < 50


def test_the_contact_sheet_shows_classes_centres_and_artefacts():
    sheet = contact_sheet(2, columns=6, width_px=96, height_px=54)
    assert sheet.shape == (4 * 74, 6 * 96, 3)
    tiles = [
        sheet[row * 74 + 20 : row * 74 + 74, column * 96 : column * 96 + 96] for row in range(4) for column in range(6)
    ]
    assert all(tile.std() > 1 for tile in tiles)


@pytest.mark.parametrize("seed", [4, 7])
def test_the_contact_sheet_shows_every_artefact_at_its_strongest_and_alone(seed):
    scenes = [draw_scene(seed, number, minutes=(12, 20), width_px=96, height_px=54) for number in range(40)]
    for kind in _SHOWN_ARTEFACTS:
        scene, time_s = _strongest(scenes, kind)
        levels = scene.conditions(np.array([time_s]))
        assert levels[kind][0] > 0.6, kind
        assert not scene.camera.is_masked(np.array([time_s]))[0]
        seen = [name for name in ("image_too_bright", "image_too_dark", "background_smoke") if levels[name][0] > 0.3]
        assert set(seen) <= {kind}, kind


def test_a_lonely_object_is_preferred_to_a_crowded_one():
    scene = draw_scene(4, 0, minutes=(12, 14), width_px=96, height_px=54)
    view = scene.look(np.arange(scene.duration_s, dtype=float))
    for life in scene.lives:
        crowded, squares = _crowding(life, view), _squares(life, view)
        assert (crowded >= 0).all()
        for at in range(0, len(squares), 97):
            left, top, right, bottom = squares[at]
            touched = any(
                left < box[2] and box[0] < right and top < box[3] and box[1] < bottom
                for other in scene.lives
                if other is not life and (there := at + view.span_of(life).start - view.span_of(other).start) >= 0
                if there < len(_squares(other, view))
                for box in [_squares(other, view)[there]]
            )
            assert (crowded[at] > 0) == touched


def test_a_label_is_written_above_a_picture():
    tile = _labelled(np.zeros((30, 200, 3), dtype=np.uint8), "Sponge")
    assert tile.shape == (50, 200, 3)
    assert tile[:20].max() == 255
    assert tile[20:].max() == 0


def test_colours_and_lens_of_a_centre_change_the_pictures_and_not_the_truth():
    plain = draw_scene(3, 0, minutes=(1, 1.2), width_px=160, height_px=90)
    other = replace(plain, center=replace(plain.center, hue_deg=-12.0, lens_blur=0.02))
    here, there = (Renderer(scene).frame(40.0).astype(float) for scene in (plain, other))
    assert np.abs(here - there).mean() > 2
    assert np.abs(np.diff(there, axis=1)).mean() < 0.7 * np.abs(np.diff(here, axis=1)).mean()
    assert true_procedure(plain).tracks == true_procedure(other).tracks


def test_a_turned_hue_keeps_greys_and_turns_red_towards_purple():
    home = replace(CENTERS["Center A"], hue_deg=-12.0)
    grey, red = np.full((1, 1, 3), 0.5, np.float32), np.array([[[0.8, 0.2, 0.2]]], np.float32)
    assert graded(grey, home) == pytest.approx(grey, abs=1e-6)
    shown = graded(red, home)[0, 0]
    assert shown[2] > shown[1] + 0.05
    assert shown.mean() == pytest.approx(0.4, abs=1e-6)
