"""Looks beyond the plain one: each is there alone, changes nothing else, and without strength changes nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import radians

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.procedures.tracks import EventKind, Visibility
from surgvalid.simulation import CENTERS, CHARACTERISTICS, Renderer, draw_scene, simulate, true_procedure
from surgvalid.simulation.artefacts import LENS_FOG
from surgvalid.simulation.camera import FULL_ROLL, WORLD_HALF
from surgvalid.simulation.centers import LOOKS, looks_named
from surgvalid.simulation.instance_maps import instance_maps
from surgvalid.simulation.instruments import REACH, SOFT_CLASSES, Touches, grip_at
from surgvalid.simulation.paint import SOLID
from surgvalid.simulation.renderer import SHUTTER_S
from surgvalid.simulation.sighting import sights
from surgvalid.simulation.timelines import Path

SIZE = {"width_px": 192, "height_px": 108}


@cache
def scene_of(*looks: str, center: str = "Center A", number: int = 0):
    return draw_scene(31, number, center=center, minutes=(4, 5), looks=looks, **SIZE)


def everything(scene):
    """Images, label maps, pixels of objects and the truth of a scene."""
    silhouettes = []
    truth = true_procedure(scene, keep=lambda one: silhouettes.append((one.at, one.instance, one.rect, one.seen)))
    times = np.arange(0.0, scene.duration_s, 8.3)
    frames = np.stack([frame.copy() for frame in Renderer(scene).frames(times)])
    maps = [(labels, repr(instances)) for labels, instances in instance_maps(scene, times[::3])]
    return truth, silhouettes, frames, maps, scene.conditions(times)


@pytest.mark.parametrize("center", ["Center A", "Center F"])
def test_looks_without_strength_paint_and_tell_what_the_plain_look_does(center):
    plain = scene_of(center=center)
    idle = replace(
        plain,
        camera=replace(plain.camera, roll=Path.through([(0.0, (0.0,)), (60.0, (0.0,))])),
        touches=Touches(np.zeros(plain.instruments.tools.shape, dtype=np.float32)),
    )
    # a grip needs no strength: it follows from who holds what, so nothing is held here
    idle, plain = (replace(one, lives=tuple(replace(life, holds=()) for life in one.lives)) for one in (idle, plain))
    (truth, silhouettes, frames, maps, levels), other = everything(plain), everything(idle)
    assert truth == other[0]
    assert len(silhouettes) == len(other[1]) > 100
    for mine, theirs in zip(silhouettes, other[1], strict=True):
        assert mine[:3] == theirs[:3]
        assert (mine[3] == theirs[3]).all()
    assert (frames == other[2]).all()
    for mine, theirs in zip(maps, other[3], strict=True):
        assert (mine[0] == theirs[0]).all()
        assert mine[1] == theirs[1]
    assert all((levels[kind] == other[4][kind]).all() for kind in CHARACTERISTICS)


@pytest.mark.parametrize("look", LOOKS)
def test_one_look_changes_pictures_and_neither_lives_nor_moves_nor_other_artefacts(look):
    plain, lively = scene_of(), scene_of(look)
    assert plain.looks == ()
    assert lively.looks == (look,)
    for life, same in zip(plain.lives, lively.lives, strict=True):
        assert (life.instance, life.born_s, life.gone_s, life.events) == (
            same.instance, same.born_s, same.gone_s, same.events,
        )  # fmt: skip
        assert (life.path.values == same.path.values).all()
    assert (plain.camera.path.values == lively.camera.path.values).all()
    assert plain.camera.masked == lively.camera.masked
    assert (plain.instruments.tips == lively.instruments.tips).all()
    assert [e for e in lively.episodes if e.kind != LENS_FOG] == list(plain.episodes)
    times = np.arange(0.0, plain.duration_s, 5.0)
    pairs = zip(Renderer(plain).frames(times), Renderer(lively).frames(times), strict=True)
    assert max(np.abs(mine.astype(int) - theirs).mean() for mine, theirs in pairs) > 0.5


def test_looks_do_not_depend_on_each_other():
    every = scene_of("all")
    assert every.looks == tuple(LOOKS)
    assert (every.camera.roll.values == scene_of("roll").camera.roll.values).all()
    assert (every.touches.forces == scene_of("soft").touches.forces).all()
    assert every.episodes == scene_of("fog").episodes


def test_names_of_looks_are_taken_in_any_order_and_unknown_ones_refused():
    assert looks_named(["fog", "roll", "fog"]) == ("roll", "fog")
    with pytest.raises(UnknownName, match="did you mean 'fog'"):
        simulate(1, looks=["fogg"])


def test_every_unknown_name_is_listed():
    with pytest.raises(Misuse) as refused:
        simulate(
            1, types=["Appendectomie", "Cholecystectomy"], centers=["Center Z"], looks=["fogg", "fog", "rol", "fogg"]
        )
    wanted = ("procedure type 'Appendectomie'", "center 'Center Z'", "look 'fogg'", "look 'rol'")
    assert [str(refused.value).count(name) for name in wanted] == [1, 1, 1, 1]


def test_a_name_alone_is_not_taken_for_its_letters():
    alone = simulate(1, types="Appendectomy", centers="Center F", looks="all", minutes=(1, 1))
    assert (alone.types, alone.centers, alone.looks) == (("Appendectomy",), ("Center F",), tuple(LOOKS))


def test_a_look_changes_no_event_but_those_of_coming_into_view_and_leaving_it():
    told = [EventKind.FIRST_SEEN, EventKind.LEFT_VIEW, EventKind.REAPPEARED]
    plain, lively = (true_procedure(scene_of(*looks)).events for looks in ((), ("all",)))
    assert [e for e in plain if e.kind not in told] == [e for e in lively if e.kind not in told]
    assert plain != lively


# --- roll ------------------------------------------------------------------------------------------


def rolled(scene, degrees: float):
    return replace(scene, camera=replace(scene.camera, roll=Path.through([(0.0, (radians(degrees),))])))


def test_a_roll_turns_the_whole_picture_about_its_middle():
    scene = replace(scene_of(), episodes=())
    square = replace(scene, width_px=108, lives=(), center=replace(scene.center, grain=0.0))
    bare = replace(square, instruments=replace(square.instruments, tools=np.full_like(square.instruments.tools, -1)))
    for time_s in (40.0, 90.0):
        straight, turned = Renderer(bare).frame(time_s).astype(int), Renderer(rolled(bare, 90)).frame(time_s)
        assert np.abs(np.rot90(straight, -1) - turned).mean() < 2.0
        assert np.abs(straight - turned).mean() > 5.0


def test_objects_turn_with_all_that_is_on_them():
    """Stains and lumps are drawn on a grid of pixels: painted at another angle they would lie elsewhere."""
    scene, times = scene_of("soft"), np.arange(20.0, 220.0)
    renderer, view = Renderer(scene), scene_of("soft").look(times)
    half_a_turn = Renderer(rolled(scene, 180)).pose(rolled(scene, 180).look(times), scene.lives[0]).roll[0]
    for life in scene.lives:
        pose = renderer.pose(view, life)
        if not len(pose):
            continue
        straight = renderer.object_sprite(life, pose, 0)
        turned = renderer.object_sprite(life, replace(pose, roll=np.full(len(pose), half_a_turn)), 0)
        for mine, theirs, atol in (
            (straight.shape, turned.shape, 0),
            (straight.premultiplied, turned.premultiplied, 400),  # of 65,280
        ):
            margin = [(size - before) // 2 for size, before in zip(theirs.shape, mine.shape, strict=True)]
            inside = theirs[margin[0] : margin[0] + mine.shape[0], margin[1] : margin[1] + mine.shape[1]]
            np.testing.assert_allclose(np.rot90(mine, 2).astype(int), inside.astype(int), atol=atol)


def test_objects_tips_and_boxes_turn_with_the_camera():
    scene = scene_of()
    times = np.arange(10.0, 200.0, 7.0)
    straight, turned = scene.look(times), rolled(scene, 20).look(times)
    middle, angle = np.array([scene.aspect / 2, 0.5]), radians(20)
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(turned.tips - middle, (straight.tips - middle) @ matrix.T, atol=1e-9)
    for life in scene.lives:
        mine, theirs = straight.place(life), turned.place(life)
        np.testing.assert_allclose(theirs[:, :2] - middle, (mine[:, :2] - middle) @ matrix.T, atol=1e-9)
        np.testing.assert_allclose(theirs[:, 2], mine[:, 2] + angle)


@pytest.mark.parametrize("size", [(192, 108), (108, 108), (108, 192), (480, 64)])
@pytest.mark.parametrize("degrees", [-25, 25])
def test_no_roll_shows_the_end_of_a_shaft_or_a_black_corner(size, degrees):
    scene = draw_scene(31, 3, minutes=(2, 2), width_px=size[0], height_px=size[1])
    turned = rolled(replace(scene, episodes=(), camera=replace(scene.camera, masked=())), degrees)
    view = turned.look(np.arange(0.0, 110.0, 5.0))
    outside = (view.gates < 0).any(axis=-1) | (view.gates > (turned.aspect, 1)).any(axis=-1)
    assert outside.all()
    for frame in Renderer(turned).frames(view.times_s):
        corners = frame[[0, 0, -1, -1], [0, -1, 0, -1], :3]
        assert corners.max(axis=1).min() > 0


def test_the_camera_is_turned_now_and_then_and_never_too_far():
    angles = np.concatenate([scene_of("roll", number=n).camera.roll_at(np.arange(240.0)) for n in range(6)])
    assert np.abs(angles).max() <= FULL_ROLL
    assert 4 < np.degrees(np.abs(angles)).mean() < 12
    assert abs(np.degrees(angles.mean())) < 6
    assert (np.diff(angles) == 0).mean() > 0.7  # mostly it is held


# --- fog -------------------------------------------------------------------------------------------


def test_the_lens_fogs_when_it_comes_into_the_body_and_clears():
    fogged = 0
    for number in range(12):
        scene = scene_of("fog", number=number)
        for moment in (0, *(end_s for _, end_s in scene.camera.masked)):
            level = scene.conditions(np.arange(moment, moment + 90.0))[LENS_FOG]
            if level[:3].max() > 0.1:
                fogged += 1
                assert level[:4].max() > 0.8 * level[:40].max()
    assert fogged > 8
    [whole] = [np.concatenate([scene_of("fog", number=n).conditions(np.arange(240.0))[LENS_FOG] for n in range(12)])]
    assert 0.02 < (whole > 0.3).mean() < 0.25


def test_fog_veils_the_whole_picture_and_takes_its_contrast():
    scene = replace(scene_of("fog"), episodes=())
    clear, hazy = Renderer(scene).frame(100.0).astype(float), None
    for strength in (0.3, 0.6, 0.95):
        fog = replace(scene, episodes=(scene_of("fog").episodes[0]._replace(
            kind=LENS_FOG, start_s=-1e6, end_s=1e6, strength=strength),))  # fmt: skip
        picture = Renderer(fog).frame(100.0).astype(float)
        tiles = np.abs(picture - clear).mean(axis=2).reshape(4, 27, 4, 48).mean(axis=(1, 3))
        assert tiles.min() > 2  # everywhere
        assert picture.std() < (clear if hazy is None else hazy).std()
        hazy = picture


# --- soft ------------------------------------------------------------------------------------------


def stamps_of(scene, life, times):
    """An object's stamp at each of the times at which it is painted and nobody grips it."""
    renderer, view = Renderer(scene, colours=False), scene.look(times)
    pose = renderer.pose(view, life)
    free = grip_at(life, times[view.span_of(life)]) == 0
    for here in np.flatnonzero(pose.shown & free).tolist():
        yield pose.start + here, next(renderer.object_stamps(life, pose, pose.start + here))


