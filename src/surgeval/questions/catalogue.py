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


def templates_for(track: QuestionTrack, *, matching: bool = False) -> list[Template]:
    """The templates that a track can ask; those in the format `matching` only on request.

    The official toolkit (0.4.0) stops at a data set with a `matching` row: its fourteen columns have no place for
    the pattern that the format needs.
    """
    return [t for t in TEMPLATES if track in t.tracks and (matching or t.format != "matching")]
