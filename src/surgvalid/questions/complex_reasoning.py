"""Questions on what things are for, what follows, and what several facts together mean (5a to 5c)."""

from __future__ import annotations

from surgvalid.questions.answers import (
    classes,
    intent_ambiguity,
    nearby,
    number,
    proof,
    the_event,
    time,
    yes_no,
)
from surgvalid.questions.knowledge import HARM, WHY
from surgvalid.questions.proposals import nothing, told_event
from surgvalid.questions.template import (
    FRAME,
    PROCEDURE,
    SEGMENT,
    WHEREABOUTS,
    Draw,
    Needs,
    Proof,
    QuestionScene,
    QuestionTemplate,
    Slots,
    TemplateAnswer,
    needed_events,
)
from surgvalid.schema.procedures.ledger import Entry, State
from surgvalid.schema.procedures.tracks import EventKind
from surgvalid.schema.questions.taxonomy import Capability

EFFECTS = ("it goes up", "it goes down", "it stays the same")
REASONED_ABOUT = (EventKind.INSERTED, EventKind.GRASPED, EventKind.PLACED, EventKind.BAGGED, EventKind.RETRIEVED)


# --- what it is for (5a) ---------------------------------------------------------------------------


def must_leave(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """The classes in view that have to leave the body."""
    seen = scene.ledger.in_view(scene.second)
    leaving = _to_leave(scene, seen)
    doubt = intent_ambiguity(leaving, scene.second)
    names = [entry.class_name for entry in leaving]
    return classes(names, proof(seen, [scene.second]), doubt=doubt) if seen else None


def may_remain(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """Whether the only object in view is meant to stay in the body."""
    seen = scene.ledger.in_view(scene.second)
    if len(seen) != 1:
        return None
    leaving = _to_leave(scene, seen)
    return yes_no(not leaving, proof(seen, [scene.second]), doubt=intent_ambiguity(leaving, scene.second))


def _to_leave(scene: QuestionScene, entries: list[Entry]) -> list[Entry]:
    """Those of a class that has to leave the body, unless they were declared to stay."""
    return [
        entry
        for entry in entries
        if scene.ledger.must_be_retrieved(entry.class_name) and entry.state_at(scene.second) is not State.LEFT_IN_SITU
    ]


def why_event(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Why something is done with an object."""
    event = the_event(scene, slots)
    if event is None:
        return None
    fact = WHY.get((scene.ledger.entry(event.instance).class_name, event.kind))
    names = {scene.ledger.entry(other.instance).class_name for other in nearby(scene, slots)}
    doubt = "the same is done with another class close by" if len(names) > 1 else None
    return TemplateAnswer(fact.text, proof(events=[event]), doubt) if fact else None


# --- what follows (5b) -----------------------------------------------------------------------------


def harm_if_left(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """What the one object that should not stay would do if it stayed."""
    if scene.track is FRAME:
        entries = _to_leave(scene, scene.ledger.in_view(scene.second))
    else:
        entries = scene.ledger.outstanding(None, scene.second)
    if len(entries) != 1 or entries[0].class_name not in HARM:
        return None
    return TemplateAnswer(
        HARM[entries[0].class_name].text, proof(entries, [scene.second]), intent_ambiguity(entries, scene.second)
    )


def retained_if_closed(scene: QuestionScene, _: Slots) -> TemplateAnswer:
    """The classes that would be left behind unintentionally if the body were closed now."""
    left = scene.ledger.outstanding(None, scene.second)
    return classes((entry.class_name for entry in left), proof(left), doubt=intent_ambiguity(left, scene.second))


def count_effect(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """What an event does to the number of objects that still have to be retrieved."""
    event = the_event(scene, slots)
    if event is None:
        return None
    entry = scene.ledger.entry(event.instance)
    step = _is_outstanding(scene, entry, event.second) - _is_outstanding(scene, entry, event.second - 1)
    doubt = "another event happens close by" if len(nearby(scene, slots, any_kind=True)) > 1 else None
    doubt = doubt or (intent_ambiguity([entry], event.second) if step else None)
    return TemplateAnswer(EFFECTS[{1: 0, -1: 1, 0: 2}[step]], proof(events=[event]), doubt)


def _is_outstanding(scene: QuestionScene, entry: Entry, second: int) -> int:
    return int(entry in scene.ledger.outstanding(entry.class_name, second))


def effects(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """An event, with the effects to choose from; what it is, one has to see."""
    return [{**slots, "options": EFFECTS} for slots in told_event(*REASONED_ABOUT, named=False)(scene, draw)]


# --- several steps (5c) ----------------------------------------------------------------------------


def all_retrieved(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """Whether everything that has to leave the body has left it."""
    used = [e for e in scene.ledger.introduced(None, scene.second) if scene.ledger.must_be_retrieved(e.class_name)]
    left = scene.ledger.outstanding(None, scene.second)
    return yes_no(not left, _returns(scene, left, used), doubt=intent_ambiguity(left, scene.second)) if used else None


def _returns(scene: QuestionScene, left: list[Entry], used: list[Entry]) -> Proof:
    """What is left or else all that was used, and when each of these came back until now."""
    back = [entry.back_s for entry in used if entry.back_s is not None and entry.back_s <= scene.second]
    return proof(left or used, back)


def missing_count(scene: QuestionScene, _: Slots) -> TemplateAnswer:
    """How many objects that have to be retrieved are out of view."""
    lost = [e for e in scene.ledger.outstanding(None, scene.second) if not e.views.has(scene.second)]
    return number(len(lost), proof(lost), doubt=intent_ambiguity(lost, scene.second))


def missing_last_seen(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """When the one object that has to be retrieved and is out of view was last seen."""
    lost = [e for e in scene.ledger.outstanding(None, scene.second) if not e.views.has(scene.second)]
    last = lost[0].views.last_in(scene.window) if len(lost) == 1 else None
    return None if last is None else time(last, proof(lost, [last]), doubt=intent_ambiguity(lost, scene.second))


_STORY = Needs(all_classes=True, events=WHEREABOUTS | {EventKind.INSERTED, EventKind.PLACED})
"""Which objects have to leave the body, and which did."""
A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "must-leave",
        A.FUNCTIONAL_REASONING,
        (FRAME,),
        "fo_class",
        (
            "Which classes of {things} {here} have to be removed before the body is closed?",
            "Of the {things} {here}, which classes are not meant to stay in the body?",
            "Name the classes of the {things} {here} that must not stay in the body.",
            "Which classes of {things} {here} must be taken out before the operation ends?",
            "{things} of which classes {here} have to leave the body?",
        ),
        nothing,
        must_leave,
        (A.OBJECT_IDENTIFICATION,),
        clinical=True,
        several=True,
        needs=Needs(all_classes=True, events=frozenset({EventKind.LEFT_IN_SITU})),
    ),
    QuestionTemplate(
        "may-remain",
        A.FUNCTIONAL_REASONING,
        (FRAME,),
        "binary",
        (
            "Is the {thing} {here} meant to stay in the body after the operation?",
            "May the only {thing} {here} be left in the body?",
            "Is it intended that the only {thing} {here} stays in the body?",
            "The one {thing} {here}: is it meant to remain in the body?",
            "When the operation ends, is the only {thing} {here} meant to be left in the body?",
        ),
        nothing,
        may_remain,
        (A.OBJECT_IDENTIFICATION,),
        clinical=True,
        needs=Needs(all_classes=True, events=frozenset({EventKind.LEFT_IN_SITU}), certain=("instances",)),
    ),
    QuestionTemplate(
        "why-event",
        A.FUNCTIONAL_REASONING,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "At {moment} {a_thing} is {event}. Why?",
            "Why is the {thing} {event} at {moment}?",
            "For what reason is {a_thing} {event} at {moment}?",
            "What is the reason that {a_thing} is {event} at {moment}?",
            "Give the reason why the {thing} is {event} at {moment}.",
        ),
        told_event(*REASONED_ABOUT, named=False),
        why_event,
        (A.FO_USAGE_PURPOSE,),
        clinical=True,
        needs=needed_events(*REASONED_ABOUT),
    ),
    QuestionTemplate(
        "harm-if-left",
        A.CAUSAL_CONSEQUENCE_REASONING,
        (FRAME, PROCEDURE),
        "open_ended",
        (
            "One {thing} {here} has to be removed. What may happen if it stays in the body?",
            "Which complication may follow if the one {thing} {here} that has to be removed is forgotten?",
            "What harm may be done by the one {thing} {here} that has to be removed, if it stays in the body?",
            "Suppose the one {thing} {here} that has to be removed were left behind. What could follow?",
            "Name the complication to be feared if the one {thing} {here} that has to be removed stays in the body.",
        ),
        nothing,
        harm_if_left,
        (A.OBJECT_IDENTIFICATION,),
        clinical=True,
        needs=_STORY,
    ),
    QuestionTemplate(
        "retained-if-closed",
        A.CAUSAL_CONSEQUENCE_REASONING,
        (PROCEDURE,),
        "fo_class",
        (
            "If the body were closed now, which classes of {things} would be left behind unintentionally?",
            "Suppose the operation ended now. Which classes of {things} would be retained by mistake?",
            "Were the body closed now, {things} of which classes would be left behind by mistake?",
            "Name the classes of {things} that would be retained unintentionally if the operation ended now.",
            "Which classes of {things} would wrongly stay in the body if it were closed at this moment?",
        ),
        nothing,
        retained_if_closed,
        (A.MULTI_STEP_REASONING,),
        clinical=True,
        several=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "count-effect",
        A.CAUSAL_CONSEQUENCE_REASONING,
        (SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "Something is done at {moment}. What does it do to the number of {things} still to be retrieved?",
            "How does what is done at {moment} change the number of {things} still to be retrieved?",
            "What does the event at {moment} do to the number of {things} still to be retrieved?",
            "Compare the number of {things} still to be retrieved before and after {moment}. How does it change?",
            "Does what happens at {moment} change how many {things} still have to be retrieved, and how?",
        ),
        effects,
        count_effect,
        (A.FO_INTERACTION_RECOGNITION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "all-retrieved",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "binary",
        (
            "Have all {things} that have to be removed been retrieved by now?",
            "Is every {thing} that must not stay in the body out of it now?",
            "Are all {things} that have to be removed out of the body by now?",
            "Has every {thing} been retrieved by now that has to leave the body?",
            "Is there no {thing} in the body now that still has to be retrieved?",
        ),
        nothing,
        all_retrieved,
        (A.OBJECT_AGGREGATION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "missing-count",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "number",
        (
            "How many {things} that have to be retrieved are in the body but out of view now?",
            "How many {things} would have to be searched for if the body were to be closed now?",
            "Count the {things} that are still to be retrieved and cannot be seen now.",
            "What is the number of {things} now out of view in the body that have to be retrieved?",
            "As of now, how many {things} in the body have to be retrieved but are not in view?",
        ),
        nothing,
        missing_count,
        (A.OBJECT_AGGREGATION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "missing-last-seen",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "time",
        (
            "One {thing} that has to be retrieved is out of view now. When was it last seen?",
            "At what time was the one {thing} last visible that is still to be retrieved but not in view?",
            "Name the time at which the one {thing} was last seen that has to be retrieved and is out of view now.",
            "One {thing} still has to be retrieved and cannot be seen now. When was it last in view?",
            "When did one last see the {thing} that is out of view now and still has to be retrieved?",
        ),
        nothing,
        missing_last_seen,
        (A.TEMPORAL_LOCALIZATION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
)
