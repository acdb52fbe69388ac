"""Which sections a report has, by what it is about: a challenge, a single model, or a study of any score table."""

from __future__ import annotations

from dataclasses import dataclass

from surgeval.errors import UnknownName
from surgeval.report.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of report."""

    name: str
    kind: str
    """What stands above the title."""
    sections: tuple[str, ...]
    """Files of `report/sections`, in order."""
    optional: frozenset[str]
    """Sections that vanish when the folder holds nothing for them; the others say what is missing."""


OF_A_RANKING = frozenset({"board", "buckets", "stability", "significance", "statistics"})
"""Sections that a folder with several rankings has once for each."""
_END = ("limitations", "methods", "reproduction")
TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template(
            "challenge",
            "Challenge report",
            ("summary", "board", "buckets", "stability", "significance", "statistics", "tasks", "answers", "failures",
             "evaluation", "data", "latency", *_END),
            frozenset({"tasks", "evaluation", "latency", "data"}),
        ),
        Template(
            "single",
            "Report on one model",
            ("summary", "buckets", "statistics", "answers", "latency", "failures", "evaluation", "data", *_END),
            frozenset({"evaluation", "data"}),
        ),
        Template(
            "study",
            "Study report",
            ("summary", "tasks", "board", "buckets", "stability", "significance", "statistics", "failures",
             "evaluation", "answers", "data", "latency", *_END),
            frozenset({"board", "buckets", "stability", "significance", "tasks", "evaluation", "answers", "data",
                       "latency"}),
        ),
    )
}  # fmt: skip
"""Every template by name."""


def template_for(inputs: Inputs, name: str | None = None) -> Template:
    """The template of that name, or the one that fits what the folder holds.

    Raises:
        UnknownName: There is no such template.
    """
    if name is not None:
        if name not in TEMPLATES:
            raise UnknownName("template", name, TEMPLATES)
        return TEMPLATES[name]
    scored = inputs.of("score")
    if inputs.first("rank") is not None or (scored and len(inputs.models) > 1):
        return TEMPLATES["challenge"]
    if len(inputs.models) == 1 and (scored or inputs.first("evaluate", "rehearse")):
        return TEMPLATES["single"]
    return TEMPLATES["study"]
