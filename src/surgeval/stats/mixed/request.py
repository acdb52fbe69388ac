"""What a failure analysis was asked for, by names only, and the model that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from surgeval.stats.mixed.formula import FamilyName, Model, Slope
from surgeval.stats.mixed.roles import Roles

Spec = Literal["default", "paper"]
ModelRole = Literal["random", "fixed", "removed", "aggregated"]
ROLES: tuple[ModelRole, ...] = get_args(ModelRole)
NO_OUTCOME = "give an outcome (--outcome COLUMN), or successes and trials (--successes COLUMN --trials COLUMN)"


@dataclass(frozen=True)
class Request:
    """What was asked for, with names only."""

    outcome: str
    trials: str | None
    fixed: tuple[str, ...]
    random: tuple[str, ...]
    spec: Spec
    role: ModelRole
    family: FamilyName
    offset: str | None = None
    slopes: tuple[Slope, ...] = ()
    also: tuple[str, ...] = ()
    """Columns to keep beside those of the model: clusters, and what is left out level by level."""

    roles: Roles = field(default_factory=Roles)

    @property
    def model_column(self) -> str:
        """The random effect that tells models apart; empty where none is named so."""
        return self.roles.model

    @property
    def interaction(self) -> str:
        """The effect that `default` adds, by name; empty where there are no model and unit to cross."""
        model, unit = self.roles.model, self.roles.unit
        return f"{model}:{unit}" if model and unit and model not in unit.split(":") else ""

    def model(self, *, extra: bool) -> Model:
        """The model, with the interaction if `extra`."""
        fixed, random = self.fixed, self.random
        if self.role != "random":
            random = tuple(name for name in random if name != self.model_column)
        if self.role == "fixed":
            fixed = (*fixed, self.model_column)
        if extra and self.interaction not in ("", *random) and self.role in ("random", "fixed"):
            random = (*random, self.interaction)
        return Model(self.outcome, self.trials, fixed, random, self.offset, None, self.family, self.slopes)
