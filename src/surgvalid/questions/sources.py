"""The procedures that questions are made from: read, declared, confirmed, and refused where they cannot be trusted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surgvalid.questions.stages.history import Action, ReviewState, box_digest, history_in
from surgvalid.schema.procedures.foreign_objects import declared
from surgvalid.schema.procedures.procedure_files import procedure_paths, read_procedure
from surgvalid.schema.procedures.procedure_problems import contradictions, procedure_problems, rate_problems
from surgvalid.schema.procedures.tracks import EventKind, Procedure, Track

Annotations = str | Path | Procedure | Iterable[str | Path | Procedure]


def sources_of(annotations: Annotations) -> list[Path | Procedure]:
    """The procedures, and the files of those that are not in memory."""
    sources: list[Path | Procedure] = []
    for member in [annotations] if isinstance(annotations, str | Path | Procedure) else annotations:
        sources += [member] if isinstance(member, Procedure) else procedure_paths(member)
    return sources


def opened(sources: Iterable[Path | Procedure], *, annotated: Collection[str], review: Review) -> Iterator[Procedure]:
    """The procedures, one at a time.

    Args:
        sources: Procedures or their files.
        annotated: What was annotated in those that declare nothing themselves, in the words of `declared`.
        review: Where every proposed instance stands; two people's word makes it a confirmed one, with the boxes that
            they saw.
    """
    default = declared(annotated, kinds=tuple(EventKind)) if annotated else None
    for source in sources:
        procedure = source if isinstance(source, Procedure) else read_procedure(source)
        if procedure.declared is None and default is not None:
            procedure = replace(procedure, declared=default.with_what_occurs(procedure.annotated))
        waiting = [instance for instance in procedure.proposed if not review.confirms(procedure, instance)]
        yield replace(procedure, proposed=tuple(waiting)) if len(waiting) < len(procedure.proposed) else procedure


@dataclass(frozen=True)
class Review:
    """What people have said of instances and questions."""

    states: Mapping[str, ReviewState] = field(default_factory=dict)
    """Where every item stands: an instance is called `VIDEO/INSTANCE`, a question by its identifier."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Answers that whoever decided has corrected, by question."""
    boxes: Mapping[str, str] = field(default_factory=dict)
    """Digests of the boxes that were proposed and not changed since, by instance."""

    def confirms(self, procedure: Procedure, instance: str) -> bool:
        """Whether two people have confirmed an instance as the procedure has it."""
        item = f"{procedure.video}/{instance}"
        if self.states.get(item) is not ReviewState.CONFIRMED:
            return False
        track = procedure.track(instance)
        seen = track.in_view
        now = box_digest(track.class_name, track.seconds[seen], track.boxes[seen])
        return self.boxes.get(item, now) == now

    def against(self, case: str, answer: str) -> str | None:
        """Why a question is not asked, or None: the annotations have to be mended first."""
        if case in self.answers and self.answers[case] != answer:
            return "reviewers corrected the answer, and the annotations do not give theirs"
        if self.states.get(case) is ReviewState.WITHDRAWN:
            return "a reviewer withdrew it"
        if self.states.get(case) is ReviewState.DISPUTED:
            return "a reviewer objected"
        return None


def review_in(history: Any) -> Review:
    """What a history of reviews says: a table, or the file of one; nothing for None."""
    log = history_in(history)
    corrected = [entry for entry in log.entries if entry.action is Action.CHANGED and entry.field == "answer"]
    return Review(log.states(), {entry.item: entry.after for entry in corrected}, log.proposed_boxes())


def with_known_classes(procedures: Iterable[Procedure], names: Collection[str]) -> tuple[list[Procedure], list[str]]:
    """The procedures with labels that spell a class otherwise (`specimen_bag`) under its name, and what was read so."""
    spelled = {_folded(name): name for name in names}
    renamed: dict[str, str] = {}

    def known(track: Track) -> Track:
        name = spelled.get(_folded(track.class_name), track.class_name)
        if name == track.class_name:
            return track
        renamed[track.class_name] = name
        return replace(track, class_name=name)

    read = [replace(one, tracks=tuple(map(known, one.tracks))) for one in procedures]
    return read, [f"label {label!r} is read as {name!r}" for label, name in sorted(renamed.items())]


def _folded(label: str) -> str:
    return " ".join(re.split(r"[\s_-]+", label.casefold().strip()))


def problems_of(procedure: Procedure, class_names: tuple[str, ...]) -> list[str]:
    """Why no question can be made from a procedure; empty when some can."""
    problems = procedure_problems(procedure, class_names=class_names) or contradictions(procedure)
    problems += rate_problems(procedure)
    return problems


UNCONFIRMED = "instances were confirmed by nobody (--history, --with unverified), so only single images are asked about"
"""Why tracks are withheld in which one must know which box shows which object."""
STILL = "a still image is no video: only single images are asked about"


def unconfirmed(procedure: Procedure) -> str | None:
    """Why nothing can be asked of a procedure for which one must know which box shows which object, or None."""
    if not procedure.proposed:
        return None
    return (
        f"{len(procedure.proposed)} of {len(procedure.tracks)} instances were proposed by a program and confirmed by "
        f"nobody as they stand (first: {procedure.proposed[0]!r}); give the history of their review (--history), say "
        "--with unverified to use and mark them, or ask about single images only (--track frame)"
    )
