"""The z-buffer: coverage is exact, closed bodies have no holes, and another way of casting rays sees the same."""

import numpy as np
import pytest

pytest.importorskip("numba")

from surgvalid.simulation.centers import CENTERS
from surgvalid.simulation.instruments import TOOLS
from surgvalid.simulation.meshes.objects import object_mesh
from surgvalid.simulation.meshes.shapes import ball, joined, mesh_of, tube
from surgvalid.simulation.meshes.tools import tool_mesh
from surgvalid.simulation.procedure_types import SIZES
from surgvalid.simulation.render import raster
from surgvalid.simulation.render.lens import Lens
from surgvalid.simulation.render.raster import NOTHING, SIDE, STEPS, Samples


def lens(eye, target, width=96, height=64):
    return Lens.looking(np.array(eye, float), np.array(target, float), width_px=width, height_px=height)


def filled(mesh, view, *, owner=None, closed=0, movable=99):
    samples = Samples.empty(view.width_px, view.height_px)
    _, places, inverse = raster.seen_through(view, mesh.points)
    owner = np.zeros(len(mesh.corners), np.int32) if owner is None else owner
    sides = np.full(len(mesh.corners), closed, np.uint8)
    window = 0, 0, SIDE * view.width_px, SIDE * view.height_px
    raster.fill(mesh.corners, owner, sides, movable, places, inverse, window, *samples)
    return samples, places


