"""Harm that no single property shows: two properties together, or a number that harms at both ends or in its middle.

Definition. Under the analysis' own properties, with models and videos as fixed effects (quasi-likelihood with the
canonical link), every candidate `z` (the product of two coefficients' columns, the square of a number) has one score
per video, `s_v = sum of z~ (y - mu)` over its rows, where `z~` is what the null model's columns leave of `z`
(weighted). Videos are flipped whole, one sign for all candidates: the joint tests of `verdict.joint_flips`, so the
chance that anything at all is named where nothing is there stays at its level (sign flips of effective scores:
Hemerik, Goeman and Finos 2020).

The decision a reader would question: no mixed model per candidate. Its test would need a variance for every pair, and
ten properties make 45 pairs; a score per video needs neither, and asks nothing of how videos differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.mixed.attributable import loss_of, observed_loss
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.grid import is_category, shown
from surgvalid.stats.mixed.inference.term_tests import ALPHA
from surgvalid.stats.mixed.model.design import factor_of
from surgvalid.stats.mixed.model.formula import column_of
from surgvalid.stats.mixed.report import FailuresResult
from surgvalid.stats.verdict.joint_flips import joint_tests

FEWEST_CARRIED = 3
"""Videos that must hold a group of cases before it is named."""
_STEPS = 30
_ROUNDING = 1e-6
"""Of a candidate: what is left where the columns say all of it, as of two properties that never meet, or of videos."""
MOST_CELLS = 50_000_000
"""Rows times videos beyond which nothing is screened: each video has a column of its own."""


class HiddenHarm(NamedTuple):
    """A group of cases that lose more than the properties by themselves explain."""

    words: str
    loss: float
    elsewhere: float
    frequency: float
    videos: int
    p_value: float
    """Over all pairs and curves together."""

    @property
    def sentence(self) -> str:
        """The harm in words."""
        return (
            f"{self.words}: harm beyond what {self.alone} says ({p_phrase(self.p_value)} over all pairs and curves); "
            f"such rows ({self.frequency:.0%}, in {self.videos:,} videos) lose {self.loss:.2g}, others "
            f"{self.elsewhere:.2g}"
        )

    @property
    def alone(self) -> str:
        """What the analysis itself has of it."""
        return "each property by itself" if " with " in self.words else "a straight line"


class _Candidate(NamedTuple):
    factors: tuple[np.ndarray, np.ndarray]
    """Columns whose product is tested."""
    sides: tuple[list[tuple[str, np.ndarray]], ...]
    """What tells its groups apart, in words and as rows; a group is one of each."""


def hidden_harms(result: FailuresResult) -> list[HiddenHarm] | None:
    """What passes the joint test, surest first; None where nothing could pass, or rows times videos are too many."""
    fitted, video = result.fit, factor_of(result.fit.design.frame, result.tests.video)
    candidates = list(_candidates(result))
    if not candidates:
        return []
    if len(video.codes) * video.levels > MOST_CELLS:
        return None
    null = _null(result, video.codes)
    mean, weight, many = _expected(fitted, null)
    loss, expected = observed_loss(result), loss_of(result).of(mean)
    weighted = null * weight[:, None]
    within, tested = null.T @ weighted, []
    for candidate in candidates:
        both = candidate.factors[0] * candidate.factors[1]
        left = both - null @ np.linalg.lstsq(within, weighted.T @ both, rcond=None)[0]
        if np.linalg.norm(left) > _ROUNDING * np.linalg.norm(both):
            tested.append((candidate, np.bincount(video.codes, left * many * (loss - expected))))
    if not tested:
        return []
    if video.levels < videos_needed(len(tested), alpha=ALPHA):
        return None
    totals = np.column_stack([scores for _, scores in tested])
    p = joint_tests(totals, np.ones_like(totals), alpha=ALPHA).p_adjusted
    passed = [j for j in np.argsort(p, kind="stable") if p[j] <= ALPHA]
    named = (_worst(tested[j][0], loss, expected, video.codes, float(p[j])) for j in passed)
    return [one for one in named if one is not None]


def _candidates(result: FailuresResult) -> Iterator[_Candidate]:
    fitted = result.fit
    terms = fitted.design.terms
    single = (name for name in fitted.names if ":" not in terms.get(name, ":"))
    names = [name for name in single if column_of(terms[name]) != result.model_column]
    columns = {name: _centred(fitted.design.fixed[:, fitted.names.index(name)]) for name in names}
    sides = {name: _sides(fitted, name) for name in names}
    for one, other in combinations(names, 2):
        if terms[one] != terms[other]:
            yield _Candidate((columns[one], columns[other]), (sides[one], sides[other]))
    for name in names:
        column = column_of(terms[name])
        values = fitted.design.frame[column]
        if not is_category(fitted, column) and values.n_unique() > 2:
            numbers = values.cast(pl.Float64).to_numpy()
            low, high = np.quantile(numbers, [0.25, 0.75])
            inside = (numbers >= low) & (numbers <= high)
            words = (f"{column} from {low:.4g} to {high:.4g}", f"{column} below {low:.4g} or above {high:.4g}")
            yield _Candidate((columns[name], columns[name]), (list(zip(words, (inside, ~inside), strict=True)),))


def _centred(values: np.ndarray) -> np.ndarray:
    centred: np.ndarray = values - values.mean()
    return centred / float(centred.std() or 1.0)


def _sides(fitted: MixedFit, name: str) -> list[tuple[str, np.ndarray]]:
    """The rows with and without what a coefficient is of; of a number, those above and below its middle."""
    column, values = column_of(fitted.design.terms[name]), fitted.design.fixed[:, fitted.names.index(name)]
    distinct = np.unique(values)
    if len(distinct) > 2:
        middle = float(np.median(values))
        return [(f"{column} above {middle:.4g}", values > middle), (f"{column} to {middle:.4g}", values <= middle)]
    has = values == distinct[-1]
    levels = (fitted.design.frame[column].filter(pl.Series(rows)).unique().sort().to_list() for rows in (has, ~has))
    words = (f"{column} = {' or '.join(shown(level) for level in listed)}" for listed in levels)
    return list(zip(words, (has, ~has), strict=True))


def _null(result: FailuresResult, video: np.ndarray) -> np.ndarray:
    """The columns of the analysis with one for every video, and for every model that it does not have."""
    design = result.fit.design
    parts = [design.fixed, np.eye(int(video.max()) + 1)[video][:, 1:]]
    if result.model_column in design.frame.columns:
        parts.append(design.frame[result.model_column].to_dummies(drop_first=True).to_numpy())
    return np.column_stack(parts)


def _expected(fitted: MixedFit, null: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the null model expects of every row, the row's weight in it, and how often the row counts."""
    design = fitted.design
    many = design.trials if fitted.family == "binomial" else design.weights
    outcome = design.response / (design.trials if fitted.family == "binomial" else 1.0)
    eta = np.zeros(len(outcome)) if fitted.family != "poisson" else np.full(len(outcome), np.log(outcome.mean() + 0.1))
    for _ in range(_STEPS):
        mean, slope = _link(fitted.family, eta + design.offset)
        weighted = null * (slope * many)[:, None]
        working = eta + (outcome - mean) / slope
        step, eta = eta, null @ np.linalg.lstsq(null.T @ weighted, weighted.T @ working, rcond=None)[0]
        eta = eta if fitted.family == "gaussian" else np.clip(eta, -12, 12)
        if np.abs(eta - step).max() < 1e-8:
            break
    mean, slope = _link(fitted.family, eta + design.offset)
    return mean, slope * many, many


