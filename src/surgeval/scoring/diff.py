"""The difference between two scorings, question by question, and what moved each number.

Every number (headline, buckets, formats, overall) goes from its value in A to its value in B in three
steps, always in this order:
    verdicts     questions that both have take B's verdict
    regrouping   those questions take B's capability, group, OOD flag, format and video
    questions    questions that only A has leave, those that only B has join
Each part is the change in its step, so the parts sum to B - A by construction. The order is a choice:
another one would share out joint effects differently, never the sum. A slice that is empty after a
step keeps its value until it is filled again; a slice that A or B lacks has no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from surgeval.results.request import Request, requested
from surgeval.results.result import Result
from surgeval.results.tables import scoring
from surgeval.schema.findings import as_findings
from surgeval.scoring.results_file import Scored, ScoredRun, read_results
from surgeval.scoring.slices import HEADLINE, Slice, Slices

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
        """How many questions changed in which way, and what became of the headline."""
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
            lines.append(f"  headline {top['a']:.4f} -> {top['b']:.4f} ({top['difference']:+.4f}: {parts})")
        return "\n".join(lines)


@requested("diff", files=("results_a", "results_b"))
def diff(results_a: Any, results_b: Any) -> DiffResult:
    """What differs between two results files (or folders written by `surgeval score`), and why numbers moved.

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
        request=Request(inputs={name: [run.path] for name, run in (("results_a", a), ("results_b", b)) if run.path}),
    )


# --- questions -----------------------------------------------------------------------------------


def _changes(a: dict[str, Scored], b: dict[str, Scored]) -> Iterator[dict[str, str | None]]:
    for case in sorted(a.keys() | b.keys()):
        old, new = a.get(case), b.get(case)
        if old is None or new is None:
            kind = "only-in-b" if old is None else "only-in-a"
            verdicts = [None if each is None else each.verdict for each in (old, new)]
            yield _change(case, kind, "correctness", verdicts, _reasons(old, new))
        else:
            yield from _changes_of(old, new)


def _changes_of(old: Scored, new: Scored) -> Iterator[dict[str, str | None]]:
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


def _reasons(old: Scored | None, new: Scored | None) -> tuple[str | None, str | None]:
    return (None if old is None else old.reason, None if new is None else new.reason)


def _shown(value: Any) -> str:
    return "not stated" if value is None else str(value)


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


# --- numbers -------------------------------------------------------------------------------------


def _moved(a: dict[str, Scored], b: dict[str, Scored]) -> pl.DataFrame:
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


def _values(rows: Sequence[Scored]) -> dict[Slice, Any]:
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
    texts: dict[str, str] = {key: str(manifest[key]) for key in ("surgeval", "verb") if key in manifest}
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
