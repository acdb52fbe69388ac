"""Which mixed model fits an outcome: decision workflow of Ross et al. (2023, Fig. 4), with every decision on record.

Counts and 0/1 outcomes go to a generalised model at once. A continuous score that is unbounded, or looks
normal, gets a linear model; one in [0, inf) is logged, one in [0, 1] goes through the logit, and then the
residuals' Q-Q plot decides whether that was enough. If not, the outcome should be restated as counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.inference.residuals import normal_correlation
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.design_checks import is_numeric
from surgvalid.stats.mixed.model.formula import FamilyName
from surgvalid.stats.mixed.model.roles import EffectRoles, FailureRequest, ModelRole
from surgvalid.stats.mixed.model.table import averaged_over_models

Transform = Literal["none", "log", "logit"]
FAMILIES = ("auto", *get_args(FamilyName))
STRAIGHT_ENOUGH = 0.98
BOUNDARY_SHARE = 0.01
EPSILON = 1e-3
"""Distance from 0 and 1 (share of the smallest value for a logarithm) given to exact bounds before a transform."""


@dataclass(frozen=True)
class Decision:
    """One question of the workflow with its answer."""

    question: str
    answer: str
    reason: str

    def __str__(self) -> str:
        return f"{self.question} {self.answer}: {self.reason}"


@dataclass
class Workflow:
    """Decisions so far, and the model they lead to."""

    family: FamilyName = "gaussian"
    transform: Transform = "none"
    bounded: bool = False
    """Whether the outcome is a score in [0, 1] with values on its bounds, fitted in points of the score."""
    rejected: bool = False
    """Whether the residuals speak against the linear model, so that its p values are withheld."""
    decisions: list[Decision] = field(default_factory=list)

    def log(self, question: str, answer: str, reason: str) -> None:
        """Put a decision on record."""
        self.decisions.append(Decision(question, answer, reason))


def choose_family(values: np.ndarray, trials: np.ndarray | None = None) -> Workflow:
    """The kind of model for an outcome, before anything is fitted.

    Example:
        >>> choose_family(np.array([0.0, 1.0, 1.0])).family
        'binomial'
        >>> choose_family(np.array([0.2, 0.9, 0.97])).family
        'gaussian'
    """
    work, values = Workflow(), np.asarray(values, float)
    values = values[np.isfinite(values)]
    question = "Is the outcome continuous?"
    if trials is not None:
        work.family = "binomial"
        work.log(question, "no", "it is successes out of trials, so a binomial GLMM")
    elif len(values) and np.isin(values, (0.0, 1.0)).all():
        work.family = "binomial"
        work.log(question, "no", "every value is 0 or 1, so a GLMM for binary outcomes")
    else:
        work.log(question, "yes", f"{_described(values)}, so a linear model")
    return work


def _described(values: np.ndarray) -> str:
    """How many values there are, and what else they could be."""
    different = np.unique(values)
    if len(different) == 2:
        return f"the values {different[0]:g} and {different[1]:g} (code them as 0 and 1 if they mean wrong and right)"
    whole = len(different) and different[0] >= 0 and bool(np.all(different == np.round(different)))
    return f"{len(different)} different values" + (" (if they count events, ask for family poisson)" if whole else "")


def choose_transform(work: Workflow, values: np.ndarray, straight: float, *, paper: bool = False) -> None:
    """Settle the transform of a continuous outcome from its bounds and the Q-Q plot of the plain model's residuals.

    Args:
        work: Takes the decision.
        values: The outcome.
        straight: Correlation of the residuals with normal quantiles, without any transform.
        paper: Whether the original workflow is followed, which knows no other way for scores of exactly 0 and 1.
    """
    low, high, shown = float(values.min()), float(values.max()), f"Q-Q correlation {straight:.3f}"
    question = "Does the outcome need a transform?"
    if low < 0:
        work.log(question, "no", f"values from {low:g} to {high:g} are not bounded by 0")
    elif straight >= STRAIGHT_ENOUGH:
        work.log(question, "no", f"residuals look normal without ({shown})")
    elif high <= 1 and not paper and (share := float(np.mean((values == 0) | (values == 1)))) > BOUNDARY_SHARE:
        work.bounded = True
        work.log(
            question,
            "no",
            f"{share:.0%} of values are exactly 0 or 1, where a logit depends on how far they are "
            f"moved inwards; effects are in points of the score ({shown}). Family ordered-beta takes such scores "
            "as they are and finds more",
        )
    elif high <= 1:
        work.transform = "logit"
        work.log(question, "logit", f"bounded by 0 and 1, {shown} without; exact bounds moved inwards by {EPSILON:g}")
    else:
        work.transform = "log"
        work.log(question, "log", f"bounded by 0, {shown} without; exact zeros raised to a share of the smallest value")


def transformed(values: np.ndarray, transform: Transform) -> np.ndarray:
    """Values on the scale the linear model is fitted on; missing values stay missing.

    Example:
        >>> transformed(np.array([0.0, 0.5, 1.0]), "logit").round(2).tolist()
        [-6.91, 0.0, 6.91]
    """
    values = np.asarray(values, float)
    if transform == "logit":
        return np.asarray(special.logit(np.clip(values, EPSILON, 1 - EPSILON)))
    if transform == "log":
        positive = values[values > 0]
        floor = EPSILON * float(positive.min()) if len(positive) else EPSILON
        return np.asarray(np.log(np.maximum(values, floor)))
    return values


def check_residuals(work: Workflow, residuals: np.ndarray) -> bool:
    """Whether the residuals of the linear model are near enough to normal; the answer goes on record."""
    straight = normal_correlation(residuals)
    good = bool(straight >= STRAIGHT_ENOUGH)
    if work.bounded and not good:
        work.log(
            "Are the residuals normal?",
            "no",
            f"Q-Q correlation {straight:.3f}; tests of scores in [0, 1] in points of the score keep their level "
            "nevertheless (simulated)",
        )
        return True
    work.rejected = not good
    if good:
        work.log("Are the residuals normal?", "yes", f"Q-Q correlation {straight:.3f}; report the linear model")
    else:
        work.log(
            "Are the residuals normal?",
            "no",
            f"Q-Q correlation {straight:.3f}; the linear model is rejected and its p values are withheld. Restate the "
            "outcome as counts (such as true positives of reference pixels): pass successes and trials",
        )
    return good


def log_role(work: Workflow, role: ModelRole, models: int, *, like_these: bool = False) -> None:
    """How the model under test enters, on record."""
    reasons = {
        "random": f"effects are to hold for models like these {models}"
        if like_these
        else f"effects are for these {models} models, on average",
        "fixed": "these models themselves are of interest",
        "removed": "there is only one model" if models < 2 else "asked for",
        "aggregated": "values are averaged over models, as a first approximation",
    }
    work.log("How do models enter?", role, reasons[role])


def settle_outcome(
    frame: pl.DataFrame, request: FailureRequest, family: str, transform: str, where: str
) -> tuple[pl.DataFrame, FailureRequest, Workflow]:
    """The family and the transform of the outcome, the table with it, and the decisions that led there.

    Raises:
        UnknownName: There is no such family or transform.
        Misuse: The family or transform asked for is not for this kind of outcome.
        TableInvalid: The outcome holds values that the transform is not defined for.
    """
    if family not in FAMILIES:
        raise UnknownName("family", family, FAMILIES)
    if transform not in ("auto", "none", "log", "logit"):
        raise UnknownName("transform", transform, ["auto", "none", "log", "logit"])
    if request.trials is not None and family in ("poisson", "gaussian", "ordered-beta"):
        raise Misuse(f"family {family} knows no trials; give the column as outcome, without trials")
    work = Workflow()
    if family != "auto":
        work.family = family  # type: ignore[assignment]
        work.log("Which family?", family, "asked for")
    elif request.trials is not None:
        work = choose_family(np.zeros(0), np.zeros(0))
    elif _is_number(frame, request.outcome):
        work = choose_family(frame[request.outcome].cast(pl.Float64).drop_nulls().to_numpy())
    request = replace(request, family=work.family)
    if work.family == "gaussian":
        return (*_on_its_scale(frame, request, work, transform, where), work)
    if transform in ("log", "logit"):
        raise Misuse(
            f"transform {transform} is for a continuous outcome; {request.outcome!r} enters a {work.family} model"
        )
    return frame, request, work


def _is_number(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and is_numeric(frame.schema[name])


def _on_its_scale(
    frame: pl.DataFrame, request: FailureRequest, work: Workflow, transform: str, where: str
) -> tuple[pl.DataFrame, FailureRequest]:
    """The table with the outcome on the scale of the linear model, under a name that says so."""
    if transform == "auto":
        plain = fit(design_of(frame, replace(request, role="random").model(extra=False), where=where), errors=False)
        straight = normal_correlation(plain.design.response - plain.linear_predictor)
        choose_transform(work, plain.design.response, straight, paper=request.spec == "ross")
    else:
        work.transform = transform  # type: ignore[assignment]
        work.log("Does the outcome need a transform?", transform, "asked for")
    if work.transform == "none":
        return frame, request
    if not _is_number(frame, request.outcome):
        raise TableInvalid(where, [f"column {request.outcome!r} does not exist or holds no numbers"])
    values = frame[request.outcome].cast(pl.Float64).to_numpy()
    _check_range(request.outcome, values, work.transform, where)
    name = f"{work.transform}({request.outcome})"
    series = pl.Series(name, transformed(values, work.transform)).fill_nan(None)
    return frame.with_columns(series), replace(request, outcome=name)


def _check_range(name: str, values: np.ndarray, transform: Transform, where: str) -> None:
    """Refuse values that a transform is not defined for; moving them inwards would invent data."""
    bad = (values < 0) | (values > 1) if transform == "logit" else values < 0
    if bad.any():
        first = int(np.argmax(bad))
        bounds = "outside 0 to 1" if transform == "logit" else "below 0"
        what = f"column {name!r} has {int(bad.sum())} values {bounds} (first: row {first + 1}, {values[first]:g})"
        raise TableInvalid(where, [f"{what}, where the {transform} does not exist; choose another transform"])


class AnalysedRows(NamedTuple):
    """The rows an analysis is made of once the role of models is settled."""

    frame: pl.DataFrame
    request: FailureRequest
    excluded: Mapping[str, int]
    """Rows that were left out on the way, by reason."""


def settle_role(frame: pl.DataFrame, request: FailureRequest, work: Workflow, where: str) -> AnalysedRows:
    """How models enter: the table and the request for it; the decision goes on record.

    Raises:
        Misuse: A role was given to models that no random effect names.
        TableInvalid: The column of models does not exist.
    """
    column = request.model_column
    if not column and request.role != "random":
        raise Misuse(
            f"role {request.role} needs to know the models; put their column among the random effects under "
            "the name model (columns: model=COLUMN)"
        )
    if not request.random:
        work.log(
            "How do rows depend on each other?",
            "not at all",
            "no random effect was named; errors assume independent rows",
        )
        return AnalysedRows(frame, request, {})
    _log_groups(work, request.roles)
    if not column:
        return AnalysedRows(frame, request, {})
    models = frame.select(column.split(":")).drop_nulls().n_unique()
    if models == 1 and request.role in ("random", "fixed"):
        request = replace(request, role="removed")
    log_role(work, request.role, models, like_these=request.models_like_these)
    if request.role != "aggregated":
        return AnalysedRows(frame, request, {})
    also = tuple(name for name in request.also if name != column)
    design = design_of(frame, request.model(extra=False), where=where, also=also)
    rows, model = averaged_over_models(design)
    return AnalysedRows(rows, replace(request, trials=model.trials, offset=model.offset, also=also), design.excluded)


def _log_groups(work: Workflow, roles: EffectRoles) -> None:
    """What the videos and the finest unit are, on record; and that no model was named."""
    question = "Between what do effects have to hold?"
    if roles.video:
        why = "named so" if roles.named else "the coarsest random effect that holds whole units; name another video"
        work.log(question, roles.video, f"{why} (columns: video=COLUMN)")
    if roles.unit:
        work.log("Which is the finest unit?", roles.unit, "named so, or the random effect with the most levels")
    if not roles.model:
        work.log("How do models enter?", "not at all", "no random effect is called model (columns: model=COLUMN)")
