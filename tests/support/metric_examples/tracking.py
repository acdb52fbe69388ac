"""Examples of tracking metrics. Raw units: a list of frames, each (references, predictions) as {identity: box}.

The oracles follow the definitions frame by frame and try every matching.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np

from metric_examples.example import Example
from surgvalid.metrics.tracking.sequences import TrackSequence

ALPHAS = [0.05 * k for k in range(1, 20)]


def random_sequence(rng: np.random.Generator) -> list[tuple[dict, dict]]:
    """Two or three tools that drift; the tracker loses, invents and exchanges identities."""
    frames, tools = int(rng.integers(1, 7)), int(rng.integers(0, 4))
    place = rng.uniform(0, 12, size=(tools, 2))
    alias = {tool: f"p{tool}" for tool in range(tools)}
    sequence = []
    for _ in range(frames):
        place = place + rng.normal(0, 1, size=(tools, 2))
        ours = {t: (*place[t], 6.0, 5.0) for t in range(tools) if rng.random() < 0.85}
        if tools > 1 and rng.random() < 0.25:
            alias[0], alias[1] = alias[1], alias[0]
        theirs = {
            alias[t]: (*(np.array(box[:2]) + rng.normal(0, 1.2, 2)), 6.0, 5.0)
            for t, box in ours.items()
            if rng.random() < 0.85
        }
        if rng.random() < 0.2:
            theirs["ghost"] = (*rng.uniform(0, 12, 2), 6.0, 5.0)
        sequence.append((ours, theirs))
    return sequence


def perfect_sequence(rng: np.random.Generator) -> list[tuple[dict, dict]]:
    sequence = []
    for frame in range(4):
        ours = {t: (20.0 * t + frame, 3.0, 6.0, 5.0) for t in range(2)}
        sequence.append((ours, {f"p{t}": box for t, box in ours.items()}))
    return sequence


def spoilt_sequence(rng: np.random.Generator) -> list[tuple[dict, dict]]:
    return [({0: (1.0, math.nan, 2.0, 2.0)}, {0: (1.0, 1.0, 2.0, 2.0)})]


def stray_sequence(rng: np.random.Generator) -> list[tuple[dict, dict]]:
    """No tool in the reference, one that is tracked."""
    return [({}, {"p": (*rng.uniform(0, 9, 2), 6.0, 5.0)}) for _ in range(3)]


def sequence_of(unit: list) -> TrackSequence:
    columns = []
    for side in (0, 1):
        rows = [(frame, one, box) for frame, both in enumerate(unit) for one, box in both[side].items()]
        columns += [np.array([r[0] for r in rows], int), [r[1] for r in rows], [r[2] for r in rows]]
    return TrackSequence(*columns)


def cases(units: list) -> list[TrackSequence]:
    return [sequence_of(unit) for unit in units]


def iou(a: tuple, b: tuple) -> float:
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def best_matching(ours: list, theirs: list, score) -> list[tuple]:
    """The one-to-one pairs of largest total score, all of them tried."""
    if len(ours) > len(theirs):
        return [(a, b) for b, a in best_matching(theirs, ours, lambda b, a: score(a, b))]
    options = (list(zip(ours, order, strict=True)) for order in itertools.permutations(theirs, len(ours)))
    return max(options, key=lambda pairs: sum(score(*pair) for pair in pairs), default=[])


def lengths(unit: list, side: int) -> dict:
    found: dict = {}
    for both in unit:
        for one in both[side]:
            found[one] = found.get(one, 0) + 1
    return found


def hota_matches(unit: list) -> list[tuple]:
    """(reference identity, predicted identity, IoU) of every matched pair."""
    soft: dict = {}
    for ours, theirs in unit:
        table = {(a, b): iou(ours[a], theirs[b]) for a in ours for b in theirs}
        for (a, b), value in table.items():
            whole = sum(table[a, d] for d in theirs) + sum(table[c, b] for c in ours) - value
            soft[a, b] = soft.get((a, b), 0.0) + (value / whole if whole > 0 else 0.0)
    count = lengths(unit, 0), lengths(unit, 1)
    aligned = {(a, b): value / (count[0][a] + count[1][b] - value) for (a, b), value in soft.items()}
    matched = []
    for ours, theirs in unit:
        score = lambda a, b, ours=ours, theirs=theirs: aligned[a, b] * iou(ours[a], theirs[b])  # noqa: E731
        matched += [(a, b, iou(ours[a], theirs[b])) for a, b in best_matching(list(ours), list(theirs), score)]
    return matched


def oracle_hota(part: str, units: list) -> float:
    boxes = [sum(len(both[side]) for unit in units for both in unit) for side in (0, 1)]
    if not sum(boxes):
        return math.nan
    matches = [hota_matches(unit) for unit in units]
    values = []
    for alpha in ALPHAS:
        hits, association = 0, 0.0
        for unit, matched in zip(units, matches, strict=True):
            kept = [(a, b) for a, b, overlap in matched if overlap >= alpha - 1e-12]
            count = lengths(unit, 0), lengths(unit, 1)
            hits += len(kept)
            for a, b in kept:
                together = kept.count((a, b))
                association += together / (count[0][a] + count[1][b] - together)
        detection = hits / (sum(boxes) - hits)
        within = association / hits if hits else 0.0
        values.append({"hota": math.sqrt(detection * within), "deta": detection, "assa": within}[part])
    return sum(values) / len(values)


def clear(unit: list) -> tuple[int, int]:
    """Matches and identity switches."""
    hits = switches = 0
    ever: dict = {}
    before: dict = {}
    for ours, theirs in unit:
        if not ours or not theirs:
            continue

        def score(a, b, ours=ours, theirs=theirs, before=before):
            overlap = iou(ours[a], theirs[b])
            return overlap + 1000 * (before.get(a) == b) if overlap >= 0.5 else 0.0

        before = {a: b for a, b in best_matching(list(ours), list(theirs), score) if score(a, b) > 0}
        hits += len(before)
        switches += sum(a in ever and ever[a] != b for a, b in before.items())
        ever |= before
    return hits, switches


def oracle_mota(units: list) -> float:
    ours, theirs = (sum(len(both[side]) for unit in units for both in unit) for side in (0, 1))
    hits, switches = (sum(clear(unit)[k] for unit in units) for k in (0, 1))
    return (hits - (theirs - hits) - switches) / ours if ours else math.nan


def oracle_switches(units: list) -> float:
    return sum(clear(unit)[1] for unit in units) / len(units) if units else math.nan


def oracle_idf1(units: list) -> float:
    shared = boxes = 0
    for unit in units:
        together: dict = {}
        for ours, theirs in unit:
            for a, b in itertools.product(ours, theirs):
                together[a, b] = together.get((a, b), 0) + (iou(ours[a], theirs[b]) >= 0.5)
        score = lambda a, b, together=together: together.get((a, b), 0)  # noqa: E731
        pairs = best_matching(list(lengths(unit, 0)), list(lengths(unit, 1)), score)
        shared += sum(score(a, b) for a, b in pairs)
        boxes += sum(len(both[0]) + len(both[1]) for both in unit)
    return 2 * shared / boxes if boxes else math.nan


example = partial(Example, random_sequence, perfect_sequence, cases, spoilt=spoilt_sequence, absent=stray_sequence)

EXAMPLES = {
    **{part: example(partial(oracle_hota, part)) for part in ("hota", "deta", "assa")},
    "mota": example(oracle_mota),
    "idf1": example(oracle_idf1),
    "id_switches": example(oracle_switches),
}
