"""Statistics that may leave a hospital: per video what `prepare` gave, under names that only the hospital can read.

What is shared is a file of arrays of numbers: sums and counts of one video under one metric, of a size that does not
depend on its length. A metric whose value depends on the order of all scores (average precision, areas under curves)
would give away every single score; it is named and not shared. Videos with fewer cases than the minimum are left out.
Videos are put together into groups (`small_counts`) until no count from 1 to below the cell size would leave (what is
not counted among it included: 3 wrong of 40; what two metrics or thresholds differ by; and what counts of errors fix:
who was mistaken for whom where a class is never named): small counts single patients out. A zero leaves; it says that
nothing was there. Whoever left out videos with a small count would leave out the best ones of good models.
Names of videos are replaced by a keyed hash (HMAC-SHA-256); the key is a file that stays, so that a second model of
the same hospital gets the same names, and nobody else can try out patient numbers.

Where every score of a metric is right or wrong, the counts of both leave too, for every combination of the properties
that were asked for (`by`): a failure analysis is made of them.

The decision a reader would question: one row is still about one patient. Intervals and tests over videos need that;
whoever may not give out a number per patient cannot take part in them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, WouldOverwrite
from surgvalid.evaluation.small_counts import (
    FEWEST_GROUPS,
    Groups,
    Small,
    adds_up,
    joined,
    of_groups,
    put_together,
    small_in,
    small_successes,
    summed,
)
from surgvalid.schema.documents import json_text
from surgvalid.schema.legacy import former, where_it_is
from surgvalid.schema.tables.statistics_table import SCHEMA, Recipe, StatisticsTable, VideoStatistics
from surgvalid.schema.tables.tabular import first_line

VERSION = 1
KEY = "surgvalid.shared"
"""Of the head in the metadata of the file."""
MINIMUM_CASES, CELL_SIZE = 10, 5
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
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of each row's name the videos behind it, by hashes that are the same for every name of the site; they stay."""
    cases: Mapping[str, str] = field(default_factory=dict)
    """By that hash of each video one of its scored cases, or of their number where cases have no names; they stay."""

    @property
    def site(self) -> str:
        """Where it comes from."""
        return str(self.head["site"])

    @property
    def model(self) -> str:
        """Whose statistics they are."""
        return str(self.head["model"])

    def write(self) -> None:
        """Write it to its place."""
        self.statistics.frame.write_parquet(self.place, compression="zstd", metadata={KEY: json_text(self.head)})