def test_hard_objects_are_moved_as_they_are_and_soft_ones_bend():
    moved, bent = 0, 0
    for number in range(3):
        scene = scene_of("soft", number=number)
        times = np.arange(5.0, scene.duration_s - 5.0)
        for life in scene.lives:
            stiff = dict(stamps_of(replace(scene, touches=None), life, times))
            for at, stamp in stamps_of(scene, life, times):
                if life.class_name in SOFT_CLASSES:
                    bent += np.count_nonzero(stamp.sprite.shape) != np.count_nonzero(stiff[at].sprite.shape)
                elif at in stiff:
                    assert (stamp.sprite.shape == stiff[at].sprite.shape).all(), life.instance
                    moved += stamp.rect != stiff[at].rect
    assert moved > 20
    assert bent > 20


def test_tissue_gives_way_around_tips_and_nowhere_else():
    scene = replace(scene_of("soft"), episodes=(), lives=())
    stiff = replace(scene, touches=None)
    times = np.arange(10.0, 200.0, 3.0)
    view, touched = scene.look(times), 0
    rows, columns = np.mgrid[: scene.height_px, : scene.width_px]
    for at, (mine, theirs) in enumerate(zip(Renderer(stiff).frames(times), Renderer(scene).frames(times), strict=True)):
        reach = [
            np.hypot(columns - tip[0], rows - tip[1]) < REACH * view.camera[at, 2] * 108 + 2
            for tip, pull in zip(view.tips[:, at] * 108, view.tugs.pulls[:, at], strict=True)
            if pull.any()
        ]
        changed = (mine != theirs).any(axis=2)
        near = np.any(reach, axis=0) if reach else np.zeros(changed.shape, dtype=bool)
        assert not (changed & ~near).any()
        touched += bool(changed.any())
    assert touched > 15


