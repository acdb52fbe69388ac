"""Small procedures for tests: one by hand, and as many random ones as a seed asks for."""

from __future__ import annotations

import numpy as np

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES, FOREIGN_OBJECTS
from surgvalid.schema.procedures.tracks import (
    EVERYTHING,
    AttributeChange,
    Box,
    Event,
    EventKind,
    Phase,
    Procedure,
    Span,
    Track,
    TrackPoint,
    Visibility,
    track_from_points,
)

WIDTH_PX, HEIGHT_PX = 640, 360
MAY_STAY = {kind.name for kind in FOREIGN_OBJECTS if kind.may_stay}
PLACES = ("gallbladder fossa", "right upper quadrant", "pelvis", "left paracolic gutter")
PURPOSES = {
    "Sponge": ("compress a bleeding", "absorb fluid", "hold back tissue"),
    "Clip": ("close a vessel", "close a duct"),
    "Silicone Loop": ("pull a structure aside",),
    "Needle": ("suture",),
    "External Drain": ("lead fluid out",),
    "Mesh": ("reinforce the wall",),
}
STRUCTURES = ("cystic duct", "cystic artery", "liver bed", "sigmoid colon")
INSTRUMENTS = ("Grasper", "Needle Holder", "Clip Applier")
PROCEDURE_TYPES = ("Cholecystectomy", "Sigmoid Resection", "Appendectomy")


def tiny_procedure() -> Procedure:
    """A minute of surgery: a sponge that hides and comes back, a clip that stays, a stone that is bagged."""
    sponge = track_from_points(
        "sponge 1",
        "Sponge",
        [
            *((s, (100, 100, 60, 40)) for s in range(5, 15)),
            (15, (100, 100, 60, 40), Visibility.OCCLUDED),
            (16, (0, 0, 0, 0), Visibility.OUTSIDE),
            *((s, (300, 200, 60, 40)) for s in range(25, 31)),
        ],
        attributes={"colour": "white"},
        changes=[AttributeChange(10, "colour", "red")],
    )
    clip = track_from_points("clip 1", "Clip", [(s, (320, 180, 10, 20)) for s in range(12, 40)])
    bag = track_from_points("bag 1", "Specimen Bag", [(s, (400, 100, 90, 80)) for s in range(35, 50)])
    stone = track_from_points("stone 1", "Gallstone", [(s, (420.5, 130, 12, 12)) for s in range(30, 41)])
    return Procedure(
        "v1",
        "Cholecystectomy",
        "A",
        60,
        WIDTH_PX,
        HEIGHT_PX,
        (sponge, clip, bag, stone),
        (
            Event(EventKind.INSERTED, 4, "sponge 1", {"trocar": "umbilical"}),
            Event(EventKind.PLACED, 7, "sponge 1", {"place": "gallbladder fossa", "purpose": "absorb fluid"}),
            Event(EventKind.RETRIEVED, 31, "sponge 1", {"instrument": "Grasper"}),
            Event(EventKind.PLACED, 14, "clip 1", {"structure": "cystic duct", "instrument": "Clip Applier"}),
            Event(EventKind.LEFT_IN_SITU, 55, "clip 1"),
            Event(EventKind.INSERTED, 34, "bag 1"),
            Event(EventKind.BAGGED, 41, "stone 1", {"bag": "bag 1"}),
            Event(EventKind.RETRIEVED, 50, "bag 1"),
        ),
        (Phase("preparation", 0, 10), Phase("dissection", 10, 40), Phase("retraction", 40, 60)),
        masked=(Span(56, 60),),
        declared=EVERYTHING,
    )


