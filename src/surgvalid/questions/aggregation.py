"""Questions on how many (capabilities 3a and 3b)."""

from __future__ import annotations

from collections.abc import Sequence

from surgvalid.questions.answers import insertion_ambiguity, masked_ambiguity, number, proof
from surgvalid.questions.proposals import any_class, introduced_class, nothing, seen_class, with_gap, with_told_event
from surgvalid.questions.template import (
    COMING_AND_GOING,
    FRAME,
    PROCEDURE,
    SEGMENT,
    Draw,
    Needs,
    QuestionScene,
    QuestionTemplate,
    Slots,
    TemplateAnswer,
    needed_events,
)
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import EventKind
from surgvalid.schema.questions.taxonomy import Capability

COUNTED = (EventKind.INSERTED, EventKind.GRASPED, EventKind.PLACED, EventKind.RETRIEVED, EventKind.BAGGED)
"""Events whose number is asked for."""


# --- objects (3a) ----------------------------------------------------------------------------------


def objects_visible(scene: QuestionScene, _: Slots) -> TemplateAnswer:
    """How many objects are in view."""
    seen = scene.ledger.in_view(scene.second)
    return number(len(seen), proof(seen, [scene.second]))


def classes_count(scene: QuestionScene, _: Slots) -> TemplateAnswer:
    """How many classes are seen."""
    seen = scene.ledger.seen_in(scene.window)
    why = proof(seen, [entry.views.first_in(scene.window) for entry in seen])
    return number(len({entry.class_name for entry in seen}), why)