def _link(family: str, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and its derivative at the canonical link."""
    if family == "gaussian":
        return eta, np.ones(len(eta))
    mean: np.ndarray = np.exp(eta) if family == "poisson" else special.expit(eta)
    return mean, mean if family == "poisson" else np.maximum(mean * (1 - mean), 1e-6)


def _worst(
    one: _Candidate, loss: np.ndarray, expected: np.ndarray, video: np.ndarray, p_value: float
) -> HiddenHarm | None:
    """The group that loses most among those that enough videos hold, where it also loses most beyond expectation.

    Two properties that harm less together than apart are no harm of both.
    """
    groups: list[tuple[float, HiddenHarm]] = []
    for sides in product(*one.sides):
        rows = np.logical_and.reduce([rows for _, rows in sides])
        videos = len(np.unique(video[rows]))
        if videos >= FEWEST_CARRIED and not rows.all():
            words = " with ".join(words for words, _ in sides)
            mean = float(loss[rows].mean()), float(loss[~rows].mean())
            beyond = float((loss - expected)[rows].mean())
            groups.append((beyond, HiddenHarm(words, *mean, float(rows.mean()), videos, p_value)))
    worst = max(groups, key=lambda group: group[1].loss, default=None)
    return worst[1] if worst is not None and worst[0] == max(beyond for beyond, _ in groups) else None
