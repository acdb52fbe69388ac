"""How often intervals, comparisons, macro averages and rank sets from few videos are right.

`python -m docs.validate_small_samples --processes 16` rewrites the tables of `validation-intervals.md` (about 100
minutes of CPU time). The truth is known in every scenario. Every repetition is a table of scores that goes through what
the verbs call: `surgvalid.interval`, `compare`, `metric_interval` and `rank`. `tests/slow/test_small_samples.py` holds
the same functions to their bars.

Kinds of data: `acc`, logit-normal accuracies with mean .67; `high`, the same with mean .93; `cont`, Beta(4, 1) video
means with Beta rows; `long`, accuracies that fall with the length of the video (correlation -.6). Lengths are equal
(20 rows) or lognormal (SD 1.2 of the log, mean 20, at least 2: the longest of ten videos holds about a third of all
rows).
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit

import surgvalid
from docs.studies import Study, asked, markdown, put_table, repeated, share
from surgvalid.metrics import open_metric
from surgvalid.metrics.classification.cases import SetCases
from surgvalid.stats.draws import stream

PAGE = Path(__file__).parent / "validation-intervals.md"
REPETITIONS = 2_000
_LOGITS = {"acc": (0.8, 0.8), "high": (3.2, 1.2), "long": (0.8, 0.8)}
"""Mean and SD of the logit of a video's accuracy."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
PRESENCE, RECALL = np.linspace(1.0, 0.12, 7), np.linspace(0.85, 0.51, 7)
"""In which share of the videos each class occurs, and how often it is found."""


# --- one value -----------------------------------------------------------------------------------


def value_hit(kind: str, videos: int, unequal: bool, estimand: str, *, repetition: int) -> float:
    """Whether the interval of one value contains the truth; NaN where the data carry none."""
    rng = stream(17, "small-samples", kind, str(videos), str(unequal), str(repetition))
    length = rng.normal(size=videos)
    sizes = lengths(length) if unequal else np.full(videos, 20)
    table = scores({"model": _rows(kind, length, sizes, rng)}, sizes)
    row = surgvalid.interval(table, estimand=estimand).table.row(0, named=True)
    if row["low"] is None:
        return float("nan")
    return float(row["low"] <= truth(kind, estimand) <= row["high"])


def value_coverage(kind: str, videos: int, *, unequal: bool, estimand: str = "rows", repetitions: int) -> float:
    """The share of intervals of one value that contain the truth."""
    return share(repeated([Study(value_hit, (kind, videos, unequal, estimand), repetitions)])[0])


def scores(models: dict[str, np.ndarray], sizes: np.ndarray) -> pl.DataFrame:
    """A score table: the rows of each model, videos of these sizes one after the other."""
    video = np.repeat([f"v{number:03d}" for number in range(len(sizes))], sizes)
    cases = pl.DataFrame({"case": [f"q{row}" for row in range(len(video))], "video": video})
    own = [cases.with_columns(model=pl.lit(name), value=pl.Series(values)) for name, values in models.items()]
    return pl.concat(own).with_columns(metric=pl.lit("dsc"))


def lengths(normal: np.ndarray) -> np.ndarray:
    """Rows per video: lognormal with mean 20, at least 2."""
    return np.maximum(2, np.rint(20 * np.exp(1.2 * normal - 0.72))).astype(np.int64)


