"""How often intervals, comparisons, macro averages and rank sets from few videos are right.

`python -m docs.validate_small_samples` rewrites the tables between the markers of `validation-intervals.md` (some
minutes). The truth is known in every scenario; all repetitions of a scenario are columns of one matrix where the method
allows it. `tests/slow/test_small_samples.py` holds the same functions to their bars.

Kinds of data: `acc`, logit-normal accuracies with mean .67; `high`, the same with mean .93; `cont`, Beta(4, 1) video
means with Beta rows; `long`, accuracies that fall with the length of the video (correlation -.6). Lengths are equal
(20 rows) or lognormal (SD 1.2 of the log, mean 20, at least 2: the longest of ten videos holds about a third of all
rows).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from surgeval.stats.draws import stream
from surgeval.stats.macro_interval import macro_interval
from surgeval.stats.paired_tests import flip_p
from surgeval.stats.rank_sets import rank_sets
from surgeval.stats.sign_flip_interval import difference_interval
from surgeval.stats.video_jackknife import mean_interval

PAGE = Path(__file__).parent / "validation-intervals.md"
BEGIN, END = "<!-- small samples begin -->", "<!-- small samples end -->"
REPETITIONS = 2_000
_LOGITS = {"acc": (0.8, 0.8), "high": (3.2, 1.2), "long": (0.8, 0.8)}
"""Mean and SD of the logit of a video's accuracy."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


class Totals(NamedTuple):
    """Sums and lengths `[video, repetition]`, and the true value."""

    totals: np.ndarray
    sizes: np.ndarray
    truth: float


def simulated(
    kind: str, videos: int, *, unequal: bool, estimand: str = "rows", repetitions: int = REPETITIONS, seed: int = 17
) -> Totals:
    """Sums of scores of many repetitions; for the estimand `videos`, their means and ones."""
    rng = stream(seed, "small-samples", kind, str(videos), str(unequal))
    shape = (videos, repetitions)
    length = rng.normal(size=shape)
    sizes = _lengths(length) if unequal else np.full(shape, 20)
    if kind == "cont":
        mean = rng.beta(4, 1, shape)
        totals = _beta_sums(mean, sizes, rng)
        truth = 0.8
    else:
        centre, spread = _LOGITS[kind]
        noise = rng.normal(size=shape)
        noise = -0.6 * length + 0.8 * noise if kind == "long" else noise
        totals = rng.binomial(sizes, expit(centre + spread * noise)).astype(float)
        truth = _truth(kind, estimand)
    if estimand == "videos":
        return Totals(totals / sizes, np.ones(shape), truth)
    return Totals(totals, sizes.astype(float), truth)


