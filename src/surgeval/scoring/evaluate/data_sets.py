"""References straight from the folder of a public data set, in the form that a kind of evaluation takes.

The adapter of the data set says how its tasks are compared (`Comparison`); nothing about a single data set is said
here. Predictions keep the names and frame numbers of the data set: videos as it calls them, frames as it counts them
(or seconds, where its frame rate is known), masks under the path that they have in its folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgeval.datasets import STRATA, Comparison, DataSet, References, open_data_set, sampled
from surgeval.errors import InputInvalid, Misuse, UnknownName
from surgeval.scoring.evaluate.mask_files import PngFiles
from surgeval.scoring.evaluate.tracking import Tracks

OPTIONS = ("data_set", "task", "split", "videos", "rate_hz", "perspective")
"""What `references_of` takes; none of them reaches the kind."""
_SHOWN = 5


class Prepared(NamedTuple):
    """References as a kind takes them."""

    references: Any
    options: dict[str, Any]
    """What the kind is told unless the caller says otherwise."""
    conventions: dict[str, str]
    """What every number must say."""
    files: tuple[Path, ...] | None = None
    """Those of the folder that were read."""
    prose: str = ""
    notes: tuple[str, ...] = ()


def references_of(
    kind: str,
    root: Any,
    *,
    data_set: str,
    task: str | None = None,
    split: str | None = None,
    videos: Sequence[str] = (),
    rate_hz: float | None = None,
    perspective: str | None = None,
) -> Prepared:
    """The references of one task of a data set.

    Args:
        kind: Of evaluation.
        root: The folder of the data set.
        data_set: Its name.
        task: One of its tasks; may be left out where only one is compared in this kind.
        split: A part such as `test`, or `scheme:part` where several schemes have one; all videos if left out.
        videos: Only these, for splits that the data set does not state.
        rate_hz: Thin the references to so many per second, each video by its own frame rate.
        perspective: What an identity means, where the data set has several.

    Raises:
        UnknownName: No such data set, task, split or perspective.
        Misuse: Options that do not fit.
        InputInvalid: With every problem of the files.
    """
    if kind == "cvs":
        raise Misuse("cvs takes the folder of Endoscapes2023 as references by itself; leave --data-set out")
    if not isinstance(root, str | Path):
        raise Misuse(f"--data-set {data_set} needs --references, the folder of the data set")
    known = open_data_set(data_set)
    name, compared = _compared_task(known, kind, task)
    found = known.references(root, task=name)
    table, which = _chosen(known, root, found.table, split, videos)
    found = _thinned(compared.arranged(replace(found, table=table)), compared, rate_hz)
    said = {"references": f"{known.title}, {name}", "videos": which}
    if rate_hz is not None:
        said["sampling"] = f"{rate_hz:g} references per second"
    files = tuple(dict.fromkeys((*found.files, *_mask_files(root, table, compared))))
    prose = f" References are those of {known.title} ({known.citation}), task {name}; videos: {which}."
    notes = (compared.caution,) if compared.caution else ()
    given, options = _given_to(kind, Path(root), found, compared, perspective)
    if perspective is not None:
        said["identity"] = perspective
    return Prepared(given, {**compared.options, **options}, said, files, prose, notes)


def _given_to(
    kind: str, root: Path, found: References, compared: Comparison, perspective: str | None
) -> tuple[Any, dict[str, Any]]:
    """The references in the form that the kind takes, and options that follow from them."""
    if kind == "tracking":
        return _tracks(found.table, _identity_column(compared, perspective)), {}
    if perspective is not None:
        raise Misuse(f"--perspective is for tracking; {kind} has no identities")
    if kind == "segmentation":
        return _masks(root, found.table, compared)
    return _rows(found, compared), _declared(compared, kind)


def _compared_task(known: DataSet, kind: str, task: str | None) -> tuple[str, Comparison]:
    """The task asked for, or the only one that is compared in this kind."""
    if task is not None and task not in known.tasks:
        raise UnknownName(f"task of {known.name}", task, known.tasks)
    offered = {name: one.compared for name, one in known.tasks.items() if one.compared is not None}
    fitting = [name for name, one in offered.items() if one.kind == kind and task in (None, name)]
    if not fitting:
        listed = ", ".join(f"{name} as {one.kind}" for name, one in offered.items()) or "nothing"
        raise Misuse(f"{known.name} has no {task or 'task'} to evaluate as {kind}; it offers {listed}")
    if len(fitting) > 1:
        raise Misuse(f"{known.name} has several tasks to evaluate as {kind}; say --task {' or --task '.join(fitting)}")
    return fitting[0], offered[fitting[0]]


def _chosen(
    known: DataSet, root: str | Path, table: pl.DataFrame, split: str | None, videos: Sequence[str]
) -> tuple[pl.DataFrame, str]:
    """The rows of a part of a split, or of some videos, and which they are in words."""
    if split is not None and videos:
        raise Misuse("--split and --videos both say which videos; give one of them")
    if split is not None and "split" in table.columns and split in table["split"].unique().to_list():
        return table.filter(pl.col("split") == split), split
    wanted = _videos_of_split(known, root, table, split) if split is not None else list(videos)
    if not wanted:
        return table, "all in the folder"
    kept = table.filter(pl.col("video").is_in(wanted))
    absent = [video for video in wanted if video not in set(kept["video"])]
    shown = _first_few(absent)
    if absent and (split is None or kept.is_empty()):
        raise InputInvalid(str(root), [f"{len(absent)} of {len(wanted)} videos have no references here ({shown})"])
    if split is None:
        return kept, _first_few(wanted)
    return kept, f"{split}, {len(wanted) - len(absent)} of {len(wanted)}; without {shown}" if absent else split


def _first_few(videos: Sequence[str]) -> str:
    more = f" and {len(videos) - _SHOWN} more" if len(videos) > _SHOWN else ""
    return ", ".join(videos[:_SHOWN]) + more


def _thinned(found: References, compared: Comparison, rate_hz: float | None) -> References:
    """References at the rate asked for, with the frame rate of every row where it is known."""
    if compared.fps is not None and "fps" not in found.table.columns:
        found = replace(found, table=found.table.with_columns(pl.lit(compared.fps).alias("fps")))
    return (
        found
        if rate_hz is None or rate_hz == found.rate_hz
        else sampled(found, rate_hz=rate_hz, first_frame=compared.first_frame)
    )


def _videos_of_split(known: DataSet, root: str | Path, table: pl.DataFrame, split: str) -> list[str]:
    schemes = known.splits(root)
    scheme, _, part = split.rpartition(":")
    fitting = schemes.filter((pl.col("split") == part) & (pl.lit(not scheme) | (pl.col("scheme") == scheme)))
    named = fitting["scheme"].unique(maintain_order=True).to_list()
    if len(named) > 1:
        raise Misuse(f"{len(named)} splits have a part {part!r}; say {', '.join(f'{one}:{part}' for one in named)}")
    if not named:
        parts = table["split"].drop_nulls().unique(maintain_order=True).to_list() if "split" in table.columns else []
        pairs = schemes.select("scheme", "split").unique(maintain_order=True).rows()
        stated = ", ".join([*parts, *(f"{own}:{name}" for own, name in pairs)]) or "none"
        raise Misuse(
            f"{known.name} states no split {split!r}; it states {stated}. List the videos of another one with --videos"
        )
    return [str(video) for video in fitting["video"]]


def _declared(compared: Comparison, kind: str) -> dict[str, Any]:
    return {"classes": tuple(compared.members.values())} if compared.members and kind != "triplets" else {}


def _rows(found: References, compared: Comparison) -> pl.DataFrame:
    """A row per moment: `video`, `frame` and `second`, or `case`, the reference and strata."""
    table = found.table
    columns = [pl.col("video"), pl.col(compared.moment)]
    if compared.moment == "frame" and (second := _seconds(found, compared)) is not None:
        columns.append(second.alias("second"))
    columns += [pl.col(name) for name in STRATA if name in table.columns]
    if compared.label:
        return table.select(*columns, pl.col(compared.label).alias("reference"))
    members = compared.members or {name: name for name in table.columns if name not in ("case", "video", *STRATA)}
    return table.select(*columns, *(pl.col(own).alias(f"reference:{label}") for own, label in members.items()))


def _seconds(found: References, compared: Comparison) -> pl.Expr | None:
    frame = pl.col("frame") - compared.first_frame
    if "fps" in found.table.columns:
        return frame / pl.col("fps")
    return frame.cast(pl.Float64) if found.clock in ("seconds", "frames at 1 fps") else None


def _mask_files(root: str | Path, table: pl.DataFrame, compared: Comparison) -> list[Path]:
    return [Path(root) / name for name in table[compared.masks]] if compared.masks else []


def _masks(root: Path, table: pl.DataFrame, compared: Comparison) -> tuple[PngFiles, dict[str, Any]]:
    """Masks under the path that they have in the folder, with their videos and strata."""
    names = [Path(name).with_suffix("").as_posix() for name in table[compared.masks]]
    strata = [name for name in STRATA if name in table.columns]
    own = {
        "video_of": dict(zip(names, table["video"].to_list(), strict=True)),
        "properties": table.select(pl.Series("case", names), *strata),
    }
    return PngFiles({name: root / place for name, place in zip(names, table[compared.masks], strict=True)}), own


def _identity_column(compared: Comparison, perspective: str | None) -> str:
    if perspective is None:
        listed = " or ".join(f"--perspective {name}" for name in compared.identities)
        raise Misuse(f"a box has several identities here; say which one counts with {listed}")
    if perspective not in compared.identities:
        raise UnknownName("perspective", perspective, compared.identities)
    return compared.identities[perspective]


def _tracks(table: pl.DataFrame, identity: str) -> Mapping[str, Tracks]:
    found = {}
    for (video,), rows in table.group_by("video", maintain_order=True):
        size = rows.select("image_width_px", "image_height_px").row(0)
        found[str(video)] = Tracks(
            rows["frame"].to_numpy(),
            rows[identity].to_numpy(),
            rows.select("x", "y", "width", "height").to_numpy(),
            rows["instrument"].to_numpy(),
            size_px=None if None in size else size,
            normalised=True,
        )
    return found