def test_soft_objects_in_a_grip_are_gathered_and_hard_ones_are_not():
    scene, gripped = scene_of("soft"), 0
    for life in scene.lives:
        for start_s, end_s in life.actions:
            renderer = Renderer(scene, colours=False)
            pose = renderer.pose(scene.look(np.array([(start_s + end_s) / 2])), life)
            if not len(pose):
                continue
            assert (pose.grip[0] > 0) == (life.class_name in SOFT_CLASSES)
            if pose.grip[0]:
                held = renderer.object_sprite(life, pose, 0).shape
                loose = renderer.object_sprite(life, replace(pose, grip=np.zeros(1, dtype=np.int64)), 0).shape
                assert 0.5 < np.count_nonzero(held) / np.count_nonzero(loose) < 0.95
                gripped += 1
    assert gripped > 3


def test_the_outline_of_what_bends_is_what_is_painted_of_it():
    scene, bent, gripped = scene_of("soft", "roll"), 0, 0
    painted, known = Renderer(scene), Renderer(scene, colours=False)
    view = scene.look(np.arange(5.0, scene.duration_s - 5.0))
    for life in scene.lives:
        pose = painted.pose(view, life)
        for here in np.flatnonzero(pose.shown & (pose.bent | (pose.grip > 0))).tolist():
            mine, theirs = (next(one.object_stamps(life, pose, pose.start + here)) for one in (painted, known))
            assert mine.rect == theirs.rect
            opaque = mine.sprite.transparency <= 256 * (1 - SOLID)  # a shadow makes edges more so
            assert (opaque != theirs.sprite.shape).sum() < 0.15 * theirs.sprite.shape.sum() + 12, life.instance
            bent, gripped = bent + bool(pose.bent[here]), gripped + bool(pose.grip[here])
    assert bent > 20
    assert gripped > 20


