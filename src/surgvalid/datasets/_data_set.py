"""What every public data set offers: a check, splits, cases and references, licence and citation as data.

A data set has tasks; each task reads one kind of reference into a table with `case`, `video`, `frame` and
the reference itself. Layouts differ in what a frame number counts and how often a reference is given, so
every `References` carries its clock and its rate, and `joined` refuses to bring together what does not fit.

`Comparison` is what `surgvalid evaluate` must know beside the table to compare predictions with a task. The data set
says it where it states its tasks, so that whoever has the folder needs no conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.catalogue import packages_named
from surgvalid.datasets._folder import DataFolder
from surgvalid.errors import InputInvalid, UnknownName
from surgvalid.schema.findings import Finding, Severity


@dataclass(frozen=True)
class References:
    """References of one task, with what must be known before they are joined with anything."""

    data_set: str
    task: str
    table: pl.DataFrame
    clock: str
    rate_hz: float | None
    files: tuple[Path, ...] = ()
    """The files that were read for them."""
    findings: tuple[Finding, ...] = ()
    """What whoever uses them must be told."""


def unchanged(references: References) -> References:
    """The references as they are."""
    return references


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How predictions are compared with the references of a task."""

    kind: str
    """Of `surgvalid evaluate`."""
    label: str = ""
    """The column of the one label of a case."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Column of 0 and 1 -> its class, for cases with several labels; those of `arranged` where it names them."""
    masks: str = ""
    """The column of mask files."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """What an identity means -> its column, for boxes with identities."""
    boxes: str = ""
    """The column of the class of a box; a row without one is an image without boxes."""
    questions: bool = False
    """Whether rows are questions with a written answer, as `surgvalid score` takes them."""
    cluster: str = "video"
    """The column of what is independent of each other, where that is not the video: a surgeon or a patient."""
    doubtful: Mapping[str, str] = field(default_factory=dict)
    """Videos that count only where they are asked for by name, and why."""
    metrics: tuple[str, ...] = ()
    """The usual ones of this task, where they are not those of the kind."""
    moment: str = "frame"
    """The column that tells cases of a video apart: `frame` or `case`."""
    fps: float | None = None
    """Frame numbers per second, where the table has no column `fps` and frames are no seconds."""
    first_frame: int = 0
    """The number of the frame at second 0."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the kind is told unless the caller says otherwise, such as `classes`."""
    caution: str = ""
    """What whoever reads the intervals must know."""
    arranged: Callable[[References], References] = unchanged
    """One row per moment, where the table is laid out otherwise."""


Schemes = Mapping[str, Mapping[str, Sequence[str]]]
"""Name of a split scheme -> name of a part -> its videos."""

SPLIT_COLUMNS = {"scheme": pl.String, "split": pl.String, "video": pl.String}
NO_CASES = pl.DataFrame(schema={"case": pl.String, "video": pl.String, "frame": pl.Int64})
"""The table of a task of which nothing could be read."""


@dataclass(frozen=True, kw_only=True)
class DataTask:
    """One kind of reference of a data set."""

    summary: str
    read: Callable[[DataFolder], pl.DataFrame]
    clock: str
    """What `frame` counts, such as `frames at 25 fps`; tables of different clocks cannot be joined."""
    rate_hz: float | None = None
    """References per second of video; None where they are irregular or the rate is not known."""
    one_row_per_case: bool = True
    published: Mapping[str, int] = field(default_factory=dict)
    """Published counts: `rows`, `cases`, `videos`, `cases in` or `boxes in` a part, or what `count` returns."""
    count: Callable[[pl.DataFrame], Mapping[str, int]] = lambda _: {}
    compared: Comparison | None = None
    """How `surgvalid evaluate` compares predictions with it; None where it cannot."""