def _beta_sums(mean: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of Beta rows about the mean of their video, with precision 5."""
    video = np.repeat(np.arange(mean.size), sizes.ravel())
    centre = np.clip(mean.ravel()[video], 1e-3, 1 - 1e-3)
    rows = rng.beta(5 * centre, 5 * (1 - centre))
    return np.bincount(video, weights=rows, minlength=mean.size).reshape(mean.shape)


def _truth(kind: str, estimand: str) -> float:
    """The mean accuracy; where length and accuracy go together, of a row or of a video."""
    centre, spread = _LOGITS[kind]
    if kind != "long" or estimand == "videos":
        return float(_WEIGHTS @ expit(centre + spread * _NODES) / _WEIGHTS.sum())
    length = np.linspace(-9, 9, 20_001)[:, None]
    weight = np.exp(-(length**2) / 2) * _lengths(length)
    accuracy = expit(centre + spread * (-0.6 * length + 0.8 * _NODES)) @ _WEIGHTS / _WEIGHTS.sum()
    return float((weight[:, 0] * accuracy).sum() / weight.sum())


def _lengths(normal: np.ndarray) -> np.ndarray:
    """Rows per video: lognormal with mean 20, at least 2."""
    return np.maximum(2, np.rint(20 * np.exp(1.2 * normal - 0.72))).astype(np.int64)


def value_coverage(kind: str, videos: int, *, unequal: bool, estimand: str = "rows", **options: int) -> float:
    """The share of intervals of one value that contain the truth."""
    data = simulated(kind, videos, unequal=unequal, estimand=estimand, **options)
    found = mean_interval(data.totals, data.sizes, low=0.0, high=1.0)
    return float(((found.low <= data.truth) & (data.truth <= found.high)).mean())


def difference_coverage(
    kind: str, videos: int, *, unequal: bool, repetitions: int = REPETITIONS, seed: int = 11
) -> float:
    """The share of intervals of the difference of two equal models that contain 0: those with `p > 0.05`."""
    totals, sizes = differences(kind, videos, unequal=unequal, repetitions=repetitions, seed=seed)
    if videos <= 5:
        found = difference_interval(totals, sizes)
        return float(((found.low <= 0) & (found.high >= 0)).mean())
    return float((flip_p(totals) > 0.05).mean())


def differences(kind: str, videos: int, *, unequal: bool, repetitions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Summed differences of two equal models: accuracies, bounded scores, or one that fails 15 % of the videos."""
    rng = stream(seed, "small-differences", kind, str(videos), str(unequal))
    shape = (videos, repetitions)
    sizes = _lengths(rng.normal(size=shape)) if unequal else np.full(shape, 20)
    if kind == "acc":
        easy = rng.normal(0.8, 0.8, shape)
        first, second = (rng.binomial(sizes, expit(easy + rng.normal(0, 0.5, shape))) for _ in range(2))
    elif kind == "cont":
        first, second = (_beta_sums(rng.beta(4, 1, shape), sizes, rng) for _ in range(2))
    else:
        fails = rng.random(shape) < 0.15
        first, second = rng.binomial(sizes, np.where(fails, 0.0, 0.8)), rng.binomial(sizes, 0.68)
    return (first - second).astype(float), sizes.astype(float)


class MacroCoverage(NamedTuple):
    """Coverage of a macro average: samples whose classes are all in two videos, the range row, and the second row."""

    repeated: float
    ranged: float
    second: float


def macro_coverage(
    videos: int, measure: str, *, classes: int = 7, repetitions: int = REPETITIONS, seed: int = 4
) -> MacroCoverage:
    """Coverage of macro-F1 or balanced accuracy with classes present in 100 down to 12 % of the videos."""
    rng = stream(seed, "small-macro", measure, str(videos), str(classes))
    presence, recall = np.linspace(1.0, 0.12, classes), np.linspace(0.85, 0.51, classes)
    truth = _macro_truth(measure, presence, recall, rng)
    hits: dict[str, list[bool]] = {"repeated": [], "ranged": [], "second": []}
    for _ in range(repetitions):
        tp, fn, fp = _macro_counts(presence, recall, videos, rng)
        values, without, support = _class_values(measure, tp, fn, fp)
        found = macro_interval(values, without, support)
        held = np.isfinite(values)
        whole = float(truth[held].mean())
        if not found.single:
            hits["repeated"].append(found.every.low <= whole <= found.every.high)
            continue
        two = held & ((support > 0).sum(axis=0) >= 2)
        hits["second"].append(found.repeated.low <= truth[two].mean() <= found.repeated.high)
        if np.isfinite(found.every.low):
            hits["ranged"].append(found.every.low <= whole <= found.every.high)
    return MacroCoverage(*(float(np.mean(one)) if one else float("nan") for one in hits.values()))


def _macro_counts(
    presence: np.ndarray, recall: np.ndarray, videos: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hits, misses and false alarms `[video, class]`; videos and classes within them differ in difficulty."""
    shape = (videos, len(presence))
    support = np.where(rng.random(shape) < presence, 1 + rng.poisson(6, shape), 0)
    effect = rng.normal(0, 0.5, (videos, 1)) + rng.normal(0, 0.5, shape)
    tp = rng.binomial(support, expit(np.log(recall / (1 - recall)) + effect))
    fp = np.where(support > 0, rng.poisson(1.2, shape), 0)
    return tp.astype(float), (support - tp).astype(float), fp.astype(float)


def _class_values(
    measure: str, tp: np.ndarray, fn: np.ndarray, fp: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Class values, the same without each video, and support."""
    above, below = (2 * tp, 2 * tp + fn + fp) if measure == "f1" else (tp, tp + fn)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = above.sum(axis=0) / below.sum(axis=0)
        without = (above.sum(axis=0) - above) / (below.sum(axis=0) - below)
    lost = (tp + fn).sum(axis=0) - (tp + fn) == 0
    return np.where((tp + fn).sum(axis=0) > 0, values, np.nan), np.where(lost, np.nan, without), tp + fn


def _macro_truth(measure: str, presence: np.ndarray, recall: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    tp, fn, fp = _macro_counts(presence, recall, 400_000, rng)
    return _class_values(measure, tp, fn, fp)[0]


def rank_coverage(models: int, videos: int, *, repetitions: int = REPETITIONS // 2, seed: int = 5) -> float:
    """The share of repetitions in which no two of equal models are told apart, so that all sets are right."""
    rng = stream(seed, "small-ranks", str(models), str(videos))
    right = 0
    for repetition in range(repetitions):
        easy = rng.normal(0.8, 0.8, (5, videos, 1)) + rng.normal(0, 0.4, (5, videos, models))
        contributions = (rng.binomial(8, expit(easy)) / (8 * videos * 5)).sum(axis=0)
        found = rank_sets(contributions, patterns=999, seed=repetition)
        right += not found.better.any()
    return right / repetitions


def tables() -> str:
    """All tables as Markdown."""
    return "\n\n".join([_value_table(), _difference_table(), _macro_table(), _rank_table()])


def _value_table() -> str:
    counts = (3, 5, 6, 8, 10, 15, 20, 40)
    rows = {
        f"{kind}, {'unequal' if unequal else 'equal'}, `{estimand}`": [
            value_coverage(kind, videos, unequal=unequal, estimand=estimand) for videos in counts
        ]
        for kind in ("acc", "high", "cont", "long")
        for unequal, estimand in ((True, "rows"), (False, "rows"), (True, "videos"))
        if kind != "long" or unequal
    }
    return _markdown("Share of 95 % intervals of one value that contain the truth, by number of videos:", counts, rows)


def _difference_table() -> str:
    counts = (4, 5, 6, 8, 10, 15, 20, 40)
    rows = {
        f"{kind}, {'unequal' if unequal else 'equal'}": [
            difference_coverage(kind, videos, unequal=unequal) for videos in counts
        ]
        for kind in ("acc", "cont", "skew")
        for unequal in (False, True)
    }
    return _markdown(
        "Share of 95 % intervals of the difference of two equal models that contain 0 (`skew`: one of them fails 15 % "
        "of the videos outright):",
        counts,
        rows,
    )


def _macro_table() -> str:
    counts = (6, 10, 20, 40)
    rows: dict[str, list[float]] = {}
    for measure, name in (("f1", "macro-F1"), ("recall", "balanced accuracy")):
        found = [macro_coverage(videos, measure) for videos in counts]
        rows[f"{name}, every class in two videos"] = [one.repeated for one in found]
        rows[f"{name}, single-video classes as a range"] = [one.ranged for one in found]
        rows[f"{name}, second row"] = [one.second for one in found]
    return _markdown("Macro averages over 7 classes, present in 100 down to 12 % of the videos:", counts, rows)


def _rank_table() -> str:
    counts = (6, 10, 20, 40)
    rows = {f"{models} equal models": [rank_coverage(models, videos) for videos in counts] for models in (8, 20)}
    return _markdown("Share of repetitions in which the rank sets of all models are right:", counts, rows)


def _markdown(title: str, counts: tuple[int, ...], rows: dict[str, list[float]]) -> str:
    show: Callable[[float], str] = lambda share: "-" if np.isnan(share) else f"{share:.3f}"  # noqa: E731
    lines = [title, "", "| | " + " | ".join(f"V = {count}" for count in counts) + " |", "|---|" + "---|" * len(counts)]
    lines += [f"| {name} | " + " | ".join(map(show, shares)) + " |" for name, shares in rows.items()]
    return "\n".join(lines)


def main() -> None:
    """Put new tables between the markers of the page."""
    made, text = tables(), PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text(f"{before}\n{made}\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
