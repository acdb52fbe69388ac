"""Which properties separate the models, as tables: the joint tests and, model by model, strengths and weaknesses.

Slopes and joint tests are those of `inference.by_model`. A model's own effect is compared with the mean over models
(emmeans' `eff` contrasts). The decision a reader would question: it is called a strength or a weakness only where the
joint test passes Holm's correction over the properties, and its own p value passes Holm's over the models; otherwise
the map would be read for patterns that chance makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.mixed.inference.by_model import MOST_LEVELS, ByModel, Slopes, by_model
from surgvalid.stats.mixed.inference.term_tests import ALPHA
from surgvalid.stats.mixed.model.formula import column_of
from surgvalid.stats.mixed.report import Addition, FailuresResult


def strengths(result: FailuresResult, frame: pl.DataFrame) -> Addition:
    """The tables `strengths` (property by model) and `strength_tests` (one joint test per property).

    Args:
        result: A failure analysis of several models, with them among the random effects.
        frame: The rows of the table that it was made from.

    Raises:
        Misuse: There are no models to compare, no videos, or too many of both.
    """
    column, video = result.model_column, result.tests.video
    levels = frame[column].drop_nulls().n_unique() if column in frame.columns else 0
    if levels < 2 or result.role not in ("random", "fixed"):
        raise Misuse("strengths compare models: name their column among the random effects, two or more models in it")
    if not video:
        raise Misuse("strengths have to hold between videos; name their column among the random effects")
    if (many := levels * frame.select(video.split(":")).n_unique()) > MOST_LEVELS:
        raise Misuse(
            f"{many:,} combinations of video and model are more than {MOST_LEVELS:,}, which one joint fit "
            "takes; analyse fewer models at a time"
        )
    model = result.fit.design.model
    terms = [term for term in model.fixed if ":" not in term and column_of(term) != column]
    properties = [by_model(model, frame, term, column=column, video=video, level=result.level) for term in terms]
    tests = [_tested(one) for one in properties]
    ratio, better = result.fit.family != "gaussian", -1.0 if result.better == "smaller" else 1.0
    cells = [
        cell
        for one in properties
        for slopes in one.slopes
        for cell in _cells(slopes, one.freedom, result.level, ratio=ratio)
    ]
    _correct(tests, cells, better)
    return Addition(
        tables={"strengths": tables.STRENGTHS.frame(cells), "strength_tests": tables.STRENGTH_TESTS.frame(tests)},
        findings=tuple(_findings(tests)),
        prose=_prose(column, video),
        screen={"Does a property harm models differently?": "strength_tests"},
    )


def _tested(one: ByModel) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys("models df1 df2 f p_value p_holm".split())
    row |= {"term": one.term, "videos": one.videos, "note": "" if one.test else "too few videos"}
    if one.test is not None:
        p_value = None if np.isnan(one.test.p_value) else one.test.p_value
        row |= {"models": len(one.slopes[0].models), "df1": one.test.rank, "df2": one.test.df}
        row |= {"f": one.test.statistic, "p_value": p_value}
    return row


def _cells(slopes: Slopes, freedom: float, level: float, *, ratio: bool) -> Iterator[dict[str, Any]]:
    """The effect of a coefficient on every model, and how far it is from the mean over models."""
    t = float(special.stdtrit(freedom, 0.5 + level / 2))
    apart, covariance = slopes.apart()
    errors, wobbles = (np.sqrt(np.maximum(np.diag(matrix), 0.0)) for matrix in (slopes.covariance, covariance))
    columns = (slopes.effects.tolist(), errors.tolist(), apart.tolist(), wobbles.tolist())
    for model, value, error, off, wobble in zip(slopes.models, *columns, strict=True):
        yield {
            "term": slopes.name,
            "model": model,
            "estimate": value,
            "std_error": error,
            "low": value - t * error,
            "high": value + t * error,
            "odds_ratio": float(np.exp(min(value, 700.0))) if ratio else None,
            "difference": off,
            "difference_low": off - t * wobble,
            "difference_high": off + t * wobble,
            "df": freedom,
            "p_value": 2 * float(special.stdtr(freedom, -(abs(off) / wobble))) if wobble > 0 else None,
            "p_holm": None,
            "verdict": "",
        }


def _correct(tests: list[dict[str, Any]], cells: list[dict[str, Any]], sign: float) -> None:
    """Holm over the properties for joint tests, over the models of a coefficient for cells; then the verdicts."""
    _holm(tests)
    firm = {row["term"] for row in tests if row["p_holm"] is not None and row["p_holm"] <= ALPHA}
    for name in dict.fromkeys(cell["term"] for cell in cells):
        family = [cell for cell in cells if cell["term"] == name]
        _holm(family)
        for cell in family:
            told_apart = name.partition("[")[0] in firm and cell["p_holm"] is not None and cell["p_holm"] <= ALPHA
            cell["verdict"] = "" if not told_apart else "strength" if sign * cell["difference"] > 0 else "weakness"


def _holm(rows: list[dict[str, Any]]) -> None:
    p = np.array([np.nan if row["p_value"] is None else row["p_value"] for row in rows])
    for row, corrected in zip(rows, adjusted(p, "holm") if rows else (), strict=True):
        row["p_holm"] = None if np.isnan(corrected) else float(corrected)


def _findings(tests: list[Mapping[str, Any]] | list[dict[str, Any]]) -> Iterator[Finding]:
    if untested := [row["term"] for row in tests if row["p_value"] is None]:
        yield remark(
            "few-videos", f"whether {', '.join(untested)} harm models differently could not be tested on these videos"
        )
    if tests and not any(row["p_holm"] is not None and row["p_holm"] <= ALPHA for row in tests):
        yield remark(
            "models-alike",
            "no property is shown to harm models differently, so no cell of the map is a strength or a weakness",
        )


def _prose(column: str, video: str) -> str:
    return (
        f"Strengths: for every property a fit of all rows with {column} fixed and interacting with it, random effects "
        f"of {video} and {column} together, and slopes of the property by both where it changes inside {video}; joint "
        f"F test of the interaction with ({column}s - 1) times one less than the {video}s that carry it as degrees of "
        "freedom. Effects on single models are compared with the mean over models; strengths and weaknesses pass "
        "Holm's correction over the models where the joint test passes it over the properties."
    )