@dataclass(frozen=True, kw_only=True)
class QuestionColumns:
    """What questions are made of: which tasks tell what, and how their labels are called in a question."""

    procedure_type: str = ""
    type_column: str = "procedure_type"
    thing: str = "object"
    """What a class in view is."""
    stage: str = "phase"
    """What a phase is."""
    seen: str = ""
    """The task that tells which classes are in view: a column for each, or `column`."""
    column: str = ""
    classes: tuple[str, ...] = ()
    """All that may be in view, where the labels do not tell."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What is told of what is in view, and in which column."""
    phases: str = ""
    rated: str = ""
    """The task with the means of raters, from 0 for nobody to 1 for all."""
    criteria: Mapping[str, str] = field(default_factory=dict)
    """Column of `rated` -> the criterion in words."""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Column -> what its numbers stand for; what is empty is never an answer."""
    scheme: str = ""
    """The split that questions keep."""
    fps: int = 1
    """Frame numbers per second, where no column tells."""


@dataclass(frozen=True)
class DataReport:
    """What a check found: counts beside the published ones, what can be used, and findings."""

    data_set: str
    counts: pl.DataFrame
    """Columns task, what, found, published (null where nothing was published)."""
    findings: tuple[Finding, ...]
    usable: tuple[str, ...] = ()
    """The tasks whose references can be read as they lie here."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Every other task and why: its first problem."""

    @property
    def ok(self) -> bool:
        """Whether nothing is broken and something can be used; parts may be absent and counts may differ."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def verdict(self) -> str:
        """What the folder can be used for, in one sentence."""
        if not self.usable:
            return "not usable as it is: mend the errors first"
        if not self.lacking:
            return "usable"
        why = "; ".join(f"{task} ({reason})" for task, reason in self.lacking.items())
        return f"usable for {', '.join(self.usable)}; not for {why}"

    @property
    def missing(self) -> list[str]:
        """The files that are not there."""
        return [str(finding.where) for finding in self.findings if finding.code == "missing"]

    @property
    def differing(self) -> pl.DataFrame:
        """The counts that disagree with the published ones."""
        return self.counts.filter(pl.col("published").is_not_null() & (pl.col("found") != pl.col("published")))

    def __str__(self) -> str:
        lines = [f"{self.data_set}: {self.verdict}"]
        for task, what, counted, published in self.counts.iter_rows():
            lines.append(f"  {task}: {counted} {what}" + ("" if published is None else f" (published: {published})"))
        return "\n".join(lines + [f"  {finding}" for finding in self.findings])


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A public data set: its facts, and the readers of its files."""

    name: str
    title: str
    citation: str
    source: str
    """Where to get it."""
    checked_against: str
    """What the layout read here was compared with."""
    licence: str | None
    """None where the licence is not confirmed; then `licence_note` says what is known."""
    licence_note: str = ""
    tasks: Mapping[str, DataTask]
    schemes: Schemes = field(default_factory=dict)
    """Splits that are known without the files; official unless named below."""
    unofficial: tuple[str, ...] = ()
    """Schemes that a widely used loader has made up."""
    read_schemes: Callable[[DataFolder], Schemes] = lambda _: {}
    """Splits that the files themselves state."""
    split_sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Schemes of which only the sizes are known here; the user supplies the videos and names the scheme."""
    disagreements: tuple[str, ...] = ()
    """Where the publications contradict themselves or each other."""
    notes: tuple[str, ...] = ()
    """Traps, and what is not confirmed."""
    questions: QuestionColumns | None = None
    """What questions are made of; None where none are."""
    further_checks: Callable[[DataFolder, Mapping[str, pl.DataFrame]], None] = lambda _, __: None
    """Checks across tasks."""

    @packages_named()
    def check(self, root: str | Path, *, tasks: Sequence[str] | None = None) -> DataReport:
        """What is there, what is missing, and what disagrees with the published counts.

        Nothing in the files makes this raise; whatever is wrong with them is a finding.

        Args:
            root: The folder of the data set.
            tasks: The tasks to look at; by default all.

        Raises:
            UnknownName: No such task.
        """
        folder = DataFolder(root)
        chosen = {name: self._task(name) for name in (tasks or self.tasks)}
        tables, lacking = {}, {}
        for name, task in chosen.items():
            task_folder = DataFolder(root)
            tables[name] = self._read(task_folder, task)
            if task_folder.problems:
                lacking[name] = task_folder.problems[0]
            folder.take(task_folder.findings)
        counts = pl.concat([_counts(name, task, tables[name]) for name, task in chosen.items()])
        self._note_unknown_splits(folder, self._read_splits(folder))
        self.further_checks(folder, {name: table for name, table in tables.items() if table.height})
        folder.report_pickles()
        folder.report_links()
        for task, what, counted, published in counts.drop_nulls().iter_rows():
            if counted != published:
                folder.warn("count-differs", task, f"{counted:,} {what}; published: {published:,}")
        for text in self.disagreements:
            folder.note("published-disagreement", self.name, text)
        usable = tuple(name for name in chosen if name not in lacking)
        findings = _absences_forgiven(folder.findings) if usable else folder.findings
        return DataReport(self.name, counts, tuple(findings), usable, lacking)

    @packages_named()
    def references(self, root: str | Path, *, task: str) -> References:
        """The references of one task.

        Raises:
            UnknownName: No such task.
            InputInvalid: Something in the files makes references unusable; every problem is listed.
        """
        folder = DataFolder(root)
        table = self._read(folder, self._task(task))
        if folder.problems:
            raise InputInvalid(str(root), folder.problems)
        about = self._task(task)
        findings = tuple(finding for finding in folder.findings if finding.severity is Severity.WARNING)
        return References(self.name, task, table, about.clock, about.rate_hz, tuple(folder.opened), findings)

    def cases(self, root: str | Path, *, task: str) -> pl.DataFrame:
        """One row per case of a task: `case`, `video`, `frame` and strata, without the reference.

        Raises:
            UnknownName: No such task.
            InputInvalid: Something in the files makes references unusable; every problem is listed.
        """
        table = self.references(root, task=task).table
        kept = ["case", "video", "frame", *(name for name in STRATA if name in table.columns)]
        return table.select(kept).unique(subset="case", maintain_order=True)

    def splits(self, root: str | Path | None = None) -> pl.DataFrame:
        """Every split scheme: columns scheme, split, video.

        Args:
            root: The folder of the data set, where its files state splits; without it only those known here.

        Raises:
            InputInvalid: The files state splits that cannot be read or that put a video into two parts.
        """
        if root is None:
            return split_table(self.schemes)
        folder = DataFolder(root)
        table = self._read_splits(folder)
        if folder.problems:
            raise InputInvalid(str(root), folder.problems)
        return table

    def _task(self, name: str) -> DataTask:
        if name not in self.tasks:
            raise UnknownName(f"task of {self.name}", name, self.tasks)
        return self.tasks[name]

    def _read(self, folder: DataFolder, task: DataTask) -> pl.DataFrame:
        before = len(folder.problems)
        table = task.read(folder)
        if table.is_empty() and len(folder.problems) == before:
            folder.problem("no-references", folder.root, f"nothing to read for: {task.summary}")
        twice = table.filter(pl.col("case").is_duplicated())["case"]
        if task.one_row_per_case and (repeated := twice.unique().sort().to_list()):
            folder.problem("repeated-case", folder.root, f"{len(repeated)} cases repeat (first: {repeated[0]})")
        return table

    def _note_unknown_splits(self, folder: DataFolder, known: pl.DataFrame) -> None:
        """Say which splits a number could come from without its videos being known here."""
        for scheme, sizes in self.split_sizes.items():
            listed = ", ".join(f"{split} {size}" for split, size in sizes.items())
            message = f"of split {scheme!r} only sizes are known here ({listed}); state the videos that you used"
            folder.note("split-unknown", self.name, message)
        if set(known["scheme"]) <= set(self.unofficial) and not self.split_sizes:
            message = "no official split is known here; state which videos you trained and tested on"
            folder.note("split-unknown", self.name, message)

    def _read_splits(self, folder: DataFolder) -> pl.DataFrame:
        table = split_table({**self.schemes, **self.read_schemes(folder)})
        twice = table.group_by("scheme", "video").agg(pl.col("split").n_unique()).filter(pl.col("split") > 1)
        for scheme, video, _ in twice.sort("scheme", "video").iter_rows():
            folder.problem("split-overlap", str(scheme), f"video {video} is in more than one part")
        return table


STRATA = (
    *("split", "center", "surgery_type", "subset", "organ", "surgery", "surgeon", "patient", "item", "part"),
    *("skill", "fps"),
)
"""Columns of a reference table that describe a case rather than answer it."""
_ABSENCES = ("missing", "no-references")


def _absences_forgiven(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with what is not there at all as a warning: something else in the folder can be used."""
    return [
        replace(one, code="absent", severity=Severity.WARNING)
        if one.severity is Severity.ERROR and one.code in _ABSENCES
        else one
        for one in findings
    ]


