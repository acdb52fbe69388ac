"""Statistics that may leave a hospital: per video what `prepare` gave, under names that only the hospital can read.

What is shared is a file of arrays of numbers: sums and counts of one video under one metric, of a size that does not
depend on its length. A metric whose value depends on the order of all scores (average precision, areas under curves)
would give away every single score; it is named and not shared. Videos with fewer cases than the minimum are left out,
and so are, metric by metric, those of which a count from 1 to below the cell size would leave (what is not counted
among it included: 3 wrong of 40; what two metrics or thresholds differ by; and what counts of errors fix: who was
mistaken for whom where a class is never named): small counts single patients out. A zero leaves; it says that nothing
was there.
Names of videos are replaced by a keyed hash (HMAC-SHA-256); the key is a file that stays, so that a second model of
the same hospital gets the same names, and nobody else can try out patient numbers.

Where every score of a metric is right or wrong, the counts of both leave too, for every combination of the properties
that were asked for (`by`): a failure analysis is made of them. A video of which any of these counts is small is left
out of them as a whole, since totals would give the small one away.

The decision a reader would question: one row is still about one patient. Intervals and tests over videos need that;
whoever may not give out a number per patient cannot take part in them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, WouldOverwrite
from surgvalid.metrics.packing import reopened
from surgvalid.schema.documents import json_text
from surgvalid.schema.legacy import former, where_it_is
from surgvalid.schema.metric_facts import Packed
from surgvalid.schema.tables.statistics_table import SCHEMA, Recipe, StatisticsTable, VideoStatistics
from surgvalid.schema.tables.tabular import first_line

VERSION = 1
KEY = "surgvalid.shared"
"""Of the head in the metadata of the file."""
MINIMUM_CASES, CELL_SIZE = 10, 5
_MARKING = frozenset(("label sequences", "triplet scores"))
"""What metrics take whose statistics may be a value of a video with a mark that it has one; other pairs are counts."""
ORDERED = "its value depends on the order of all scores, which would leave one by one"


class Shareable(NamedTuple):
    """What of an evaluation could be shared."""

    statistics: Mapping[str, tuple[Recipe, VideoStatistics]]
    unshared: Mapping[str, str]
    """Metrics that cannot be, and why."""
    sizes: Mapping[str, int | None]
    """Cases of each video, where the kind of evaluation counts them."""
    head: Mapping[str, Any]
    cases: Mapping[str, str] = {}
    """The names of the scored cases of each video in one text, where cases have names; it does not leave."""
    counts: pl.DataFrame | None = None
    """`metric, video, successes, trials` and properties, where every score of a metric is right or wrong."""


@dataclass(frozen=True)
class SharedFile:
    """A file that was read."""

    place: str
    head: Mapping[str, Any]
    statistics: StatisticsTable

    @property
    def site(self) -> str:
        """Where it comes from."""
        return str(self.head["site"])

    @property
    def model(self) -> str:
        """Whose statistics they are."""
        return str(self.head["model"])


def write_shared(
    given: Shareable,
    path: Path,
    *,
    site: str,
    minimum_cases: int = MINIMUM_CASES,
    cell_size: int = CELL_SIZE,
    force: bool = False,
) -> SharedFile:
    """Write what may leave, and beside it the key that stays.

    Args:
        given: Of the evaluation.
        path: A `.parquet` file.
        site: What this hospital is called in the file.
        minimum_cases: Videos with fewer are left out.
        cell_size: Counts from 1 to below it do not leave; a video is left out of a metric that would give one away.
        force: Replace an earlier file; the key stays as it is.

    Raises:
        Misuse: Another kind of file, no name of the site, or nothing that could be shared.
        WouldOverwrite: The file exists and `force` is off.
    """
    check_share(path, site=site, minimum_cases=minimum_cases, cell_size=cell_size, force=force)
    if minimum_cases > 1 and None in given.sizes.values():
        raise Misuse(
            f"--share {path}: {given.head['kind']} does not count the cases of a video, so no minimum can be kept; "
            "--min cases=1 shares every video"
        )
    kept = {video for video, cases in given.sizes.items() if cases is None or cases >= minimum_cases}
    if not kept:
        raise Misuse(f"--share {path}: no video has {minimum_cases} cases or more, so nothing may leave")
    key = _key(key_path(path))
    names = pseudonyms(sorted(kept), site, key)
    statistics: dict[str, tuple[Recipe, VideoStatistics]] = {}
    withheld: dict[str, int] = {}
    counted: dict[tuple[str, float], list[float]] = {}
    for name, (recipe, one) in given.statistics.items():
        small = small_counts(recipe, one, cell_size) & kept
        small |= _near_others(one, counted, cell_size, kept - small)
        withheld |= {name: len(small)} if small else {}
        if leaving := {video: names[video] for video in kept - small if video in one.videos}:
            statistics[name] = recipe, _renamed(one, leaving)
    if not statistics:
        why = "; ".join(
            (*map(": ".join, given.unshared.items()), *(f"{name}: counts below {cell_size}" for name in withheld))
        )
        raise Misuse(f"--share {path}: none of the metrics can be shared: {why}")
    table = StatisticsTable.of(str(given.head["model"]), statistics)
    counts: list[dict[str, Any]] = []
    if given.counts is not None:
        counts, staying = _leaving_counts(given.counts, names, cell_size)
        withheld |= {f"successes of {name}": number for name, number in staying.items()}
    head = {
        "version": VERSION,
        **given.head,
        "site": site,
        "minimum_cases": minimum_cases,
        "videos": len(kept),
        "left_out": len(given.sizes) - len(kept),
        "cell_size": cell_size,
        "withheld": withheld,
        "cases": {names[video]: _keyed(key, text) for video, text in given.cases.items() if video in names},
        "unshared": dict(given.unshared),
        "counts": counts,
    }
    table.frame.write_parquet(path, compression="zstd", metadata={KEY: json_text(head)})
    return SharedFile(str(path), head, table)


def _leaving_counts(
    counts: pl.DataFrame, names: Mapping[str, str], cell_size: int
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The counts that leave, and how many videos stay for a small one, by metric."""
    here = counts.filter(pl.col("video").is_in(list(names)))
    each = (pl.col("successes"), pl.col("trials") - pl.col("successes"))
    small = pl.any_horizontal(((one > 0) & (one < cell_size)).any().over("metric", "video") for one in each)
    stay = here.filter(small).group_by("metric", maintain_order=True).agg(pl.col("video").n_unique())
    leaving = here.filter(~small).with_columns(pl.col("video").replace_strict(names, return_dtype=pl.String))
    return leaving.sort(leaving.columns).to_dicts(), dict(stay.iter_rows())


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


