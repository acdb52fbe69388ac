"""What one shard of an evaluation leaves for `combine`: per video everything that the metrics are made from.

A shard is a part of the videos, chosen by name. Its folder holds `shard.json` and Parquet files `shard_NAME.parquet`:
labels and scores of moments, boxes, tracks, or pixel counts and scores of images; never an image. `combine` puts the
parts together and measures once, so the result is that of all videos read at once, whichever way they were cut.

    shard.json   version, kind, model, shard, videos (of all shards), settings, metrics, by, conventions, clusters,
                 prose, notes, lacking (of the split of a data set; null without one), as_read (numbers though the
                 predictions are misread), and facts: what the kind needs besides the tables
A file of a later version is refused; nothing that a file names is imported or run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import EmptyShard, FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.sanity.sanity_finding import Looked, SanityFinding, both
from surgvalid.evaluation.video_names import first_few
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Severity
from surgvalid.schema.shard import Shard
from surgvalid.schema.tables.tabular import first_line

VERSION = 1
HEAD = "shard.json"
_TABLE = "shard_{}.parquet"
_AGREED = ("kind", "model", "metrics", "by", "settings", "conventions", "prose")


@dataclass(frozen=True)
class Gathered:
    """What a kind read of the videos of one shard."""

    facts: Mapping[str, Any]
    """Plain data."""
    frames: Mapping[str, pl.DataFrame]
    videos: tuple[str, ...]
    """All videos, of the other shards too."""


class ShardFile(NamedTuple):
    """The folder of a shard, read."""

    place: str
    head: Mapping[str, Any]
    gathered: Gathered

    @property
    def shard(self) -> Shard:
        """Which one it is."""
        return Shard.read(str(self.head["shard"]))


@dataclass(frozen=True)
class Cut:
    """Which videos of an evaluation are read, and all that there are, as they come to light."""

    shard: Shard
    seen: set[str] = field(default_factory=set)

    def holds(self, video: str) -> bool:
        """Whether a video is to be read."""
        self.seen.add(video)
        return self.shard.holds(video)

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table that are of these videos; all where no column names any."""
        if "video" not in frame.columns:
            return frame
        names = frame["video"].cast(pl.String)
        kept = [name for name in names.drop_nulls().unique().to_list() if self.holds(name)]
        return frame.filter(names.is_in(kept) | names.is_null())

    def check(self, videos: int) -> None:
        """Refuse a shard without videos.

        Raises:
            EmptyShard: None of the videos belongs to it.
        """
        if not videos:
            raise EmptyShard(self.shard, len(self.seen))


def write_shard(folder: Path, head: Mapping[str, Any], gathered: Gathered) -> None:
    """Write the files of a shard."""
    for name, frame in gathered.frames.items():
        frame.write_parquet(folder / _TABLE.format(name), compression="zstd")
    whole = {
        "version": VERSION,
        **head,
        "videos": sorted(gathered.videos),
        "facts": dict(gathered.facts),
        "tables": list(gathered.frames),
    }
    (folder / HEAD).write_text(json_text(whole, indent=2) + "\n", encoding="utf-8")


def read_shard(folder: str | Path) -> ShardFile:
    """The shard in a folder that `evaluate --shard` wrote.

    Raises:
        FileUnreadable: There is none, of a later version, or a file of it is not there.
    """
    place = Path(folder)
    try:
        head = json.loads((place / HEAD).read_text(encoding="utf-8"))
        version = head["version"]
        if version != VERSION:
            raise ValueError(f"a shard of version {version}; this version of surgvalid reads {VERSION}")
        names = [name for name in head["tables"] if str(name).isidentifier()]
        frames = {name: pl.read_parquet(place / _TABLE.format(name)) for name in names}
        gathered = Gathered(head["facts"], frames, tuple(map(str, head["videos"])))
        needed = {name: head[name] for name in (*_AGREED, "shard", "clusters", "notes")}
        made = ShardFile(
            str(folder), {**needed, "lacking": head.get("lacking"), "as_read": head.get("as_read", False)}, gathered
        )
        Shard.read(str(head["shard"]))
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise FileUnreadable(str(place), [f"{missing} is not there; a shard is what evaluate --shard writes"]) from None
    except KeyError as error:
        raise FileUnreadable(str(place / HEAD), [f"no shard: {error} is not in it"]) from None
    except (OSError, ValueError, TypeError, Misuse, pl.exceptions.PolarsError) as error:
        raise FileUnreadable(str(place), [first_line(error)]) from None
    return made


