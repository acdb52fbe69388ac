"""Small counts stay at a hospital: videos are put together until no count from 1 to below the cell size is left.

Sums over such a group are those of its videos, so values over all cases are what they were. Leaving out the videos that
hold a small count would not be: of a good model those have few errors, and its best videos would be missing. One
partition holds for all metrics and counts of a file, else what one says of a group less what another says of a part
of it is a small count again. The price is in units: fewer groups than videos are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import polars as pl

from surgvalid.metrics.packing import reopened
from surgvalid.schema.metric_facts import Packed
from surgvalid.schema.tables.statistics_table import Recipe, VideoStatistics

Groups = list[tuple[str, ...]]
Small = Callable[[Groups], set[int]]
"""Which of some groups of videos hold a small count."""
FEWEST_GROUPS = 6
"""Below, no difference can be shown: a further metric that would need fewer stays."""
_MARKING = frozenset(("label sequences", "triplet scores"))
"""What metrics take whose statistics may be a value of a video with a mark that it has one; other pairs are counts."""


def put_together(
    groups: Groups, sizes: Mapping[str, int | None], checks: Sequence[Small], released: Collection[str] = ()
) -> Groups | None:
    """The videos in groups none of which holds a small count; None where even all of them together do.

    Args:
        groups: To begin with, in an order that says nothing about them.
        sizes: Cases of each video.
        checks: Every one must find no group small.
        released: Videos of which an earlier file has sums; one with others that it lacks would give these away.
    """
    while small := set[int]().union(*(check(groups) for check in checks)):
        pairs = [pair for side in (True, False) for pair in _pairs(groups, sizes, small, released, side=side)]
        if not pairs:
            return None
        gone = {pair[1] for pair in pairs}
        merged = {first: tuple(sorted((*groups[first], *groups[second]))) for first, second in pairs}
        groups = [merged.get(place, group) for place, group in enumerate(groups) if place not in gone]
    return groups


def _pairs(
    groups: Groups, sizes: Mapping[str, int | None], small: set[int], released: Collection[str], *, side: bool
) -> list[tuple[int, int]]:
    """The small groups by twos, the last one of an odd number with another that has few cases."""
    here = [place for place, group in enumerate(groups) if (group[0] in released) is side]
    rest = [place for place in here if place not in small]
    few = sorted(rest, key=lambda place: sum(sizes.get(video) or 0 for video in groups[place]))
    these = [place for place in here if place in small]
    these += few[: len(these) % 2]
    return list(zip(these[::2], these[1::2], strict=False))


def joined(groups: Sequence[set[str]]) -> list[frozenset[str]]:
    """The groups, those that share a video as one."""
    made: list[frozenset[str]] = []
    for group in groups:
        touching = [other for other in made if other & group]
        made = [other for other in made if other not in touching]
        made.append(frozenset(group).union(*touching))
    return made


def summed(given: VideoStatistics, groups: Mapping[str, Sequence[str]]) -> VideoStatistics:
    """The statistics of groups of videos by their names: the sums of those of their videos."""
    place = {video: at for at, video in enumerate(given.videos)}
    held = {name: [place[video] for video in members if video in place] for name, members in groups.items()}
    held = {name: members for name, members in sorted(held.items()) if members}
    units = []
    for members in held.values():
        arrays = [given.packed.units[at] for at in members]
        units.append({name: np.sum([np.asarray(one[name]) for one in arrays], axis=0) for name in arrays[0]})
    cases = tuple(sum(given.cases[at] for at in members) for members in held.values()) if given.cases else ()
    return VideoStatistics(tuple(held), Packed({}, units), cases)


def adds_up(recipe: Recipe, one: VideoStatistics, groups: Groups) -> bool:
    """Whether sums over groups have the value of all their videos."""
    metric, kept = reopened(recipe), {video: (video,) for group in groups for video in group}
    sides = [summed(one, kept), summed(one, {group[0]: group for group in groups})]
    first, second = (metric.combine(metric.unpack(one.packed), np.ones((1, len(one.videos)))) for one in sides)
    return bool(np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True))


def small_in(statistics: Mapping[str, tuple[Recipe, VideoStatistics]], cell_size: int) -> Small:
    """The check of metrics: a small count of one, or of what two of them differ by on the same cases."""

    def check(groups: Groups) -> set[int]:
        named = {f"{place:09}": group for place, group in enumerate(groups)}
        counted: dict[tuple[str, float], list[float]] = {}
        held_small: set[str] = set()
        for recipe, one in statistics.values():
            sums = summed(one, named)
            held_small |= small_counts(recipe, sums, cell_size)
            held_small |= _near_others(sums, counted, cell_size)
        return {int(name) for name in held_small}

    return check


def small_successes(counts: pl.DataFrame, cell_size: int) -> Small:
    """The check of counts of right and wrong by property."""

    def check(groups: Groups) -> set[int]:
        sums = of_groups(counts, {str(place): group for place, group in enumerate(groups)})
        each = (pl.col("successes"), pl.col("trials") - pl.col("successes"))
        small = pl.any_horizontal((one > 0) & (one < cell_size) for one in each)
        return {int(name) for name in sums.filter(small)["video"].unique()}

    return check


def of_groups(counts: pl.DataFrame, groups: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Counts by property of groups of videos, under the names of these."""
    named = {video: name for name, members in groups.items() for video in members}
    here = counts.filter(pl.col("video").is_in(list(named)))
    here = here.with_columns(pl.col("video").replace_strict(named, return_dtype=pl.String))
    keys = [name for name in counts.columns if name not in ("successes", "trials")]
    return here.group_by(keys, maintain_order=True).agg(pl.col("successes", "trials").sum()).select(counts.columns)


