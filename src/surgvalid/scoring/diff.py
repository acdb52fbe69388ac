"""The difference between two scorings, question by question, and what moved each number.

Every number (primary result, buckets, formats, overall) goes from its value in A to its value in B in three
steps, always in this order:
    verdicts     questions that both have take B's verdict
    regrouping   those questions take B's capability, group, OOD flag, format and video
    questions    questions that only A has leave, those that only B has join
Each part is the change in its step, so the parts sum to B - A by construction. The order is a choice:
another one would share out joint effects differently, never the sum. A slice that is empty after a
step keeps its value until it is filled again; a slice that A or B lacks has no difference.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import TableInvalid, WrongFile
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result
from surgvalid.results.tables import scoring
from surgvalid.schema.file_kinds import RESULTS, kind_of
from surgvalid.schema.findings import Finding, Severity, as_findings
from surgvalid.schema.legacy import with_new_keys
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import Row, frame_rows, read_rows
from surgvalid.schema.tables.tabular import as_frame
from surgvalid.scoring.slices import HEADLINE, Slice, Slices, bucket_name

REQUIRED = ("qID", "primary", "answer_format", "correctness")
"""Columns without which two scorings cannot be compared."""

_FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One question as a results file has it."""

    case: str
    video: str
    primary: str
    group: str
    ood: bool | None
    clinical: bool | None
    format: str
    correct: bool | None
    """None when no verdict was reached."""
    timed_out: bool | None
    latency: str | None
    """As written: latencies are compared, never computed with."""
    reason: str | None

    @property
    def bucket(self) -> str:
        """The bucket the question counts in."""
        return bucket_name(Capability.read(self.group), self.ood)

    @property
    def verdict(self) -> str:
        """`right`, `wrong` or `not scored`."""
        return {True: "right", False: "wrong", None: "not scored"}[self.correct]


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One results file and the manifest beside it."""

    path: Path | None
    """None where it was given as a table."""
    rows: dict[str, ScoredRow]
    manifest: dict[str, Any]
    """Empty where there is none that can be read."""


def read_results(source: Any) -> ScoredRun:
    """The scoring in a results.csv, in a folder that holds one, in a table or in dictionaries.

    Raises:
        FileUnreadable: There is no such file, or it is no CSV.
        WrongFile: It is recognisably another file.
        TableInvalid: With every problem found in it.
    """
    findings: list[Finding] = []
    if isinstance(source, str | Path):
        path = Path(source) / "results.csv" if Path(source).is_dir() else Path(source)
        rows, header, where = list(read_rows(path, report=findings.append)), _header(path), str(path)
    else:
        frame = as_frame(source)
        path, rows, header, where = None, list(frame_rows(frame)), frame.columns, "results"
    problems = [finding.message for finding in findings if finding.severity is Severity.ERROR]
    problems += _column_problems(where, rows, header)
    scored: dict[str, ScoredRow] = {}
    for number, row in enumerate(rows if not problems else (), start=1):
        question = _scored(row, number, problems)
        if question is not None and question.case in scored:
            problems.append(f"row {number}: question {question.case[:80]!r} appears twice")
        elif question is not None:
            scored[question.case] = question
    if problems:
        raise TableInvalid(where, problems)
    return ScoredRun(path, scored, {} if path is None else _manifest_beside(path))


def _column_problems(where: str, rows: Iterable[Row], header: Iterable[str]) -> list[str]:
    """Columns that no row fills; an empty cell and an absent column read the same."""
    filled = {name for row in rows for name in row}
    if not filled:
        return ["there is no scored question in it"]
    lacking = [name for name in REQUIRED if name not in filled | ({"correctness"} & set(header))]
    names = ", ".join(map(repr, sorted(filled)))
    if lacking and (kind := kind_of(filled)) and kind.words != RESULTS:
        cure = "pass the results.csv that surgvalid score wrote, or its folder"
        raise WrongFile(where, [f"it seems to be {kind.words}, not {RESULTS} (it has {names}); {cure}"])
    return [f"column {name!r} is missing; it has {names}" for name in lacking]


def _header(path: Path) -> list[str]:
    """The column names of a CSV file: a column may be there although no row fills it."""
    if path.suffix.lower() != ".csv":
        return []
    with open(path, encoding="utf-8-sig", newline="") as handle:
        return next(csv.reader(handle), [])


def _scored(row: Row, number: int, problems: list[str]) -> ScoredRow | None:
    if absent := [name for name in REQUIRED[:3] if row.get(name) is None]:
        problems.append(f"row {number}: {', '.join(absent)} is empty")
        return None
    capability = Capability.named(row["primary"])
    group = Capability.named(row["group"]) if row.get("group") is not None else capability
    if capability is None or group is None:
        named = row["group"] if capability else row["primary"]
        problems.append(f"row {number}: unknown capability {str(named)[:80]!r}")
        return None
    flags = {}
    for name in ("ood", "clinical", "correctness", "timed_out"):
        text = row.get(name)
        flags[name] = None if text is None else _FLAGS.get(str(text).strip().lower())
        if text is not None and flags[name] is None:
            problems.append(f"row {number}: {name} must be True or False, got {str(text)[:80]!r}")
    return ScoredRow(
        case=str(row["qID"]),
        video=str(row.get("video", row["qID"])),
        primary=capability.value,
        group=group.group.value,
        ood=flags["ood"],
        clinical=flags["clinical"],
        format=str(row["answer_format"]),
        correct=flags["correctness"],
        timed_out=flags["timed_out"],
        latency=None if row.get("latency") is None else str(row["latency"]),
        reason=None if row.get("reason") is None else str(row["reason"]),
    )


def _manifest_beside(path: Path) -> dict[str, Any]:
    try:
        document = json.loads((path.parent / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return {}
    return with_new_keys(document) if isinstance(document, dict) else {}


GROUPING = ("primary", "group", "ood", "clinical", "format", "video")
"""What decides where a question counts."""
_MOVED = "What moved each number (verdicts, then regrouping, then questions)"
SHOWN_CHANGES = 40
"""Changed questions on a screen; `--out` and `--json` have all of them."""
PARTS = ("verdicts", "regrouping", "questions")
"""The steps from A to B, in order."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class DiffResult(Result):
    """What differs between two scorings of (mostly) the same questions.

    `table` says what moved each number: values in A and B, and the parts of the difference.
    """

    questions_a: int
    questions_b: int

    @property
    def changes(self) -> pl.DataFrame:
        """One row per change of a question.

        Kinds: `only-in-a`, `only-in-b`, `flipped`, `regrouped`, `timed-out`, `latency` or `reason`.
        """
        return self.tables["changes"]

    @property
    def settings(self) -> pl.DataFrame:
        """`setting, a, b`: what the manifests say differently (profile, judge, version, inputs)."""
        return self.tables["settings"]

    @property
    def equal(self) -> bool:
        """Whether the two results say the same about every question."""
        return self.changes.is_empty()

    def count(self, kind: str) -> int:
        """The number of questions with a change of this kind."""
        return self.changes.filter(kind=kind)["case"].n_unique()

    def facts(self) -> dict[str, Any]:
        """Whether they are equal, and their sizes."""
        return {"equal": self.equal, "questions": {"a": self.questions_a, "b": self.questions_b}}

    @property
    def shown(self) -> pl.DataFrame:
        """The numbers that moved."""
        return self.table.filter((pl.col("difference") != 0) | pl.col("difference").is_null())

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """What moved, and the first questions that changed."""
        if self.equal:
            return {}
        left = max(self.changes.height - SHOWN_CHANGES, 0)
        more = f" (... and {left} more; see --out or --json)" if left else ""
        return {
            _MOVED: self.shown,
            f"Changed questions{more}": self.changes.head(SHOWN_CHANGES),
        }

    def digits(self) -> Mapping[str, int]:
        """Four where numbers moved: one verdict of some thousands moves no third decimal."""
        return {_MOVED: 4}

    @property
    def title(self) -> str:
        """How many questions changed in which way, and what became of the primary result."""
        lines = [f"A has {self.questions_a} questions, B has {self.questions_b}"]
        if self.equal:
            return "\n".join([*lines, "no difference"])
        flipped = self.changes.filter(kind="flipped")
        ways = flipped.group_by("a", "b").len().sort("a", "b").iter_rows()
        lines += [f"  {number} verdicts: {a} -> {b}" for a, b, number in ways]
        words = {"regrouped": "regrouped", "timed-out": "time-out changed", "latency": "latency changed"}
        words |= {"reason": "reason changed", "only-in-a": "only in A", "only-in-b": "only in B"}
        lines += [f"  {self.count(kind)} questions: {word}" for kind, word in words.items() if self.count(kind)]
        lines += [f"  setting {name}: {a} -> {b}" for name, a, b in self.settings.iter_rows()]
        top = self.table.filter(level=HEADLINE[0], estimand="rows").row(0, named=True)
        if top["difference"] is not None:
            parts = ", ".join(f"{step} {top[step]:+.4f}" for step in PARTS)
            lines.append(f"  primary result {top['a']:.4f} -> {top['b']:.4f} ({top['difference']:+.4f}: {parts})")
        return "\n".join(lines)


