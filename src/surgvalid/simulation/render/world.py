"""A scene as bodies in space: what is there at a time, where it is, what it is made of, and what it lies on.

The plane in which sites, paths and tips are kept (`scene`) is the ground of the situs: a view height to the right is
`CM` centimetres, one upwards lies `AWAY_CM` farther from the camera. Heights come from what lies below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.schema.procedures.tracks import Detail, EventKind
from surgvalid.simulation.centers import CIRCLE_RADIUS
from surgvalid.simulation.instruments import NO_TOOL, SLOTS, TOOLS, grip_at
from surgvalid.simulation.lives import Life
from surgvalid.simulation.meshes.materials import OBJECTS, ORGANS, Row, coloured
from surgvalid.simulation.meshes.objects import CM, DRAPED, hung, object_mesh
from surgvalid.simulation.meshes.organs import AWAY_CM, Body, Cord, body_of
from surgvalid.simulation.meshes.settle import Relief, sway
from surgvalid.simulation.meshes.shapes import SHAPES, Mesh, ball, curve, joined, mesh_of, sheet, tube, turned
from surgvalid.simulation.meshes.tools import pointed, tool_mesh
from surgvalid.simulation.render.lens import Lens
from surgvalid.simulation.scene import Scene
from surgvalid.simulation.timelines import Draws, Flags, Floats, Ints, Stretch
from surgvalid.stats.draws import stream

ORGAN, INSTRUMENT, TISSUE, MATERIAL, OBJECT = "organ", "instrument", "tissue", "material", "object"
"""Kinds of things. Tissue is a fold or a shred, material is blood or lint."""
PORTS = np.array([(-19.0, 10.5, -9.0), (19.0, 9.0, -8.0), (15.0, 14.0, 7.0)])
"""Where each hand's shaft goes through the abdominal wall."""
SCOPE = np.array([0.4, 10.8, -17.5])
"""Where the endoscope does."""
FIELD_DEG, DISTANCE_CM = 62.0, 7.4
REACH_CM, PULL_CM = 1.7, 0.7
_SHAFT_CM = 0.5
_BREATH_S, _BREATH_CM = 3.9, 0.16
_FOLD_S = 0.8
_CONTACT_CM = 0.1


class Thing(NamedTuple):
    """One instance."""

    name: str
    class_name: str
    kind: str
    row: int
    """Where its materials begin in the table."""


class HandsInView(NamedTuple):
    """Where the instruments' tips are in the image at one time."""

    shown: Flags
    """By hand, whether the tip of its tool lies within the image."""
    crossing: bool
    """Whether one tip lies behind another's shaft."""


class Piece(NamedTuple):
    """A thing as it is at one time."""

    thing: int
    mesh: Mesh
    carried: bool
    """Whether tissue below carries it along."""


class Ground(NamedTuple):
    """All organs, and what can lie on them."""

    relief: Relief
    cloth: Relief
    """Heights as cloth lies on them."""
    mesh: Mesh
    """Its `parts` are rows of the table."""
    owner: Ints
    starts: dict[int, slice]


@dataclass(frozen=True, slots=True, eq=False)
class SceneMoment:
    """Everything at one time, as triangles."""

    time_s: float
    lens: Lens
    things: tuple[Thing, ...]
    table: Floats
    points: Floats
    corners: Ints
    rest: Floats
    rows: Ints
    """By triangle, its row of the table."""
    owner: Ints
    """By triangle, its thing."""
    foil: Mesh
    """What lets light through; `parts` are things."""
    levels: dict[str, float]
    """The strength of every artefact."""
    below: dict[int, int]
    """What each object rests on, by the raster from above; of a clip, the structure that it closes."""
    held: dict[int, int]
    """Which instrument holds an object."""
    inside: dict[int, int]
    """Which bag an object is in."""
    starts: dict[int, slice]
    """The points of each thing."""
    tips: dict[int, Floats]
    """Where the tip of each instrument is."""
    masked: bool
    closed: NDArray[np.uint8]
    """By triangle, whether its back is never seen."""

    @property
    def closing(self) -> frozenset[int]:
        """The clips that sit on a structure."""
        return frozenset(
            at
            for at, other in self.below.items()
            if self.things[at].class_name == "Clip" and other >= 0 and self.things[other].kind == ORGAN
        )

    @property
    def movable(self) -> int:
        """The first of the foreign objects, which are numbered last."""
        return next((at for at, thing in enumerate(self.things) if thing.kind == OBJECT), len(self.things))


