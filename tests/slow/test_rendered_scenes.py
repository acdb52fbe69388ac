"""Rendered scenes against rays cast another way, and the reverse test over two thousand seconds."""

import numpy as np
import pytest

pytest.importorskip("numba")

from surgvalid.simulation import PROCEDURE_TYPES, draw_scene
from surgvalid.simulation.render import raster
from surgvalid.simulation.render.passes import FOIL_OPACITY, Painter
from surgvalid.simulation.render.raster import NOTHING, SIDE
from surgvalid.simulation.render.sight import RULE, SeenAs, look
from surgvalid.simulation.render.world import World

pytestmark = pytest.mark.slow
RAYS = 400


def met_first(points, corners, closed, origin, rays):
    """The triangle that each ray meets first, or -1 (Moeller and Trumbore, all triangles at once)."""
    first = np.full(len(rays), -1)
    a, b, c = (points[corners[:, k]] for k in range(3))
    u, v, away = b - a, c - a, origin - a
    q = np.cross(away, u)
    for number, ray in enumerate(rays):
        p = np.cross(ray, v)
        scale = np.einsum("ij,ij->i", p, u)
        with np.errstate(divide="ignore", invalid="ignore"):
            s, t = np.einsum("ij,ij->i", p, away) / scale, (q @ ray) / scale
            depth = np.einsum("ij,ij->i", v, q) / scale
        met = (s >= 0) & (t >= 0) & (s + t <= 1) & (depth > raster.NEAREST_CM)
        if met.any():
            first[number] = np.flatnonzero(met)[depth[met].argmin()]
    return first


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_samples_show_what_an_independent_caster_of_rays_meets(kind):
    scene = draw_scene(61, 0, procedure=kind, minutes=(8, 9))
    world, painter = World(scene), Painter(scene.center, 480, 270)
    moment = next(m for m in map(world.at, np.arange(200.0, 400.0, 5.0)) if not m.masked)
    painter.buffers(moment)
    front, lens = painter.samples.front, moment.lens
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(2, front.shape[0] - 2, RAYS), rng.integers(2, front.shape[1] - 2, RAYS)
    x = ((columns + 0.5) / SIDE - 240) / lens.focal_px
    y = ((rows + 0.5) / SIDE - 135) / lens.focal_px
    met = met_first(
        moment.points, moment.corners, moment.closed, lens.eye, np.stack([x, y, np.ones(RAYS)], -1) @ lens.axes
    )
    cast = np.where(met >= 0, moment.owner[met], -1)
    labels = np.where(front == NOTHING, -1, moment.owner[front])
    shown = labels[rows, columns]
    assert (shown == cast).mean() >= 0.995
    for row, column, thing in zip(rows[shown != cast], columns[shown != cast], cast[shown != cast], strict=True):
        assert thing in labels[row - 1 : row + 2, column - 1 : column + 2]  # within a sample of an edge


def test_no_pixel_of_a_foreign_object_is_left_out_over_two_thousand_seconds():
    seconds, verdicts = 0, dict.fromkeys(SeenAs, 0)
    for number in range(8):
        scene = draw_scene(67, number, minutes=(8, 9), width_px=240, height_px=136)
        world, painter = World(scene), Painter(scene.center, 240, 136, scene.seed)
        for time_s in np.arange(0.0, scene.duration_s - 1, 1.9):
            moment = world.at(time_s)
            if moment.masked:
                continue
            listed = look(painter, moment)
            buffers = painter.buffers(moment)
            foreign = buffers.labels >= moment.movable
            foil = buffers.foil >= 0
            share = painter.arrives * np.where(foreign & foil, 1 - FOIL_OPACITY, 1.0)
            possible = (foreign | foil) & (share >= RULE.least_share)
            counted = np.any([one.pixels for one in listed], axis=0) if listed else np.zeros_like(foil)
            left = possible & ~counted
            if left.any():  # then it must be washed out or black
                colour = painter.frame(moment).colour.astype(int)[left]
                assert ((colour > 225).all(axis=-1) | (colour < 30).all(axis=-1)).all(), (number, time_s)
            assert not (counted & ~(foreign | foil)).any()
            seconds += 1
            for one in listed:
                verdicts[one.verdict] += 1
    assert seconds >= 2000
    assert verdicts[SeenAs.VISIBLE] > 5 * verdicts[SeenAs.DOUBTFUL]
