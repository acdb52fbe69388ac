"""Questions on when something is seen or done, and how long (capabilities 2a and 2b)."""

from __future__ import annotations

from surgvalid.questions.answers import border_ambiguity, insertion_ambiguity, masked_ambiguity, proof, share, time
from surgvalid.questions.proposals import object_in_view, seen_class, with_gap
from surgvalid.questions.template import (
    COMING_AND_GOING,
    PROCEDURE,
    SEGMENT,
    Draw,
    Needs,
    Proof,
    QuestionScene,
    QuestionTemplate,
    Slots,
    TemplateAnswer,
    clock,
    needed_events,
)
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import EventKind
from surgvalid.schema.questions.taxonomy import Capability

MOST_TIMES = 8
"""A list of more times than this is asked of nobody."""


# --- when (2a) -------------------------------------------------------------------------------------


def first_visible(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The first second in which a class is seen."""
    second = scene.ledger.class_views(slots["object"]).first_in(scene.window)
    if second is None:
        return None
    doubt = border_ambiguity(scene, second, border_s=scene.window.start_s)
    return time(second, proof(scene.ledger.in_view(second, slots["object"]), [second]), doubt=doubt)


def last_visible(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The last second in which a class is seen."""
    second = scene.ledger.class_views(slots["object"]).last_in(scene.window)
    if second is None:
        return None
    doubt = border_ambiguity(scene, second, border_s=scene.second)
    return time(second, proof(scene.ledger.in_view(second, slots["object"]), [second]), doubt=doubt)


def nth_inserted(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """When the n-th object of a class is inserted."""
    events = scene.ledger.events(scene.window, kinds=[EventKind.INSERTED], class_name=slots["object"])
    if len(events) < slots["nth"]:
        return None
    doubt = insertion_ambiguity(scene, slots["object"])
    return time(events[slots["nth"] - 1].second, proof(events=events[: slots["nth"]]), doubt=doubt)


def insertions(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A class with insertions, and which of them is meant."""
    proposed: list[Slots] = []
    for slots in seen_class(scene, draw):
        events = scene.ledger.events(scene.window, kinds=[EventKind.INSERTED], class_name=slots["object"])
        if events:
            proposed.append({**slots, "nth": int(draw.integers(1, min(len(events), 10) + 1))})
    return proposed


def retrieved_at(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """When the object in view at a time counts as retrieved."""
    entry = scene.the_one(slots["object"], slots["at_s"])
    if entry is None or entry.back_s is None or not slots["at_s"] <= entry.back_s <= scene.second:
        return None
    return time(entry.back_s, proof([entry], [slots["at_s"], entry.back_s]))


def comes_back(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """When the object in view at a time comes back after its next long absence."""
    entry = scene.the_one(slots["object"], slots["at_s"])
    gaps = entry.views.gaps_in(Window(slots["at_s"], scene.second), least_s=slots["gap_s"]) if entry else []
    if entry is None or not gaps:
        return None
    seconds = [slots["at_s"], gaps[0].start_s - 1, gaps[0].end_s]
    return time(gaps[0].end_s, proof([entry], seconds), doubt=masked_ambiguity(scene, gaps[:1]))


def appearances(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Every second in which a class comes into view, short absences overlooked."""
    first = scene.ledger.class_views(slots["object"]).first_in(scene.window)
    gaps = scene.ledger.absences(slots["object"], scene.window, least_s=slots["gap_s"])
    if first is None or len(gaps) >= MOST_TIMES:
        return None
    seconds = [first, *(gap.end_s for gap in gaps)]
    why = proof(scene.ledger.seen_in(scene.window, slots["object"]), seconds)
    doubt = border_ambiguity(scene, first, border_s=scene.window.start_s) or masked_ambiguity(scene, gaps)
    return TemplateAnswer(", ".join(clock(second) for second in seconds), why, doubt)


# --- how long (2b) ---------------------------------------------------------------------------------


def share_visible(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """The share of the frames in which a class is seen."""
    seen = scene.ledger.seconds_in_view(slots["object"], scene.window)
    return share(seen, scene.window.frames, _sightings(scene, slots["object"]))


def _sightings(scene: QuestionScene, class_name: str) -> Proof:
    """The objects of a class and the first and last second of each of their stretches in view."""
    stretches = scene.ledger.class_views(class_name).within(scene.window)
    borders = [second for start_s, end_s in stretches for second in (start_s, end_s - 1)]
    return proof(scene.ledger.seen_in(scene.window, class_name), borders)


def longest_absence(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The longest time between two appearances of a class."""
    gaps = scene.ledger.absences(slots["object"], scene.window, least_s=5)
    if not gaps:
        return None
    longest = max(gaps, key=lambda gap: gap.length_s)
    why = proof(scene.ledger.seen_in(scene.window, slots["object"]), [longest.start_s - 1, longest.end_s])
    return time(longest.length_s, why, doubt=masked_ambiguity(scene, gaps))


def time_in_body(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """How long the object in view at a time was in the body, from insertion to retrieval."""
    entry = scene.the_one(slots["object"], slots["at_s"])
    inserted = entry.event(EventKind.INSERTED) if entry else None
    if entry is None or inserted is None or entry.back_s is None:
        return None
    if not scene.window.start_s <= inserted.second <= entry.back_s <= scene.second:
        return None
    return time(entry.back_s - inserted.second, proof([entry], [inserted.second, entry.back_s], [inserted]))


A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "first-visible",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            "When is {an_object} visible for the first time {here}?",
            "At what time does {an_object} first come into view {here}?",
            "Name the time at which {an_object} is first in view {here}.",
            "What is the first moment {here} that shows {an_object}?",
            "When does one see {an_object} {here} for the first time?",
        ),
        seen_class,
        first_visible,
    ),
    QuestionTemplate(
        "last-visible",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            "When is {an_object} visible for the last time {here}?",
            "At what time was {an_object} last seen {here}?",
            "Name the time at which {an_object} is in view for the last time {here}.",
            "What is the last moment {here} that shows {an_object}?",
            "When does one see {an_object} {here} for the last time?",
        ),
        seen_class,
        last_visible,
        clinical=True,
    ),
    QuestionTemplate(
        "nth-inserted",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            "When is the {nth} {object} inserted {here}?",
            "At what time is the {nth} {object} brought into the body {here}?",
            "Name the time at which the {nth} {object} is put into the body {here}.",
            "Count the insertions of {objects} {here}. When is the {nth} one?",
            "What is the time of the {nth} insertion of {an_object} {here}?",
        ),
        insertions,
        nth_inserted,
        (A.FO_INTERACTION_RECOGNITION,),
        needs=needed_events(EventKind.INSERTED),
    ),
    QuestionTemplate(
        "retrieved-at",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            "When is the {object} that is visible at {at} retrieved?",
            "The {object} in view at {at} is retrieved later. When?",
            "At what time is the {object} retrieved that one sees at {at}?",
            "Name the time at which the {object} in view at {at} is retrieved.",
            "One {object} is in view at {at}. When is that {object} retrieved?",
        ),
        object_in_view,
        retrieved_at,
        (A.INSTANCE_MATCHING,),
        clinical=True,
        needs=needed_events(*COMING_AND_GOING),
        bag_rule=True,
    ),
    QuestionTemplate(
        "comes-back",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            "The {object} visible at {at} later leaves the view for at least {gap}. When does it first come back?",
            "When is the {object} of {at} seen again after it has been out of view for at least {gap}?",
            "One {object} is in view at {at}. When is it seen again after its next absence of at least {gap}?",
            "The {object} of {at} later disappears for {gap} or longer. When is it visible again for the first time?",
            "Name the time at which the {object} of {at} returns from its next absence of at least {gap}.",
        ),
        with_gap(object_in_view, (3, 5, 10)),
        comes_back,
        (A.INSTANCE_MATCHING,),
        needs=Needs(certain=("instances",)),
    ),
    QuestionTemplate(
        "appearances",
        A.TEMPORAL_LOCALIZATION,
        (SEGMENT,),
        "time",
        (
            "At which times does {an_object} come into view {here}? Absences under {gap} do not count.",
            "List the times at which {an_object} appears {here}, ignoring absences shorter than {gap}.",
            "Name all times at which {an_object} comes into view {here}, but no return after less than {gap}.",
            "When does {an_object} appear {here}? After the first time, count returns from absences of at least {gap}.",
            "At what times does one begin to see {an_object} {here}, if absences under {gap} are overlooked?",
        ),
        with_gap(seen_class, (3, 5)),
        appearances,
        (A.EVENT_AGGREGATION,),
        several=True,
    ),
    QuestionTemplate(
        "share-visible",
        A.DURATION_ESTIMATION,
        (SEGMENT, PROCEDURE),
        "percentage",
        (
            "In what share of the frames is {an_object} visible {here}?",
            "During what part of the time can {an_object} be seen {here}?",
            "What percentage of the frames {here} shows {an_object}?",
            "How large is the share of frames {here} in which {an_object} is in view?",
            "For what share of the time is {an_object} in view {here}?",
        ),
        seen_class,
        share_visible,
        (A.OBJECT_AGGREGATION,),
    ),
    QuestionTemplate(
        "longest-absence",
        A.DURATION_ESTIMATION,
        (SEGMENT, PROCEDURE),
        "time",
        (
            "What is the longest time between two appearances in which no {object} is visible {here}?",
            "How long is the longest stretch {here} without any {object} in view, between two sightings?",
            "Between two sightings {here}, for how long at most is no {object} in view?",
            "Of all stretches {here} between two appearances without any {object}, how long is the longest?",
            "For how long at most is every {object} out of view {here} before one is seen again?",
        ),
        seen_class,
        longest_absence,
        (A.EVENT_AGGREGATION,),
    ),
    QuestionTemplate(
        "time-in-body",
        A.DURATION_ESTIMATION,
        (PROCEDURE,),
        "time",
        (
            "How long was the {object} that is visible at {at} in the body before it was retrieved?",
            "How much time passed between insertion and retrieval of the {object} visible at {at}?",
            "For how long was the {object} of {at} in the body until it was retrieved?",
            "The {object} in view at {at} was inserted and later retrieved. How long was it in the body?",
            "Of the {object} in view at {at}: how much time lies between its insertion and its retrieval?",
        ),
        object_in_view,
        time_in_body,
        (A.INSTANCE_MATCHING,),
        clinical=True,
        needs=needed_events(EventKind.INSERTED, *COMING_AND_GOING),
        bag_rule=True,
    ),
)