def test_no_hand_that_holds_something_presses_tissue():
    scene = scene_of("soft")
    for life in scene.lives:
        for hold in life.holds:
            times = np.linspace(hold.stretch.start_s, hold.stretch.end_s, 9)
            assert not scene.touches.force_at(hold.slot, times).any()


# --- depth -----------------------------------------------------------------------------------------


def test_what_lies_farther_away_is_smaller():
    scene = scene_of("depth")
    view, flat = scene.look(np.arange(200.0)), scene_of().look(np.arange(200.0))
    for life in scene.lives:
        size, height = view.place(life)[:, 3] / flat.place(life)[:, 3], flat.place(life)[:, 1]
        assert (size[height < 0.45] < 1).all()
        assert (size[height > 0.55] > 1).all()


def test_a_point_of_the_situs_is_painted_where_it_is_said_to_be():
    """The tissue is looked up by another formula than the one that says where things are: both must agree."""
    scene = replace(scene_of("roll", "depth"), episodes=(), lives=())
    bare = replace(
        scene,
        center=replace(scene.center, grain=0.0, vignette=0.0),
        instruments=replace(scene.instruments, tools=np.full_like(scene.instruments.tools, -1)),
    )
    for time_s in (30.0, 75.0, 150.0):
        renderer, view = Renderer(bare), bare.look(np.array([time_s]))
        x, y = view.camera[0, :2]
        for point in ((x, y), (x + 0.3, y - 0.2), (x - 0.35, y + 0.25), (x - 0.2, y - 0.3)):
            tissue = renderer.tissue.copy()
            column, row = ((np.array(point) + np.array(WORLD_HALF)) * 108).astype(int)
            tissue[row - 2 : row + 3, column - 2 : column + 3] = 0x00FF00
            renderer.tissue = tissue
            green = renderer.frame(time_s).astype(int)
            rows, columns = np.nonzero((green[..., 1] > 200) & (green[..., 0] < 60))
            said = view.to_screen(np.array([point]))[0] * 108
            assert rows.size
            assert np.hypot(columns.mean() + 0.5 - said[0], rows.mean() + 0.5 - said[1]) < 1.5
            renderer = Renderer(bare)


