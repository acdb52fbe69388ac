"""Which properties separate the models: whether one harms some more than others, tested jointly, then model by model.

Fits of each model by itself do not compare: all saw the same cases. Here models are fixed and the property interacts
with them in one fit of all rows. What a model does in a video for reasons of its own is a random effect of (video,
model), and where the property changes inside videos, so is what it does to a model in a video; the property's own
variation between videos is there too. The joint test (F, as emmeans' `joint_tests`) asks whether the effect is the same
for all models. Its denominator is that of a repeated-measures analysis: (models - 1) times the videos in which the
property changes, less one; for a property of whole videos times the videos, less what differs between them.

A model's own effect is compared with the mean over models (emmeans' `eff` contrasts). It is called a strength or a
weakness only where the joint test passes Holm's correction over the properties, and its own p value passes Holm's over
the models: otherwise the map would be read for patterns that chance makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import Misuse
from surgeval.results.tables import failures as tables
from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark
from surgeval.stats.corrections import adjusted
from surgeval.stats.mixed.additions import Addition
from surgeval.stats.mixed.design import Design, design_of, factor_of
from surgeval.stats.mixed.formula import column_of
from surgeval.stats.mixed.grid import JointTest, joint_test
from surgeval.stats.mixed.report import FailuresResult
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.structure import Factor
from surgeval.stats.mixed.symbols import ALPHA
from surgeval.stats.mixed.term_fits import is_factor, slope_factor
from surgeval.stats.mixed.tested import Rule, base_fit
from surgeval.stats.mixed.variation import changes_inside, contained_freedom

FEWEST_VIDEOS = 3
MOST_LEVELS = 1500
"""Combinations of video and model beyond which a joint fit takes too long to be worth waiting for."""


def strengths(result: FailuresResult, frame: pl.DataFrame) -> Addition:
    """The tables `strengths` (property by model) and `strength_tests` (one joint test per property).

    Args:
        result: A failure analysis of several models, with them among the random effects.
        frame: The rows of the table that it was made from.

    Raises:
        Misuse: There are no models to compare, no videos, or too many of both.
    """
    column, video = result.model_column, result.tests.video if result.tests is not None else ""
    levels = frame[column].drop_nulls().n_unique() if column in frame.columns else 0
    if levels < 2 or result.role not in ("random", "fixed"):
        raise Misuse("strengths compare models: name their column among the random effects, two or more models in it")
    if not video:
        raise Misuse("strengths have to hold between videos; name their column among the random effects")
    if (many := levels * frame.select(video.split(":")).n_unique()) > MOST_LEVELS:
        raise Misuse(f"{many:,} combinations of video and model are more than {MOST_LEVELS:,}, which one joint fit "
                     "takes; analyse fewer models at a time")  # fmt: skip
    tests: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    for term in result.fit.design.model.fixed:
        if ":" in term or column_of(term) == column:
            continue
        test, some = _of_term(result, frame, term, column, video)
        tests.append(test)
        cells += some
    _correct(tests, cells, 1.0 if result.better != "smaller" else -1.0)
    return Addition(
        tables={"strengths": tables.STRENGTHS.frame(cells), "strength_tests": tables.STRENGTH_TESTS.frame(tests)},
        findings=tuple(_findings(tests)), prose=_prose(column, video),
        screen={"Does a property harm models differently?": "strength_tests"},
    )  # fmt: skip


def _of_term(
    result: FailuresResult, frame: pl.DataFrame, term: str, column: str, video: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The joint test of one property, and its effect on every model."""
    design = _design(result, frame, term, column, video)
    names = [name for name in design.names if design.terms.get(name) == term]
    group = factor_of(design.frame, video)
    changing = [changes_inside(design.fixed[:, design.names.index(name)], group) for name in names]
    inside = bool(np.any(changing)) if names else False
    carried = int(np.any(changing, axis=0).sum()) if inside else group.levels
    freedom = _freedom(design, names, group, inside=inside, carried=carried)
    if not names or freedom < 1 or (inside and carried < FEWEST_VIDEOS):
        return _untested(column_of(term), carried, "too few videos"), []
    fitted = base_fit(_with_effects(design, term, names, column, video, inside=inside), Rule(level=result.level))
    models = design.frame[column].cast(pl.String).unique().sort().to_list()
    test = joint_test(fitted, f"{term}:{column}", df=float("inf"))
    test = _finite(test, freedom)
    row = {"term": column_of(term), "models": len(models), "df1": test.rank, "df2": test.df, "f": test.statistic,
           "p_value": None if np.isnan(test.p_value) else test.p_value, "p_holm": None, "videos": carried,
           "note": ""}  # fmt: skip
    cells = [cell for name in names for cell in _cells(fitted, name, column, models, freedom, result.level)]
    return row, cells


