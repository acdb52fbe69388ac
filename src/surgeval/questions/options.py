"""What the maker of a benchmark decides, checked before any work is done."""

from __future__ import annotations

from dataclasses import dataclass

from surgeval.errors import Misuse, UnknownName
from surgeval.questions.catalogue import template_named
from surgeval.questions.template import QuestionTrack


@dataclass(frozen=True, slots=True)
class Options:
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
    matching: bool = False
    blind_share: float = 0.25
    annotated: tuple[str, ...] = ()
    unverified: bool = False


def checked_options(options: Options) -> Options:
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
    if options.per_video < 1:
        raise Misuse(f"per_video must be at least 1, got {options.per_video}")
    if not 0 <= options.test_share <= 1:
        raise Misuse(f"test_share must lie between 0 and 1, got {options.test_share}")
    if not 0 < options.most_common_share < 1:
        raise Misuse(f"most_common_share must lie strictly between 0 and 1, got {options.most_common_share}")
    if not 0 < options.blind_share <= 1:
        raise Misuse(f"blind_share must be above 0 and at most 1, got {options.blind_share}")
    if not 0 <= options.duplicate_share < 1:
        raise Misuse(f"duplicate_share must be at least 0 and below 1, got {options.duplicate_share}")
    return options