# --- blur ------------------------------------------------------------------------------------------


def in_motion(*, calm: bool):
    """A large scene, and times at which camera and tips hardly move, or at which an object in view moves fast."""
    scene = replace(draw_scene(31, 0, minutes=(4, 5), width_px=480, height_px=270), episodes=())
    times = np.arange(5.0, scene.duration_s - 5.0, 0.7)
    before, after = scene.look(times - SHUTTER_S / 2), scene.look(times + SHUTTER_S / 2)
    if calm:
        speed = np.maximum(scene.camera.speed(times), scene.look(times).tip_speed())
        return scene, times[(speed < 0.1) & ~scene.camera.is_masked(times)][:12]
    chosen = []
    for life in scene.lives:
        ways = np.hypot(*(after.to_screen(life.path.at(after.times_s)[:, :2])
                          - before.to_screen(life.path.at(before.times_s)[:, :2])).T)  # fmt: skip
        sight, span = sights(scene, times)[life.instance], scene.look(times).span_of(life)
        seen = sight.visibility == Visibility.VISIBLE
        for here in np.flatnonzero(seen & (ways[span] * 270 > 2.5))[:2]:
            chosen.append((times[span][here], sight.boxes[here].astype(int)))
    return scene, chosen


def test_what_stands_is_painted_as_without_blur():
    scene, times = in_motion(calm=True)
    sharp, blurred = Renderer(scene), Renderer(replace(scene, looks=("blur",)))
    assert len(times) == 12
    for time_s in times:
        assert (sharp.frame(time_s) == blurred.frame(time_s)).all()