def _finite(test: JointTest, freedom: float) -> JointTest:
    """The F test with as many degrees of freedom as the videos give each of its contrasts."""
    df = test.rank * freedom
    p_value = float(stats.f.sf(test.statistic, test.rank, df)) if test.rank else float("nan")
    return replace(test, df=df, p_value=p_value)


def _design(result: FailuresResult, frame: pl.DataFrame, term: str, column: str, video: str) -> Design:
    """All rows with models fixed, the property interacting with them, and what a model does in a video."""
    model = result.fit.design.model
    fixed = tuple(dict.fromkeys((*(one for one in model.fixed if one != column), column, f"{term}:{column}")))
    random = tuple(dict.fromkeys((*(one for one in model.random if one != column), f"{video}:{column}")))
    return design_of(frame, replace(model, fixed=fixed, random=random), where="strengths", separation="keep")


def _with_effects(design: Design, term: str, names: list[str], column: str, video: str, *, inside: bool) -> Design:
    """The design in which the effect may differ between videos, and between videos for each model."""
    if not inside:
        return design
    if is_factor(design, term):
        name = column_of(term)
        extra = [factor_of(design.frame, f"{video}:{name}"), factor_of(design.frame, f"{video}:{column}:{name}")]
        return replace(design, factors=(*design.factors, *extra))
    values = design.fixed[:, design.names.index(names[0])]
    groups = (factor_of(design.frame, video), factor_of(design.frame, f"{video}:{column}"))
    return replace(design, factors=(*design.factors, *(slope_factor(names[0], values, one) for one in groups)))


def _freedom(design: Design, names: list[str], group: Factor, *, inside: bool, carried: int) -> float:
    """Degrees of freedom of one contrast between models: videos that carry it, less one or less what they differ in."""
    if inside:
        return float(carried - 1)
    contained = contained_freedom(design, group)
    return min((float(contained[design.names.index(name)]) for name in names), default=0.0)


def _untested(term: str, videos: int, why: str) -> dict[str, Any]:
    empty = dict.fromkeys(("df2", "f", "p_value", "p_holm"))
    return {"term": term, "models": None, "df1": None, **empty, "videos": videos, "note": why}


def _cells(
    fitted: MixedFit, name: str, column: str, models: list[str], freedom: float, level: float
) -> Iterator[dict[str, Any]]:
    """The effect of a coefficient on every model, and how far it is from the mean over models."""
    linear = np.zeros((len(models), len(fitted.names)))
    linear[:, fitted.names.index(name)] = 1.0
    for place, model in enumerate(models):
        if (crossed := f"{name}:{column}[{model}]") in fitted.names:
            linear[place, fitted.names.index(crossed)] = 1.0
        elif place:
            linear[place] = np.nan
    apart = linear - np.nanmean(linear, axis=0)
    t = float(stats.t.ppf(0.5 + level / 2, freedom))
    for model, effect, difference in zip(models, linear, apart, strict=True):
        if np.isnan(effect).any():
            continue
        (value, error), (off, wobble) = ((float(row @ fitted.beta), float(np.sqrt(row @ fitted.covariance @ row)))
                                         for row in (effect, difference))  # fmt: skip
        ratio = fitted.family != "gaussian"
        p_value = 2 * float(stats.t.sf(abs(off) / wobble, freedom)) if wobble > 0 else None
        yield {
            "term": name, "model": model, "estimate": value, "std_error": error, "low": value - t * error,
            "high": value + t * error, "odds_ratio": float(np.exp(min(value, 700.0))) if ratio else None,
            "difference": off, "difference_low": off - t * wobble, "difference_high": off + t * wobble,
            "df": freedom, "p_value": p_value, "p_holm": None, "verdict": "",
        }  # fmt: skip


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
        yield remark("few-videos", f"whether {', '.join(untested)} harm models differently could not be tested on "
                     "these videos")  # fmt: skip
    if tests and not any(row["p_holm"] is not None and row["p_holm"] <= ALPHA for row in tests):
        yield remark("models-alike", "no property is shown to harm models differently, so no cell of the map is a "
                     "strength or a weakness")  # fmt: skip


def _prose(column: str, video: str) -> str:
    return (
        f"Strengths: for every property a fit of all rows with {column} fixed and interacting with it, random effects "
        f"of {video} and {column} together, and slopes of the property by both where it changes inside {video}; joint "
        f"F test of the interaction with ({column}s - 1) times one less than the {video}s that carry it as degrees of "
        "freedom. Effects on single models are compared with the mean over models; strengths and weaknesses pass "
        "Holm's correction over the models where the joint test passes it over the properties."
    )