@requested("diff", files=("results_a", "results_b"))
def diff(results_a: Any, results_b: Any) -> DiffResult:
    """What differs between two results files (or folders written by `surgvalid score`), and why numbers moved.

    Args:
        results_a: A file, a folder, a table of polars, pandas or Arrow, or dictionaries.
        results_b: The other one, given alike.

    Raises:
        FileUnreadable: A file is missing or no CSV.
        WrongFile: A file is recognisably another one.
        TableInvalid: With every problem found in a file.
    """
    a, b = read_results(results_a), read_results(results_b)
    return DiffResult(
        tables={
            "moved": _moved(a.rows, b.rows),
            "changes": scoring.CHANGES.frame(list(_changes(a.rows, b.rows))),
            "settings": _settings(a, b),
        },
        questions_a=len(a.rows),
        questions_b=len(b.rows),
        findings=as_findings(_notes(a, b)),
        request=VerbRequest(
            inputs={name: [run.path] for name, run in (("results_a", a), ("results_b", b)) if run.path}
        ),
    )


# --- questions -----------------------------------------------------------------------------------


def _changes(a: dict[str, ScoredRow], b: dict[str, ScoredRow]) -> Iterator[dict[str, str | None]]:
    for case in sorted(a.keys() | b.keys()):
        old, new = a.get(case), b.get(case)
        if old is None or new is None:
            kind = "only-in-b" if old is None else "only-in-a"
            verdicts = [None if each is None else each.verdict for each in (old, new)]
            yield _change(case, kind, "correctness", verdicts, _reasons(old, new))
        else:
            yield from _changes_of(old, new)