def instances_seen(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """How many different objects of a class are seen."""
    seen = scene.ledger.seen_in(scene.window, slots["object"])
    return number(len(seen), proof(seen, [entry.views.first_in(scene.window) for entry in seen]))


def most_at_once(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """The largest number of objects of a class in view at once."""
    peak = scene.ledger.most_in_view(scene.window, slots["object"])
    return number(peak.most, proof(scene.ledger.in_view(peak.second, slots["object"]), [peak.second]))


def still_inside(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """How many objects of a class are in the body at the end."""
    inside = scene.ledger.inside(slots["object"], scene.second)
    return number(len(inside), proof(inside))


def retrieved_count(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """How many of the objects of a class that came into the body count as retrieved."""
    back = scene.ledger.retrieved(slots["object"], scene.second)
    if not scene.ledger.introduced(slots["object"], scene.second):
        return None
    return number(len(back), proof(back, [entry.back_s for entry in back]))


# --- events (3b) -----------------------------------------------------------------------------------


def absence_count(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """How often a class leaves the view for a while and comes back."""
    gaps = scene.ledger.absences(slots["object"], scene.window, least_s=slots["gap_s"])
    why = proof(scene.ledger.seen_in(scene.window, slots["object"]), [gap.end_s for gap in gaps])
    return number(len(gaps), why, doubt=masked_ambiguity(scene, gaps))


def event_count(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """How often something is done with objects of a class."""
    return _times_done(scene, [scene.window], slots, slots["object"])


def _times_done(
    scene: QuestionScene, windows: Sequence[Window], slots: Slots, class_name: str | None
) -> TemplateAnswer:
    """How often an event happens in the windows; an object is retrieved when it counts so, bagging included."""
    kind = EventKind(slots["event"])
    if kind is EventKind.RETRIEVED:
        back = [entry for window in windows for entry in scene.ledger.returned_in(window, class_name)]
        return number(len(back), proof(back, [entry.back_s for entry in back]))
    events = [e for window in windows for e in scene.ledger.events(window, kinds=[kind], class_name=class_name)]
    untold = insertion_ambiguity(scene, class_name) if kind is EventKind.INSERTED and class_name else None
    return number(len(events), proof(events=events), doubt=untold)


def events_in_phase(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """How often something is done during a phase that is over."""
    parts = [phase for phase in scene.ledger.procedure.phases if phase.name == slots["phase"]]
    if not parts or parts[-1].end_s - 1 > scene.second:
        return None
    return _times_done(scene, [Window(phase.start_s, phase.end_s - 1) for phase in parts], slots, None)


def phases_over(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A phase that is over by the end of the window, and a kind of event."""
    over = sorted({phase.name for phase in scene.ledger.procedure.phases if phase.end_s - 1 <= scene.second})
    if not over:
        return []
    kind = COUNTED[int(draw.integers(0, len(COUNTED)))]
    return [{"phase": over[int(draw.integers(0, len(over)))], "event": kind.value}]


A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "objects-visible",
        A.OBJECT_AGGREGATION,
        (FRAME,),
        "number",
        (
            "How many {things} are visible {here}?",
            "Count all {things} {here}.",
            "What is the number of {things} in view {here}?",
            "How many {things} can one see {here}?",
            "Taking all classes together, how many {things} are in view {here}?",
        ),
        nothing,
        objects_visible,
        needs=Needs(all_classes=True, certain=("instances",)),
    ),
    QuestionTemplate(
        "classes-count",
        A.OBJECT_AGGREGATION,
        (FRAME, SEGMENT, PROCEDURE),
        "number",
        (
            "How many different classes of {things} are visible {here}?",
            "How many kinds of {things} can be seen {here}?",
            "What is the number of different {thing} classes in view {here}?",
            "{things} of how many different classes can be seen {here}?",
            "Of how many classes are the {things} that one sees {here}?",
        ),
        nothing,
        classes_count,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "instances-seen",
        A.OBJECT_AGGREGATION,
        (FRAME, SEGMENT, PROCEDURE),
        "number",
        (
            "How many different {objects} are seen {here}?",
            "How many individual {objects} can be seen {here}?",
            "What is the number of different {objects} in view {here}, each counted once?",
            "Counting each one once, how many {objects} are visible {here}?",
            "How many {objects} does one see {here}, no one of them counted twice?",
        ),
        any_class,
        instances_seen,
        (A.INSTANCE_MATCHING,),
        needs=Needs(certain=("instances",)),
    ),
    QuestionTemplate(
        "most-at-once",
        A.OBJECT_AGGREGATION,
        (SEGMENT, PROCEDURE),
        "number",
        (
            "What is the largest number of {objects} visible at the same time {here}?",
            "How many {objects} are in view at once, at most, {here}?",
            "What is the most {objects} that can be seen at once {here}?",
            "How many {objects} are visible together, at most, {here}?",
            "At the moment {here} with the most {objects} in view, how many are there?",
        ),
        seen_class,
        most_at_once,
        (A.TEMPORAL_LOCALIZATION,),
        needs=Needs(certain=("instances",)),
    ),
    QuestionTemplate(
        "still-inside",
        A.OBJECT_AGGREGATION,
        (PROCEDURE,),
        "number",
        (
            "How many {objects} are in the body now and not retrieved?",
            "How many {objects} of the procedure so far have not been retrieved?",
            "What is the number of {objects} that are still in the body now?",
            "Count the {objects} that came into the body and have not been retrieved by now.",
            "As of now, how many {objects} are in the body and not retrieved?",
        ),
        introduced_class,
        still_inside,
        (A.MULTI_STEP_REASONING,),
        clinical=True,
        needs=needed_events(*COMING_AND_GOING),
        bag_rule=True,
    ),
    QuestionTemplate(
        "retrieved-count",
        A.OBJECT_AGGREGATION,
        (PROCEDURE,),
        "number",
        (
            "How many {objects} have been retrieved by now?",
            "Of all {objects} in the procedure so far, how many have been retrieved?",
            "What is the number of {objects} retrieved so far?",
            "Count the {objects} that have been retrieved by now.",
            "As of now, how many {objects} have been retrieved?",
        ),
        introduced_class,
        retrieved_count,
        (A.INSTANCE_MATCHING,),
        clinical=True,
        needs=needed_events(*COMING_AND_GOING),
        bag_rule=True,
    ),
    QuestionTemplate(
        "absence-count",
        A.EVENT_AGGREGATION,
        (SEGMENT, PROCEDURE),
        "number",
        (
            "How many times {here} do all {objects} leave the view for at least {gap} before one is visible again?",
            "How often {here} does the view contain no {object} for {gap} or longer, between two sightings?",
            "Count how often {here} every {object} is out of view for {gap} or longer between two sightings.",
            "How many stretches of at least {gap} are there {here}, between two sightings, without any {object}?",
            "How many times {here} does one lose sight of all {objects} for at least {gap} and then see one again?",
        ),
        with_gap(seen_class, (3, 5, 10)),
        absence_count,
        (A.DURATION_ESTIMATION,),
    ),
    QuestionTemplate(
        "event-count",
        A.EVENT_AGGREGATION,
        (SEGMENT, PROCEDURE),
        "number",
        (
            "How many times is {an_object} {event} {here}?",
            "Count how often {an_object} is {event} {here}.",
            "What is the number of times that {an_object} is {event} {here}?",
            "How often is {an_object} {event} {here}?",
            "How often does it happen {here} that {an_object} is {event}?",
        ),
        with_told_event(seen_class, COUNTED),
        event_count,
        (A.FO_INTERACTION_RECOGNITION,),
        needs=needed_events(*COUNTED),
        bag_rule=True,
    ),
    QuestionTemplate(
        "events-in-phase",
        A.EVENT_AGGREGATION,
        (PROCEDURE,),
        "number",
        (
            'How many times is {a_thing} {event} during the phase "{phase}"?',
            'Count how often {a_thing} is {event} in the phase "{phase}".',
            'How often is {a_thing} {event} in the phase "{phase}"?',
            'What is the number of times that {a_thing} is {event} during the phase "{phase}"?',
            'During the phase "{phase}", how many times does it happen that {a_thing} is {event}?',
        ),
        phases_over,
        events_in_phase,
        (A.FO_INTERACTION_RECOGNITION,),
        needs=Needs(all_classes=True, events=frozenset(COUNTED), phases=True),
        bag_rule=True,
    ),
)
