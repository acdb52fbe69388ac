"""How far judges agree: percent agreement, Cohen's kappa for each pair, Fleiss' kappa for three or more.

Definitions. With p_o the share of items on which two raters agree and p_e the share expected if each
kept its own frequencies but rated independently, kappa = (p_o - p_e) / (1 - p_e) (J. Cohen, Educ
Psychol Meas 1960). For more raters, p_o is the mean share of agreeing pairs per item and p_e comes
from the pooled frequencies (J. L. Fleiss, Psychol Bull 1971).

Only answers on which all compared judges have an opinion enter; abstentions are counted beside it, since
calling them disagreement or agreement would both be invented. When everybody always says the same,
p_e = 1 and kappa is undefined (None), however high the agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse
from surgvalid.judges._verdict_file import read_verdicts
from surgvalid.stats.agreement.coefficients import Coefficient, Units, cohen, fleiss

Pair = tuple[str, str, str]
Opinions = dict[Pair, bool | None]


class PairAgreement(NamedTuple):
    """How far two judges agree."""

    judge_a: str
    judge_b: str
    both: int
    """Answers with an opinion of both."""
    abstained: int
    """Answers both saw and at least one abstained on."""
    agreement: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Judges compared on the answers they share."""

    judges: tuple[str, ...]
    pairs: tuple[PairAgreement, ...]
    fleiss: float | None
    """Over answers with an opinion of every judge; None with fewer than three judges, or undefined."""
    complete: int
    """Answers with an opinion of every judge."""
    disagreements: pl.DataFrame
    """Answers with both opinions among the judges: qID, reference, candidate and one column per judge."""
    problems: tuple[str, ...] = ()
    """Lines of the files that an interruption cut; what they held is left out."""

    @property
    def table(self) -> pl.DataFrame:
        """One row per pair of judges."""
        kinds = [pl.String, pl.String, pl.Int64, pl.Int64, pl.Float64, pl.Float64]
        return pl.DataFrame(self.pairs, schema=dict(zip(PairAgreement._fields, kinds, strict=True)), orient="row")

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "judges": list(self.judges),
            "pairs": self.table.to_dicts(),
            "fleiss_kappa": self.fleiss,
            "complete": self.complete,
            "disagreements": self.disagreements.to_dicts(),
            "damaged_lines": list(self.problems),
        }


def agreement_of(files: Sequence[str | Path]) -> Agreement:
    """The agreement between all judges of the verdict files.

    A judge's name that occurs in two files stands for two judges, told apart by the file.

    Raises:
        Misuse: The files hold fewer than two judges.
        FileUnreadable: A file is no verdict file, or contradicts itself.
    """
    damaged: list[str] = []
    by_judge = _opinions(files, damaged)
    if len(by_judge) < 2:
        named = f"only {next(iter(by_judge))!r}" if by_judge else "none"
        raise Misuse(f"agreement needs verdicts of at least two judges, got {named}; give more files")
    pairs = tuple(_pair_agreement(a, by_judge[a], b, by_judge[b]) for a, b in combinations(by_judge, 2))
    items = list(dict.fromkeys(item for opinions in by_judge.values() for item in opinions))
    grid = [[opinions.get(item) for opinions in by_judge.values()] for item in items]
    complete = [row for row in grid if None not in row]
    fleiss = fleiss_kappa([[bool(opinion) for opinion in row] for row in complete]) if len(by_judge) > 2 else None
    disagreements = _disagreements(tuple(by_judge), items, grid)
    return Agreement(tuple(by_judge), pairs, fleiss, len(complete), disagreements, tuple(damaged))


def cohen_kappa(a: Sequence[bool], b: Sequence[bool]) -> float | None:
    """Cohen's kappa of two raters; None where it is undefined.

    Example:
        >>> cohen_kappa([True, True, False, False], [True, False, False, False])
        0.5
    """
    first, second = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    return _value(cohen(first, second, 2, Units.single(len(first)))) if len(first) else None


def fleiss_kappa(grid: Sequence[Sequence[bool]]) -> float | None:
    """Fleiss' kappa from `grid[item][rater]`; None where it is undefined.

    Example:
        >>> fleiss_kappa([[True, True, True], [False, False, False]])
        1.0
    """
    codes = np.asarray(grid, dtype=np.int64)
    return _value(fleiss(codes, Units.single(len(codes)))) if len(codes) else None


def _value(coefficient: Coefficient | None) -> float | None:
    if coefficient is None:
        return None
    value = float(coefficient.value(coefficient.statistics.sum(axis=0)))
    return None if np.isnan(value) else value


def _opinions(files: Sequence[str | Path], damaged: list[str]) -> dict[str, Opinions]:
    per_file = [(Path(path).name, read_verdicts(path, damaged)) for path in files]
    owners: dict[str, int] = {}
    for _, verdicts in per_file:
        for judge in {verdict.judge for verdict in verdicts}:
            owners[judge] = owners.get(judge, 0) + 1
    opinions: dict[str, Opinions] = {}
    for number, (file, verdicts) in enumerate(per_file, start=1):
        for verdict in verdicts:
            name = verdict.judge if owners[verdict.judge] == 1 else f"{verdict.judge} ({number}: {file})"
            opinions.setdefault(name, {})[verdict.pair] = verdict.verdict
    return opinions


def _pair_agreement(name_a: str, a: Opinions, name_b: str, b: Opinions) -> PairAgreement:
    shared = [(a[item], b[item]) for item in a if item in b]
    opinions = [(x, y) for x, y in shared if x is not None and y is not None]
    agreement = sum(x == y for x, y in opinions) / len(opinions) if opinions else None
    kappa = cohen_kappa([x for x, _ in opinions], [y for _, y in opinions])
    return PairAgreement(name_a, name_b, len(opinions), len(shared) - len(opinions), agreement, kappa)


def _disagreements(judges: tuple[str, ...], items: list[Pair], grid: list[list[bool | None]]) -> pl.DataFrame:
    rows = [(*item, *row) for item, row in zip(items, grid, strict=True) if True in row and False in row]
    names = [name if name not in ("qID", "reference", "candidate") else f"judge {name}" for name in judges]
    schema = dict.fromkeys(("qID", "reference", "candidate"), pl.String) | dict.fromkeys(names, pl.Boolean)
    return pl.DataFrame(rows, schema=schema, orient="row")
