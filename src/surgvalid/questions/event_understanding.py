"""Questions on what is done, what for, and in which order (capabilities 4a to 4c)."""

from __future__ import annotations

from itertools import pairwise

from surgvalid.questions.answers import classes, detail_of, nearby, proof, the_event, yes_no
from surgvalid.questions.knowledge import USE
from surgvalid.questions.proposals import nothing, seen_class, told_event, two_classes
from surgvalid.questions.template import (
    COMING_AND_GOING,
    FRAME,
    PROCEDURE,
    SEGMENT,
    VERBS,
    Draw,
    Needs,
    QuestionScene,
    QuestionTemplate,
    Slots,
    TemplateAnswer,
    needed_events,
)
from surgvalid.questions.usual import EVENT, PHASE
from surgvalid.schema.procedures.tracks import Detail, EventKind
from surgvalid.schema.questions.taxonomy import Capability

HAPPENINGS = (EventKind.INSERTED, EventKind.GRASPED, EventKind.PLACED, EventKind.BAGGED, EventKind.RETRIEVED)
"""Events one can choose from."""
BORDER_S = 5
"""A phase cannot be told within so many seconds of its border."""


# --- which action (4a) -----------------------------------------------------------------------------


def what_happens(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """What is done with an object at a time."""
    event = the_event(scene, slots)
    if event is None:
        return None
    kinds = {other.kind for other in nearby(scene, slots, any_kind=True)}
    doubt = "another event happens close by" if len(kinds) > 1 else None
    return TemplateAnswer(VERBS[event.kind], proof(events=[event]), doubt)


def happening(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """An event, with the actions to choose from: those that the class usually meets with."""
    proposals: list[Slots] = []
    for slots in told_event(*HAPPENINGS)(scene, draw):
        usual = scene.values(slots["object"], EVENT)
        if slots["event"] in usual and len(kinds := [kind for kind in HAPPENINGS if kind in usual]) > 1:
            proposals.append({**slots, "options": tuple(VERBS[kind] for kind in kinds)})
    return proposals


def instrument_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The instrument of an event."""
    return detail_of(scene, slots, Detail.INSTRUMENT)


def handled_class(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The class with which something is done at a time."""
    event = the_event(scene, slots)
    if event is None:
        return None
    names = {scene.ledger.entry(other.instance).class_name for other in nearby(scene, slots)}
    doubt = "the same is done with another class close by" if len(names) > 1 else None
    return classes([scene.ledger.entry(event.instance).class_name], proof(events=[event]), doubt=doubt)


# --- what for (4b) ---------------------------------------------------------------------------------


def purpose_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """What an object was put there for."""
    return detail_of(scene, slots, Detail.PURPOSE)


def main_use(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """What the only object in view is mainly used for."""
    seen = scene.ledger.in_view(scene.second)
    if len(seen) != 1 or seen[0].class_name not in USE:
        return None
    return TemplateAnswer(USE[seen[0].class_name].text, proof(seen, [scene.second]))


def class_for(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """The classes of which an object is placed for a purpose, or none."""
    placed = scene.ledger.events(scene.window, kinds=[EventKind.PLACED])
    events = [event for event in placed if event.details.get(Detail.PURPOSE) == slots["purpose"]]
    names = {scene.ledger.entry(event.instance).class_name for event in events}
    return classes(names, proof(events=events))


def purposes(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A purpose that something is placed for: in the window, as often as elsewhere in the procedure only."""
    placed = [e for e in scene.ledger.procedure.events if e.kind is EventKind.PLACED and Detail.PURPOSE in e.details]
    ever = {event.details[Detail.PURPOSE] for event in placed}
    start, end = scene.window
    here = {event.details[Detail.PURPOSE] for event in placed if start <= event.second <= end}
    names = sorted(here if here and draw.random() < 0.5 else ever - here)
    return [{"purpose": names[int(draw.integers(0, len(names)))]}] if names else []


# --- in which order (4c) ---------------------------------------------------------------------------


def which_first(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Which of two classes is seen first."""
    first = {slots[key]: scene.ledger.class_views(slots[key]).first_in(scene.window) for key in ("object", "other")}
    one, other = first[slots["object"]], first[slots["other"]]
    if one is None or other is None or one == other:
        return None
    name = slots["object"] if one < other else slots["other"]
    doubt = "both come into view almost together" if abs(one - other) <= scene.tolerance_s else None
    return classes([name], proof(seconds=[one, other]), doubt=doubt)


def order_of_appearance(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """The classes in the order in which they are first seen."""
    names = {entry.class_name for entry in scene.ledger.seen_in(scene.window)}
    first = sorted((scene.ledger.class_views(name).first_in(scene.window) or 0, name) for name in names)
    if not 3 <= len(first) <= 5:
        return None
    steps = [later - earlier for (earlier, _), (later, _) in pairwise(first)]
    doubt = "two come into view almost together" if min(steps) <= scene.tolerance_s else None
    return TemplateAnswer(", ".join(name for _, name in first), proof(seconds=[second for second, _ in first]), doubt)


def retrieved_before(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether an object of a class is retrieved before another class is first seen."""
    back = scene.ledger.returned_in(scene.window, slots["object"])
    seen = scene.ledger.class_views(slots["other"]).first_in(scene.window)
    back_s = back[0].back_s if back else None
    if back_s is None or seen is None:
        return None
    doubt = "almost together" if abs(back_s - seen) <= scene.tolerance_s else None
    return yes_no(back_s < seen, proof(back[:1], [back_s, seen]), doubt=doubt)


def phase_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The phase in which a class is first seen."""
    second = scene.ledger.class_views(slots["object"]).first_in(scene.window)
    name = None if second is None else scene.ledger.procedure.phase_at(second)
    if second is None or name is None or name not in slots["options"]:
        return None
    around = {scene.ledger.procedure.phase_at(second + shift) for shift in (-BORDER_S, BORDER_S)} - {None}
    doubt = "a phase ends or starts close by" if around != {name} else None
    return TemplateAnswer(name, proof(scene.ledger.in_view(second, slots["object"]), [second]), doubt)


def class_and_phases(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A class that is seen, with the phases to choose from: those in which objects of it are usually in view."""
    listed = [(slots, scene.values(slots["object"], PHASE)) for slots in seen_class(scene, draw)]
    return [{**slots, "options": names} for slots, names in listed if names]


A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "what-happens",
        A.FO_INTERACTION_RECOGNITION,
        (SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "What happens to the {object} at {moment}?",
            "What is done with the {object} at {moment}?",
            "Which of these happens to the {object} at {moment}?",
            "At {moment}, what is being done with the {object}?",
            "Look at the {object} at {moment}. What becomes of it in that moment?",
        ),
        happening,
        what_happens,
        (A.TEMPORAL_LOCALIZATION,),
        needs=needed_events(*HAPPENINGS),
    ),
    QuestionTemplate(
        "instrument-of",
        A.FO_INTERACTION_RECOGNITION,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "With which instrument is the {thing} {event} at {moment}?",
            "Which instrument is used when {a_thing} is {event} at {moment}?",
            "At {moment} {a_thing} is {event}. Which instrument is used for that?",
            "Name the instrument with which the {thing} is {event} at {moment}.",
            "What instrument handles the {thing} that is {event} at {moment}?",
        ),
        told_event(*HAPPENINGS, detail=Detail.INSTRUMENT, named=False),
        instrument_of,
        needs=needed_events(*HAPPENINGS),
    ),
    QuestionTemplate(
        "handled-class",
        A.FO_INTERACTION_RECOGNITION,
        (SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which {thing} is {event} at {moment}?",
            "At {moment} {a_thing} is {event}. What is it?",
            "Of which class is the {thing} that is {event} at {moment}?",
            "Name the class of the {thing} that is {event} at {moment}.",
            "Something is {event} at {moment}. To which class of {things} does it belong?",
        ),
        told_event(*HAPPENINGS, named=False),
        handled_class,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, events=frozenset(HAPPENINGS)),
    ),
    QuestionTemplate(
        "purpose-of",
        A.FO_USAGE_PURPOSE,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "For what purpose is the {thing} {event} at {moment}?",
            "What is the {thing} that is {event} at {moment} used for?",
            "At {moment} {a_thing} is {event}. For what purpose?",
            "What purpose does the {thing} serve that is {event} at {moment}?",
            "Name the purpose for which the {thing} is {event} at {moment}.",
        ),
        told_event(EventKind.PLACED, EventKind.GRASPED, detail=Detail.PURPOSE, named=False),
        purpose_of,
        (A.OBJECT_IDENTIFICATION,),
        clinical=True,
        needs=needed_events(*HAPPENINGS),
    ),
    QuestionTemplate(
        "main-use",
        A.FO_USAGE_PURPOSE,
        (FRAME,),
        "open_ended",
        (
            "What is the {thing} {here} mainly used for?",
            "What is the usual purpose of the only {thing} {here}?",
            "What does one mainly use the {thing} for that is visible {here}?",
            "What is the main use of the only {thing} {here}?",
            "The only {thing} {here}: for what is it usually used?",
        ),
        nothing,
        main_use,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, certain=("instances",)),
    ),
    QuestionTemplate(
        "class-for",
        A.FO_USAGE_PURPOSE,
        (SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which classes of {things} are placed {here} for this purpose: {purpose}?",
            "Purpose: {purpose}. Objects of which {thing} classes are put in place for it {here}?",
            "{things} of which classes are placed {here} for this purpose: {purpose}?",
            "Name the classes of all {things} that are put in place {here} for this purpose: {purpose}.",
            "For the purpose '{purpose}', which classes of {things} are placed {here}?",
        ),
        purposes,
        class_for,
        (A.OBJECT_IDENTIFICATION,),
        several=True,
        needs=Needs(all_classes=True, events=frozenset({EventKind.PLACED})),
    ),
    QuestionTemplate(
        "which-first",
        A.TEMPORAL_ORDERING,
        (SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which is seen first {here}: {an_object} or {an_other}?",
            "Is it {an_object} or {an_other} that is seen first {here}?",
            "What comes into view first {here}, {an_object} or {an_other}?",
            "Of {an_object} and {an_other}, which is the first to be seen {here}?",
            "{an_object} and {an_other} are both seen {here}. Which of them comes first?",
        ),
        two_classes,
        which_first,
        (A.TEMPORAL_LOCALIZATION,),
    ),
    QuestionTemplate(
        "order-of-appearance",
        A.TEMPORAL_ORDERING,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "In which order are the classes of {things} first seen {here}?",
            "List all classes of {things} seen {here} in the order of their first appearance.",
            "Name the classes of {things} {here} in the order in which they first come into view.",
            "Put the classes of {things} seen {here} in the order of their first sightings.",
            "Which class of {things} is seen first {here}, which second, and so on?",
        ),
        nothing,
        order_of_appearance,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "retrieved-before",
        A.TEMPORAL_ORDERING,
        (SEGMENT, PROCEDURE),
        "binary",
        (
            "Is {an_object} retrieved {here} before {an_other} is seen for the first time?",
            "Does the first retrieval of {an_object} come before {an_other} is first seen {here}?",
            "Has {an_object} already been retrieved {here} when {an_other} is first seen?",
            "Is {an_other} seen for the first time {here} only after {an_object} has been retrieved?",
            "Does one see {an_other} {here} for the first time later than the first {object} is retrieved?",
        ),
        two_classes,
        retrieved_before,
        (A.TEMPORAL_LOCALIZATION,),
        needs=needed_events(*COMING_AND_GOING),
        bag_rule=True,
    ),
    QuestionTemplate(
        "phase-of",
        A.TEMPORAL_ORDERING,
        (SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "During which phase is {an_object} first visible {here}?",
            "In which phase of the procedure is {an_object} first seen {here}?",
            "Name the phase of the procedure in which {an_object} is first in view {here}.",
            "Which phase is going on when {an_object} is first seen {here}?",
            "{an_object} is seen {here} for the first time. In which phase is that?",
        ),
        class_and_phases,
        phase_of,
        (A.TEMPORAL_LOCALIZATION,),
        needs=Needs(phases=True),
    ),
)
