"""Rated frames and scores of the three criteria, side by side.

Criteria are named `C1`, `C2`, `C3` in the order of Endoscapes, or by name; Cholec80-CVS orders them otherwise, so
files of other data sets must name them. Scores may also be there for frames that nobody rated; those are left aside,
and how many is said. A rated frame without scores is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgeval.datasets import open_data_set
from surgeval.datasets.endoscapes2023 import CRITERIA
from surgeval.errors import InputInvalid, Misuse
from surgeval.scoring.evaluate.records import checked_rows, joined, numbers, read_records

__all__ = ["CODES", "CRITERIA", "joined_rows"]

CODES = ("C1", "C2", "C3")
MAJORITY = 0.5


def joined_rows(
    predictions: Any, references: Any, *, split: str, threshold: float | None, columns: Mapping[str, str] | None
) -> tuple[pl.DataFrame, list[str], tuple[Path, ...]]:
    """One row per rated frame with `reference:`, `score:` and `prediction:` columns, what was noticed, and files read.

    Raises:
        InputInvalid: With every problem.
    """
    given = read_records(predictions, columns, roles=(*CODES, *CRITERIA))
    problems: list[str] = []
    files: tuple[Path, ...] = ()
    scores = _criteria(given, ("score:", ""), "scores", problems)
    if references is None:
        rated, truth = given, _criteria(given, ("reference:",), "references", problems)
    else:
        rated, files = _rated(references, split, columns)
        truth = _criteria(rated, ("reference:", ""), "references", problems)
    if problems:
        raise InputInvalid("critical view of safety", problems)
    notes: list[str] = []
    if references is None:
        frame = _renamed(given, {"reference": truth, "score": scores})
    else:
        rated, scored = _renamed(rated, {"reference": truth}), _renamed(given, {"score": scores})
        kept, notes = _rated_only(rated, scored)
        frame = joined(rated, kept, wanted=("score",))
    return _decided(frame, threshold, problems), notes, files


def _rated(references: Any, split: str, columns: Mapping[str, str] | None) -> tuple[pl.DataFrame, tuple[Path, ...]]:
    """The rated frames of the data set and the files that told them, or those of a table; strata stay."""
    if not (isinstance(references, Path) and references.is_dir()):
        return read_records(references, columns, roles=(*CODES, *CRITERIA)), ()
    rated = open_data_set("endoscapes2023").references(references, task="cvs")
    chosen = rated.table.filter(pl.col("split") == split).drop("case", "split", *(f"{name}_mean" for name in CRITERIA))
    if chosen.is_empty():
        raise InputInvalid(str(references), [f"no rated frames in {split!r}"])
    return chosen, rated.files


def _criteria(frame: pl.DataFrame, prefixes: tuple[str, ...], what: str, problems: list[str]) -> dict[str, str]:
    """The column of every criterion."""
    criteria = {}
    for code, name in zip(CODES, CRITERIA, strict=True):
        known = [prefix + label for prefix in prefixes for label in (name, code)]
        named = [column for column in known if column in frame.columns]
        if len(named) == 1:
            criteria[name] = named[0]
        elif named:
            problems.append(f"{what}: criterion {name!r} is there twice, as {' and '.join(map(repr, named))}")
        else:
            problems.append(f"{what}: no column for criterion {name!r}; expected {' or '.join(map(repr, known))}")
    return criteria


def _renamed(frame: pl.DataFrame, by_kind: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    """Moments, strata, and the criteria under `reference:` or `score:` and their names."""
    kinds = {f"{kind}{label}" for kind in ("", "reference:", "score:") for label in (*CODES, *CRITERIA)}
    others = [name for name in frame.columns if name not in kinds]
    criteria = [
        pl.col(theirs).alias(f"{kind}:{name}") for kind, columns in by_kind.items() for name, theirs in columns.items()
    ]
    return frame.select(*others, *criteria)


def _rated_only(rated: pl.DataFrame, scored: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Scores of rated frames alone, where every rated frame has some; otherwise all, so that the join says why not."""
    left, moment = checked_rows(rated, "references")
    right, theirs = checked_rows(scored, "predictions")
    if moment != theirs or left.join(right, on=["video", moment], how="anti").height:
        return scored, []
    kept = right.join(left.select("video", moment), on=["video", moment], how="semi")
    if not (spare := right.height - kept.height):
        return scored, []
    return kept, [f"{spare:,} frames with scores were not rated by anybody and are left aside."]


def _decided(frame: pl.DataFrame, threshold: float | None, problems: list[str]) -> pl.DataFrame:
    """References as 0 and 1, and decisions at the threshold."""
    names = {prefix: [f"{prefix}:{name}" for name in CRITERIA] for prefix in ("reference", "score", "prediction")}
    truth = numbers(frame, names["reference"], "references", problems)
    scores = numbers(frame, names["score"], "scores", problems)
    if threshold is not None and not np.isfinite(threshold):
        raise Misuse(f"--threshold must be a number, got {threshold!r}")
    if ((truth < 0) | (truth > 1)).any():
        problems.append("references: a criterion is 0, 1 or the mean of the raters; there is something outside [0, 1]")
    if (truth == MAJORITY).any():
        problems.append("references: a mean of exactly 0.5 is no majority; an odd number of raters is expected")
    if threshold is None and ((scores < 0) | (scores > 1)).any():
        problems.append("scores: there are scores outside [0, 1]; say with --threshold what is achieved (0 for logits)")
    if problems:
        raise InputInvalid("critical view of safety", problems)
    decided = scores >= (0.5 if threshold is None else threshold)
    arrays = {"reference": truth > MAJORITY, "score": scores, "prediction": decided}
    made = [
        pl.Series(names[prefix][place], column, dtype=pl.Float64)
        for prefix, table in arrays.items()
        for place, column in enumerate(table.astype(np.float64).T)
    ]
    return frame.with_columns(made)
