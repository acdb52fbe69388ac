"""Examples of metrics over time. Raw units: (reference labels, predicted labels, fps), intervals, or latencies.

The oracles walk frame by frame in plain Python, the relaxed rule line by line as the MATLAB script runs.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np

from metric_examples.example import Example
from surgvalid.metrics.phases.frames import CHOLEC80_PHASES
from surgvalid.metrics.phases.videos import PhaseVideo
from surgvalid.metrics.times import IntervalCases, LatencyCases

PHASES = tuple(range(1, 8))
WINDOW_S = 3.0


def mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


# Label sequences: the reference passes through phases, the prediction moves its boundaries and errs now and then.


def random_labels(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    order = [p for p in PHASES if rng.random() < 0.8] or [1]
    if rng.random() < 0.3:
        order += [int(rng.integers(1, 8))]
    reference = [p for p in order for _ in range(int(rng.integers(1, 9)))]
    shift = int(rng.integers(-4, 5))
    prediction = [reference[min(max(i + shift, 0), len(reference) - 1)] for i in range(len(reference))]
    prediction = [int(rng.integers(1, 8)) if rng.random() < 0.15 else label for label in prediction]
    return reference, prediction, float(rng.choice([1.0, 2.0]))


def perfect_labels(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    reference = [p for p in PHASES for _ in range(int(rng.integers(5, 9)))]
    return reference, list(reference), 1.0


def named(units: list) -> list[PhaseVideo]:
    return [PhaseVideo(*([CHOLEC80_PHASES[p - 1] for p in side] for side in unit[:2]), unit[2]) for unit in units]


def numbered(units: list) -> list[PhaseVideo]:
    return [PhaseVideo(np.asarray(unit[0], int), unit[1], unit[2]) for unit in units]


def runs(labels: list) -> list[tuple[int, int, int]]:
    """(label, first frame, frame after the last)."""
    found, start = [], 0
    for label, group in itertools.groupby(labels):
        length = len(list(group))
        found.append((label, start, start + length))
        start += length
    return found


def matlab_differences(reference: list[int], prediction: list[int], window: int, *, bug: bool) -> list[int]:
    """`updatedDiff` of the published script; with `bug=False`, what it means to compute."""
    difference = [p - r for r, p in zip(reference, prediction, strict=True)]
    for phase, first, stop in runs(reference):
        current = difference[first:stop]
        t = min(window, len(current))
        late = (-1, -2) if phase in (6, 7) else (-1,)
        early = (1, 2) if phase in (4, 5, 6, 7) else (1,)
        for k in range(t):
            if current[k] in late:
                current[k] = 0
        marks = [current[len(current) - t + k] in early for k in range(t)]
        for k in range(t):
            if marks[k]:
                current[k if bug else len(current) - t + k] = 0
        difference[first:stop] = current
    return difference


def ad_reference(reference: list[int], prediction: list[int], window: int) -> list[int]:
    """The reference with frames near a transition set to what is predicted, where a neighbour is predicted."""
    changed, found = list(reference), runs(reference)
    for (left, _, boundary), (right, _, _) in itertools.pairwise(found):
        for i in range(len(reference)):
            inside = (left, right)[i >= boundary]
            other = (right, left)[i >= boundary]
            segment = next(run for run in found if run[1] <= i < run[2])
            touching = segment[2] == boundary or segment[1] == boundary
            near = boundary - window <= i < boundary + window
            if near and touching and reference[i] == inside and prediction[i] == other:
                changed[i] = prediction[i]
    return changed


def oracle_frames(measure: str, rule: str, units: list) -> float:
    per_phase: dict[int, list[float]] = {phase: [] for phase in PHASES}
    accuracies = []
    for reference, prediction, fps in units:
        window = round(WINDOW_S * fps)
        if rule == "ad":
            reference = ad_reference(reference, prediction, window)
        if rule in ("strict", "ad"):
            difference = [p - r for r, p in zip(reference, prediction, strict=True)]
        else:
            difference = matlab_differences(reference, prediction, window, bug=rule == "relaxed_matlab")
        accuracies.append(difference.count(0) / len(difference))
        for phase in PHASES:
            if measure != "accuracy" and phase in reference:
                per_phase[phase].append(one_phase(measure, rule, phase, reference, prediction, difference))
    if measure == "accuracy":
        return mean(accuracies)
    return mean([mean(values) for values in per_phase.values()])


def one_phase(
    measure: str, rule: str, phase: int, reference: list[int], prediction: list[int], difference: list[int]
) -> float:
    frames = list(zip(reference, prediction, difference, strict=True))
    right = sum(d == 0 for r, p, d in frames if phase in (r, p))
    predicted, labelled = prediction.count(phase), reference.count(phase)
    if rule == "relaxed_v2":
        predicted += sum(d == 0 and r == phase and p != phase for r, p, d in frames)
        labelled += sum(d == 0 and p == phase and r != phase for r, p, d in frames)
    union = sum(phase in (r, p) for r, p, _ in frames)
    if predicted:
        precision = right / predicted
    elif rule == "relaxed_matlab":
        precision = math.inf if right else math.nan
    else:
        precision = 0.0
    recall = right / labelled
    if measure == "f1":
        return 2 * right / (predicted + labelled)
    value = {"precision": precision, "recall": recall, "jaccard": right / union}[measure]
    return min(value, 1.0) if rule in ("relaxed_matlab", "relaxed_v1") else value


# Segments.


def oracle_edit(units: list) -> float:
    return mean([1 - recursive_edit(*(tuple(run[0] for run in runs(side)) for side in unit[:2])) for unit in units])


def recursive_edit(left: tuple, right: tuple) -> float:
    """Levenshtein by its recursive definition, over the longer length."""
    from functools import cache

    @cache
    def cost(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + (left[i - 1] != right[j - 1]))

    return cost(len(left), len(right)) / max(len(left), len(right))


def segment_hits(unit: tuple, overlap: float) -> tuple[int, int, int]:
    """Frames as sets; predicted segments in order of time take the best free reference segment of their label."""
    ours, theirs = ([(label, set(range(a, b))) for label, a, b in runs(side)] for side in unit[:2])
    taken: set[int] = set()
    for label, frames in theirs:
        iou = [len(frames & other) / len(frames | other) if label == name else 0.0 for name, other in ours]
        best = iou.index(max(iou))
        if iou[best] >= overlap:
            taken.add(best)
    return len(taken), len(theirs) - len(taken), len(ours) - len(taken)


def f1(hits: float, wrong: float, missed: float) -> float:
    return 2 * hits / (2 * hits + wrong + missed) if hits + wrong + missed else math.nan


def oracle_segment_f1(overlap: float, per_video: bool, units: list) -> float:
    counts = [segment_hits(unit, overlap) for unit in units]
    if per_video:
        return mean([f1(*row) for row in counts])
    return f1(*map(sum, zip(*counts, strict=True))) if counts else math.nan


# Transitions: every one-to-one assignment is tried.


def changes(labels: list, fps: float) -> list[tuple[float, int, int]]:
    return [(i / fps, a, b) for i, (a, b) in enumerate(itertools.pairwise(labels), start=1) if a != b]


def best_delays(unit: tuple, tolerance: float) -> tuple[int, int, list[float]]:
    ours, theirs = (changes(side, unit[2]) for side in unit[:2])
    best: list[float] = []

    def search(i: int, free: tuple[int, ...], delays: list[float]) -> None:
        nonlocal best
        if i == len(ours):
            if len(delays) > len(best) or (len(delays) == len(best) and sum(delays) < sum(best) - 1e-12):
                best = delays
            return
        for j in free:
            delay = abs(ours[i][0] - theirs[j][0])
            if ours[i][1:] == theirs[j][1:] and delay <= tolerance:
                search(i + 1, tuple(k for k in free if k != j), [*delays, delay])
        search(i + 1, free, delays)

    search(0, tuple(range(len(theirs))), [])
    return len(ours), len(theirs), best


def oracle_transitions(measure: str, units: list) -> float:
    found = [best_delays(unit, 3.0) for unit in units]
    ours, theirs, hits = (sum(x) for x in ([f[0] for f in found], [f[1] for f in found], [len(f[2]) for f in found]))
    whole = {"precision": theirs, "recall": ours, "f1": (ours + theirs) / 2}[measure]
    return hits / whole if whole else math.nan


def quantile(values: list[float], q: float) -> float:
    """The smallest value that at least q of all do not exceed."""
    ranked = sorted(values)
    for place, value in enumerate(ranked, start=1):
        if place / len(ranked) >= q - 1e-12:
            return value
    return math.nan


def oracle_delay(q: float, units: list) -> float:
    """Delays can be shared out in several equally good ways; the labels below make the times unique."""
    return quantile([delay for unit in units for delay in best_delays(unit, 3.0)[2]], q)


def delayed_labels(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    order = rng.permutation(PHASES)[: rng.integers(1, 6)].tolist()
    reference = [p for p in order for _ in range(int(rng.integers(5, 9)))]
    lag = int(rng.integers(0, 5))
    return reference, [order[0]] * lag + reference[: len(reference) - lag], 1.0


# Stability.


def oracle_flicker(units: list) -> float:
    excess = sum(max(0, len(changes(p, fps)) - len(changes(r, fps))) for r, p, fps in units)
    minutes = sum(len(r) / fps / 60 for r, _, fps in units)
    return excess / minutes if minutes else math.nan


def oracle_short(units: list) -> float:
    lengths = [(b - a) / fps for _, p, fps in units for _, a, b in runs(p)]
    return mean([float(length < 5) for length in lengths])


def random_tool(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    reference = [state % 2 for state in range(int(rng.integers(1, 4))) for _ in range(int(rng.integers(2, 9)))]
    return reference, [int(rng.random() < 0.25) ^ state for state in reference], 1.0


def perfect_tool(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    reference = [0] * 9 + [1] * 7 + [0] * 8
    return reference, list(reference), 1.0


def oracle_switches(units: list) -> float:
    found = 0
    for reference, prediction, fps in units:
        for _, a, b in runs(prediction)[1:-1]:
            found += (b - a) / fps < 5 and len(set(reference[a - 1 : b + 1])) == 1
    minutes = sum(len(r) / fps / 60 for r, _, fps in units)
    return found / minutes if minutes else math.nan


# Intervals and latencies.


def random_intervals(rng: np.random.Generator) -> tuple[list, list]:
    return tuple(  # type: ignore[return-value]
        [tuple(sorted(rng.integers(0, 20, size=2).tolist())) for _ in range(int(rng.integers(0, 3)))] for _ in range(2)
    )


def perfect_intervals(rng: np.random.Generator) -> tuple[list, list]:
    return [(1, 4), (3, 9)], [(1, 9)]


def spoilt_intervals(rng: np.random.Generator) -> tuple[list, list]:
    return [(1.0, math.nan)], [(1.0, 2.0)]


def intervals(units: list) -> IntervalCases:
    return IntervalCases([unit[0] for unit in units], [unit[1] for unit in units])


def oracle_intervals(units: list) -> float:
    """Whole seconds as sets."""
    scores = []
    for sides in units:
        ours, theirs = ({t for a, b in side for t in range(a, b)} for side in sides)
        scores.append(len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0)
    return mean(scores)


def random_latencies(rng: np.random.Generator) -> list[float]:
    return rng.gamma(2.0, 1.0, size=int(rng.integers(1, 5))).round(2).tolist()


def latencies(units: list) -> LatencyCases:
    unit = [index for index, items in enumerate(units) for _ in items]
    return LatencyCases([item for items in units for item in items], unit)


def oracle_misses(units: list) -> float:
    return mean([float(item > 2.0) for items in units for item in items])


def delayed_stray(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    """A last phase that is only predicted."""
    reference, prediction, fps = delayed_labels(rng)
    return [*reference, *[reference[-1]] * 9], [*prediction, *[reference[-1]] * 6, *[8] * 3], fps


def stray_labels(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    """Three phases in the reference, a fourth in the prediction only."""
    reference = [phase for phase in (1, 2, 3) for _ in range(int(rng.integers(4, 9)))]
    prediction = [5 if rng.random() < 0.3 else label for label in reference]
    return reference, [*prediction[:-1], 5], 1.0


def stray_tool(rng: np.random.Generator) -> tuple[list[int], list[int], float]:
    """A tool that is never there."""
    return [0] * 20, [int(rng.random() < 0.3) for _ in range(20)], 1.0


labels = partial(Example, random_labels, perfect_labels, absent=stray_labels)
relaxed_options = {"window_s": WINDOW_S}
near = {"tolerance_s": 3.0}


def frames(measure: str, rule: str = "strict") -> Example:
    return labels(named, partial(oracle_frames, measure, rule), options=relaxed_options)


def latency(oracle, **options) -> Example:
    fast = lambda rng: [0.0, 0.0]  # noqa: E731
    spoilt = lambda rng: [math.nan, 1.0]  # noqa: E731
    return Example(random_latencies, fast, latencies, oracle, spoilt=spoilt, options=options)


EXAMPLES = {
    **{f"phase_{m}": frames(m) for m in ("accuracy", "precision", "recall", "jaccard", "f1")},
    **{f"phase_{m}_ad": frames(m, "ad") for m in ("accuracy", "precision", "recall", "jaccard")},
    **{
        f"phase_{m}_relaxed_matlab": frames(m, "relaxed_matlab") for m in ("accuracy", "precision", "recall", "jaccard")
    },
    **{f"phase_{m}_relaxed_intended": frames(m, "relaxed_intended") for m in ("accuracy", "jaccard")},
    **{f"phase_{m}_{rule}": frames(m, rule) for m in ("precision", "recall") for rule in ("relaxed_v1", "relaxed_v2")},
    "segment_edit": labels(numbered, oracle_edit),
    **{f"segment_f1_{k}": labels(numbered, partial(oracle_segment_f1, k / 100, False)) for k in (10, 25, 50)},
    **{f"segment_f1_{k}_per_video": labels(numbered, partial(oracle_segment_f1, k / 100, True)) for k in (10, 25, 50)},
    **{
        f"transition_{m}": labels(numbered, partial(oracle_transitions, m), options=near)
        for m in ("precision", "recall", "f1")
    },
    **{
        f"transition_delay_p{q}_s": Example(
            delayed_labels, perfect_labels, numbered, partial(oracle_delay, q / 100), options=near, absent=delayed_stray
        )
        for q in (50, 95)
    },
    "flicker_per_min": labels(numbered, oracle_flicker),
    "short_segment_share": labels(numbered, oracle_short),
    "spurious_switches_per_min": Example(random_tool, perfect_tool, numbered, oracle_switches, absent=stray_tool),
    "temporal_iou": Example(
        *(random_intervals, perfect_intervals, intervals, oracle_intervals),
        spoilt=spoilt_intervals,
        absent=lambda rng: ([], [(1, int(rng.integers(2, 9)))]),
    ),
    **{
        f"latency_p{q}_s": latency(lambda units, q=q: quantile([i for items in units for i in items], q / 100))
        for q in (50, 95, 99)
    },
    "deadline_miss_share": latency(oracle_misses, deadline_s=2.0),
}
