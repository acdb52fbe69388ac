"""What a failure analysis was asked for, by names only, and the model that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from surgeval.stats.mixed.formula import FamilyName, Model, Slope

Spec = Literal["default", "paper"]
ModelRole = Literal["random", "fixed", "removed", "aggregated"]
ROLES: tuple[ModelRole, ...] = get_args(ModelRole)


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

    @property
    def model_column(self) -> str:
        """The factor that tells models apart: the first random one."""
        return self.random[0] if self.random else ""

    @property
    def interaction(self) -> str:
        """The effect that `default` adds, by name; empty where there are not two factors to cross."""
        if len(self.random) < 2 or self.random[0] in self.random[-1].split(":"):
            return ""
        return f"{self.random[0]}:{self.random[-1]}"

    def model(self, *, extra: bool) -> Model:
        """The model, with the interaction if `extra`."""
        fixed, random = self.fixed, self.random
        if self.role == "fixed":
            fixed, random = (*fixed, self.model_column), random[1:]
        elif self.role in ("removed", "aggregated"):
            random = random[1:]
        if extra and self.interaction and self.role in ("random", "fixed"):
            random = (*random, self.interaction)
        return Model(self.outcome, self.trials, fixed, random, self.offset, None, self.family, self.slopes)
