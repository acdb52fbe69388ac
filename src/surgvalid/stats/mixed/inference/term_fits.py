"""Every coefficient from the fit that is right for it: restricted likelihood, with its own effect free to vary.

One fit serves all properties that are constant inside videos. A property that changes inside videos gets a fit of its
own in which its effect varies between videos: a random slope of the centred column, or for three and more categories an
effect of every (video, category), which does not depend on the reference category. Whether effects really vary is never
tested first: such a test finds little with few videos, and choosing by it gives 7 to 13 % false positives instead of 5.

A property that is constant inside every video is observed once per video, however many rows there are, so its t test
has as many degrees of freedom as there are videos beyond the coefficients that are constant there too (containment).
A property that changes inside videos is observed once per video in which it changes, if its effect may differ between
videos. How often such tests are wrong was simulated: docs/validation-mixed.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from scipy import special

from surgvalid.stats.mixed.fit.fit import Engine, fit, grows
from surgvalid.stats.mixed.fit.result import Group, MixedFit
from surgvalid.stats.mixed.model.design import INTERCEPT, Design
from surgvalid.stats.mixed.model.formula import Slope
from surgvalid.stats.mixed.model.structure import Factor

Varies = Literal["between", "within", "mixed"]


@dataclass(frozen=True)
class Variation:
    """Where one column of the design varies."""

    varies: Varies
    """`between` videos only, `within` every video, or inside some of them (`mixed`)."""
    videos: int
    """Videos that carry the effect: all, or those in which the column changes."""
    having: int | None
    """Videos with a row that has the property; None where the column is not 0/1."""
    lacking: int | None
    """Videos with a row that does not have it."""


def variation(column: np.ndarray, video: Factor) -> Variation:
    """Where a column varies.

    Example:
        >>> import polars as pl
        >>> video = Factor("video", np.array([0, 0, 1, 1, 2]), pl.Series(["a", "b", "c"]))
        >>> variation(np.array([1.0, 1.0, 0.0, 0.0, 0.0]), video)
        Variation(varies='between', videos=3, having=1, lacking=2)
        >>> variation(np.array([1.0, 0.0, 0.0, 0.0, 0.0]), video).varies
        'mixed'
    """
    changing = int(changes_inside(column, video).sum())
    binary = bool(np.isin(column, (0.0, 1.0)).all())
    having, lacking = (len(np.unique(video.codes[column == value])) for value in (1.0, 0.0)) if binary else (None, None)
    if not changing:
        return Variation("between", video.levels, having, lacking)
    return Variation("within" if changing == video.levels else "mixed", changing, having, lacking)


def changes_inside(column: np.ndarray, group: Factor) -> np.ndarray:
    """Per level of a grouping, whether the column takes at least two values there."""
    low, high = np.full(group.levels, np.inf), np.full(group.levels, -np.inf)
    np.minimum.at(low, group.codes, column)
    np.maximum.at(high, group.codes, column)
    return np.asarray(high > low)


def contained_freedom(design: Design, video: Factor) -> np.ndarray:
    """Degrees of freedom per coefficient by containment; infinite where no grouping contains its column.

    For every grouping (not the effect of single rows) inside whose levels a column never changes: levels less the rank
    of all columns that are constant there, the smallest of these. The intercept counts the videos.
    """
    freedom = np.full(len(design.names), np.inf)
    for group in (video, *(f for f in design.factors if f.values is None and f.levels < design.rows)):
        constant = np.array([not changes_inside(column, group).any() for column in design.fixed.T])
        left = group.levels - _rank(design.fixed[:, constant], group)
        tested = constant.copy()
        tested[0] = group is video
        freedom[tested] = np.minimum(freedom[tested], left)
    return freedom


def _rank(columns: np.ndarray, group: Factor) -> int:
    """Rank of columns that are constant inside groups, one row per group."""
    first = np.zeros(group.levels, dtype=np.int64)
    first[group.codes[::-1]] = np.arange(len(group.codes))[::-1]
    return int(np.linalg.matrix_rank(columns[first]))


def slope_rank(design: Design, name: str, video: Factor) -> int:
    """One, and one more for every property of videos that the effect of a coefficient depends on."""
    pieces = set(name.split(":"))
    others = [np.ones(design.rows)]
    for other in design.names:
        rest = [piece for piece in other.split(":") if piece not in pieces]
        if other == INTERCEPT or not pieces < set(other.split(":")) or not rest:
            continue
        partner = ":".join(rest)
        column = design.fixed[:, design.names.index(partner)] if partner in design.names else None
        if column is not None and not changes_inside(column, video).any():
            others.append(column)
    return _rank(np.column_stack(others), video)


def slope_freedom(satterthwaite: float, videos: int, rank: int) -> float:
    """Satterthwaite's degrees of freedom of an effect that varies between videos, held between two limits.

    Example:
        >>> slope_freedom(3.0, 8, 1), slope_freedom(9.5, 8, 1), slope_freedom(float("inf"), 8, 1)
        (7.0, 9.5, 14.0)
    """
    least = float(videos - rank)
    return float(np.clip(satterthwaite, least, 2 * least))


FEWEST_VIDEOS = 3
"""Videos in which a property must change before its effect is said to hold across videos."""


@dataclass(frozen=True)
class CoefficientFit:
    """One coefficient, in the fit that is right for it."""

    name: str
    index: int
    fit: MixedFit
    where: Variation
    df: float | None
    """Degrees of freedom of its t test; None where the videos do not carry one."""
    method: str
    slope_sd: float | None = None
    """How much the effect varies between videos; None where it was not free to."""
    heterogeneity_p: float | None = None
    """Of the restricted likelihood-ratio test that it does not vary; reported, never acted upon."""
    video_effects: tuple[float, float] | None = None
    """Smallest and largest effect of a video, predicted."""
    reason: str = ""
    """Why there is no test."""


def coefficient_fits(
    base: MixedFit, video: Factor, *, slopes: bool | tuple[str, ...] = True, engine: Engine = "auto"
) -> list[CoefficientFit]:
    """Every coefficient but the intercept, each from its own fit, in the order of the design.

    Args:
        base: The fit without slopes of its own, by restricted likelihood.
        video: What the videos are (patients, where they hold several videos).
        slopes: Whether effects may vary between videos; or the coefficients or terms whose effects may.
        engine: Of the fits.
    """
    design, contained = base.design, contained_freedom(base.design, video)
    rows: list[CoefficientFit] = []
    shared: dict[str, MixedFit] = {}
    for j, name in enumerate(design.names[1:], start=1):
        term = design.terms.get(name, name)
        where = variation(design.fixed[:, j], video)
        wanted = slopes if isinstance(slopes, bool) else name in slopes or term in slopes
        if where.varies == "between":
            rows.append(_between(base, j, where, float(contained[j])))
        elif where.videos < FEWEST_VIDEOS:
            reason = f"changes inside {where.videos} of {video.levels} videos only"
            rows.append(CoefficientFit(name, j, base, where, None, "none", reason=reason))
        elif not wanted:
            rows.append(CoefficientFit(name, j, base, where, float(contained[j]), "t"))
        elif is_factor(design, term):
            if term not in shared:
                shared[term] = _with_factor(base, _crossed(design, term, video), engine)
            rows.append(_of_factor(base, shared[term], j, term, video, float(contained[j])))
        else:
            rows.append(_of_slope(base, j, where, video, float(contained[j]), engine))
    return rows


def slope_fit(base: MixedFit, name: str, video: Factor) -> CoefficientFit:
    """One coefficient that changes inside videos, from a fit in which its own effect may differ between them."""
    j = base.names.index(name)
    where = variation(base.design.fixed[:, j], video)
    if where.videos < FEWEST_VIDEOS or where.varies == "between":
        reason = f"changes inside {0 if where.varies == 'between' else where.videos} of {video.levels} videos only"
        return CoefficientFit(name, j, base, where, None, "none", reason=reason)
    return _of_slope(base, j, where, video, float(contained_freedom(base.design, video)[j]), "auto")


def is_factor(design: Design, term: str) -> bool:
    """Whether a term is one property with three or more categories."""
    return ":" not in term and sum(of_term == term for of_term in design.terms.values()) > 1


def _between(base: MixedFit, j: int, where: Variation, df: float) -> CoefficientFit:
    name = base.names[j]
    lone = where.having is not None and where.lacking is not None and min(where.having, where.lacking) == 1
    if lone:
        which = "has it" if where.having == 1 else "lacks it"
        reason = f"only one of {where.videos} videos {which}, so the property cannot be told from that video"
        return CoefficientFit(name, j, base, where, None, "none", reason=reason)
    if df < 1:
        reason = f"too few videos: {where.videos} for all that differs between them"
        return CoefficientFit(name, j, base, where, None, "none", reason=reason)
    return CoefficientFit(name, j, base, where, df, "t, between videos")


def _of_slope(
    base: MixedFit, j: int, where: Variation, video: Factor, contained: float, engine: Engine
) -> CoefficientFit:
    design, name = base.design, base.names[j]
    slope_known = next(
        (f for f in design.factors if f.slope and f.slope.column == name and f.levels == video.levels), None
    )
    slope = slope_known or slope_factor(name, design.fixed[:, j], video)
    fitted = base if slope_known else _with_factor(base, slope, engine)
    group = next(group for group in fitted.groups if group.name == slope.name)
    rank = slope_rank(design, name, video)
    least = min(float(slope_freedom(_satterthwaite(fitted, j, group.sd), where.videos, rank)), contained)
    if where.videos - rank < 1:
        reason = f"too few videos: it changes inside {where.videos}"
        return CoefficientFit(name, j, base, where, None, "none", reason=reason)
    effects = fitted.beta[j] + group.mean[changes_inside(design.fixed[:, j], video)]
    return CoefficientFit(
        name,
        j,
        fitted,
        where,
        least,
        "t, random slope",
        group.sd,
        None if slope_known else _heterogeneity(fitted, base),
        (float(effects.min()), float(effects.max())),
    )


def _of_factor(base: MixedFit, fitted: MixedFit, j: int, term: str, video: Factor, contained: float) -> CoefficientFit:
    terms = base.design.terms
    columns = [base.names.index(name) for name in base.names if terms.get(name) == term]
    seen = np.any([changes_inside(base.design.fixed[:, k], video) for k in columns], axis=0)
    where = replace(variation(base.design.fixed[:, j], video), videos=int(seen.sum()))
    spread = fitted.groups[-1]
    df = min(slope_freedom(_satterthwaite(fitted, j, spread.sd), where.videos, 1), contained)
    return CoefficientFit(
        base.names[j],
        j,
        fitted,
        where,
        df,
        "t, effect by video",
        spread.sd * float(np.sqrt(2)),
        _heterogeneity(fitted, base),
    )


def slope_factor(name: str, column: np.ndarray, video: Factor) -> Factor:
    """The random slope of a column by video, centred so that its test does not depend on the coding."""
    slope = Slope(name, video.name)
    return Factor(str(slope), video.codes, video.labels, column - column.mean(), slope)


def _crossed(design: Design, term: str, video: Factor) -> Factor:
    """An effect of every (video, category), by the categories of a term."""
    columns = [j for j, name in enumerate(design.names) if design.terms.get(name) == term]
    category = design.fixed[:, columns] @ np.arange(1, len(columns) + 1)
    keys, codes = np.unique(video.codes * (len(columns) + 1) + category.astype(np.int64), return_inverse=True)
    labels = video.labels[keys // (len(columns) + 1)] + pl.Series(":" + np.char.mod("%d", keys % (len(columns) + 1)))
    return Factor(f"{video.name}:{term}", codes, labels)


def _with_factor(base: MixedFit, factor: Factor, engine: Engine) -> MixedFit:
    """The model refitted with one random effect more, beginning where the common fit ended."""
    design = replace(base.design, factors=(*base.design.factors, factor))
    if base.family == "gaussian":
        return fit(design, restricted=True, engine=engine)
    if grows(base, factor, engine=engine):
        return fit(design, restricted=True, engine=engine, start=base, penalty=dict(base.penalty) or None)
    zero = np.zeros(factor.levels)
    none = Group(factor.name, 0.0, float("nan"), factor.labels, zero, zero, factor.slope)
    return replace(base, design=design, groups=(*base.groups, none), parameters=base.parameters + 1)


def _satterthwaite(fitted: MixedFit, j: int, slope_sd: float) -> float:
    if slope_sd == 0 or fitted.covariance_spread is None:
        return float("inf")
    return fitted.covariance_spread.satterthwaite(np.eye(len(fitted.beta))[j])


def _heterogeneity(larger: MixedFit, smaller: MixedFit) -> float:
    """Half the chi-squared tail of one degree of freedom: the variance tested lies on its boundary."""
    statistic = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood))
    return 0.5 * float(special.chdtrc(1, statistic)) if statistic > 0 else 1.0
