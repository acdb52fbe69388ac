"""How a model does where it is weak and elsewhere, counted: natural frequencies beside what was tested.

Whether a property harms is tested by `failures` and `compare`; here cases are only counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from surgvalid.report.cases.collect import has_term, properties_of
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.verdict.weaknesses import Examined

FEWEST_CASES = 20
"""Below, cases are counted one by one and not per hundred."""


class CaseGroup(NamedTuple):
    """Cases of one model."""

    value: float
    cases: int
    units: int


class WeakAndElsewhere(NamedTuple):
    """A model where it is weak, and on all its other cases."""

    there: CaseGroup
    elsewhere: CaseGroup


Contrasts = Mapping[tuple[str, str], WeakAndElsewhere]
"""By model, and by the property or kind of question."""


def contrasts(inputs: ReportInputs, examined: Examined) -> Contrasts:
    """Every weakness that is named, where the cases that have it can be told from the others."""
    if inputs.rows.is_empty() or not any(one.effects or one.behind for one in examined.models):
        return {}
    known = properties_of(inputs)
    counted = {}
    for one in examined.models:
        mine = inputs.rows.filter(pl.col("model") == one.model).drop_nulls("value")
        for effect in one.effects:
            where = has_term(effect.term, known.columns)
            if where is not None:
                counted[one.model, effect.term] = _contrast(_with(mine, known), where)
        for behind in one.behind:
            counted[one.model, behind.kind] = _contrast(mine, pl.col(examined.column).cast(pl.String) == behind.kind)
    return {key: contrast for key, contrast in counted.items() if contrast is not None}


def _with(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The rows with their properties as text, as terms name them."""
    return rows.select("case", "video", "value").join(known.drop("video", strict=False), on="case", how="left")


def _contrast(rows: pl.DataFrame, where: pl.Expr) -> WeakAndElsewhere | None:
    there, elsewhere = (_group(rows.filter(one)) for one in (where, ~where.fill_null(False)))
    return WeakAndElsewhere(there, elsewhere) if there is not None and elsewhere is not None else None


def _group(rows: pl.DataFrame) -> CaseGroup | None:
    if rows.is_empty():
        return None
    return CaseGroup(float(rows["value"].mean() or 0.0), rows["case"].n_unique(), rows["video"].n_unique())  # type: ignore[arg-type]