@pytest.mark.parametrize("seed", range(8))
def test_a_triangle_covers_the_samples_that_lie_in_it(seed):
    corners = np.random.default_rng(seed).uniform(-2, 2, (3, 2))
    view = lens((0, 0, -6), (0, 0, 0))
    mesh = mesh_of(np.column_stack([corners, np.zeros(3)]), np.array([[0, 1, 2]]))
    samples, places = filled(mesh, view)
    (ax, ay), (bx, by), (cx, cy) = places.astype(float)
    rows, columns = np.indices(samples.front.shape) * STEPS + STEPS / 2
    sides = [(qx - px) * (rows - py) - (qy - py) * (columns - px)
             for px, py, qx, qy in ((ax, ay, bx, by), (bx, by, cx, cy), (cx, cy, ax, ay))]  # fmt: skip
    inside = np.all([side > 0 for side in sides], axis=0) | np.all([side < 0 for side in sides], axis=0)
    edge = np.any([side == 0 for side in sides], axis=0)
    assert ((samples.front == 0) == inside)[~edge].all()
    area = abs((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) / 2 / STEPS**2
    assert inside.sum() == pytest.approx(area, rel=0.05, abs=30)


def test_neighbours_share_an_edge_without_a_gap_or_an_overlap():
    points = np.array([[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0], [0.3, -0.2, 0]], float)
    fan = [np.array([[k, (k + 1) % 4, 4]]) for k in range(4)]
    view = lens((0, 0, -6), (0, 0, 0))
    alone = [filled(mesh_of(points, one), view)[0].front != NOTHING for one in fan]
    whole = filled(mesh_of(points, np.concatenate([[[0, 1, 2]], [[0, 2, 3]]])), view)[0].front != NOTHING
    assert (np.sum(alone, axis=0) == whole).all()
    assert whole.sum() > 5000


@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("flipped", [False, True])
def test_a_sample_on_a_shared_edge_belongs_to_exactly_one_triangle(turn, flipped):
    half, side = STEPS // 2, 10 * STEPS
    square = np.roll(np.array([[0, 0], [side, 0], [side, side], [0, side]]), turn, axis=0) + 2 * STEPS + half
    places = square.astype(np.int64)  # corners and the diagonal lie on samples
    halves = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    counts = np.zeros((32, 32), int)
    for corners in halves:
        samples = Samples.empty(16, 16)
        one = corners[None, ::-1].copy() if flipped else corners[None]
        raster.fill(one, np.zeros(1, np.int32), np.zeros(1, np.uint8), 9, places, np.ones(4), (0, 0, 32, 32), *samples)
        counts += samples.front != NOTHING
    assert counts.max() == 1
    assert counts.sum() == 100
    assert (counts[3:12, 3:12] == 1).all()


@pytest.mark.parametrize("number", range(25))
def test_a_closed_body_has_no_hole(number):
    rng = np.random.default_rng(number)
    body = ball((1.5, 1.1, 1.3), rows=9, columns=11)
    eye = rng.normal(size=3)
    view = lens(eye / np.linalg.norm(eye) * 6, (0, 0, 0))
    inner = ball((0.9, 0.7, 0.8), rows=9, columns=11)
    both = joined([body, inner])
    owner = np.repeat([0, 1], [len(body.corners), len(inner.corners)]).astype(np.int32)
    samples, _ = filled(both, view, owner=owner, closed=1)
    shown = owner[samples.front[samples.front != NOTHING]]
    assert len(shown) > 1000
    assert (shown == 0).all()  # what is inside shows nowhere
    across = filled(body, view, closed=0)[0]
    outline = filled(body, view, closed=1)[0].front != NOTHING  # backs add nothing
    np.testing.assert_array_equal(across.front != NOTHING, outline)


@pytest.mark.parametrize("tool", TOOLS)
def test_instruments_turn_their_outsides_out(tool):
    assert volume(tool_mesh(tool, 0.5)) > 0


@pytest.mark.parametrize("name", sorted(set(SIZES) - {"Sponge", "Mesh", "Absorbable Hemostatic Agent"}))
def test_solid_objects_turn_their_outsides_out(name):
    mesh, rows = object_mesh(name, "silver", SIZES[name], 3, CENTERS["Center A"])
    assert volume(mesh) > 0
    assert mesh.parts.max() < len(rows)


def volume(mesh):
    a, b, c = (mesh.points[mesh.corners[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("seed", range(5))
def test_an_independent_caster_of_rays_sees_the_same_triangles(seed):
    rng = np.random.default_rng(seed)
    pieces = [ball(rng.uniform(0.3, 1.2, 3), rows=7, columns=9) for _ in range(4)]
    pieces += [tube(rng.normal(0, 1.4, (5, 3)).cumsum(axis=0) * 0.5, 0.25, sides=7) for _ in range(2)]
    mesh = joined([piece.moved(piece.points + rng.normal(0, 1.0, 3)) for piece in pieces])
    owner = np.repeat(np.arange(6), [len(piece.corners) for piece in pieces]).astype(np.int32)
    view = lens((0, 1, -8), (0, 0, 0), 48, 32)
    samples, _ = filled(mesh, view, owner=owner)
    labels = np.where(samples.front == NOTHING, -1, owner[samples.front])
    cast = cast_rays(mesh, owner, view)
    same = labels == cast
    assert same.mean() > 0.985  # snapping moves outlines by less than a sample
    edge = np.zeros_like(same)
    for axis in (0, 1):
        for step in (-1, 1):
            edge |= cast != np.roll(cast, step, axis)
    assert same[~edge].mean() >= 0.995


def cast_rays(mesh, owner, view):
    """By sample, the owner of the nearest triangle that its ray meets (Moeller and Trumbore)."""
    height, width = view.height_px * SIDE, view.width_px * SIDE
    rows, columns = np.indices((height, width))
    x = ((columns + 0.5) / SIDE - view.width_px / 2) / view.focal_px
    y = ((rows + 0.5) / SIDE - view.height_px / 2) / view.focal_px
    rays = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3) @ view.axes
    nearest, label = np.full(len(rays), np.inf), np.full(len(rays), -1)
    for (a, b, c), mine in zip(mesh.points[mesh.corners], owner, strict=True):
        u, v = b - a, c - a
        p = np.cross(rays, v)
        scale = p @ u
        with np.errstate(divide="ignore", invalid="ignore"):
            away = view.eye - a
            first = p @ away / scale
            q = np.cross(away, u)
            second = rays @ q / scale
            depth = v @ q / scale
        hit = (first >= 0) & (second >= 0) & (first + second <= 1) & (depth > 0) & (depth < nearest)
        nearest[hit], label[hit] = depth[hit], mine
    return label.reshape(height, width)


def test_what_lies_behind_is_the_nearest_of_another_instance():
    front, middle, back = (
        mesh_of(np.array([[-3, -3, z], [3, -3, z], [0, 4, z]], float), np.array([[0, 1, 2]])) for z in (0, 1, 2)
    )
    second = front.moved(front.points + np.array([0, 0, 0.5]))  # the same thing once more, behind itself
    view = lens((0, 0, -6), (0, 0, 0))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        meshes = [front, second, middle, back]
        things = np.array([2, 2, 1, 0], np.int32)  # 0 is tissue
        samples, _ = filled(joined([meshes[k] for k in order]), view, owner=things[order], movable=1)
        at = samples.front.shape[0] // 2, samples.front.shape[1] // 2
        assert things[order][samples.front[at]] == 2
        assert things[order][samples.behind[at]] == 1
