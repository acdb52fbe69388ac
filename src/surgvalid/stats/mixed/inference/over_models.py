"""Which models the effects of a failure analysis are for, and where they depend on the model.

A test over videos is right for the average over the models at hand, and for nothing else. Models stand for others like
them only where that was asked for and there are four or more: then every effect is tested with the spread between
models in its error (`by_model`). Whether a property does the same to all models is tested either way, corrected by Holm
over the properties; where it does not, the average is not the answer, and the slopes of the models are listed. Where a
property then surely helps one model and harms another (one-sided .05 / (models - 1), as strata of a verdict that
contradict each other), its average over the models at hand has no p value: on the log odds such an average is not what
becomes of the shares, and would be called significant in 6 to 8 % of tables with 8 models whose log odds cancel out.

The decision a reader would question: three models are refused as a sample of others. Two degrees of freedom know their
spread so badly that the test rejects up to 9 % of absent effects (Hillis' degrees of freedom) or finds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.by_model import FEWEST_MODELS, MOST_LEVELS, ByModel, Slopes, by_model, may_depend
from surgvalid.stats.mixed.inference.term_tests import ALPHA, TermTests, t_test, tests_table
from surgvalid.stats.mixed.model.design import factor_of
from surgvalid.stats.mixed.model.formula import column_of

KNOWN_MODELS = 5
"""Models from which their spread is known well enough to need no warning."""
UNEQUALLY = "all models are affected the same way, unequally"
MOST_ROWS = 20_000
"""Beyond, the test of every property by model takes minutes; asked for by name, it is made all the same."""


class OverModels(NamedTuple):
    """The tests of an analysis, and whom they speak of."""

    tests: TermTests
    speaks_of: str
    """In words; empty where no models are told apart."""


def over_models(
    fitted: MixedFit, tests: TermTests, frame: pl.DataFrame, *, column: str, level: float, like_these: bool
) -> OverModels:
    """The tests of a fit with what is to be said about its models.

    Args:
        fitted: Of all models together.
        tests: Over videos.
        frame: The rows of the table.
        column: That tells models apart; empty where none does.
        level: Of the intervals.
        like_these: Whether models are to stand for others like them.

    Raises:
        Misuse: Models are to stand for others and cannot, for want of models, of videos or of a test.
    """
    models = frame[column].drop_nulls().n_unique() if column and column in frame.columns else 0
    tested = tests.inference == "reml-t" and bool(tests.video)
    if like_these and (models < 2 or not tested):
        raise Misuse(
            "models stand for others like them only where a column tells them apart and effects are tested between "
            "videos; name both among the random effects, and leave inference at reml-t"
        )
    if models < 2:
        return OverModels(tests, "")
    taken, these = like_these and models >= FEWEST_MODELS, f"these {models} models, on average"
    many = models * frame.select(tests.video.split(":")).n_unique() if tested else 0
    if not tested or (not taken and (many > MOST_LEVELS or fitted.design.rows > MOST_ROWS)):
        return OverModels(tests, these)
    if many > MOST_LEVELS:
        raise Misuse(f"{many:,} combinations of video and model are more than one joint fit takes ({MOST_LEVELS:,})")
    properties = list(_properties(fitted, tests, frame, column, level, every=taken))
    depending = list(_depending(properties))
    opposed = () if taken else {name for one, _ in depending for name in one.opposed(ALPHA)}
    ratio = fitted.family != "gaussian"
    spoken = [_spoken(one, p, opposed, ratio=ratio) for one, p in depending]
    tests = replace(tests, findings=(*tests.findings, *_few_models(models, asked=like_these), *spoken))
    if not taken:
        return OverModels(_untested(tests, opposed) if opposed else tests, these)
    slopes = {one.name: (one, term.freedom) for term in properties for one in term.slopes}
    return OverModels(
        _tested_over_models(tests, slopes, level), f"models like these {models} (slopes by model and by video)"
    )


def _properties(
    fitted: MixedFit, tests: TermTests, frame: pl.DataFrame, column: str, level: float, *, every: bool
) -> Iterator[ByModel]:
    """Every property by model; without `every`, only those whose effects can differ between models at all."""
    model, terms = fitted.design.model, fitted.design.terms
    for term in model.fixed:
        names = [name for name in fitted.names if terms.get(name) == term]
        if ":" in term or column_of(term) == column or not names:
            continue
        free = tests.fit_of(term, fitted)
        groups = factor_of(free.design.frame, column) if column in free.design.frame.columns else None
        if not every and groups is not None and not any(may_depend(free, name, groups) for name in names):
            continue
        try:
            yield by_model(model, frame, term, column=column, video=tests.video, level=level)
        except TableInvalid:
            continue


def _few_models(models: int, *, asked: bool) -> Iterator[Finding]:
    if asked and models < FEWEST_MODELS:
        text = f"{models} models cannot stand for others: effects are for these {models} models, on average"
        yield remark("few-models", text)
    elif asked and models < KNOWN_MODELS:
        yield remark("few-models", f"{models} models: the spread between models is hardly known")


def _depending(properties: Sequence[ByModel]) -> Iterator[tuple[ByModel, float]]:
    """Properties whose effects differ between models, with the p value of that."""
    p = np.array([np.nan if one.test is None else one.test.p_value for one in properties])
    corrected = adjusted(p, "holm").tolist() if len(p) else []
    return ((one, share) for one, share in zip(properties, corrected, strict=True) if share <= ALPHA)


def _spoken(one: ByModel, p_value: float, opposed: Collection[str], *, ratio: bool) -> Finding:
    """That a property depends on the model, with the slopes."""
    what = "odds ratio" if ratio else "effect"
    listed = "; ".join(f"{slopes.name}: {', '.join(_sized(slopes, ratio=ratio))}" for slopes in one.slopes)
    ways = {_ways(one, slopes) for slopes in one.slopes}
    whose = ways.pop() if len(ways) == 1 else "it depends on the model{}"
    text = f"{whose.replace('{}', f' ({p_phrase(p_value)} by Holm)', 1)}; {what} of {listed}"
    if any(slopes.name in opposed for slopes in one.slopes):
        text += "; what surely helps one model and harms another has no p value and interval on average"
    return remark("depends-on-model", text, one.term)


def _ways(one: ByModel, slopes: Slopes) -> str:
    """Whom a coefficient surely affects, and which way, with a place for the p value.

    That it is all models, the same way, asks for no correction: each has to be shown.
    """
    if set(one.ways(slopes, ALPHA).values()) in ({1}, {-1}):
        return UNEQUALLY + "{}"
    way_of = one.ways(slopes, ALPHA / max(len(slopes.models) - 1, 1))
    up, down, unknown = (", ".join(name for name, way in way_of.items() if way == which) for which in (1, -1, 0))
    shown = (
        f": one way for {up}, the other way for {down}"
        if up and down
        else f": shown for {up or down}, not for {unknown}"
    )
    return "it depends on the model{}" + shown * bool(up or down)


def _sized(slopes: Slopes, *, ratio: bool) -> Iterator[str]:
    for model, effect in zip(slopes.models, slopes.effects.tolist(), strict=True):
        yield f"{model} {np.exp(min(effect, 700.0)) if ratio else effect:.2g}"


def _untested(tests: TermTests, names: Collection[str]) -> TermTests:
    """The tests with none of some coefficients: their average is of things that contradict each other."""
    nothing = dict.fromkeys(("p_value", "low", "high", "df"))
    rows = tests.table.drop("p_holm", "p_bh").iter_rows(named=True)
    return replace(tests, table=tests_table([row | nothing if row["term"] in names else row for row in rows]))


def _tested_over_models(tests: TermTests, slopes: Mapping[str, tuple[Slopes, float]], level: float) -> TermTests:
    """The tests with the spread between models in the error of every effect; those without slopes have none."""
    rows: list[dict[str, Any]] = []
    for row in tests.table.drop("p_holm", "p_bh").iter_rows(named=True):
        if row["term"] in slopes and row["df"] is not None:
            one, freedom = slopes[row["term"]]
            row |= {**t_test(*one.over_models_like_these(freedom), level), "method": "t, models and videos"}
        elif rows:
            row |= dict.fromkeys(("p_value", "low", "high", "df"))
        rows.append(row)
    return replace(tests, table=tests_table(rows))