def _near_others(
    given: VideoStatistics, counted: dict[tuple[str, float], list[float]], cell_size: int, leaving: set[str]
) -> set[str]:
    """The videos of which a metric counts nearly as many of as many cases as one `counted` before; others are added."""
    near = set()
    for video, unit in zip(given.videos, given.packed.units, strict=True):
        for hits, cases in (one for one in unit.values() if np.shape(one) == (2,) and video in leaving):
            others = counted.setdefault((video, float(cases)), [])
            if _has_small(np.abs(np.subtract.outer((hits, cases - hits), others)), cell_size):
                near.add(video)
            else:
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


def check_share(path: Path, *, site: str, minimum_cases: int, cell_size: int, force: bool) -> None:
    """Refuse a place or a name that will not do, before any work is done.

    Raises:
        Misuse: With what is wrong.
        WouldOverwrite: The file exists and `force` is off.
    """
    if path.suffix.lower() != ".parquet":
        raise Misuse(f"--share {path}: name a .parquet file")
    if not path.parent.is_dir():
        raise Misuse(f"--share {path}: folder {path.parent} does not exist")
    if not site.strip():
        raise Misuse("--site: a shared file needs the name of the site, so that sites are kept apart")
    if minimum_cases < 1:
        raise Misuse(f"--min cases must be 1 or more, got {minimum_cases}")
    if cell_size < 1:
        raise Misuse(f"--min cell must be 1 or more, got {cell_size}")
    if path.exists() and not force:
        raise WouldOverwrite(path)


