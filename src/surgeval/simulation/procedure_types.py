"""What a type of procedure is made of: phases in order, places in the body, and what is used when."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


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
    organs: tuple[str, ...] = ("liver", "fat")
    """What lies at the sites, in their order, for the painter: liver, fat, bowel, wall, gallbladder, vessel."""