def small_counts(recipe: Recipe, given: VideoStatistics, cell_size: int) -> set[str]:
    """The videos of which a count from 1 to below the cell size would leave under a metric.

    Every whole number is held to be a count, but for pairs of a value of a video and a mark that it has one.
    """
    of_video = not _MARKING.isdisjoint(getattr(reopened(recipe), "takes", ()))
    units = [{name: np.asarray(array, dtype=np.float64) for name, array in unit.items()} for unit in given.packed.units]
    marked = {
        name
        for name in (units[0] if units and of_video else ())
        if all(unit[name].shape[-1:] == (2,) and np.isin(unit[name][..., 1], (0.0, 1.0)).all() for unit in units)
    }
    return {
        video
        for video, unit, cases in zip(given.videos, units, given.cases or [0] * len(units), strict=True)
        if any(_is_small(array, cases, cell_size) for name, array in unit.items() if name not in marked)
    }


def _near_others(given: VideoStatistics, counted: dict[tuple[str, float], list[float]], cell_size: int) -> set[str]:
    """The videos of which a metric counts nearly as many of as many cases as one `counted` before; others are added."""
    near = set()
    for video, unit in zip(given.videos, given.packed.units, strict=True):
        for hits, cases in (one for one in unit.values() if np.shape(one) == (2,)):
            others = counted.setdefault((video, float(cases)), [])
            if _has_small(np.abs(np.subtract.outer((hits, cases - hits), others)), cell_size):
                near.add(video)
            others.append(float(hits))
    return near


def _has_small(numbers: np.ndarray, cell_size: int) -> bool:
    return bool(((numbers > 0) & (numbers < cell_size) & (numbers == np.round(numbers))).any())


def _is_small(array: np.ndarray, cases: int, cell_size: int) -> bool:
    """Whether an array holds a whole number from 1 to below the cell size, or one follows by subtraction.

    What is left over of pairs (and of hits, predicted, reference) and of all cases, what one threshold has more than
    the next, and confusions of classes that their counts of errors fix.
    """
    shown = [array]
    if array.shape[-1:] in ((2,), (3,)):
        shown += [array[..., 1:] - array[..., :1], cases - array[..., 1:2]]
    if array.ndim == 2 and (array[:, :2].sum(axis=1) == array[0, :2].sum()).all():
        shown += [-np.diff(array[:, 0])]
    if array.ndim == 2 and array.shape[1] == 4 and (array.sum(axis=1) == array[:, [0, 2]].sum()).all():
        low, high = confusions(array[:, 2], array[:, 1])
        shown += [cases - array.sum(axis=1), np.where((low > 0) & (high < cell_size), low, 0.0)]
    return any(_has_small(numbers, cell_size) for numbers in shown)


def confusions(missed: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest number of cases of each class that were mistaken for each other one.

    Args:
        missed: Of each class, its cases that were mistaken for others; the sums of the rows.
        wrong: Of each class, cases of others that were mistaken for it; the sums of the columns.
    """
    low, high = np.zeros((len(missed),) * 2), np.minimum.outer(missed, wrong)
    np.fill_diagonal(high, 0.0)
    for _ in range(2 * len(missed)):
        for sums, axis in ((missed[:, None], 1), (wrong[None], 0)):
            low = np.maximum(low, sums - (high.sum(axis=axis, keepdims=True) - high))
            high = np.minimum(high, sums - (low.sum(axis=axis, keepdims=True) - low))
            np.fill_diagonal(low, 0.0)
    return low, high