def split_table(schemes: Schemes) -> pl.DataFrame:
    """Split schemes as a table with columns scheme, split, video."""
    rows = [(scheme, split, video) for scheme, parts in schemes.items() for split, vs in parts.items() for video in vs]
    return pl.DataFrame(rows, schema=SPLIT_COLUMNS, orient="row")


def _counts(name: str, task: DataTask, table: pl.DataFrame) -> pl.DataFrame:
    counts = {"rows": table.height, "cases": table["case"].n_unique(), "videos": table["video"].n_unique()}
    counts |= task.count(table)
    if "split" in table.columns:
        counts |= {what: _in_part(table, what) for what in task.published if " in " in what}
    published = task.published if table.height else {}
    rows = [(name, what, number, published.get(what)) for what, number in counts.items()]
    schema = {"task": pl.String, "what": pl.String, "found": pl.Int64, "published": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _in_part(table: pl.DataFrame, what: str) -> int:
    """How many `cases in` or `boxes in` a part; an image without a box is a row without a category."""
    kind, _, split = what.partition(" in ")
    rows = table.filter(pl.col("split") == split)
    if kind == "cases":
        return rows["case"].n_unique()
    return rows.drop_nulls("category").height if "category" in rows.columns else rows.height


def stacked(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables one below the other, or a table without rows where there is none."""
    return pl.concat(tables, how="vertical") if tables else NO_CASES


def listed(form: str, parts: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """The parts of a split by the numbers of their videos.

    Example:
        >>> listed("VID{:02}", {"val": (8, 12)})
        {'val': ['VID08', 'VID12']}
    """
    return {split: [form.format(n) for n in numbers] for split, numbers in parts.items()}


def the_rest(numbers: Iterable[int], **parts: Sequence[int]) -> dict[str, list[int]]:
    """A split whose training part is every number that no other part has.

    Example:
        >>> the_rest(range(1, 5), val=(2,), test=(4,))
        {'train': [1, 3], 'val': [2], 'test': [4]}
    """
    held = {n for numbers in parts.values() for n in numbers}
    return {
        "train": [n for n in numbers if n not in held],
        **{split: list(numbers) for split, numbers in parts.items()},
    }
