"""The data sets: every file of `sets`, and the entry points of `surgvalid.datasets`.

A data set is declared in TOML. `videos` is how a video is called from its number and `numbers` which there are, written
as `1-40 43`. A part of a split is written alike, where `clip{}:1-9` has a form of its own, or `rest`: every number that
no other part has. Files have a layout of `_layouts` or `_coco_boxes`; what no layout says, such as `read`, is the name
of a function in the module that is called as the file. Whatever else a file says has the name that the class it goes to
gives it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.catalogue import Catalogue, Files, with_attributes
from surgvalid.datasets import sets as _sets  # noqa: F401  the folder that is listed
from surgvalid.datasets._coco_boxes import CocoFiles
from surgvalid.datasets._data_set import Comparison, DataSet, DataTask, QuestionColumns, listed, the_rest
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import MaskFiles, QuestionFiles, VideoTables, number_of_video

_REST = "rest"
_SETS = "surgvalid.datasets.sets"
_FUNCTIONS = ("read", "count", "arranged", "read_schemes", "further_checks")


@cache
def declared_data_set(path: Path) -> DataSet:
    """The data set that a TOML file declares, called as the file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    form, numbers = content.pop("videos", "{}"), numbers_in(content.pop("numbers", ""))
    tasks = content.pop("tasks")
    for about in (content, *tasks.values(), *(task.get("compared", {}) for task in tasks.values())):
        for key in about.keys() & {*_FUNCTIONS}:
            about[key] = getattr(import_module(f"{_SETS}.{path.stem}"), about[key])
    schemes = {name: _parts(parts, form, numbers) for name, parts in content.pop("schemes", {}).items()}
    licence = content.pop("licence", None)
    if "questions" in content:
        content["questions"] = QuestionColumns(**content["questions"])
    if content.pop("same_videos", False):
        content["further_checks"] = _report_one_sided
    read = {name: _task(about, form, numbers) for name, about in tasks.items()}
    texts: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    return DataSet(name=path.stem, licence=licence, tasks=read, schemes=schemes, **texts)


def numbers_in(text: str) -> list[int]:
    """The numbers that a text lists.

    Example:
        >>> numbers_in("1-3 7")
        [1, 2, 3, 7]
    """
    ends = [one.partition("-") for one in text.split()]
    return [n for first, _, last in ends for n in range(int(first), int(last or first) + 1)]


def _parts(parts: Mapping[str, str], form: str, numbers: Sequence[int]) -> dict[str, list[str]]:
    if _REST in parts.values():
        stated = {split: numbers_in(text) for split, text in parts.items() if text != _REST}
        return listed(form, the_rest(numbers, **stated))
    forms = {split: text.rpartition(":") for split, text in parts.items()}
    return {split: [(stem or form).format(n) for n in numbers_in(text)] for split, (stem, _, text) in forms.items()}


def _task(about: dict[str, Any], form: str, numbers: Sequence[int]) -> DataTask:
    layout, files = about.pop("layout", ""), about.pop("files", {})
    if layout == "questions":
        video = number_of_video(form, numbers)
        return QuestionFiles(video=video, **files).task(**about.pop("published", {}), **about)
    compared = _comparison(about.pop("compared")) if "compared" in about else None
    if layout == "masks":
        about["read"] = _masks(files).read
    elif layout == "tables":
        about["read"] = _tables(files, form, numbers).read
    elif layout == "coco":
        about["read"] = CocoFiles(**files).read
    return DataTask(compared=compared, **about)


def _masks(files: dict[str, Any]) -> MaskFiles:
    spelled = getattr(str, files.pop("spelled", "__str__"))
    strata, image = files.pop("strata", ()), files.pop("image", None)
    return MaskFiles(spelled=spelled, strata=tuple(strata), image=image and tuple(image), **files)


def _tables(files: dict[str, Any], form: str, numbers: Sequence[int]) -> VideoTables:
    """Tables with named values, `flags` of 0 and 1, and the frame rate, also of groups of videos, as a stratum."""
    fps = files.pop("fps", {})
    rates = fps if isinstance(fps, dict) else {fps: " ".join(map(str, numbers))}
    strata = {form.format(n): {"fps": int(rate)} for rate, text in rates.items() for n in numbers_in(text)}
    values = {name: _allowed(stated) for name, stated in files.pop("values", {}).items()}
    values |= dict.fromkeys(_classes(files.pop("flags", ())), range(2))
    video = number_of_video(form, numbers)
    return VideoTables(video=video, values=values, strata=lambda video: strata.get(video, {}), **files)


def _allowed(stated: list[str] | str) -> Collection[Any]:
    """Texts as they are listed, or the whole numbers of a run."""
    return range((ends := numbers_in(stated))[0], ends[-1] + 1) if isinstance(stated, str) else stated


def _classes(named: list[str] | dict[str, Any]) -> dict[str, str]:
    """Columns and their classes: the same names, pairs, or `{stem = 3}` for `stem_0` to `stem_2`."""
    if isinstance(named, dict):
        (stem, size), *_ = named.items()
        return {f"{stem}_{n}": str(n) for n in range(size)} if isinstance(size, int) else named
    return {name: name for name in named}


def _comparison(about: dict[str, Any]) -> Comparison:
    options, members = about.pop("options", {}), about.pop("members", ())
    if classes := options.get("classes"):
        options["classes"] = tuple(map(str, numbers_in(classes)) if isinstance(classes, str) else classes)
    if "recoded" in options:
        options["recoded"] = {int(code): number for code, number in options["recoded"].items()}
    if "colours" in options:
        options["colours"] = {tuple(colour): number for number, colour in enumerate(options["colours"])}
    about |= {key: tuple(value) for key, value in about.items() if isinstance(value, list)}
    return Comparison(members=_classes(members), options=options, **about)


def _report_one_sided(folder: DataFolder, tables: Mapping[str, pl.DataFrame]) -> None:
    """Say which videos have only one of two references."""
    if len(tables) < 2:
        return
    (one, first), (other, second) = ((name, set(table["video"].unique())) for name, table in tables.items())
    for video in sorted(first ^ second):
        folder.warn("one-sided", video, f"has {one if video in first else other}s only")


DATA_SETS: Catalogue[DataSet] = Catalogue(
    "data set",
    "datasets",
    Files(_SETS, declared=declared_data_set),
    take=with_attributes(["name", "tasks", "check", "references", "splits"]),
)
"""Every data set by name; readers of annotation tools are not among them."""


def open_data_set(name: str) -> DataSet:
    """The data set of that name.

    Raises:
        UnknownName: No such data set.
        PluginBroken: An installed package offers it, and it cannot be used.

    Example:
        >>> open_data_set("cholec80").tasks["tool"].rate_hz
        1.0
    """
    return DATA_SETS[name]