def read_shared(path: str | Path) -> SharedFile:
    """The statistics that a site shared.

    Raises:
        FileUnreadable: It is no such file, or of a later version.
    """
    try:
        metadata = pl.read_parquet_metadata(path)
        text = metadata.get(KEY) or metadata.get(former(KEY))
        frame = pl.read_parquet(path)
        head = json.loads(text) if text else None
    except FileNotFoundError:
        raise FileUnreadable(str(path), ["no such file"]) from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise FileUnreadable(str(path), [first_line(error)]) from None
    if not isinstance(head, dict) or dict(frame.schema) != SCHEMA:
        raise FileUnreadable(str(path), ["no shared statistics; evaluate --share writes them"])
    if head.get("version") != VERSION:
        raise FileUnreadable(str(path), [f"version {head.get('version')}; this version of surgvalid reads {VERSION}"])
    return SharedFile(str(path), head, StatisticsTable(frame))


def agreed_sites(files: list[SharedFile]) -> None:
    """Refuse files that do not belong together: sums over other classes, in another order, would add up to nonsense.

    Raises:
        InputInvalid: With every contradiction: another kind or options, a site and model twice, videos twice.
    """
    first, problems = files[0], []
    seen: dict[tuple[str, str], str] = {}
    for one in files:
        problems += [
            f"{one.place}: {name} is {one.head.get(name)!r}, in {first.place} {first.head.get(name)!r}"
            for name in ("kind", "level", "classes", "conventions", "by")
            if one.head.get(name) != first.head.get(name)
        ]
        if (key := (one.site, one.model)) in seen:
            problems.append(f"{one.place}: model {one.model!r} of site {one.site!r} is in {seen[key]} too")
        seen[key] = one.place
    recipes: dict[str, tuple[Recipe, str]] = {}
    for one in files:
        for metric in one.statistics.frame["metric"].unique(maintain_order=True).to_list():
            recipe = one.statistics.recipe(metric)
            known, place = recipes.setdefault(metric, (recipe, one.place))
            if known != recipe:
                problems.append(
                    f"{one.place}: {metric!r} was computed with {recipe.options}, in {place} with {known.options}; "
                    "state the same classes and options at every site"
                )
    if problems:
        raise InputInvalid("shared statistics", problems)


def pseudonyms(videos: list[str], site: str, key: bytes) -> dict[str, str]:
    """A name for each video that only who has the key can trace back."""
    return {video: f"{site}-{_keyed(key, f'{site}/{video}')}" for video in videos}


def _keyed(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]


def key_path(path: Path) -> Path:
    """Where the key of a shared file lies: `surgvalid-share.key` in its folder, one for all files there."""
    return where_it_is(path.with_name("surgvalid-share.key"))


def _key(path: Path) -> bytes:
    """The key of a hospital, made where there is none."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32) + "\n", encoding="utf-8")
    try:
        return bytes.fromhex(path.read_text(encoding="utf-8").strip())
    except ValueError:
        raise FileUnreadable(str(path), ["no key of shared statistics; move it away and a new one is made"]) from None


def _renamed(given: VideoStatistics, names: Mapping[str, str]) -> VideoStatistics:
    """The statistics of the kept videos under their new names, in the order of these."""
    places = sorted((names[video], place) for place, video in enumerate(given.videos) if video in names)
    units = [given.packed.units[place] for _, place in places]
    cases = tuple(given.cases[place] for _, place in places) if given.cases else ()
    plain = [{array: np.asarray(numbers) for array, numbers in unit.items()} for unit in units]
    return VideoStatistics(tuple(name for name, _ in places), Packed({}, plain), cases)
