"""Which sections a report has, by what it is about: a challenge, a single model, or a study of any score table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from surgeval.errors import UnknownName
from surgeval.report.inputs import Inputs
from surgeval.report.section import Layer, Section


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


VIEWS: Mapping[str, str] = {
    "board": "Places",
    "buckets": "Kinds of question",
    "stability": "How firm",
    "significance": "Differences",
    "tasks": "Tasks",
    "failures": "Why models fail",
    "cases": "Wrong answers",
    "answers": "Answers",
    "statistics": "Uncertainty",
    "latency": "Time",
    "evaluation": "Metrics",
    "models_on_tasks": "Models on tasks",
    "audit": "Pitfalls",
}
"""Sections of the instrument, as its switch calls them; the others, but for the verdict, are the appendix."""
OF_A_RANKING = frozenset({"board", "buckets", "stability", "significance", "statistics"})
"""Sections that a folder with several rankings has once for each."""
_END = ("limitations", "methods", "glossary", "reproduction")
TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template(
            "challenge",
            "Challenge report",
            ("verdict", "board", "buckets", "stability", "significance", "statistics", "tasks", "answers", "failures",
             "cases", "evaluation", "models_on_tasks", "data", "latency", "audit", *_END),
            frozenset({"tasks", "cases", "evaluation", "models_on_tasks", "latency", "data", "audit"}),
        ),
        Template(
            "single",
            "Report on one model",
            ("verdict", "buckets", "statistics", "answers", "latency", "failures", "cases", "evaluation",
             "models_on_tasks", "data", "audit", *_END),
            frozenset({"cases", "evaluation", "models_on_tasks", "data", "audit"}),
        ),
        Template(
            "study",
            "Study report",
            ("verdict", "tasks", "board", "buckets", "stability", "significance", "statistics", "failures", "cases",
             "evaluation", "models_on_tasks", "answers", "data", "latency", "audit", *_END),
            frozenset({"board", "buckets", "stability", "significance", "tasks", "cases", "evaluation",
                       "models_on_tasks", "answers", "data", "latency", "audit"}),
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


def placed(section: Section, track: str = "") -> Section:
    """The section with its place on the page: the verdict first, then the instrument, then the appendix."""
    if section.layer:
        return section
    name = section.name
    layer: Layer = "explore" if name in VIEWS else "appendix"
    return replace(section, layer=layer, view=VIEWS.get(name, section.title), track=track)
