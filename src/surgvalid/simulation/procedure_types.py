"""What a type of procedure is made of: phases, places in the body, what is used when; and how long its phases take.

The types are data, in the TOML file beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.errors import UnknownName
from surgvalid.schema.documents import read_toml
from surgvalid.simulation.timelines import Draws


class Ending(StrEnum):
    """What becomes of an object."""

    RETRIEVED = "retrieved"
    BAGGED = "bagged"
    """Put into a specimen bag, which is then retrieved."""
    STAYS = "stays"
    """Left in the body by intent."""


@dataclass(frozen=True, slots=True)
class PhaseModel:
    """One phase."""

    name: str
    share: float
    """Its usual part of the duration, relative to the other phases."""
    site: str
    """Where the camera mostly looks."""
    tools: tuple[str, ...]
    """What the working hand uses."""
    smoke: float = 0.1
    """Episodes of smoke per minute."""
    blood: float = 0.05
    """Bleedings per minute."""
    chance: float = 1.0
    """How often the phase happens at all."""


@dataclass(frozen=True, slots=True)
class ObjectRule:
    """Objects of one class that a phase may bring."""

    class_name: str
    phase: str
    count: tuple[int, int]
    """Least and most of them, when there are any."""
    ending: Ending
    until: str
    """The phase in which they end."""
    place: str
    """The site where they are put."""
    chance: float = 1.0
    purpose: str = ""
    """What for; `{structure}` stands for the structure that is chosen."""
    structures: tuple[str, ...] = ()
    """What they are put on or around; one is chosen."""
    moves: tuple[int, int] = (0, 0)
    """How often they are taken up and put elsewhere."""
    colours: tuple[str, ...] = ()
    """Of which one is chosen; without any,"""
    colour: str = "white"
    size: tuple[float, float] = (0.2, 0.2)
    """Width and depth, in view heights."""
    tool: str = "grasper"
    """What holds it."""
    forgotten: float = 0.0
    """How often it is not retrieved, though it should be."""
    cut_free: bool = False
    """Whether it comes from the body: nobody inserts it."""


@dataclass(frozen=True, slots=True)
class ProcedureType:
    """One type of procedure."""

    name: str
    minutes: tuple[float, float, float]
    """Shortest, typical and longest duration."""
    sites: dict[str, tuple[float, float]]
    """Places in the plane of the situs, in view heights from its middle."""
    phases: tuple[PhaseModel, ...]
    objects: tuple[ObjectRule, ...] = field(default=())
    specimen: str = "tissue"
    """What is cut out: `gallbladder`, `appendix`, `bowel` or `tissue`; it decides how a specimen looks."""
    ground: str = "omentum"
    """What everything lies on: omentum or peritoneum."""


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


def draw_duration_s(kind: ProcedureType, rng: Draws) -> int:
    """A duration around what is usual for the type: skewed to the right, within its limits."""
    least, typical, most = kind.minutes
    minutes = float(np.clip(typical * rng.lognormal(0.0, 0.35), least, most))
    return round(minutes * 60)


def draw_phases(kind: ProcedureType, duration_s: int, rng: Draws) -> tuple[TimedPhase, ...]:
    """The phases of one procedure; together they fill its duration, in whole seconds."""
    models = [model for model in kind.phases if model.chance >= 1.0 or rng.random() < model.chance]
    weights = np.array([model.share for model in models]) * rng.gamma(6.0, 1 / 6.0, len(models))
    weights = np.maximum(weights / weights.sum(), 0.25 / len(models))
    borders = np.round(np.concatenate([[0.0], np.cumsum(weights / weights.sum())]) * duration_s)
    pairs = zip(models, borders[:-1], borders[1:], strict=True)
    return tuple(TimedPhase(model, float(start), float(end)) for model, start, end in pairs)


def _rule(row: list[Any], classes: dict[str, dict[str, Any]]) -> ObjectRule:
    class_name, phase, until, place, *more = row
    about = {key: _tupled(value) for key, value in (classes[class_name] | dict(*more)).items()}
    about["ending"] = Ending(about["ending"])
    return ObjectRule(class_name=class_name, phase=phase, until=until, place=place, **about)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_DATA = read_toml(Path(__file__).with_suffix(".toml"))
SIZES: dict[str, tuple[float, float]] = {name: _tupled(about["size"]) for name, about in _DATA["classes"].items()}
"""Width and depth of each class in view heights."""
SPECIMEN_SIZES: dict[str, tuple[float, float]] = {name: _tupled(size) for name, size in _DATA["specimens"].items()}
"""The same of what is cut out, by what it is."""


def _declared_types() -> dict[str, ProcedureType]:
    types = {}
    for about in _DATA["types"]:
        sites = {site: _tupled(at) for site, at in about.pop("sites").items()}
        phases = tuple(PhaseModel(*map(_tupled, row)) for row in about.pop("phases"))
        objects = tuple(_rule(row, _DATA["classes"]) for row in about.pop("objects"))
        facts = {key: _tupled(value) for key, value in about.items()}
        types[facts["name"]] = ProcedureType(sites=sites, phases=phases, objects=objects, **facts)
    return types


PROCEDURE_TYPES = _declared_types()
"""Every type by its name."""


def procedure_type(name: str) -> ProcedureType:
    """The type of that name, in any case.

    Raises:
        UnknownName: No such type; the message carries the nearest.
    """
    folded = {known.casefold(): kind for known, kind in PROCEDURE_TYPES.items()}
    if name.casefold() not in folded:
        raise UnknownName("procedure type", name, PROCEDURE_TYPES)
    return folded[name.casefold()]