def agreed(shards: Sequence[ShardFile]) -> Mapping[str, Any]:
    """The head that all shards share, with the clusters of all.

    Raises:
        InputInvalid: Shards of different runs, one that is there twice, or videos that none holds; all are named.
    """
    first = shards[0].head
    problems = [
        f"{one.place}: {name} is {_short(one.head[name])}, in {shards[0].place} {_short(first[name])}"
        for one in shards[1:]
        for name in _AGREED
        if one.head[name] != first[name]
    ]
    held: dict[str, str] = {}
    for one in shards:
        for video in videos_in(one.gathered):
            if video in held:
                problems.append(f"video {video!r} is in {held[video]} and in {one.place}")
            held[video] = one.place
    wanted = sorted({video for one in shards for video in one.gathered.videos})
    if lacking := [video for video in wanted if video not in held]:
        parts = sorted({f"{number}/{one.shard.of}" for one in shards for number in _numbers(lacking, one.shard.of)})
        problems.append(
            f"{len(lacking)} of {len(wanted)} videos are in no shard ({first_few(lacking)}); "
            f"give {', '.join(parts)} too"
        )
    if problems:
        raise InputInvalid("shards", problems)
    clusters = {video: unit for one in shards for video, unit in one.head["clusters"].items()}
    notes = list(dict.fromkeys(note for one in shards for note in one.head["notes"]))
    as_read = all(one.head.get("as_read") for one in shards)
    return {**first, "clusters": clusters, "notes": notes, "lacking": _lacking(shards), "as_read": as_read}


def _lacking(shards: Sequence[ShardFile]) -> list[str] | None:
    """What the split of a data set lacks: shards of one run say the same, those of several sites each their own."""
    lacking = [one.head["lacking"] for one in shards]
    if all(one == lacking[0] for one in lacking):
        return lacking[0] if lacking[0] is None else list(lacking[0])
    return [f"{one.place}: {text}" for one in shards for text in one.head["lacking"] or ()]


def videos_in(gathered: Gathered) -> list[str]:
    """The videos that a shard holds."""
    frames = [frame for frame in gathered.frames.values() if "video" in frame.columns]
    return sorted({str(video) for frame in frames for video in frame["video"].unique()})


def stacked(parts: Sequence[Gathered], name: str) -> pl.DataFrame:
    """A table of all shards; columns that some lack are empty there."""
    return pl.concat([one.frames[name] for one in parts if name in one.frames], how="diagonal_relaxed")


def looked_as_data(looked: Looked) -> dict[str, Any]:
    """Checks that only a shard could make, as plain data."""
    return {
        code: None if doubt is None else [doubt.severity.value, doubt.evidence, doubt.hint]
        for code, doubt in looked.items()
    }


def looked_of(parts: Sequence[Gathered]) -> Looked:
    """What the checks of the shards saw; the first finding of each counts."""
    looked: Looked = {}
    for part_facts in (one.facts for one in parts):
        given: Mapping[str, Any] = part_facts.get("looked", {})
        made = {
            code: None if texts is None else SanityFinding(code, Severity(texts[0]), *texts[1:])
            for code, texts in given.items()
        }
        looked = both(looked, made)
    return looked


def _numbers(videos: Sequence[str], of: int) -> set[int]:
    """The shards that videos belong to."""
    return {number for video in videos for number in range(1, of + 1) if Shard(number, of).holds(video)}


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
