"""What every data set keeps: stated facts, readable references, and findings instead of crashes on broken files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from surgvalid.datasets import STRATA, DataSet
from surgvalid.errors import InputInvalid, UnknownName
from surgvalid.schema.findings import Severity
from surgvalid.testing._broken import Broken, refuse

Build = Callable[[Path], object]
"""Writes a small, faithful copy of the data set into a folder: two videos are enough."""

GARBAGE = {
    "empty": b"",
    "binary": b"\xff\xfe\x00\x01" * 9,
    "prose": b"this is no annotation\n" * 2,
    "deep": b"[" * 100_000,
    "wrong object": b'{"images": 3, "annotations": [null], "phases": 5}',
    "list": b"[1, 2, 3]",
}
"""What stands in for the content of every file, to see whether a reader survives it."""


def check_data_set(data_set: DataSet, build: Build) -> None:
    """Nothing, when a data set keeps the rules of data sets.

    Args:
        data_set: What the entry point of `surgvalid.datasets` leads to.
        build: Writes a small, faithful copy of it into the folder that it is given.

    Raises:
        ContractBroken: With every rule that it does not keep.
    """
    refuse("data set", data_set.name, (rule(data_set, build) for rule in DATA_SET_RULES))


def facts_are_stated(data_set: DataSet, _build: Build) -> Broken:
    """Title, citation, source, licence, what it was checked against, notes; of tasks what they are and count."""
    for fact in ("name", "title", "citation", "source", "checked_against", "notes", "tasks"):
        if not getattr(data_set, fact):
            yield f"does not state its {fact}"
    if not (data_set.licence or data_set.licence_note):
        yield "states neither a licence nor what is known of it"
    for name, task in data_set.tasks.items():
        if not task.summary or not task.clock:
            yield f"task {name!r} does not say what it is, or what its frames count"


def a_faithful_folder_passes_its_check(data_set: DataSet, build: Build) -> Broken:
    """Nothing is wrong with its own layout, and what the publications disagree on is said."""
    with _folder(build) as root:
        report = data_set.check(root)
        if not report.ok or report.missing:
            yield f"does not accept its own layout: {report}"
        differing = [finding for finding in report.findings if finding.code == "count-differs"]
        if report.differing.height != len(differing):
            yield f"{report.differing.height} counts differ from the published ones and {len(differing)} are named"
        named = [finding.message for finding in report.findings if finding.code == "published-disagreement"]
        if named != list(data_set.disagreements):
            yield f"the check names {len(named)} of {len(data_set.disagreements)} published disagreements"


def references_have_cases_and_something_to_compare(data_set: DataSet, build: Build) -> Broken:
    """Every task gives `case`, `video`, `frame` and a reference; a case lies in one video."""
    with _folder(build) as root:
        for task in data_set.tasks:
            table, cases = data_set.references(root, task=task).table, data_set.cases(root, task=task)
            yield from (f"task {task!r}: {problem}" for problem in _unusable(table, cases))


def _unusable(table: pl.DataFrame, cases: pl.DataFrame) -> Broken:
    if table.columns[:3] != ["case", "video", "frame"]:
        yield f"its columns begin with {table.columns[:3]}, not with case, video, frame"
        return
    if table.is_empty():
        yield "it has no references"
    if not table.schema["case"] == table.schema["video"] == pl.String:
        yield "case and video must be text"
    if table["case"].null_count() or table["video"].null_count():
        yield "some rows have no case or no video"
    if not set(table.columns) - {"case", "video", "frame", *STRATA}:
        yield "there is nothing to compare predictions with"
    if not cases["case"].n_unique() == cases.height == table["case"].n_unique():
        yield f"{cases.height} cases are listed for {table['case'].n_unique()} of the references"


def a_video_is_in_one_part_of_a_split(data_set: DataSet, build: Build) -> Broken:
    """Splits have the three columns, and no scheme has a video twice."""
    with _folder(build) as root:
        for table in (data_set.splits(), data_set.splits(root)):
            if table.columns != ["scheme", "split", "video"]:
                yield f"its splits have the columns {table.columns}"
            elif table.select("scheme", "video").is_duplicated().any():
                yield "a split scheme names a video twice"


def the_check_says_which_official_splits_are_not_known(data_set: DataSet, build: Build) -> Broken:
    """A number without a known split is a number about unknown videos, so the lack is said."""
    with _folder(build) as root:
        messages = [finding.message for finding in data_set.check(root).findings if finding.code == "split-unknown"]
        unofficial = set(data_set.splits(root)["scheme"]) <= set(data_set.unofficial)
        expected = len(data_set.split_sizes) or int(unofficial)
        if len(messages) != expected:
            yield f"the check tells of {len(messages)} unknown splits, expected {expected}"


def an_empty_or_absent_folder_lists_what_is_missing(data_set: DataSet, _build: Build) -> Broken:
    """Without files the check names them, and references are refused."""
    with _folder(lambda _: None) as root:
        for place in (root, root / "nowhere"):
            for task in data_set.tasks:
                report = data_set.check(place, tasks=[task])
                if report.ok or not report.missing:
                    yield f"task {task!r}: an empty or absent folder passes its check, or nothing is named as missing"
                yield from _given(data_set, place, task, "an empty or absent folder")


def garbage_in_every_file_is_reported_and_never_raised(data_set: DataSet, build: Build) -> Broken:
    """Whatever stands in the files, the check ends with findings that name them."""
    for kind, content in GARBAGE.items():
        with _folder(build) as root:
            for path in (path for path in root.rglob("*") if path.is_file()):
                path.write_bytes(content)
            report = data_set.check(root)
            if report.ok:
                yield f"files with {kind} content pass the check"
            if kind == "binary" and len({f.where for f in report.findings if f.severity is Severity.ERROR}) < 2:
                yield "of several broken files not all are named"
            for task in data_set.tasks:
                yield from _given(data_set, root, task, f"files with {kind} content")


def pickles_are_counted_and_never_opened(data_set: DataSet, build: Build) -> Broken:
    """A pickle can run anything when it is opened."""
    with _folder(build) as root:
        (root / "extra").mkdir()
        (root / "extra" / "1fps_0.pickle").write_bytes(b"cos\nmkdir\n(S'" + str(root / "opened").encode() + b"'\ntR.")
        report = data_set.check(root)
        if "pickle" not in {finding.code for finding in report.findings}:
            yield "a pickle in the folder is not reported"
        if (root / "opened").exists():
            yield "a pickle in the folder was opened"


def an_unknown_task_is_refused_by_name(data_set: DataSet, build: Build) -> Broken:
    """UnknownName, with the name."""
    with _folder(build) as root:
        try:
            data_set.references(root, task="nosuchtask")
        except UnknownName as error:
            if "nosuchtask" in str(error):
                return
        yield "a task that it does not have was not refused by name"


@contextmanager
def _folder(build: Build) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        yield Path(folder)


def _given(data_set: DataSet, root: Path, task: str, what: str) -> Broken:
    try:
        data_set.references(root, task=task)
    except InputInvalid:
        return
    yield f"task {task!r}: {what} gave references"


DATA_SET_RULES = (
    facts_are_stated,
    a_faithful_folder_passes_its_check,
    references_have_cases_and_something_to_compare,
    a_video_is_in_one_part_of_a_split,
    the_check_says_which_official_splits_are_not_known,
    an_empty_or_absent_folder_lists_what_is_missing,
    garbage_in_every_file_is_reported_and_never_raised,
    pickles_are_counted_and_never_opened,
    an_unknown_task_is_refused_by_name,
)