def shared_file(
    given: Shareable,
    path: Path,
    *,
    site: str,
    minimum_cases: int = MINIMUM_CASES,
    cell_size: int = CELL_SIZE,
    force: bool = False,
    earlier: Sequence[Collection[str]] = (),
) -> SharedFile:
    """What may leave, not yet written; beside its place the key that stays.

    Args:
        given: Of the evaluation.
        path: A `.parquet` file.
        site: What this hospital is called in the file.
        minimum_cases: Videos with fewer are left out.
        cell_size: Counts from 1 to below it do not leave; videos are put together until there is none.
        force: Replace an earlier file; the key stays as it is.
        earlier: Videos, as `SharedFile.members` names them, whose sums left together in earlier files of any model:
            they do so again, because cases and references of two models are the same and could be subtracted.

    Raises:
        Misuse: Another kind of file, no name of the site, videos missing of which an earlier file told a sum with
            others, or nothing that could be shared.
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
    hashes = {_keyed(key, video): video for video in sorted(kept, key=lambda one: names[one])}
    start, released = _told_together(hashes, earlier, f"--share {path}")
    groups, leaving, counts_leave, staying = _partition(given, start, released, cell_size)
    if not leaving:
        why = "; ".join(": ".join(one) for one in {**given.unshared, **staying}.items())
        new = (
            f" (the {len(kept - released)} videos of no earlier file need to do without the others)" if released else ""
        )
        raise Misuse(f"--share {path}: none of the metrics can be shared: {why}{new}")
    named = {names[group[0]] if len(group) == 1 else _group_name(group, site, key): group for group in groups}
    statistics = {name: (recipe, summed(one, named)) for name, (recipe, one) in leaving.items()}
    table = StatisticsTable.of(str(given.head["model"]), statistics)
    counts: list[dict[str, Any]] = []
    if given.counts is not None and counts_leave:
        counts = of_groups(given.counts, named).sort(given.counts.columns).to_dicts()
    head = {
        "version": VERSION,
        **given.head,
        "site": site,
        "minimum_cases": minimum_cases,
        "videos": len(kept),
        "groups": len(groups),
        "left_out": len(given.sizes) - len(kept),
        "cell_size": cell_size,
        "members": {name: sorted(names[video] for video in group) for name, group in named.items() if len(group) > 1},
        "withheld": staying,
        "cases": {names[video]: _keyed(key, text) for video, text in given.cases.items() if video in names},
        "unshared": dict(given.unshared),
        "counts": counts,
    }
    members = {name: sorted(_keyed(key, video) for video in group) for name, group in named.items()}
    cases = {one: _keyed(key, given.cases.get(video, str(given.sizes[video]))) for one, video in hashes.items()}
    return SharedFile(str(path), head, table, members, cases)


def _told_together(
    videos: Mapping[str, str], earlier: Sequence[Collection[str]], where: str
) -> tuple[Groups, set[str]]:
    """The videos in groups, those together whose sums left together, and those of which sums left at all.

    Raises:
        Misuse: Some videos of an earlier sum are not here, so that it less this file would tell of them alone.
    """
    torn = {one for group in earlier if 0 < len(videos.keys() & group) < len(group) for one in group}
    if lacking := len(torn - videos.keys()):
        raise Misuse(
            f"{where}: an earlier file told sums of {len(torn)} videos, {lacking} of which are not here, so that both "
            "files together would tell of those alone; evaluate every model on the same videos"
        )
    known = [set(group) for group in earlier if videos.keys() >= set(group)]
    groups = [tuple(sorted(videos[one] for one in group)) for group in joined([*({one} for one in videos), *known])]
    return groups, {videos[one] for group in known for one in group}


def _partition(
    given: Shareable, groups: Groups, released: Collection[str], cell_size: int
) -> tuple[Groups, dict[str, tuple[Recipe, VideoStatistics]], bool, dict[str, str]]:
    """The groups that leave, the metrics that leave, whether counts by property do, and why other metrics stay."""
    start, videos = groups, {video for group in groups for video in group}
    leaving: dict[str, tuple[Recipe, VideoStatistics]] = {}
    staying: dict[str, str] = {}

    def fits(made: Groups | None) -> bool:
        return made is not None and (not leaving or len(made) >= FEWEST_GROUPS or len(groups) < FEWEST_GROUPS)

    known = {name: made for name, made in given.statistics.items() if videos.intersection(made[1].videos)}

    def together(*checks: Small) -> Groups | None:
        return put_together(start, given.sizes, checks, released)

    alone = {name: together(small_in({name: known[name]}, cell_size)) for name in known}
    for name in sorted(known, key=lambda name: -len(alone[name] or ())):  # what asks for few groups comes last
        recipe, one = known[name]
        made = together(small_in({**leaving, name: (recipe, one)}, cell_size))
        if made is None or not fits(made):
            staying[name] = f"counts below {cell_size}"
        elif not adds_up(recipe, one, made):
            staying[name] = "its value does not follow from sums over videos, which small counts ask for"
        else:
            groups, leaving[name] = made, (recipe, one)
    if given.counts is None:
        return groups, leaving, False, staying
    made = together(small_in(leaving, cell_size), small_successes(given.counts, cell_size))
    if made is None or not fits(made):
        return groups, leaving, False, {**staying, "successes": f"counts below {cell_size}"}
    return made, leaving, True, staying


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
            f"{one.place}: {name} is {mine!r}, in {first.place} {theirs!r}"
            for name in ("kind", "level", "classes", "conventions", "by")
            if (mine := one.head.get(name)) != (theirs := first.head.get(name))
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


def _group_name(group: Sequence[str], site: str, key: bytes) -> str:
    return f"{site}-{_keyed(key, '/'.join((site, *group)))}"


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
