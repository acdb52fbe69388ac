"""What is asked of a failure analysis, as one value that its parts pass on.

The analysis of effects, the table of symbols and the change between two rounds take the same options. They are checked
and renamed here once; `surgvalid.failures` says what each of them means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, get_args

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.mixed.fit.fit import Engine
from surgvalid.stats.mixed.model.formula import FamilyName
from surgvalid.stats.mixed.model.roles import NO_OUTCOME, ROLES, ModelRole, Spec

Family = Literal["auto"] | FamilyName
InferenceRule = Literal["auto", "reml-t", "wald-z"]
SeparationRule = Literal["auto", "penalise", "drop", "firth"]
TransformRule = Literal["auto", "none", "log", "logit"]


@dataclass(frozen=True, kw_only=True)
class FailureSettings:
    """The options of `failures` that are about a mixed model, under their own names."""

    successes: str | None = None
    trials: str | None = None
    outcome: str | None = None
    fixed: str | Sequence[str] = ()
    random: str | Sequence[str] = ()
    spec: Spec = "default"
    models: Sequence[str] = ()
    per_model: bool = False
    role: ModelRole = "random"
    models_like_these: bool = False
    family: Family = "auto"
    transform: TransformRule = "auto"
    properties: Any = None
    cluster: str | Sequence[str] = ()
    leave_out: str | Sequence[str] = ()
    metric: str | None = None
    better: Directions = None
    missing: Missing = None
    symmetric: bool = False
    unit: str | None = None
    inference: InferenceRule = "auto"
    slopes: bool | Sequence[str] = True
    separation: SeparationRule = "auto"
    recommend: bool = False
    improvement: float = 0.1
    picture: str | None = None
    strengths: bool = False
    risk: Any = None
    level: float = 0.95
    columns: Mapping[str, str] | None = None
    engine: Engine = "auto"
    where: str = "table"

    @property
    def response(self) -> str:
        """The column that is explained: successes, or an outcome."""
        return self.successes or self.outcome or ""

    @property
    def terms(self) -> tuple[str, ...]:
        """Everything that names columns."""
        single = (self.outcome, self.successes, self.trials, self.unit)
        return (*self.fixed, *self.random, *self.cluster, *self.leave_out, *(name or "" for name in single))

    def renamed(self) -> Self:
        """The settings with columns called by our names, and every list of terms as one."""
        ours = {theirs: mine for mine, theirs in (self.columns or {}).items()}
        names: dict[str, Any] = {name: renamed_terms(getattr(self, name), ours) for name in self._several}
        for name in ("outcome", "successes", "trials", "unit"):
            text = getattr(self, name)
            names[name] = text and renamed_term(text, ours)
        return replace(self, **names)

    @property
    def _several(self) -> tuple[str, ...]:
        return ("fixed", "random", "cluster", "leave_out")

    def given(self) -> set[str]:
        """The names of options that are not what they are by themselves."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name
            for name, (value, default) in values.items()
            if (value is not None if default is None else (tuple(value) if default == () else value) != default)
        }

    def check(self) -> None:
        """Refuse options that contradict each other, and words that are none of theirs.

        Raises:
            Misuse: They contradict each other.
            UnknownName: A word that an option does not have.
        """
        if (self.successes is None) != (self.trials is None):
            raise Misuse("successes and trials go together; give both, or an outcome instead")
        if not self.response:
            raise Misuse(NO_OUTCOME)
        words: dict[str, tuple[str, Sequence[str]]] = {
            "specification": (self.spec, get_args(Spec)),
            "role of models": (self.role, ROLES),
            "inference": (self.inference, get_args(InferenceRule)),
            "treatment of separation": (self.separation, get_args(SeparationRule)),
        }
        for what, (word, known) in words.items():
            if word not in known:
                raise UnknownName(what, word, known)
        if not 0 < self.level < 1:
            raise Misuse(f"the level of intervals lies between 0 and 1, got {self.level:g}")


def renamed_terms(names: str | Sequence[str], ours: Mapping[str, str]) -> tuple[str, ...]:
    """Terms with the columns called as the option columns calls them; a single one may come without brackets."""
    return tuple(renamed_term(name, ours) for name in ((names,) if isinstance(names, str) else names))


def renamed_term(name: str, ours: Mapping[str, str]) -> str:
    """A term with the columns called as the option columns calls them.

    Example:
        >>> renamed_term("network:frame", {"network": "model"})
        'model:frame'
    """
    if not ours or "|" in name:
        return name
    return ":".join(ours.get(variable.strip(), variable.strip()) for variable in name.split(":"))
