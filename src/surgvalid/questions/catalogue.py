"""Every question template, group by group, and what the maker of a benchmark decides, checked before work begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surgvalid.errors import Misuse, UnknownName
from surgvalid.questions import (
    aggregation,
    complex_reasoning,
    event_understanding,
    object_recognition,
    relations,
    temporal_grounding,
    workflow,
)
from surgvalid.questions.template import QuestionTemplate, QuestionTrack

TEMPLATES: tuple[QuestionTemplate, ...] = (
    *object_recognition.TEMPLATES,
    *relations.TEMPLATES,
    *temporal_grounding.TEMPLATES,
    *aggregation.TEMPLATES,
    *event_understanding.TEMPLATES,
    *complex_reasoning.TEMPLATES,
    *workflow.TEMPLATES,
)


def template_named(name: str) -> QuestionTemplate:
    """The template of that name.

    Raises:
        UnknownName: There is none; the message carries the nearest one.
    """
    for template in TEMPLATES:
        if template.name == name:
            return template
    raise UnknownName("question template", name, [template.name for template in TEMPLATES])


def templates_for(track: QuestionTrack, *, of_data_set: bool = False) -> list[QuestionTemplate]:
    """The templates that a track can ask; those of data sets only on request."""
    return [t for t in TEMPLATES if track in t.tracks and t.of_data_sets <= of_data_set]


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """What the caller decided."""

    tracks: tuple[str, ...]
    per_video: int
    test_share: float
    ood_procedures: tuple[str, ...]
    ood_centers: tuple[str, ...]
    ood_templates: tuple[str, ...]
    most_common_share: float
    duplicate_share: float
    seed: int
    blind_share: float = 0.25
    annotated: tuple[str, ...] = ()
    unverified: bool = False


def checked_options(options: BenchmarkOptions) -> BenchmarkOptions:
    """The options, if they can be kept.

    Raises:
        UnknownName: A track or template that does not exist.
        Misuse: A number or share that cannot be.
    """
    known = [track.value for track in QuestionTrack]
    for track in options.tracks:
        if track not in known:
            raise UnknownName("track", track, known)
    for name in options.ood_templates:
        template_named(name)
    wrong = [f"{text}, got {value}" for text, value, can_be in _numbers(options) if not can_be]
    if wrong:
        raise Misuse("; ".join(wrong))
    return options


def _numbers(options: BenchmarkOptions) -> Iterator[tuple[str, float, bool]]:
    """Every number among the options: what it must be, what it is, and whether it can be."""
    most, blind, doubles = options.most_common_share, options.blind_share, options.duplicate_share
    yield "per_video (--per-video) must be at least 1", options.per_video, options.per_video >= 1
    yield "test_share (--test-share) must lie between 0 and 1", options.test_share, 0 <= options.test_share <= 1
    yield "most_common_share (--max answer) must lie strictly between 0 and 1", most, 0 < most < 1
    yield "blind_share (--max blind) must be above 0 and at most 1", blind, 0 < blind <= 1
    yield "duplicate_share (--max duplicates) must be at least 0 and below 1", doubles, 0 <= doubles < 1
