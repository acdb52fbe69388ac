"""Label maps of instruments and objects: the same pixels as the truth about objects, and as the painted images."""

from dataclasses import replace

import numpy as np
import pytest

from surgvalid.simulation import Renderer, draw_scene, true_procedure
from surgvalid.simulation.instance_maps import instance_maps

SECONDS = np.arange(20.0, 220.0, 9.0)


@pytest.mark.parametrize("looks", [(), ("all",)])
@pytest.mark.parametrize("center", ["Center A", "Center C"])
def test_objects_have_the_pixels_that_the_truth_gives_them(center, looks):
    scene = draw_scene(31, 0, center=center, minutes=(4, 5), width_px=192, height_px=108, looks=looks)
    silhouettes = {}
    true_procedure(scene, keep=lambda one: silhouettes.setdefault((one.at, one.instance), one))
    compared, seconds = 0, np.arange(20.0, 220.0) if looks else SECONDS
    for second, (labels, instances) in zip(seconds, instance_maps(scene, seconds), strict=True):
        objects = {one.name: place for place, one in enumerate(instances, start=1) if one.kind == "object"}
        assert set(objects) == {name for at, name in silhouettes if at == second}
        for name, label in objects.items():
            whole = np.zeros(labels.shape, dtype=bool)
            whole[silhouettes[int(second), name].rect.slices()] = silhouettes[int(second), name].seen
            np.testing.assert_array_equal(labels == label, whole)
            compared += 1
    assert compared > 15


@pytest.mark.parametrize("looks", [(), ("roll", "depth")])
def test_the_picture_changes_on_an_instruments_pixels_when_it_is_not_painted(looks):
    scene = replace(draw_scene(31, 1, minutes=(4, 5), width_px=192, height_px=108, looks=looks), episodes=())
    bare = replace(scene, instruments=replace(scene.instruments, tools=np.full_like(scene.instruments.tools, -1)))
    painted, without, looked_at = Renderer(scene), Renderer(bare), 0
    for second, (labels, instances) in zip(SECONDS, instance_maps(scene, SECONDS), strict=True):
        tools = [place for place, one in enumerate(instances, start=1) if one.kind == "instrument"]
        mask = np.isin(labels, tools)
        change = np.abs(painted.frame(second).astype(int) - without.frame(second)).max(axis=2) > 8
        if mask.any():
            looked_at += 1
            assert change[mask].mean() > 0.9
            assert mask[change].mean() > 0.85  # soft edges belong to nobody
    assert looked_at > 10


def test_what_is_seen_and_what_is_hidden_of_crossing_instruments_add_up_in_clear_light():
    scene = replace(draw_scene(31, 1, minutes=(4, 5), width_px=192, height_px=108), episodes=())
    crossed = replace(scene.instruments, tips=scene.instruments.tips[[1, 0, 2]])
    maps = instance_maps(replace(scene, instruments=crossed), SECONDS)
    tools = [one for _, listed in maps for one in listed if one.kind == "instrument"]
    assert sum(one.hidden_px["instrument"] > 20 for one in tools) > 5
    for one in tools:
        assert one.seen_px + one.hidden_px.total() == one.whole_px


def test_nothing_is_in_view_outside_the_body():
    scene = draw_scene(31, 0, minutes=(4, 5), width_px=192, height_px=108)
    dark = replace(scene, camera=replace(scene.camera, masked=((0, scene.duration_s),)))
    [(labels, instances)] = instance_maps(dark, np.array([60.0]))
    assert not labels.any()
    assert instances == ()