def _rows(kind: str, length: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if kind == "cont":
        return _beta_rows(rng.beta(4, 1, len(sizes)), sizes, rng)
    centre, spread = _LOGITS[kind]
    noise = rng.normal(size=len(sizes))
    noise = -0.6 * length + 0.8 * noise if kind == "long" else noise
    return _right(expit(centre + spread * noise), sizes, rng)


def _right(chance: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """1 or 0 for every row."""
    rows = np.repeat(chance, sizes)
    return (rng.random(len(rows)) < rows).astype(float)


def _beta_rows(mean: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Beta rows about the mean of their video, with precision 5."""
    centre = np.clip(np.repeat(mean, sizes), 1e-3, 1 - 1e-3)
    return rng.beta(5 * centre, 5 * (1 - centre))


@functools.cache
def truth(kind: str, estimand: str) -> float:
    """The mean score; where length and accuracy go together, of a row or of a video."""
    if kind == "cont":
        return 0.8
    centre, spread = _LOGITS[kind]
    if kind != "long" or estimand == "videos":
        return float(_WEIGHTS @ expit(centre + spread * _NODES) / _WEIGHTS.sum())
    length = np.linspace(-9, 9, 20_001)[:, None]
    weight = np.exp(-(length**2) / 2) * lengths(length)
    accuracy = expit(centre + spread * (-0.6 * length + 0.8 * _NODES)) @ _WEIGHTS / _WEIGHTS.sum()
    return float((weight[:, 0] * accuracy).sum() / weight.sum())


# --- two models ----------------------------------------------------------------------------------


class DifferenceHit(NamedTuple):
    """Whether an interval of two equal models contains 0, and whether its p-value says the same."""

    contains: bool
    agrees: bool


def difference_hit(kind: str, videos: int, unequal: bool, *, repetition: int) -> DifferenceHit:
    """One comparison of two equal models: accuracies, bounded scores, or one that fails 15 % of the videos."""
    rng = stream(11, "small-differences", kind, str(videos), str(unequal), str(repetition))
    sizes = lengths(rng.normal(size=videos)) if unequal else np.full(videos, 20)
    models = dict(zip("AB", _pair(kind, sizes, rng), strict=True))
    row = surgvalid.compare(scores(models, sizes), "A", "B").table.row(0, named=True)
    if row["low"] is None:  # no video differs
        return DifferenceHit(True, True)
    contains = row["low"] <= 0 <= row["high"]
    return DifferenceHit(contains, videos < 6 or contains == (row["p_value"] > 0.05))


def _pair(kind: str, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    videos = len(sizes)
    if kind == "acc":
        easy = rng.normal(0.8, 0.8, videos)
        first, second = (_right(expit(easy + rng.normal(0, 0.5, videos)), sizes, rng) for _ in range(2))
    elif kind == "cont":
        first, second = (_beta_rows(rng.beta(4, 1, videos), sizes, rng) for _ in range(2))
    else:
        fails = rng.random(videos) < 0.15
        first = _right(np.where(fails, 0.0, 0.8), sizes, rng)
        second = _right(np.full(videos, 0.68), sizes, rng)
    return first, second


def difference_coverage(kind: str, videos: int, *, unequal: bool, repetitions: int) -> DifferenceHit:
    """The share of intervals that contain 0, and of those whose p-value says the same."""
    contains, agrees = repeated([Study(difference_hit, (kind, videos, unequal), repetitions)])[0].T
    return DifferenceHit(share(contains), share(agrees))


# --- means over classes --------------------------------------------------------------------------


class MacroHit(NamedTuple):
    """Whether a mean over classes is covered: all classes in two videos, the range, the second row; NaN for others."""

    repeated: float
    ranged: float
    second: float


_SECOND = re.compile(r"classes in two or more videos: [\d.]+ \[([\d.]+), ([\d.]+)\]")
_METRIC = {"f1": "macro_f1", "recall": "macro_recall"}


def macro_hit(measure: str, videos: int, *, repetition: int) -> MacroHit:
    """One mean over classes that are present in 100 down to 12 % of the videos."""
    rng = stream(4, "small-macro", measure, str(videos), str(repetition))
    counts = _macro_counts(videos, rng)
    result = surgvalid.metric_interval(open_metric(_METRIC[measure]), _sets(*counts), video=list(range(videos)))
    low, high = result.table.select("low", "high").row(0)
    present = ((counts[0] + counts[1]) > 0).sum(axis=0)
    true = _macro_truth(measure)
    whole = float(true[present > 0].mean())
    if not (present == 1).any():
        return MacroHit(float(low <= whole <= high), np.nan, np.nan)
    ends = next((m for one in result.findings if (m := _SECOND.search(one.message))), None)
    inside = np.nan if ends is None else float(ends[1]) <= true[present > 1].mean() <= float(ends[2])
    return MacroHit(np.nan, np.nan if low is None else float(low <= whole <= high), float(inside))


def macro_coverage(measure: str, videos: int, *, repetitions: int) -> MacroHit:
    """The shares of the three."""
    return MacroHit(*(share(one) for one in repeated([Study(macro_hit, (measure, videos), repetitions)])[0].T))


def _macro_counts(videos: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hits, misses and false alarms `[video, class]`; videos and classes within them differ in difficulty."""
    shape = (videos, len(PRESENCE))
    support = np.where(rng.random(shape) < PRESENCE, 1 + rng.poisson(6, shape), 0)
    effect = rng.normal(0, 0.5, (videos, 1)) + rng.normal(0, 0.5, shape)
    hits = rng.binomial(support, expit(np.log(RECALL / (1 - RECALL)) + effect))
    return hits, support - hits, np.where(support > 0, rng.poisson(1.2, shape), 0)


def _sets(hits: np.ndarray, misses: np.ndarray, alarms: np.ndarray) -> SetCases:
    """Cases with at most one label in reference and prediction that have these counts."""
    reference, prediction, unit = [], [], []
    for counts, given, said in ((hits, True, True), (misses, True, False), (alarms, False, True)):
        video, label = (np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape))
        member = np.arange(counts.shape[1]) == label[:, None]
        reference.append(member & given)
        prediction.append(member & said)
        unit.append(video)
    # one empty case per video, so that no video is lost
    blank = np.zeros((len(hits), hits.shape[1]), dtype=bool)
    return SetCases(
        np.concatenate([*reference, blank]),
        np.concatenate([*prediction, blank]),
        unit=np.concatenate([*unit, np.arange(len(hits))]).tolist(),
    )


@functools.cache
def _macro_truth(measure: str) -> np.ndarray:
    hits, misses, alarms = (
        one.sum(axis=0) for one in _macro_counts(400_000, stream(4, "small-macro", measure, "truth"))
    )
    return np.asarray(2 * hits / (2 * hits + misses + alarms) if measure == "f1" else hits / (hits + misses))


# --- rank sets -----------------------------------------------------------------------------------


def rank_hit(models: int, videos: int, *, repetition: int) -> bool:
    """Whether no two of equal models are told apart, so that all sets of ranks are right."""
    rng = stream(5, "small-ranks", str(models), str(videos), str(repetition))
    easy = rng.normal(0.8, 0.8, videos)
    sizes = np.full(videos, 8)
    rows = {f"m{m:02d}": _right(expit(easy + rng.normal(0, 0.4, videos)), sizes, rng) for m in range(models)}
    ranks = surgvalid.rank(scores(rows, sizes), "mean-then-rank", replicates=0, seed=repetition).ranks
    return bool((ranks["rank_low"] == 1).all() and (ranks["rank_high"] == models).all())


def rank_coverage(models: int, videos: int, *, repetitions: int) -> float:
    """The share of repetitions in which all sets are right."""
    return share(repeated([Study(rank_hit, (models, videos), repetitions)])[0])


# --- page ----------------------------------------------------------------------------------------

VALUE_COUNTS, DIFFERENCE_COUNTS, FEW_COUNTS = (
    (3, 5, 6, 8, 10, 15, 20, 40),
    (4, 5, 6, 8, 10, 15, 20, 40),
    (6, 10, 20, 40),
)


def value_table(repetitions: int, processes: int) -> str:
    """Coverage of one value."""
    rows: dict[str, tuple[Any, ...]] = {
        f"{kind}, {'unequal' if unequal else 'equal'}, `{estimand}`": (kind, unequal, estimand)
        for kind in ("acc", "high", "cont", "long")
        for unequal, estimand in ((True, "rows"), (False, "rows"), (True, "videos"))
        if kind != "long" or unequal
    }
    cells = [(kind, videos, unequal, how) for kind, unequal, how in rows.values() for videos in VALUE_COUNTS]
    done = [share(one) for one in repeated([Study(value_hit, c, repetitions) for c in cells], processes=processes)]
    return _table(VALUE_COUNTS, dict(zip(rows, np.reshape(done, (len(rows), -1)).tolist(), strict=True)))


def difference_table(repetitions: int, processes: int) -> str:
    """Coverage of the difference of two equal models."""
    rows = [(kind, unequal) for kind in ("acc", "cont", "skew") for unequal in (False, True)]
    cells = [(kind, videos, unequal) for kind, unequal in rows for videos in DIFFERENCE_COUNTS]
    found = repeated([Study(difference_hit, cell, repetitions) for cell in cells], processes=processes)
    names = [f"{kind}, {'unequal' if unequal else 'equal'}" for kind, unequal in rows]
    shares = np.reshape([share(one[:, 0]) for one in found], (len(rows), -1))
    return _table(DIFFERENCE_COUNTS, dict(zip(names, shares.tolist(), strict=True)))


def macro_table(repetitions: int, processes: int) -> str:
    """Coverage of means over classes."""
    cells = [(measure, videos) for measure in _METRIC for videos in FEW_COUNTS]
    found = repeated([Study(macro_hit, cell, repetitions) for cell in cells], processes=processes)
    rows: dict[str, list[float]] = {}
    for number, name in enumerate(("macro-F1", "macro recall")):
        own = found[number * len(FEW_COUNTS) : (number + 1) * len(FEW_COUNTS)]
        for place, what in enumerate(("every class in two videos", "single-video classes as a range", "second row")):
            rows[f"{name}, {what}"] = [share(one[:, place]) for one in own]
    return _table(FEW_COUNTS, rows)


def rank_table(repetitions: int, processes: int) -> str:
    """How often all rank sets are right."""
    cells = [(models, videos) for models in (8, 20) for videos in FEW_COUNTS]
    found = [share(one) for one in repeated([Study(rank_hit, c, repetitions // 2) for c in cells], processes=processes)]
    names = ("8 equal models", "20 equal models")
    return _table(FEW_COUNTS, dict(zip(names, np.reshape(found, (2, -1)).tolist(), strict=True)))


def _table(counts: tuple[int, ...], rows: dict[str, list[float]]) -> str:
    return markdown(["", *(f"V = {count}" for count in counts)], [(name, *shares) for name, shares in rows.items()])


TABLES = {"values": value_table, "differences": difference_table, "macro": macro_table, "ranks": rank_table}


def main() -> None:
    """Put new tables between the markers of the page."""
    options = asked(__doc__ or "", repetitions=REPETITIONS)
    for name, make in TABLES.items():
        table = make(options.repetitions, options.processes)
        print(f"{name}\n{table}\n", flush=True)
        put_table(PAGE, name, table)


if __name__ == "__main__":
    main()
