"""Which sections a report has, by what it is about: a challenge, a single model, or a study of any score table.

The short form has the verdict, limitations and methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from surgvalid.catalogue import Catalogue, Homes, called_with
from surgvalid.errors import UnknownName
from surgvalid.report.chart import Chart
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import Block, Layer, Prose, ReportTable, Section
from surgvalid.report.words import slug


@dataclass(frozen=True, slots=True)
class ReportTemplate:
    """A kind of report."""

    name: str
    kind: str
    """What stands above the title."""
    sections: tuple[str, ...]
    """Names in `SECTIONS`, in order."""
    optional: frozenset[str]
    """Sections that vanish when the folder holds nothing for them; the others say what is missing."""


VIEWS: Mapping[str, str] = {
    "board": "Final ranks",
    "buckets": "Kinds of question",
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
OF_A_RANKING = frozenset({"board", "buckets", "significance"})
"""Sections that a folder with several rankings has once for each."""
_SECTIONS: Mapping[str, str] = {
    "verdict": "sections.verdict.section",
    "board": "sections.ranking.board",
    "buckets": "sections.buckets.section",
    "significance": "sections.ranking.significance",
    "statistics": "sections.statistics.section",
    "tasks": "sections.tasks.section",
    "answers": "sections.answers.section",
    "failures": "sections.failures.section",
    "cases": "cases.collect.section",
    "evaluation": "sections.evaluation.section",
    "models_on_tasks": "sections.models_on_tasks.section",
    "data": "sections.data.section",
    "latency": "sections.latency.section",
    "audit": "audit_sections.section",
    "limitations": "limits.section",
    "methods": "methods.section",
    "glossary": "glossary.section",
    "reproduction": "record.section",
}
"""Where below `surgvalid.report` the function of each section is, imported when a report has it."""
SECTIONS: Catalogue[Callable[[ReportInputs], Section]] = Catalogue(
    "report section",
    "sections",
    Homes("surgvalid.report", _SECTIONS),
    take=called_with("a function that gives a section"),
)
"""Every section by name; those of other packages are in a report that asks for them."""
_WHEN_THERE = frozenset({"cases", "evaluation", "models_on_tasks", "data", "audit", "statistics"})
"""Sections that no report misses."""
_SINGLE = tuple(
    """
    verdict buckets statistics answers latency failures cases evaluation models_on_tasks data audit limitations
    methods glossary reproduction
    """.split()
)
_STUDY = tuple(
    """
    verdict tasks board buckets significance statistics failures cases evaluation models_on_tasks
    answers data latency audit limitations methods glossary reproduction
    """.split()
)
_OF_A_CHALLENGE = frozenset({"board", "buckets", "significance", "answers"})
TEMPLATES: dict[str, ReportTemplate] = {
    template.name: template
    for template in (
        ReportTemplate("challenge", "Challenge report", tuple(_SECTIONS), _WHEN_THERE | {"tasks", "latency"}),
        ReportTemplate("single", "Report on one model", _SINGLE, _WHEN_THERE),
        ReportTemplate("study", "Study report", _STUDY, _WHEN_THERE | _OF_A_CHALLENGE | {"tasks", "latency"}),
    )
}
"""Every template by name."""


def template_for(inputs: ReportInputs, name: str | None = None) -> ReportTemplate:
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
    """The section with its position on the page: the verdict first, then the instrument, then the appendix."""
    if section.layer:
        return section
    name = section.name
    layer: Layer = "explore" if name in VIEWS else "appendix"
    return replace(section, layer=layer, view=VIEWS.get(name, section.title), track=track)


_KEPT = ("limitations", "methods")
_MOST_NOTES = 12


def named_after(section: Section, label: str) -> Section:
    """The section with the competition's name in its title and in the names of its figures and tables."""
    if not label:
        return section
    blocks = tuple(_renamed(block, label) for block in section.blocks)
    return replace(section, name=f"{section.name}-{slug(label)}", title=f"{section.title}: {label}", blocks=blocks)


def _renamed(block: Block, label: str) -> Block:
    if isinstance(block, Chart | ReportTable):
        return replace(block, name=f"{block.name}-{slug(label)}", title=f"{block.title}, {label}")
    return block


def shortened(sections: Sequence[Section]) -> list[Section]:
    """The sections of a short report; pages without layers are short already."""
    if not any(section.layer for section in sections):
        return list(sections)
    verdict = [section for section in sections if section.layer == "verdict"]
    return [*verdict, *(_fewer_notes(section) for section in sections if section.name in _KEPT)]


def _fewer_notes(section: Section) -> Section:
    if len(section.blocks) <= _MOST_NOTES:
        return section
    rest = Prose(f"{len(section.blocks) - _MOST_NOTES} more are on the page.")
    return replace(section, blocks=(*section.blocks[:_MOST_NOTES], rest), boards=())
