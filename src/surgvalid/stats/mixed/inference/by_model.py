"""What a property does to every model: slopes by model, whether they differ, and what holds for models like these.

Definition. Models are fixed and the property interacts with them in one fit of all rows. What a model does in a video
for reasons of its own is a random effect of (video, model), and where the property changes inside videos, so is what it
does to a model in a video; the property's own variation between videos is there too. Fits of each model by itself would
not compare: all saw the same cases. With M slopes `b_m` of covariance S and `d` degrees of freedom per contrast (the
videos that carry the property, less one; for a property of whole videos less what else differs between them):

* the joint test of `b_1 = ... = b_M` is F on M - 1 and (M - 1) d degrees of freedom, as in a repeated-measures analysis
  (emmeans' `joint_tests`);
* over models like these, the mean slope has the variance of a two-way layout with both margins random (Cornfield and
  Tukey 1956): with the mean squares, divided by the cells, `A = sum (b_m - b)^2 / (M (M - 1))` of models,
  `B = 1'S1 / M^2` of videos and `C = tr(PS) / (M (M - 1))` of the rest (P centres), `var = A + B - C`, not below the
  smaller of A and B, and `df = var^2 / (A^2 / (M - 1) + B^2 / d + C^2 / ((M - 1) d))` (Satterthwaite 1946).

The decision a reader would question: a test over videos alone calls 25-30 % of absent effects significant where the
effects of 4 to 8 models vary (SD .6 on the log odds, 14 videos); this one 3-4 %. Its price is power with few models
(.42 instead of .83 with four), so it is asked for by name; without it, effects are said to be those of these models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special

from surgvalid.stats.mixed.fit.fit import grows
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.grid import JointTest, joint_test
from surgvalid.stats.mixed.inference.term_fits import changes_inside, contained_freedom, is_factor, slope_factor
from surgvalid.stats.mixed.inference.tested import TestRule, base_fit
from surgvalid.stats.mixed.model.design import Design, design_of, factor_of
from surgvalid.stats.mixed.model.formula import ModelFormula, column_of
from surgvalid.stats.mixed.model.structure import Factor

FEWEST_CARRIED = 3
FEWEST_MODELS = 4
"""Models below which nothing is said about others like them."""
MOST_LEVELS = 1500
"""Combinations of video and model beyond which a joint fit takes too long to be worth waiting for."""


@dataclass(frozen=True)
class Slopes:
    """The effect of one coefficient on every model, on the scale of the linear predictor."""

    name: str
    models: tuple[str, ...]
    effects: np.ndarray
    covariance: np.ndarray

    def apart(self) -> tuple[np.ndarray, np.ndarray]:
        """How far every model is from the mean over models, and the covariance of that."""
        centre = np.eye(len(self.models)) - 1 / len(self.models)
        return centre @ self.effects, centre @ self.covariance @ centre

    def over_models_like_these(self, freedom: float) -> tuple[float, float, float]:
        """Mean slope, standard error and degrees of freedom where models stand for others.

        Args:
            freedom: Of one contrast between models over the videos.

        Example:
            >>> alike = Slopes("smoke", ("A", "B", "C", "D"), np.array([0.1, 0.9, -0.3, 0.5]), 0.04 * np.eye(4))
            >>> [round(number, 3) for number in alike.over_models_like_these(13)]
            [0.3, 0.258, 2.979]
        """
        number, mean = len(self.models), float(self.effects.mean())
        among = float(((self.effects - mean) ** 2).sum()) / (number * (number - 1))
        videos = float(self.covariance.sum()) / number**2
        rest = float(np.trace(self.apart()[1])) / (number * (number - 1))
        variance = max(among + videos - rest, min(among, videos))
        spread = among**2 / (number - 1) + videos**2 / freedom + rest**2 / ((number - 1) * freedom)
        return mean, float(np.sqrt(variance)), variance**2 / spread


@dataclass(frozen=True)
class ByModel:
    """One property: its effect on every model, and whether it is the same for all."""

    term: str
    videos: int
    """That carry the property."""
    freedom: float
    """Of one contrast between models."""
    slopes: tuple[Slopes, ...] = ()
    """One per coefficient; none where the videos do not carry a test."""
    test: JointTest | None = None

    def opposed(self, alpha: float) -> Iterator[str]:
        """Coefficients that surely help one model and harm another, each one-sided at `alpha` / (models - 1)."""
        for one in self.slopes:
            if {1, -1} <= set(self.ways(one, alpha / max(len(one.models) - 1, 1)).values()):
                yield one.name

    def ways(self, one: Slopes, alpha: float) -> dict[str, int]:
        """For every model, 1 or -1 where a coefficient surely raises or lowers the outcome (one-sided), else 0."""
        t = one.effects / np.sqrt(np.diag(one.covariance))
        sure = np.abs(t) > -special.stdtrit(self.freedom, alpha)
        return dict(zip(one.models, np.where(sure, np.sign(t), 0).astype(int).tolist(), strict=True))


def by_model(model: ModelFormula, frame: pl.DataFrame, term: str, *, column: str, video: str, level: float) -> ByModel:
    """The slopes of a property by model, and their joint test.

    Args:
        model: Of the analysis.
        frame: The rows of the table, models among them.
        term: The property; no interaction.
        column: That tells models apart.
        video: What effects have to hold between.
        level: Of the intervals.
    """
    design = _design(model, frame, term, column, video)
    names = [name for name in design.names if design.terms.get(name) == term]
    group = factor_of(design.frame, video)
    changing = [changes_inside(design.fixed[:, design.names.index(name)], group) for name in names]
    inside = bool(np.any(changing)) if names else False
    carried = int(np.any(changing, axis=0).sum()) if inside else group.levels
    freedom = _freedom(design, names, group, inside=inside, carried=carried)
    if not names or freedom < 1 or (inside and carried < FEWEST_CARRIED):
        return ByModel(column_of(term), carried, freedom)
    fitted = base_fit(_with_effects(design, term, names, column, video, inside=inside), TestRule(level=level))
    test = joint_test(fitted, f"{term}:{column}", df=float("inf"))
    df = test.rank * freedom
    p_value = float(special.fdtrc(test.rank, df, test.statistic)) if test.rank else float("nan")
    models = design.frame[column].cast(pl.String).unique().sort().to_list()
    slopes = tuple(_slopes(fitted, name, column, models) for name in names)
    return ByModel(column_of(term), carried, freedom, slopes, replace(test, df=df, p_value=p_value))


def may_depend(fitted: MixedFit, name: str, models: Factor) -> bool:
    """Whether a little variation of a coefficient between models raises the likelihood at all.

    Where it does not, its likelihood-ratio test has p = 1, and the joint fit, which takes longer, is not made.
    """
    slope = slope_factor(name, fitted.design.fixed[:, fitted.names.index(name)], models)
    return fitted.family == "gaussian" or grows(fitted, slope)


def _design(model: ModelFormula, frame: pl.DataFrame, term: str, column: str, video: str) -> Design:
    """All rows with models fixed, the property interacting with them, and what a model does in a video."""
    fixed = tuple(dict.fromkeys((*(one for one in model.fixed if one != column), column, f"{term}:{column}")))
    random = tuple(dict.fromkeys((*(one for one in model.random if one != column), f"{video}:{column}")))
    return design_of(frame, replace(model, fixed=fixed, random=random), where="effects by model", separation="keep")


def _with_effects(design: Design, term: str, names: list[str], column: str, video: str, *, inside: bool) -> Design:
    """The design in which the effect may differ between videos, and between videos for each model."""
    if not inside:
        return design
    if is_factor(design, term):
        name = column_of(term)
        extra = [factor_of(design.frame, f"{video}:{name}"), factor_of(design.frame, f"{video}:{column}:{name}")]
        kept = [one for one in extra if one.levels < design.rows]  # that of every row is the residual
        return replace(design, factors=(*design.factors, *kept))
    values = design.fixed[:, design.names.index(names[0])]
    groups = (factor_of(design.frame, video), factor_of(design.frame, f"{video}:{column}"))
    return replace(design, factors=(*design.factors, *(slope_factor(names[0], values, one) for one in groups)))


def _freedom(design: Design, names: list[str], group: Factor, *, inside: bool, carried: int) -> float:
    """Degrees of freedom of one contrast between models: videos that carry it, less one or less what they differ in."""
    if inside:
        return float(carried - 1)
    contained = contained_freedom(design, group)
    return min((float(contained[design.names.index(name)]) for name in names), default=0.0)


def _slopes(fitted: MixedFit, name: str, column: str, models: Sequence[str]) -> Slopes:
    """A coefficient of every model that has the property; the first model is the reference of the coding."""
    linear, kept = [], []
    for place, model in enumerate(models):
        crossed = f"{name}:{column}[{model}]"
        if place and crossed not in fitted.names:
            continue
        linear.append([float(one in (name, crossed)) for one in fitted.names])
        kept.append(model)
    matrix = np.array(linear)
    return Slopes(name, tuple(kept), matrix @ fitted.beta, matrix @ fitted.covariance @ matrix.T)
