"""Questions on what things are for, what follows, and what several facts together mean (5a to 5c)."""

from __future__ import annotations

from surgvalid.questions.answers import (
    classes,
    insertion_ambiguity,
    intent_ambiguity,
    nearby,
    number,
    proof,
    the_event,
    time,
    yes_no,
)
from surgvalid.questions.knowledge import HARM, WHY
from surgvalid.questions.proposals import introduced_class, nothing, seen_class, told_event
from surgvalid.questions.template import (
    COMING_AND_GOING,
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
BALANCES = ("more inserted", "more retrieved", "as many inserted as retrieved")
STATES = ("in the body", "retrieved")
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


def must_leave_count(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """How many of the objects in view have to leave the body."""
    seen = scene.ledger.in_view(scene.second)
    leaving = _to_leave(scene, seen)
    doubt = intent_ambiguity(leaving, scene.second)
    return number(len(leaving), proof(seen, [scene.second]), doubt=doubt) if seen else None


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


def class_all_retrieved(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether every object of a class that came into the body was retrieved."""
    used = scene.ledger.introduced(slots["object"], scene.second)
    if not used or not scene.ledger.must_be_retrieved(slots["object"]):
        return None
    left = scene.ledger.inside(slots["object"], scene.second)
    return yes_no(not left, _returns(scene, left, used))


def missing_count(scene: QuestionScene, _: Slots) -> TemplateAnswer:
    """How many objects that have to be retrieved are out of view."""
    lost = [e for e in scene.ledger.outstanding(None, scene.second) if not e.views.has(scene.second)]
    return number(len(lost), proof(lost), doubt=intent_ambiguity(lost, scene.second))


def missing_last_seen(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """When the one object that has to be retrieved and is out of view was last seen."""
    lost = [e for e in scene.ledger.outstanding(None, scene.second) if not e.views.has(scene.second)]
    last = lost[0].views.last_in(scene.window) if len(lost) == 1 else None
    return None if last is None else time(last, proof(lost, [last]), doubt=intent_ambiguity(lost, scene.second))


def match_states(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """For each class of which one object came into the body, whether it is still there."""
    entries = [scene.ledger.introduced(name, scene.second) for name in slots["each"]]
    if any(len(members) != 1 for members in entries):
        return None
    back = {entry.instance for entry in scene.ledger.retrieved(None, scene.second)}
    states = [STATES[members[0].instance in back] for members in entries]
    text = "; ".join(f"{name}: {state}" for name, state in zip(slots["each"], states, strict=True))
    return TemplateAnswer(text, _returns(scene, [], [members[0] for members in entries]))


def classes_brought_once(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """Two to four classes of which one object came into the body, in random order, with the states."""
    names = [entry.class_name for entry in scene.ledger.introduced(None, scene.second)]
    single = sorted(name for name in set(names) if names.count(name) == 1)
    if len(single) < 2:
        return []
    return [{"each": tuple(single[at] for at in draw.permutation(len(single))[:4]), "options": STATES}]


def balance(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether more objects of a class are inserted or retrieved."""
    inserted = scene.ledger.events(scene.window, kinds=[EventKind.INSERTED], class_name=slots["object"])
    back = scene.ledger.returned_in(scene.window, slots["object"])
    if not inserted and not back:
        return None
    step = len(inserted) - len(back)
    text = BALANCES[0 if step > 0 else 1 if step < 0 else 2]
    why = proof(back, [entry.back_s for entry in back], inserted)
    return TemplateAnswer(text, why, insertion_ambiguity(scene, slots["object"]))


def balances(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A class, with the balances to choose from."""
    return [{**slots, "options": BALANCES} for slots in seen_class(scene, draw)]


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
            "Which classes of foreign objects {here} have to be removed before the body is closed?",
            "Of the foreign objects {here}, which classes are not meant to stay in the body?",
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
            "Is the foreign object {here} meant to stay in the body after the operation?",
            "May the only foreign object {here} be left in the body?",
        ),
        nothing,
        may_remain,
        (A.OBJECT_IDENTIFICATION,),
        clinical=True,
        needs=Needs(all_classes=True, events=frozenset({EventKind.LEFT_IN_SITU})),
    ),
    QuestionTemplate(
        "why-event",
        A.FUNCTIONAL_REASONING,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "At {moment} a foreign object is {event}. Why?",
            "Why is the foreign object {event} at {moment}?",
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
            "One foreign object {here} has to be removed. What may happen if it stays in the body?",
            "Which complication may follow if the one object {here} that has to be removed is forgotten?",
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
            "If the body were closed now, which classes of foreign objects would be left behind unintentionally?",
            "Suppose the operation ended now. Which classes of foreign objects would be retained by mistake?",
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
            "At {moment} something is done with a foreign object. What does that do to the number of foreign objects"
            " still to be retrieved?",
            "How does what is done at {moment} change the number of foreign objects still to be retrieved?",
        ),
        effects,
        count_effect,
        (A.FO_INTERACTION_RECOGNITION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "must-leave-count",
        A.MULTI_STEP_REASONING,
        (FRAME,),
        "number",
        (
            "How many of the foreign objects {here} have to be removed before the body is closed?",
            "Count the foreign objects {here} that are not meant to stay in the body.",
        ),
        nothing,
        must_leave_count,
        (A.OBJECT_AGGREGATION, A.FUNCTIONAL_REASONING),
        clinical=True,
        needs=Needs(all_classes=True, events=frozenset({EventKind.LEFT_IN_SITU})),
    ),
    QuestionTemplate(
        "all-retrieved",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "binary",
        (
            "Have all foreign objects that have to be removed been retrieved by now?",
            "Is every foreign object that must not stay in the body out of it now?",
        ),
        nothing,
        all_retrieved,
        (A.OBJECT_AGGREGATION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "class-all-retrieved",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "binary",
        (
            "Have all {objects} of the procedure so far been retrieved by now?",
            "Has every {object} of the procedure so far been retrieved?",
        ),
        introduced_class,
        class_all_retrieved,
        (A.OBJECT_AGGREGATION,),
        clinical=True,
        needs=needed_events(*COMING_AND_GOING),
        bag_rule=True,
    ),
    QuestionTemplate(
        "missing-count",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "number",
        (
            "How many foreign objects that have to be retrieved are in the body but out of view now?",
            "How many foreign objects would have to be searched for if the body were to be closed now?",
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
            "One foreign object that has to be retrieved is out of view now. When was it last seen?",
            "At what time was the one object last visible that is still to be retrieved but not in view?",
        ),
        nothing,
        missing_last_seen,
        (A.TEMPORAL_LOCALIZATION,),
        clinical=True,
        needs=_STORY,
        bag_rule=True,
    ),
    QuestionTemplate(
        "match-states",
        A.MULTI_STEP_REASONING,
        (PROCEDURE,),
        "matching",
        (
            "Match each of these foreign objects with what has become of it by now.",
            "Which of these foreign objects are in the body now, and which have been retrieved?",
        ),
        classes_brought_once,
        match_states,
        (A.OBJECT_IDENTIFICATION,),
        clinical=True,
        needs=needed_events(*COMING_AND_GOING),
        bag_rule=True,
    ),
    QuestionTemplate(
        "balance",
        A.MULTI_STEP_REASONING,
        (SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "Are more {objects} inserted or retrieved {here}?",
            "Compare how many {objects} are inserted and how many are retrieved {here}.",
        ),
        balances,
        balance,
        (A.EVENT_AGGREGATION,),
        clinical=True,
        needs=needed_events(EventKind.INSERTED, *COMING_AND_GOING),
        bag_rule=True,
    ),
)
