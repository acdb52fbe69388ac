"""Which mixed model fits an outcome: the decision workflow of seed 001 Fig. 4, with every decision on record.

Counts and 0/1 outcomes go to a generalised model at once. A continuous score that is unbounded, or looks
normal, gets a linear model; one in [0, inf) is logged, one in [0, 1] goes through the logit, and then the
residuals' Q-Q plot decides whether that was enough. If not, the outcome should be restated as counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import special

from surgeval.stats.mixed.residuals import normal_correlation

Transform = Literal["none", "log", "logit"]
ModelRole = Literal["random", "fixed", "removed", "aggregated"]
STRAIGHT_ENOUGH = 0.98
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

    family: Literal["binomial", "poisson", "gaussian"] = "gaussian"
    transform: Transform = "none"
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
        work.log(question, "yes", f"{len(np.unique(values))} different values, so a linear model")
    return work


def choose_transform(work: Workflow, values: np.ndarray, straight: float) -> None:
    """Settle the transform of a continuous outcome from its bounds and the Q-Q plot of the plain model's residuals.

    Args:
        work: Takes the decision.
        values: The outcome.
        straight: Correlation of the residuals with normal quantiles, without any transform.
    """
    low, high, shown = float(values.min()), float(values.max()), f"Q-Q correlation {straight:.3f}"
    question = "Does the outcome need a transform?"
    if low < 0:
        work.log(question, "no", f"values from {low:g} to {high:g} are not bounded by 0")
    elif straight >= STRAIGHT_ENOUGH:
        work.log(question, "no", f"residuals look normal without ({shown})")
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
    if good:
        work.log("Are the residuals normal?", "yes", f"Q-Q correlation {straight:.3f}; report the linear model")
    else:
        work.log(
            "Are the residuals normal?", "no",
            f"Q-Q correlation {straight:.3f}; restate the outcome as counts (such as true positives of reference "
            "pixels) and fit a GLMM: pass successes and trials",
        )  # fmt: skip
    return good


def log_role(work: Workflow, role: ModelRole, models: int) -> None:
    """How the model under test enters, on record."""
    reasons = {
        "random": f"{models} models stand for others like them",
        "fixed": "these models themselves are of interest",
        "removed": "there is only one model" if models < 2 else "asked for",
        "aggregated": "values are averaged over models, as a first approximation",
    }
    work.log("How do models enter?", role, reasons[role])