def _changes_of(old: ScoredRow, new: ScoredRow) -> Iterator[dict[str, str | None]]:
    why = _reasons(old, new)
    if old.verdict != new.verdict:
        yield _change(old.case, "flipped", "correctness", (old.verdict, new.verdict), why)
    elif old.reason != new.reason and None not in why:
        yield _change(old.case, "reason", "reason", why, why)
    for kind, columns in (("regrouped", GROUPING), ("timed-out", ("timed_out",)), ("latency", ("latency",))):
        for column in columns:
            before, after = getattr(old, column), getattr(new, column)
            if _differs(column, before, after):
                yield _change(old.case, kind, column, (_shown(before), _shown(after)), why)


def _change(
    case: str, kind: str, column: str, ends: Sequence[str | None], why: Sequence[str | None]
) -> dict[str, str | None]:
    (a, b), (reason_a, reason_b) = ends, why
    return {"case": case, "kind": kind, "column": column, "a": a, "b": b, "reason_a": reason_a, "reason_b": reason_b}


def _differs(column: str, before: Any, after: Any) -> bool:
    """Latencies are compared as numbers, so that 1.0 and 1.00 are equal; a column one file lacks is no change."""
    if before is None or after is None:
        return column != "latency" and before is not after
    if column == "latency":
        return before != after and _float(before) != _float(after)
    return bool(before != after)