class World:
    """A scene in space."""

    def __init__(self, scene: Scene, *, without: frozenset[str] = frozenset()) -> None:
        """Build the body and every object.

        Args:
            scene: What happens.
            without: Instances and kinds of artefacts that are taken out, for pairs; all else stays as it was with them.
        """
        self.scene, self.without = scene, without

        def draws(purpose: str) -> Draws:
            return stream(scene.seed, "world", scene.video, purpose)

        self.body: Body = body_of(scene.kind, draws("body"))
        self.hover = draws("hover").uniform(0, 2 * pi, (SLOTS, 3))
        self.rows: list[Row] = []
        self.things: list[Thing] = []
        self.cut_s = min((life.born_s for life in scene.lives if life.class_name == "Specimen"), default=np.inf)
        self._organs = [self._thing(organ.name, organ.name, ORGAN, [organ.material]) for organ in self.body.organs]
        self._tools = [[self._tool(slot, tool) for tool in TOOLS] for slot in range(SLOTS)]
        self._shred = self._thing("shred", "tissue", TISSUE, [OBJECTS["flesh"]])
        self._lint = self._thing("lint", "lint", MATERIAL, [OBJECTS["lint"]])
        self._pools = [
            (episode, self._thing(f"blood_{at}", "blood", MATERIAL, [ORGANS["blood"]]))
            for at, episode in enumerate(scene.episodes_by_kind.get("background_blood", ()))
        ]
        self._folds = {
            life.instance: self._thing(f"fold_over_{life.instance}", "omentum", TISSUE, [ORGANS["fat"]])
            for life in scene.lives
            if life.hidden or life.covered
        }
        self.lives = sorted(scene.lives, key=lambda life: -life.size[0] * life.size[1])
        self._holds = [[hold for life in scene.lives for hold in life.holds if hold.slot == s] for s in range(SLOTS)]
        self._meshes: dict[str, Mesh] = {}
        self._objects: dict[str, int] = {}
        for life in self.lives:
            mesh, rows = object_mesh(life.class_name, life.look, life.size, life.seed, scene.center)
            self._meshes[life.instance] = mesh
            self._objects[life.instance] = self._thing(life.instance, life.class_name, OBJECT, rows)
        by_name = {life.instance: life for life in scene.lives}
        self._bagged = {life: by_name[bag] for life in scene.lives if (bag := _bag_of(life)) in by_name}
        sheets = SHAPES["kinds"]["open"]
        self._closed = np.array([not {one.name, one.class_name} & {*sheets} for one in self.things], np.uint8)
        self.table = np.array(self.rows)
        self._organ_rows = [thing.row for thing in self.things if thing.kind == ORGAN]
        self._tool_rows = [t.row + piece for t in self.things if t.kind == INSTRUMENT for piece in range(3)]
        self._grounds = [self._ground(cut) for cut in (False, True)]
        self._settled: tuple[object, dict[str, Floats], Relief, dict[int, int]] | None = None

    def _thing(self, name: str, class_name: str, kind: str, rows: list[Row]) -> int:
        self.things.append(Thing(name, class_name, kind, len(self.rows)))
        self.rows += rows
        return len(self.things) - 1

    def _tool(self, slot: int, tool: str) -> int:
        name = f"{tool.replace(' ', '_')}_hand{slot}"
        shaft = coloured(OBJECTS["dark"], tuple(min(level * self.scene.center.shafts, 210.0) for level in (46, 48, 54)))
        rows = [OBJECTS["metal"] if tool in ("clip applier", "stapler") else shaft, OBJECTS["metal"], OBJECTS["dark"]]
        return self._thing(name, tool, INSTRUMENT, rows)

    def _ground(self, cut: bool) -> Ground:
        """The body, before or after the specimen was cut out of it."""
        relief, starts, count, meshes, owners = Relief.empty(), {}, 0, [], []
        for at, organ in zip(self._organs, self.body.organs, strict=True):
            if cut and organ.cut_out:
                continue
            if organ.carries:
                relief.add(organ.mesh.points, organ.mesh.corners, at)
            starts[at] = slice(count, count + len(organ.mesh.points))
            count += len(organ.mesh.points)
            meshes.append(organ.mesh.as_part(self.things[at].row))
            owners.append(np.full(len(organ.mesh.corners), at, np.int32))
        return Ground(relief, relief.bridged(), joined(meshes), np.concatenate(owners), starts)

    # --- the eye -------------------------------------------------------------------------------

    def lens_at(self, time_s: float) -> Lens:
        """The eye: on the way from its port to what it looks at, and drawn back when it is about to leave the body."""
        x, y, zoom = self.scene.camera.at(time_s)
        target = _on_ground(x, y)
        target[1] = 1.3
        back = 0.0
        for start_s, end_s in self.scene.camera.masked:
            before, after = start_s - time_s, time_s - end_s
            back = max(back, 1 - before / 1.5 if 0 <= before < 1.5 else 0, 1 - after / 1.5 if 0 <= after < 1.5 else 0)
        way = SCOPE - target * (0.55, 1.0, 0.35)
        distance = DISTANCE_CM / zoom * (1 + 1.1 * back)
        eye = target + way / np.sqrt((way**2).sum()) * distance
        roll = float(self.scene.camera.roll_at(time_s))
        return Lens.looking(
            eye, target, roll=roll, field_deg=FIELD_DEG, width_px=self.scene.width_px, height_px=self.scene.height_px
        )

    # --- everything at a time ------------------------------------------------------------------

    def at(self, time_s: float, *, lens: Lens | None = None) -> SceneMoment:
        """Everything at one time."""
        scene = self.scene
        cut = bool(time_s >= self.cut_s)
        ground = self._grounds[cut]
        levels = self.levels(time_s)
        lives = self._lives_at(time_s)
        resting, heights, below = self._settle(lives, time_s, cut)
        tips, gripped = self._hands(lives, time_s, heights)
        pieces, held, inside = [], {}, {}
        for life in lives:
            number, mesh = self._objects[life.instance], self._meshes[life.instance]
            if life.instance in gripped:
                slot, tool, points = gripped[life.instance]
                held[number] = self._tools[slot][tool]
                pieces.append(Piece(number, mesh.moved(points), False))
            else:
                pieces.append(Piece(number, mesh.moved(resting[life.instance]), True))
            pieces += self._fold(life, time_s, heights)
        placed = {piece.thing: piece for piece in pieces}
        for life, bag in self._bagged.items():
            sac = placed.get(self._objects[bag.instance])
            if sac is not None and life.gone_s <= time_s < bag.gone_s:
                inside[self._objects[life.instance]] = sac.thing
                pieces.append(Piece(self._objects[life.instance], self._in_bag(life, sac), sac.carried))
        pieces += self._instruments(time_s, tips)
        pieces += self._blood(time_s, ground.relief)
        pieces += self._bits(tips, levels, time_s)
        tugs = self._tugs(time_s, tips)
        mesh, owner, starts, foil = self._whole(ground, pieces, time_s, tugs)
        return SceneMoment(
            time_s=time_s,
            lens=lens or self.lens_at(time_s),
            things=tuple(self.things),
            table=self._table(levels, time_s),
            points=mesh.points,
            corners=mesh.corners,
            rest=mesh.rest,
            rows=mesh.parts,
            owner=owner,
            closed=self._closed[owner],
            foil=foil,
            levels=levels,
            below=below,
            held=held,
            inside=inside,
            starts=starts,
            tips={number: tips[slot] for slot in range(SLOTS) for number in self._tools[slot] if number in starts},
            masked=bool(scene.camera.is_masked(time_s)),
        )

    def _whole(
        self, ground: Ground, pieces: list[Piece], time_s: float, tugs: list[tuple[Floats, Floats]]
    ) -> tuple[Mesh, Ints, dict[int, slice], Mesh]:
        """Everything in one mesh whose parts are rows of the table, with its owners, where things start, and foils."""
        meshes, owners = [ground.mesh._replace(points=_swayed(ground.mesh.points, time_s, tugs))], [ground.owner]
        foils = [mesh_of(np.zeros((0, 3)), np.zeros((0, 3), np.int32))]
        starts, count = dict(ground.starts), len(ground.mesh.points)
        for piece in sorted(pieces, key=lambda piece: piece.thing):
            thing, mesh = self.things[piece.thing], piece.mesh
            if thing.name in self.without:
                continue
            if piece.carried:
                mesh = mesh._replace(points=_swayed(mesh.points, time_s, tugs))
            if thing.class_name == "Specimen Bag":
                foil = mesh.parts == 0
                foils.append(mesh._replace(corners=mesh.corners[foil]).as_part(piece.thing))
                mesh = mesh._replace(corners=mesh.corners[~foil], parts=mesh.parts[~foil])
            meshes.append(mesh._replace(parts=mesh.parts + np.int32(thing.row)))
            owners.append(np.full(len(mesh.corners), piece.thing, np.int32))
            starts[piece.thing] = slice(count, count + len(mesh.points))
            count += len(mesh.points)
        return joined(meshes), np.concatenate(owners), starts, joined(foils)

    def levels(self, time_s: float) -> dict[str, float]:
        """The strength of every artefact that has episodes."""
        levels: dict[str, float] = {}
        for episode in self.scene.episodes:
            if episode.start_s <= time_s < episode.end_s and episode.kind not in self.without:
                level = float(episode.at(time_s))
                levels[episode.kind] = max(levels.get(episode.kind, 0.0), level)
        return levels

    def _table(self, levels: dict[str, float], time_s: float) -> Floats:
        """The materials as they are now: wet, soiled, too bright."""
        table = self.table.copy()
        table[self._organ_rows, 11] *= 1 + 2.2 * levels.get("background_reflections", 0.0)
        table[self._tool_rows, 11] *= 1 + 3 * levels.get("instrument_reflections", 0.0)
        table[self._tool_rows, 16] = 0.9 * levels.get("instrument_blood", 0.0)
        bright, dark = levels.get("instrument_too_bright", 0.0), levels.get("instrument_too_dark", 0.0)
        table[self._tool_rows, :6] *= (1 + 5 * bright) * (1 - 0.9 * dark)
        for life in self.lives:
            if life.class_name == "Sponge":
                row = self.things[self._objects[life.instance]].row
                since = [time_s - change.second for change in life.changes if change.second <= time_s]
                table[row, 16] = 0.1 + (0.5 * min(1.0, max(since) / 20 + 0.5) if since else 0.0)
        return table

    # --- what rests ----------------------------------------------------------------------------

    def _settle(self, lives: list[Life], time_s: float, cut: bool) -> tuple[dict[str, Floats], Relief, dict[int, int]]:
        """Where the points of resting objects are, how high the situs is with them, and what each lies on."""
        poses = [
            (life, *life.path.at(time_s))
            for life in lives
            if life.class_name == "Clip" or self._hold_at(life, time_s) is None
        ]
        key = cut, tuple((life.instance, round(x, 6), round(y, 6), round(angle, 6)) for life, x, y, angle in poses)
        if self._settled is not None and self._settled[0] == key:
            return self._settled[1:]
        heights, cloth = self._grounds[cut].relief.copied(), self._grounds[cut].cloth.copied()
        below: dict[int, int] = {}
        resting: dict[str, Floats] = {}
        for life, x, y, angle in poses:
            mesh = self._meshes[life.instance]
            points = self._rested(life, mesh.points, _on_ground(x, y), angle, cloth)
            number = self._objects[life.instance]
            gaps = points[:, 1] - heights.at(points)
            touching = points[gaps <= np.quantile(gaps, 0.1) + _CONTACT_CM]
            under = heights.below(touching)
            under = under[under >= 0]
            below[number] = int(np.bincount(under).argmax()) if len(under) else -1
            cord = self._cord(life)
            if cord is not None:
                below[number] = next(at for at in self._organs if self.things[at].name == cord.name)
            resting[life.instance] = points
            if life.class_name not in ("Clip", "Needle"):
                heights.add(points, mesh.corners, number)
                cloth.add(points, mesh.corners, number)
        self._settled = key, resting, heights, below
        return resting, heights, below

    def _rested(self, life: Life, points: Floats, place: Floats, angle: float, relief: Relief) -> Floats:
        points = turned(points, 1, angle if life.class_name != "Clip" else 0.0)
        cord = self._cord(life)
        if cord is not None:
            return np.round(points + cord.at(float(life.path.values[0, 0]) * CM), 9)
        out = points + place
        ground = relief.at(out)
        if life.class_name in DRAPED:
            out[:, 1] = points[:, 1] + ground
        elif life.class_name in SHAPES["kinds"]["bent"]:
            bent = points[:, 1] + 0.75 * (ground - ground.mean())
            out[:, 1] = bent + np.quantile(ground - bent, 0.8)
        else:
            out[:, 1] = points[:, 1] + np.quantile(ground - points[:, 1], 0.93)
            out = self._hanging(life, out, relief)
        return out.round(9)

    def _hanging(self, life: Life, points: Floats, relief: Relief) -> Floats:
        """Where a needle's thread falls to what lies below; of all else, the same points."""
        mesh = self._meshes[life.instance]
        thread = np.unique(mesh.corners[mesh.parts == 1])
        if life.class_name == "Needle":
            square = ((points[thread] - points[thread[0]]) ** 2)[:, [0, 2]].sum(axis=1)
            low = relief.at(points[thread]) + mesh.points[thread, 1]
            points[thread, 1] = np.maximum(points[thread, 1] - 1.2 * square, low)
        return points

    def _cord(self, life: Life) -> Cord | None:
        """The structure that a clip closes."""
        placed = (event.details for event in life.events if event.kind is EventKind.PLACED)
        about = next(placed, {}) if life.class_name == "Clip" else {}
        return self.body.cords.get((about.get(Detail.PLACE, ""), about.get(Detail.STRUCTURE, "")))

    def _fold(self, life: Life, time_s: float, relief: Relief) -> list[Piece]:
        """Fat that is laid over an object, wholly or in part."""
        for stretches, aside in ((life.hidden, 0.0), (life.covered, 0.55)):
            for stretch in stretches:
                share = _share_of(stretch, time_s, _FOLD_S)
                if share > 0 and life.class_name != "Clip":
                    x, y, _ = life.path.at(time_s)
                    return [self._fold_piece(life, _on_ground(x, y), aside, share, relief)]
        return []

    def _fold_piece(self, life: Life, place: Floats, aside: float, share: float, relief: Relief) -> Piece:
        mesh = self._meshes[life.instance].points
        reach = float(np.abs(mesh[:, [0, 2]]).max()) * 1.15 + 0.7
        side = 1.0 if life.seed % 2 else -1.0
        patch = _patch(round(reach, 1))
        points = patch.points.copy()
        out = np.hypot(points[:, 0], points[:, 2]) / reach
        points += place + np.array((side * reach * (aside + 1 - share), 0.0, 0.0))
        ripple = 0.16 * np.sin(points[:, 0] * 1.3 + life.seed % 7) * np.sin(points[:, 2] * 1.6)
        under = np.max(
            [relief.at(points + np.array((dx, 0, dz))) for dx in (-0.3, 0, 0.3) for dz in (-0.3, 0, 0.3)], axis=0
        )
        points[:, 1] = under + (0.42 + ripple) * np.clip((1 - out) * 3.2, -0.6, 1) * share - 0.05 - 0.9 * (1 - share)
        return Piece(self._folds[life.instance], patch.moved(points)._replace(rest=patch.points + place), True)

    # --- what is held --------------------------------------------------------------------------

    def hands_in_view(self, time_s: float) -> HandsInView:
        """Where tips are in the image; no image is drawn for it."""
        tools = [self._tool_at(slot, time_s) for slot in range(SLOTS)]
        if self.scene.camera.is_masked(time_s) or set(tools) == {NO_TOOL}:
            return HandsInView(np.zeros(SLOTS, dtype=bool), False)
        lives, lens = self._lives_at(time_s), self.lens_at(time_s)
        heights = self._settle(lives, time_s, bool(time_s >= self.cut_s))[1]
        tips = self._hands(lives, time_s, heights)[0]
        size = np.array([self.scene.width_px, self.scene.height_px])
        places, depths = np.split(lens.to_image(tips), [2], axis=-1)
        shown = (places > 0).all(axis=1) & (places < size).all(axis=1) & (depths[:, 0] > 0)
        if self.scene.center.circle:
            shown &= np.hypot(*(places - size / 2).T) < CIRCLE_RADIUS * size[1]
        shown &= np.array(tools) != NO_TOOL
        away = PORTS - tips
        shafts = lens.to_image(tips + 5 * away / np.sqrt((away**2).sum(axis=1))[:, None])[:, :2] - places
        crossing = False
        for slot, other in permutations(np.flatnonzero(shown).tolist(), 2):
            along, from_tip = shafts[other], places[slot] - places[other]
            share = np.clip((along @ from_tip) / max(along @ along, 1e-9), 0, 1)
            width_px = _SHAFT_CM * lens.focal_px / depths[other, 0]
            crossing |= bool(depths[slot, 0] > depths[other, 0] and np.hypot(*(from_tip - share * along)) < width_px)
        return HandsInView(shown, crossing)

    def _lives_at(self, time_s: float) -> list[Life]:
        return [life for life in self.lives if life.born_s <= time_s < life.gone_s]

    def _hands(
        self, lives: list[Life], time_s: float, heights: Relief
    ) -> tuple[Floats, dict[str, tuple[int, int, Floats]]]:
        """Where every tip is; and of what is held, the hand, the tool and its points."""
        tips, gripped = self._tips(time_s, heights), {}
        self._at_clips(tips, time_s)
        for life in lives:
            hold = self._hold_at(life, time_s)
            if hold is not None and life.class_name != "Clip":
                points, tips[hold[0]] = self._in_grip(life, time_s, heights)
                gripped[life.instance] = (*hold, points)
        return tips, gripped

    def _in_grip(self, life: Life, time_s: float, relief: Relief) -> tuple[Floats, Floats]:
        """The points of an object in an instrument's jaws, and where these are."""
        x, y, angle = life.path.at(time_s)
        place = _on_ground(x, y)
        mesh = self._meshes[life.instance]
        lift = _lift(life, time_s)
        local = turned(mesh.points, 1, angle)
        settled = self._rested(life, mesh.points, place, angle, relief)
        if life.class_name in DRAPED - {"External Drain", "Silicone Loop"}:
            grip = grip_at(life, time_s)
            height = float(relief.at(place)) + 0.25 + lift + 0.9 * min(lift, 1.0)
            hanging = hung(local, 1.0) + place + (0.0, height, 0.0)
            share = grip * min(1.0, lift / 0.8)
            points = settled + share * (hanging - settled)
            tip = place.copy()
            tip[1] = float(points[np.argmin(local[:, 0] ** 2 + local[:, 2] ** 2), 1])
            return points, tip
        hold = mesh.points[np.unique(mesh.corners[mesh.parts == 0])]
        near = hold - np.array(SHAPES["grips"].get(life.class_name, (0.0, 0.4, 0.0))) * np.abs(hold).max(axis=0)
        handle = turned(hold[[(near**2).sum(axis=1).argmin()]], 1, angle)[0]
        centre = (settled - local)[mesh.corners[0, 0]] + (0.0, lift, 0.0)
        points = self._hanging(life, local + centre, relief)
        return points, np.round(handle + centre, 9)

    def _at_clips(self, tips: Floats, time_s: float) -> None:
        """Put the tips of clip appliers where they set a clip."""
        for life in self.lives:
            hold = self._hold_at(life, time_s) if life.class_name == "Clip" else None
            if hold is not None:
                cord, x = self._cord(life), float(life.path.values[0, 0]) * CM
                tips[hold[0]] = tips[hold[0]] if cord is None else cord.at(x)

    def _in_bag(self, life: Life, sac: Piece) -> Mesh:
        """An object that lies in a bag, seen through its foil."""
        mesh = self._meshes[life.instance]
        foil = sac.mesh.points[np.unique(sac.mesh.corners[sac.mesh.parts == 0])]
        room = np.ptp(foil, axis=0) * (0.62, 0.62, 0.62)
        scale = min(1.0, float((room / np.maximum(np.ptp(mesh.points, axis=0), 1e-9)).min() * 1.25))
        middle = (foil.max(axis=0) + foil.min(axis=0)) / 2
        small = (mesh.points - mesh.points.mean(axis=0)) * scale
        return mesh.moved(small + middle)

    def _tips(self, time_s: float, relief: Relief) -> Floats:
        """Where the tip of every hand's instrument is while it holds nothing: over the tissue, or on it."""
        tips = np.empty((SLOTS, 3))
        for slot in range(SLOTS):
            x, y = self.scene.instruments.tip_at(slot, time_s)
            place, force = _on_ground(x, y), self.scene.instruments.force_at(slot, time_s)
            a, b, _ = self.hover[slot]
            swing = 0.5 + 0.3 * sin(0.7 * time_s + a) + 0.2 * sin(1.9 * time_s + b)
            clear = 0.12 + (0.35 + 1.3 * swing) * max(0.0, 1 - 2.5 * force)
            tips[slot] = place[0], min(float(relief.at(place)), 4.0) + clear, place[2]
        return np.round(tips, 9)

    def _instruments(self, time_s: float, tips: Floats) -> list[Piece]:
        pieces = []
        for slot in range(SLOTS):
            index = self._tool_at(slot, time_s)
            if index != NO_TOOL:
                tool = tool_mesh(TOOLS[index], round(self._opening(slot, time_s), 1))
                mesh = pointed(tool, tips[slot], PORTS[slot], 0.5 + slot + 0.25 * sin(0.31 * time_s + slot))
                pieces.append(Piece(self._tools[slot][index], mesh, False))
        return pieces

    def _hold_at(self, life: Life, time_s: float) -> tuple[int, int] | None:
        """The hand and the tool that hold an object."""
        held = (hold for hold in life.holds if hold.stretch.start_s <= time_s < hold.stretch.end_s)
        return next(((hold.slot, TOOLS.index(hold.tool)) for hold in held), None)

    def _tool_at(self, slot: int, time_s: float) -> int:
        """The tool in a hand; what holds something stays a moment longer."""
        for hold in self._holds[slot]:
            if hold.stretch.start_s - 0.5 <= time_s < hold.stretch.end_s + 0.5:
                return TOOLS.index(hold.tool)
        return self.scene.instruments.tool_at(slot, time_s)

    def _opening(self, slot: int, time_s: float) -> float:
        """How far jaws are open: closed on what they hold or tug at."""
        held = max((_share_of(hold.stretch, time_s, 0.5, 0.5) for hold in self._holds[slot]), default=0.0)
        swing = max(0.0, min(1.0, 0.55 + 0.45 * sin(0.9 * time_s + self.hover[slot][2])))
        return swing * (1 - held) * (1 - min(1.0, 3 * self.scene.instruments.force_at(slot, time_s)))

    def _tugs(self, time_s: float, tips: Floats) -> list[tuple[Floats, Floats]]:
        """Where tissue is pulled, and by how much."""
        tugs = []
        for slot in range(SLOTS):
            index, force = self._tool_at(slot, time_s), self.scene.instruments.force_at(slot, time_s)
            if index != NO_TOOL and force > 0:
                x, y, z = (PORTS[slot] - tips[slot]) / np.sqrt(((PORTS[slot] - tips[slot]) ** 2).sum())
                pull = (x, y, z) if TOOLS[index] == "grasper" else (-x, -0.8, -z)
                tugs.append((tips[slot], np.array(pull) * force * PULL_CM))
        return tugs

    # --- blood, lint, shreds -------------------------------------------------------------------

    def _blood(self, time_s: float, relief: Relief) -> list[Piece]:
        """Pools: level surfaces that meet the relief."""
        pieces = []
        for episode, number in self._pools:
            strength = float(episode.at(time_s))
            if strength > 0 and episode.kind not in self.without:
                x, y, _ = self.scene.camera.at(episode.start_s + 0.3 * (episode.end_s - episode.start_s))
                turn = episode.start_s * 2.4
                disc = _patch(2.6)
                points = disc.points + _on_ground(x, y) + (1.6 * cos(turn), 0.0, 1.2 * sin(turn))
                ground = relief.at(points)
                low, middle = np.quantile(ground, (0.05, 0.5))
                level = low + (middle - low) * min(1.0, 0.25 + strength) - 0.5 * max(0.0, 0.15 - strength)
                points[:, 1] = np.minimum(level, ground + 0.2)
                pieces.append(Piece(number, disc.moved(points), True))
        return pieces

    def _bits(self, tips: Floats, levels: dict[str, float], time_s: float) -> list[Piece]:
        """A shred of tissue or lint at a tip, lint before the tissue."""
        pieces = []
        busy = [slot for slot in range(SLOTS) if self._tool_at(slot, time_s) != NO_TOOL]
        size = levels.get("instrument_tissue", 0.0)
        if size > 0 and busy:
            bit = ball((0.16 + 0.25 * size, 0.12 + 0.2 * size, 0.15 + 0.2 * size), rows=9, columns=12)
            pieces.append(Piece(self._shred, bit.moved(bit.points + tips[busy[0]] + (0.1, 0.0, 0.0)), False))
        at_tip = levels.get("instrument_other_object", 0.0) if busy else 0.0
        size = max(at_tip, levels.get("background_other_object", 0.0))
        if size > 0:
            lens, tuft = self.lens_at(time_s), _tuft(round(0.25 + 0.4 * size, 1))
            middle = tips[busy[-1]] if at_tip > 0 else lens.eye + lens.axes[2] * 4.6
            pieces.append(Piece(self._lint, tuft.moved(tuft.points + middle), False))
        return pieces


