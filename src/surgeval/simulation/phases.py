"""From a phase model to phases with times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surgeval.simulation.procedure_types import PhaseModel, ProcedureType


@dataclass(frozen=True, slots=True)
class TimedPhase:
    """A phase of one procedure."""

    model: PhaseModel
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.start_s


def draw_duration_s(kind: ProcedureType, rng: np.random.Generator) -> int:
    """A duration around what is usual for the type: skewed to the right, within its limits."""
    least, typical, most = kind.minutes
    minutes = float(np.clip(typical * rng.lognormal(0.0, 0.35), least, most))
    return round(minutes * 60)


def draw_phases(kind: ProcedureType, duration_s: int, rng: np.random.Generator) -> tuple[TimedPhase, ...]:
    """The phases of one procedure; together they fill its duration, in whole seconds."""
    models = [model for model in kind.phases if model.chance >= 1.0 or rng.random() < model.chance]
    weights = np.array([model.share for model in models]) * rng.gamma(6.0, 1 / 6.0, len(models))
    weights = np.maximum(weights / weights.sum(), 0.25 / len(models))
    borders = np.round(np.concatenate([[0.0], np.cumsum(weights / weights.sum())]) * duration_s)
    pairs = zip(models, borders[:-1], borders[1:], strict=True)
    return tuple(TimedPhase(model, float(start), float(end)) for model, start, end in pairs)