def _reasons(old: ScoredRow | None, new: ScoredRow | None) -> tuple[str | None, str | None]:
    return (None if old is None else old.reason, None if new is None else new.reason)


def _shown(value: Any) -> str:
    return "not stated" if value is None else str(value)


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


# --- numbers -------------------------------------------------------------------------------------


def _moved(a: dict[str, ScoredRow], b: dict[str, ScoredRow]) -> pl.DataFrame:
    verdicts = [replace(old, correct=b[case].correct) if case in b else old for case, old in a.items()]
    regrouped = [b.get(case, old) for case, old in a.items()]
    steps = [_values(list(a.values())), _values(verdicts), _values(regrouped), _values(list(b.values()))]
    order = sorted({name for step in (steps[0], steps[-1]) for name in step}, key=_place)
    rows = []
    for name in order:
        for column, estimand in enumerate(("rows", "videos")):
            values = [step[name][column] if name in step else math.nan for step in steps]
            counts = [step[name].questions if name in step else 0 for step in (steps[0], steps[-1])]
            counted = dict(zip(("questions_a", "questions_b"), counts, strict=True))
            rows.append({"level": name[0], "name": name[1], "estimand": estimand, **_parts(values), **counted})
    return scoring.MOVED.frame(rows)


def _values(rows: Sequence[ScoredRow]) -> dict[Slice, Any]:
    slices = Slices([row.video for row in rows], [row.bucket for row in rows], [row.format for row in rows])
    return slices.values([math.nan if row.correct is None else float(row.correct) for row in rows])


def _parts(values: Sequence[float]) -> dict[str, float | None]:
    """A, B, their difference, and the change in each step; without a value at either end, nothing to part."""
    first, last = (None if math.isnan(v) else v for v in (values[0], values[-1]))
    if first is None or last is None:
        return {"a": first, "b": last, "difference": None, **dict.fromkeys(PARTS)}
    path = [first]
    for value in values[1:]:
        path.append(path[-1] if math.isnan(value) else value)
    steps = dict(zip(PARTS, (after - before for before, after in pairwise(path)), strict=True))
    return {"a": first, "b": last, "difference": last - first, **steps}


def _place(name: Slice) -> tuple[int, str]:
    return (("headline", "overall", "bucket", "format").index(name[0]), name[1])


# --- settings ------------------------------------------------------------------------------------


def _settings(a: ScoredRun, b: ScoredRun) -> pl.DataFrame:
    left, right = _flat(a.manifest), _flat(b.manifest)
    rows = [
        {"setting": key, "a": left.get(key, "-"), "b": right.get(key, "-")}
        for key in sorted(left.keys() | right.keys())
        if a.manifest and b.manifest and left.get(key) != right.get(key)
    ]
    return scoring.SETTINGS.frame(rows)


def _flat(manifest: dict[str, Any]) -> dict[str, str]:
    """Versions, options, seeds and input hashes of a manifest as texts, under one name each."""
    texts: dict[str, str] = {key: str(manifest[key]) for key in ("surgvalid", "verb") if key in manifest}
    for section in ("options", "settled", "seeds"):
        if isinstance(manifest.get(section), dict):
            texts |= {f"{section}.{key}": str(value) for key, value in manifest[section].items()}
    listed = manifest.get("inputs")
    for index, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, dict):
            texts[f"inputs.{index + 1}"] = f"{entry.get('file')} {str(entry.get('sha256'))[:12]}"
    return texts


def _notes(a: ScoredRun, b: ScoredRun) -> Iterator[str]:
    for name, run in (("A", a), ("B", b)):
        if not run.manifest:
            given = "a table" if run.path is None else run.path.name
            yield f"{name} ({given}) has no manifest beside it, so its profile and judge are not known"
        if unscored := sum(row.correct is None for row in run.rows.values()):
            yield f"{name}: {unscored} questions were not scored; they are left out of every mean"
        if unstated := sum(row.ood is None for row in run.rows.values()):
            yield f"{name}: {unstated} questions do not say whether they are out of distribution; they count as ID"