@lru_cache(32)
def _patch(reach: float) -> Mesh:
    """A round sheet."""
    mesh = sheet(2 * reach, 2 * reach, cell=0.3)
    x, z = mesh.points[:, 0] / reach, mesh.points[:, 2] / reach
    points = np.stack([x * np.sqrt(1 - z * z / 2), mesh.points[:, 1], z * np.sqrt(1 - x * x / 2)], axis=-1) * (
        reach,
        1,
        reach,
    )
    return mesh._replace(points=np.round(points, 9), rest=np.round(points, 9))


@lru_cache(16)
def _tuft(size: float) -> Mesh:
    rng = np.random.default_rng(3)
    threads = []
    for _ in range(3):
        keys = rng.normal(0, size * 0.22, (9, 3)).cumsum(axis=0)
        threads.append(tube(curve(keys.tolist(), 48), 0.022, sides=4))
    return joined(threads)


def _on_ground(x: float, y: float) -> Floats:
    """A place of the plane of sites."""
    return np.array((x * CM, 0.0, -y * AWAY_CM))


def _bag_of(life: Life) -> str:
    """The bag that an object ends in, or nothing."""
    return next((str(event.details.get(Detail.BAG, "")) for event in life.events if event.kind is EventKind.BAGGED), "")


def _lift(life: Life, time_s: float) -> float:
    """How high above its place an object is held: little while it is shifted, high on its way through a port."""
    for hold in life.holds:
        start_s, end_s = hold.stretch
        if start_s <= time_s < end_s:
            share = (time_s - start_s) / max(end_s - start_s, 1e-9)
            arch = 4 * share * (1 - share)
            way = life.path.at(np.array([start_s, end_s]))
            if abs(way[1, 0] - way[0, 0]) > 0.9:  # through a port
                return 6.0 * (1 - share) if start_s <= life.born_s + 1e-6 else 6.0 * share
            return (0.5 if life.class_name == "Needle" else 1.6) * arch
    return 0.0


def _share_of(stretch: Stretch, time_s: float, moving_s: float, early_s: float = 0.0) -> float:
    """How far a fold lies over its object, or jaws are closed on one: they come and go, some from shortly before on."""
    since_s, left_s = time_s - stretch.start_s + early_s, stretch.end_s + early_s - time_s
    return float(np.clip(min(since_s, left_s) / moving_s, 0.0, 1.0))


def _swayed(points: Floats, time_s: float, tugs: list[tuple[Floats, Floats]]) -> Floats:
    """Floats of tissue, or of what it carries, as breathing and instruments move them."""
    out = np.empty_like(points)
    breath = round(sin(2 * pi * time_s / _BREATH_S), 9) * _BREATH_CM
    tips, pulls = np.array(tugs).reshape(-1, 2, 3).round(9).transpose(1, 0, 2)
    sway(points, breath, tips, pulls, REACH_CM, out)
    return out
