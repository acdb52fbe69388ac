"""Questions on the phases of a data set and on criteria that its experts rated; foreign objects have no part in them.

What raters told is read from the tracks of `Procedure.instruments` called `CRITERION`: a point that is seen says that
all of them hold the criterion for met, one that is not that none does, and no point that they differ or never looked.
"""

from __future__ import annotations

from surgvalid.questions.answers import proof, time, yes_no
from surgvalid.questions.event_understanding import BORDER_S
from surgvalid.questions.template import (
    FRAME,
    PROCEDURE,
    SEGMENT,
    Draw,
    Needs,
    Proof,
    QuestionScene,
    QuestionTemplate,
    Slots,
    TemplateAnswer,
)
from surgvalid.schema.procedures.tracks import CRITERION, Phase, Visibility
from surgvalid.schema.questions.taxonomy import Capability

MOST_CHOICES = 4


def phase_now(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """The phase that an image is of."""
    procedure, second = scene.ledger.procedure, scene.second
    name = procedure.phase_at(second)
    around = {procedure.phase_at(second + shift) for shift in (-BORDER_S, BORDER_S)} - {None, name}
    why = Proof(seconds=(second,))
    return TemplateAnswer(name, why, "another phase is close by" if around else None) if name else None


def phase_begins(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """When a phase begins, if it is not already there at the start of the window."""
    parts = _parts(scene, slots["phase"])
    if not parts or parts[0].start_s <= scene.window.start_s:
        return None
    return time(parts[0].start_s, proof(seconds=[parts[0].start_s]))


def phase_length(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """How long a phase lasts within the window, all its parts together."""
    spans = [
        (max(phase.start_s, scene.window.start_s), min(phase.end_s, scene.second + 1))
        for phase in _parts(scene, slots["phase"])
    ]
    seconds = [border for start_s, end_s in spans for border in (start_s, end_s - 1)]
    return time(sum(end_s - start_s for start_s, end_s in spans), proof(seconds=seconds)) if spans else None


def phase_next(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The phase that follows at once on the first part of another one."""
    parts = _parts(scene, slots["phase"])
    if not parts or parts[0].end_s > scene.second:
        return None
    name = scene.ledger.procedure.phase_at(parts[0].end_s)
    return TemplateAnswer(name, proof(seconds=[parts[0].end_s])) if name in slots["options"] and name else None


def _parts(scene: QuestionScene, name: str) -> list[Phase]:
    """The parts of a phase that the window shows any of."""
    start, end = scene.window
    return [p for p in scene.ledger.procedure.phases if p.name == name and p.start_s <= end and start < p.end_s]


def a_phase(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A phase that the window shows."""
    names = _names(scene)
    return [{"phase": names[int(draw.integers(0, len(names)))]}] if names else []


def _names(scene: QuestionScene) -> list[str]:
    return sorted({phase.name for phase in scene.ledger.procedure.phases if _parts(scene, phase.name)})


def choices(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """The phase of an image, among others of the procedure."""
    return _offered(scene, scene.ledger.procedure.phase_at(scene.second), None, draw)


def followers(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A phase that the window shows, with what may follow on it: the phase that does, and others of the procedure."""
    offered: list[Slots] = []
    for slots in a_phase(scene, draw):
        after = scene.ledger.procedure.phase_at(_parts(scene, slots["phase"])[0].end_s)
        offered += [{**slots, **more} for more in _offered(scene, after, slots["phase"], draw)]
    return offered


def _offered(scene: QuestionScene, right: str | None, asked: str | None, draw: Draw) -> list[Slots]:
    others = sorted({phase.name for phase in scene.ledger.procedure.phases} - {right, asked})
    if right is None or right == asked or not others:
        return []
    drawn = [others[at] for at in draw.permutation(len(others))[: MOST_CHOICES - 1]]
    return [{"options": tuple(sorted([right, *drawn]))}]


def criterion_met(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether all raters hold a criterion for met."""
    rated = [track for track in scene.ledger.procedure.instruments if track.instance == slots["criterion"]]
    point = rated[0].point_at(scene.second) if rated else None
    met = point is not None and point.visibility is Visibility.VISIBLE
    return yes_no(met, Proof(seconds=(scene.second,))) if point else None


def criteria(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A criterion that raters told of."""
    names = [track.instance for track in scene.ledger.procedure.instruments if track.class_name == CRITERION]
    return [{"criterion": names[at]} for at in draw.permutation(len(names))]


A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "phase-now",
        A.TEMPORAL_ORDERING,
        (FRAME,),
        "multiple_choice",
        (
            "To which {stage} of the procedure does this image belong?",
            "Which {stage} of the procedure does this image show?",
            "Name the {stage} of the procedure that is going on {here}.",
            "During which {stage} of the procedure was this image taken?",
            "This image is part of one {stage} of the procedure. Which one is it?",
        ),
        choices,
        phase_now,
        needs=Needs(phases=True),
        of_data_sets=True,
    ),
    QuestionTemplate(
        "phase-begins",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            'When does the {stage} "{phase}" begin {here} for the first time?',
            'At what time does the {stage} "{phase}" first start {here}?',
            'Name the time {here} at which the {stage} "{phase}" begins for the first time.',
            'What is the first moment {here} that belongs to the {stage} "{phase}"?',
            'When does one see the {stage} "{phase}" start for the first time {here}?',
        ),
        a_phase,
        phase_begins,
        needs=Needs(phases=True),
        of_data_sets=True,
    ),
    QuestionTemplate(
        "phase-length",
        A.DURATION_ESTIMATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            'For how long, all in all, does the {stage} "{phase}" go on {here}?',
            'How much time {here} belongs to the {stage} "{phase}"?',
            'What is the total duration of the {stage} "{phase}" {here}?',
            'How long does the {stage} "{phase}" last {here}, all its parts taken together?',
            'Add up all the time {here} that the {stage} "{phase}" takes. How long is it?',
        ),
        a_phase,
        phase_length,
        needs=Needs(phases=True),
        of_data_sets=True,
    ),
    QuestionTemplate(
        "phase-next",
        A.TEMPORAL_ORDERING,
        (SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            'Which {stage} follows {here} when the {stage} "{phase}" first ends?',
            'The {stage} "{phase}" ends {here}. Which {stage} comes next, the first time?',
            'What {stage} comes directly after the first "{phase}" {here}?',
            'After the {stage} "{phase}" has ended for the first time {here}, which {stage} begins?',
            'Name the {stage} into which the first "{phase}" {here} passes over.',
        ),
        followers,
        phase_next,
        needs=Needs(phases=True),
        of_data_sets=True,
    ),
    QuestionTemplate(
        "criterion-met",
        A.OBJECT_ATTRIBUTES,
        (FRAME,),
        "binary",
        (
            "Is this criterion met {here}: {criterion}?",
            "Criterion: {criterion}. Does this image fulfil it?",
            "Would experts hold this criterion for met {here}: {criterion}?",
            "Can one say {here} that this criterion is fulfilled: {criterion}?",
            "Look at this criterion: {criterion}. Is it met {here}?",
        ),
        criteria,
        criterion_met,
        of_data_sets=True,
    ),
)