def random_procedure(seed: int, *, most_objects: int = 7, longest_s: int = 160) -> Procedure:
    """A consistent procedure in which nearly everything can happen; equal for equal seeds."""
    draw = np.random.default_rng(seed)
    duration_s = int(draw.integers(30, longest_s + 1))
    kinds = draw.choice(CLASS_NAMES, size=int(draw.integers(1, len(CLASS_NAMES) + 1)), replace=False)
    classes = [str(draw.choice(kinds)) for _ in range(int(draw.integers(0, most_objects + 1)))]
    tracks, events = [], []
    for number, class_name in enumerate(classes):
        track, told = _random_object(f"{class_name.lower()} {number}", class_name, duration_s, draw)
        tracks.append(track)
        events += told
    bags = [track.instance for track in tracks if track.class_name == "Specimen Bag"]
    for at, event in enumerate(events):
        if event.kind is EventKind.BAGGED and bags and draw.random() < 0.7:
            events[at] = Event(event.kind, event.second, event.instance, {"bag": str(draw.choice(bags))})
    cuts = sorted(draw.choice(np.arange(1, duration_s), size=min(3, duration_s - 1), replace=False).tolist())
    names = ("preparation", "dissection", "retrieval", "closure")
    bounds = [0, *cuts, duration_s]
    mask_start = int(draw.integers(0, duration_s - 5))
    return Procedure(
        f"v{seed}",
        PROCEDURE_TYPES[seed % 3],
        "AB"[seed % 2],
        duration_s,
        WIDTH_PX,
        HEIGHT_PX,
        tuple(tracks),
        tuple(events),
        tuple(Phase(n, a, b) for n, a, b in zip(names, bounds[:-1], bounds[1:], strict=False)),
        instruments=(_random_track("grasper", "Grasper", 0, duration_s - 1, draw),),
        masked=(Span(mask_start, mask_start + int(draw.integers(1, 5))),) if draw.random() < 0.3 else (),
        declared=EVERYTHING,
    )


def _random_object(name: str, class_name: str, duration_s: int, draw: np.random.Generator) -> tuple[Track, list[Event]]:
    start = int(draw.integers(0, duration_s - 4))
    stop = int(draw.integers(start + 2, duration_s))
    told: list[Event] = []
    if draw.random() < 0.7:
        told.append(Event(EventKind.INSERTED, start, name))
    for kind in (EventKind.GRASPED, EventKind.PLACED):
        for second in sorted(draw.integers(start, stop, int(draw.integers(0, 3))).tolist()):
            told.append(Event(kind, second, name, _details(class_name, draw)))
    fate = draw.random()
    if class_name in (*MAY_STAY, "External Drain") and fate < 0.5:
        told.append(Event(EventKind.LEFT_IN_SITU, stop, name))
    elif fate < 0.75:
        told.append(Event(EventKind.RETRIEVED, stop, name))
    if class_name in ("Gallstone", "Specimen", "Sponge") and draw.random() < 0.6:
        told.append(Event(EventKind.BAGGED, int(draw.integers(start, stop + 1)), name))
    return _random_track(name, class_name, start, stop, draw), told


def _details(class_name: str, draw: np.random.Generator) -> dict[str, str]:
    found = {}
    if draw.random() < 0.7:
        found["place"] = str(draw.choice(PLACES))
    if draw.random() < 0.5:
        found["structure"] = str(draw.choice(STRUCTURES))
    if draw.random() < 0.6:
        found["instrument"] = str(draw.choice(INSTRUMENTS))
    if class_name in PURPOSES and draw.random() < 0.7:
        found["purpose"] = str(draw.choice(PURPOSES[class_name]))
    return found


def _random_track(name: str, class_name: str, start: int, stop: int, draw: np.random.Generator) -> Track:
    """Seen in stretches of a few to many seconds within [start, stop], with gaps, some of one second."""
    points, second = [], start
    shown = bool(draw.random() < 0.8)
    x, y = draw.uniform(0, WIDTH_PX - 80), draw.uniform(0, HEIGHT_PX - 60)
    while second <= stop:
        length = int(draw.choice([1, 2, 5, 10, 25]))
        for at in range(second, min(second + length, stop + 1)):
            x = float(np.clip(x + draw.normal(0, 12), 0, WIDTH_PX - 80))
            y = float(np.clip(y + draw.normal(0, 8), 0, HEIGHT_PX - 60))
            box = Box(
                round(x, 1), round(y, 1), round(float(draw.uniform(8, 80)), 1), round(float(draw.uniform(8, 60)), 1)
            )
            if shown:
                points.append(TrackPoint(at, box, Visibility(int(draw.random() < 0.2))))
            elif draw.random() < 0.3:
                points.append(TrackPoint(at, box, Visibility.OUTSIDE))
        second, shown = second + length, not shown
    changes = [AttributeChange((start + stop) // 2, "colour", "red")] if class_name == "Sponge" else []
    attributes = {"colour": str(draw.choice(["white", "blue"]))} if class_name in ("Sponge", "Needle", "Mesh") else {}
    return track_from_points(name, class_name, points, attributes=attributes, changes=changes)
