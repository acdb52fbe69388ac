"""Every question template, group by group."""

from __future__ import annotations

from surgeval.errors import UnknownName
from surgeval.questions import (
    aggregation,
    complex_reasoning,
    event_understanding,
    object_recognition,
    temporal_grounding,
)
from surgeval.questions.template import QuestionTrack, Template

TEMPLATES: tuple[Template, ...] = (
    *object_recognition.TEMPLATES,
    *temporal_grounding.TEMPLATES,
    *aggregation.TEMPLATES,
    *event_understanding.TEMPLATES,
    *complex_reasoning.TEMPLATES,
)


def template_named(name: str) -> Template:
    """The template of that name.

    Raises:
        UnknownName: There is none; the message carries the nearest one.
    """
    for template in TEMPLATES:
        if template.name == name:
            return template
    raise UnknownName("question template", name, [template.name for template in TEMPLATES])


def templates_for(track: QuestionTrack) -> list[Template]:
    """The templates that a track can ask."""
    return [template for template in TEMPLATES if track in template.tracks]