@pytest.mark.long
def test_an_object_that_moves_loses_its_edges_and_keeps_its_truth():
    scene, moments = in_motion(calm=False)
    assert len(moments) > 5
    sharp, blurred = Renderer(scene), Renderer(replace(scene, looks=("blur",)))
    assert true_procedure(scene).tracks == true_procedure(blurred.scene).tracks
    for time_s, (x, y, width, height) in moments:
        edges = []
        for renderer in (sharp, blurred):
            patch = renderer.frame(time_s)[y : y + height, x : x + width].astype(float)
            edges.append(sum(np.abs(np.diff(patch, axis=axis)).mean() for axis in (0, 1)))
        assert edges[1] < 0.9 * edges[0]


# --- files -----------------------------------------------------------------------------------------


def test_fog_and_roll_are_image_conditions_where_they_are_painted(tmp_path):
    simulate(1, seed=3, minutes=(1, 1), looks=["all"], **SIZE).to_dir(tmp_path)
    [path] = (tmp_path / "conditions").iterdir()
    table = pl.read_parquet(path)
    assert table.columns == ["second", *CHARACTERISTICS, LENS_FOG, "image_roll"]
    for kind in table.columns[1:]:
        assert 0 <= table[kind].min() <= table[kind].max() <= 1
    assert table["image_roll"].max() > 0.1


def test_the_verb_takes_looks_says_so_in_its_files_and_runs_again(tmp_path):
    app, runner = build_app(), CliRunner()
    options = ["--procedures", "1", "--minutes", "1", "--height", "90", "--without", "video", "--workers", "1"]
    for name, looks in (("plain", []), ("lively", ["--appearance", "soft", "--appearance", "roll"])):
        done = runner.invoke(app, ["data", "simulate", "--out", str(tmp_path / name), *options, *looks])
        assert done.exit_code == 0, done.output
    manifests = [(tmp_path / name / "manifest.json").read_text() for name in ("plain", "lively")]
    assert "looks" not in manifests[0]
    procedures = [next((tmp_path / name / "procedures").iterdir()).read_text() for name in ("plain", "lively")]
    assert "looks" not in procedures[0]
    assert "roll, soft" in procedures[1]
    again = runner.invoke(app, ["tools", "rerun", str(tmp_path / "lively"), "--out", str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    assert "differs" not in again.output
    refused = runner.invoke(app, ["data", "simulate", "--out", str(tmp_path / "none"), *options, "--appearance", "rol"])
    assert isinstance(refused.exception, UnknownName)
    assert not (tmp_path / "none").exists()


@pytest.mark.long
def test_files_with_every_look_are_the_same_for_any_number_of_processes(tmp_path):
    pytest.importorskip("av")
    simulation = simulate(2, seed=5, minutes=(1, 1), width_px=160, height_px=90, looks=["all"])
    for name, workers in (("one", 1), ("two", 2)):
        simulation.to_dir(tmp_path / name, video=True, masks=True, workers=workers)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len([path for path in files if path.suffix == ".mp4"]) == 2
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path


def test_truth_at_a_second_does_not_depend_on_the_frame_rate():
    scene = scene_of("all", center="Center C")
    seconds, quarters = np.arange(150.0, 200.0), np.arange(150.0, 200.0, 0.25)
    slow, fast = sights(scene, seconds), sights(scene, quarters)
    compared = 0
    for life in scene.lives:
        at = {t: n for n, t in enumerate(quarters[scene.look(quarters).span_of(life)])}
        for n, t in enumerate(seconds[scene.look(seconds).span_of(life)]):
            assert slow[life.instance].visibility[n] == fast[life.instance].visibility[at[t]]
            assert slow[life.instance].boxes[n].tolist() == fast[life.instance].boxes[at[t]].tolist()
            compared += slow[life.instance].visibility[n] != Visibility.OUTSIDE
    assert compared > 20


def test_every_centre_can_be_painted_with_every_look():
    for name in CENTERS:
        scene = scene_of("all", center=name)
        assert Renderer(scene).frame(60.0).std() > 5
