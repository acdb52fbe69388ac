"""Questions on what is seen, in which state and where (capabilities 1a to 1e)."""

from __future__ import annotations

import math
from collections.abc import Callable

from surgvalid.questions.answers import classes, detail_of, number, places, proof, yes_no
from surgvalid.questions.knowledge import look_alike
from surgvalid.questions.proposals import (
    any_class,
    inner_stretch,
    introduced_class,
    nothing,
    object_in_view,
    object_in_view_twice,
    one_seen_twice,
    second_in_view,
    told_event,
    two_classes,
)
from surgvalid.questions.template import (
    COMING_AND_GOING,
    FRAME,
    IMAGE_SIZE,
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
from surgvalid.schema.procedures.ledger import Entry
from surgvalid.schema.procedures.spans import Spans, Window
from surgvalid.schema.procedures.tracks import Detail, EventKind, Visibility
from surgvalid.schema.questions.taxonomy import Capability

QUADRANTS = ("upper left", "upper right", "lower left", "lower right")
MOST_CHOICES = 4
NEAR = 0.05
"""Closer than this share of the image is too close to call."""


# --- which class (1a) ------------------------------------------------------------------------------


def visible_classes(scene: QuestionScene, _: Slots) -> TemplateAnswer:
    """The classes in view."""
    seen = scene.ledger.in_view(scene.second)
    return classes((entry.class_name for entry in seen), proof(seen, [scene.second]))


def only_class(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """The class of the only object in view."""
    seen = scene.ledger.in_view(scene.second)
    return classes([seen[0].class_name], proof(seen, [scene.second])) if len(seen) == 1 else None


def classes_between(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The classes seen in a stretch."""
    window = Window(slots["from_s"], slots["to_s"])
    if not scene.window.start_s <= window.start_s <= window.end_s <= scene.window.end_s:
        return None
    seen = scene.ledger.seen_in(window)
    return classes((entry.class_name for entry in seen), proof(seen, [e.views.first_in(window) for e in seen]))


def class_visible(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """Whether a class is seen at all."""
    seen = scene.ledger.seen_in(scene.window, slots["object"])
    return yes_no(bool(seen), proof(seen, [entry.views.first_in(scene.window) for entry in seen]))


def together(scene: QuestionScene, slots: Slots) -> TemplateAnswer:
    """Whether two classes are seen in the same second."""
    one, other = (scene.ledger.class_views(slots[key]).within(scene.window) for key in ("object", "other"))
    common = one.total_s + other.total_s - Spans.union((one, other)).total_s
    seen = [e for key in ("object", "other") for e in scene.ledger.seen_in(scene.window, slots[key])]
    return yes_no(common > 0, proof(seen, [_first_common(one, other) if common else None]))


def _first_common(one: Spans, other: Spans) -> int | None:
    """The first second in which both are seen, or None: one of them comes into view in it."""
    return min((start_s for start_s, _ in [*one, *other] if one.has(start_s) and other.has(start_s)), default=None)


def classes_for_frame_or_seen(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """Two classes: both seen, or one of them replaced by any other."""
    slots = list(two_classes(scene, draw))
    if draw.random() < 0.5:
        names = [kind.name for kind in scene.ledger.objects]
        seen = list(any_class(scene, draw))
        if seen and len(names) > 1:
            other = names[int(draw.integers(0, len(names)))]
            slots = [{**seen[0], "other": other}] if other != seen[0]["object"] else slots
    return slots


# --- which object (1b) -----------------------------------------------------------------------------


def same_object(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether the same object is in view at two times."""
    one, other = (scene.the_one(slots["object"], slots[key]) for key in ("at_s", "then_s"))
    if one is None or other is None:
        return None
    return yes_no(one is other, proof((one, other), [slots["at_s"], slots["then_s"]]))


def seen_again(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """How many of the objects in view at one time are in view at another."""
    if slots["then_s"] > scene.second or slots["at_s"] < scene.window.start_s:
        return None
    before = scene.ledger.in_view(slots["at_s"], slots["object"])
    after = scene.ledger.in_view(slots["then_s"], slots["object"])
    if not before:
        return None
    return number(sum(entry in after for entry in before), proof(before, [slots["at_s"], slots["then_s"]]))


# --- in which state (1c) ---------------------------------------------------------------------------


def largest_class(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """The class of the object with the largest box."""
    return _extreme(scene, lambda box_area, _: -box_area, lambda best, next_best: next_best < 0.8 * best)


def second_meant(scene: QuestionScene, slots: Slots) -> int | None:
    """The second a question quotes, or the image's own; None outside the window."""
    second = int(slots.get("at_s", scene.second))
    return second if scene.window.start_s <= second <= scene.window.end_s else None


def nearest_centre(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """The class of the object whose middle is nearest to the middle of the image."""
    margin = NEAR * math.hypot(scene.ledger.procedure.width_px, scene.ledger.procedure.height_px)
    return _extreme(scene, lambda _, distance: distance, lambda best, next_best: next_best > best + margin)


def _extreme(
    scene: QuestionScene, measure: Callable[[float, float], float], is_clear: Callable[[float, float], bool]
) -> TemplateAnswer | None:
    """The class that comes first by a measure of area and distance, if two classes are in view."""
    seen = scene.ledger.in_view(scene.second)
    if len({entry.class_name for entry in seen}) < 2:
        return None
    ranked = sorted(((measure(*_size_and_distance(scene, entry)), entry) for entry in seen), key=lambda pair: pair[0])
    best, winner = ranked[0]
    rival = next(value for value, entry in ranked if entry.class_name != winner.class_name)
    clear = is_clear(abs(best), abs(rival))
    return classes([winner.class_name], proof(seen, [scene.second]), doubt=None if clear else "two are almost equal")


def _size_and_distance(scene: QuestionScene, entry: Entry) -> tuple[float, float]:
    box = entry.box_at(scene.second)
    if box is None:
        return 0.0, math.inf
    x, y = box.center
    procedure = scene.ledger.procedure
    return box.area_px2, math.hypot(x - procedure.width_px / 2, y - procedure.height_px / 2)


def hidden_classes(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The classes of objects that are partly hidden."""
    second = second_meant(scene, slots)
    seen = [] if second is None else scene.ledger.in_view(second)
    if second is None or not seen:
        return None
    hidden = [e for e in seen if scene.ledger.visibility(e.instance, second) is Visibility.OCCLUDED]
    return classes((entry.class_name for entry in hidden), proof(seen, [second]))


def attribute_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The value of an attribute of the only object of a class in view."""
    second = second_meant(scene, slots)
    entry = None if second is None else scene.the_one(slots["object"], second)
    value = entry.track.attribute_at(slots["attribute"], second) if entry and second is not None else None
    if entry is None or value is None:
        return None
    return TemplateAnswer(value, proof([entry], [second]))


def attributes_in_view(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """An attribute of an object in view, with values to choose from that its class usually has, none like another."""
    slots_list: list[Slots] = []
    for slots in object_in_view(scene, draw):
        entry = scene.the_one(slots["object"], slots["at_s"])
        for attribute in sorted(entry.track.attributes) if entry else ():
            value = entry.track.attribute_at(attribute, slots["at_s"]) if entry else None
            usual = scene.values(slots["object"], attribute)
            choices = [value] if value in usual else []
            for at in draw.permutation(len(usual)) if choices else ():
                if len(choices) < MOST_CHOICES and not any(look_alike(usual[at], one) for one in choices):
                    choices.append(usual[at])
            if len(choices) > 1:
                slots_list.append({**slots, "attribute": attribute, "options": tuple(sorted(choices))})
    return slots_list


# --- where in the image (1d) -----------------------------------------------------------------------


def quadrant_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The quadrant of the only object of a class in view."""
    entry = scene.the_one(slots["object"], slots["at_s"])
    box = entry.box_at(slots["at_s"]) if entry else None
    if entry is None or box is None:
        return None
    name, doubt = places(box.center, scene.ledger.procedure.width_px, scene.ledger.procedure.height_px)
    return TemplateAnswer(name, proof([entry], [slots["at_s"]]), doubt)


def in_quadrant(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """An object in view, with the four quadrants."""
    return [{**slots, "options": QUADRANTS} for slots in object_in_view(scene, draw)]


def all_quadrants(scene: QuestionScene, _: Slots) -> TemplateAnswer | None:
    """Every object in view with its quadrant."""
    seen = scene.ledger.in_view(scene.second)
    if not 1 <= len(seen) <= 4:
        return None
    size = scene.ledger.procedure.width_px, scene.ledger.procedure.height_px
    named = [(entry, places(box.center, *size)) for entry in seen if (box := entry.box_at(scene.second))]
    doubt = next((doubt for _, (_, doubt) in named if doubt), None)
    text = "; ".join(sorted(f"{entry.class_name}: {name}" for entry, (name, _) in named))
    return TemplateAnswer(text, proof(seen, [scene.second]), doubt)


def left_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether one object lies to the left of another."""
    pair = [scene.the_one(slots[key], scene.second) for key in ("object", "other")]
    boxes = [entry.box_at(scene.second) for entry in pair if entry]
    if len(boxes) < 2 or boxes[0] is None or boxes[1] is None:
        return None
    distance = boxes[1].center[0] - boxes[0].center[0]
    near = abs(distance) < NEAR * scene.ledger.procedure.width_px
    why = proof([entry for entry in pair if entry], [scene.second])
    return yes_no(distance > 0, why, doubt="they lie almost above each other" if near else None)


# --- where in the body (1e) ------------------------------------------------------------------------


def place_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Where an object was put."""
    return detail_of(scene, slots, Detail.PLACE)


def structure_of(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """What an object was put on."""
    return detail_of(scene, slots, Detail.STRUCTURE)


def sits_on(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """What the object in view sits on: where it was put last, if nobody moved it since."""
    entry = scene.the_one(slots["object"], scene.second)
    handled = [e for e in entry.events if e.second <= scene.second] if entry else []
    handled = [e for e in handled if e.kind in (EventKind.PLACED, EventKind.GRASPED)]
    if entry is None or not handled or handled[-1].kind is not EventKind.PLACED:
        return None
    structure = handled[-1].details.get(Detail.STRUCTURE)
    return TemplateAnswer(structure, proof([entry], [scene.second], handled[-1:])) if structure else None


def last_place(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Where the only object of a class in the body was last put, now that it is out of view."""
    inside = scene.ledger.inside(slots["object"], scene.second)
    if len(inside) != 1:
        return None
    known = scene.ledger.whereabouts(inside[0].instance, scene.second)
    if known.in_view or known.place is None:
        return None
    events = [e for e in inside[0].events if e.second <= scene.second and Detail.PLACE in e.details]
    since = [e for e in inside[0].events if events[-1].second < e.second <= scene.second]
    doubt = "it was taken up since" if any(e.kind is EventKind.GRASPED for e in since) else None
    return TemplateAnswer(known.place, proof(inside, [known.last_seen_s], events[-1:]), doubt)


A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "visible-classes",
        A.OBJECT_IDENTIFICATION,
        (FRAME,),
        "fo_class",
        (
            "Which classes of {things} are visible {here}?",
            "Name every {thing} class that can be seen {here}.",
            "What kinds of {things} does this image show?",
            "List the classes of all {things} in view {here}.",
            "To which classes do the {things} belong that one can see {here}?",
        ),
        nothing,
        visible_classes,
        several=True,
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "only-class",
        A.OBJECT_IDENTIFICATION,
        (FRAME,),
        "fo_class",
        (
            "Exactly one {thing} is visible {here}. To which class does it belong?",
            "There is a single {thing} {here}. What is it?",
            "Name the class of the only {thing} {here}.",
            "Which class does the one {thing} in view {here} have?",
            "One {thing} and no other can be seen {here}. Of which class is it?",
        ),
        nothing,
        only_class,
        needs=Needs(all_classes=True, certain=("instances",)),
    ),
    QuestionTemplate(
        "classes-between",
        A.OBJECT_IDENTIFICATION,
        (SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which classes of {things} are visible between {from} and {to}?",
            "Name every {thing} class that is seen from {from} to {to}.",
            "List the classes of all {things} in view at any time from {from} to {to}.",
            "What kinds of {things} can be seen between {from} and {to}?",
            "From {from} to {to}, {things} of which classes are in view at some time?",
        ),
        inner_stretch,
        classes_between,
        (A.TEMPORAL_LOCALIZATION,),
        several=True,
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "class-visible",
        A.OBJECT_IDENTIFICATION,
        (FRAME, SEGMENT, PROCEDURE),
        "binary",
        (
            "Is {an_object} visible {here}?",
            "Can {an_object} be seen {here}?",
            "Is there {an_object} in view {here}?",
            "Is at least one {object} visible {here}?",
            "Is {an_object} to be seen {here}, wholly or in part?",
        ),
        any_class,
        class_visible,
    ),
    QuestionTemplate(
        "together",
        A.OBJECT_IDENTIFICATION,
        (FRAME, SEGMENT, PROCEDURE),
        "binary",
        (
            "Are {an_object} and {an_other} visible at the same time {here}?",
            "Do {an_object} and {an_other} occur together {here}?",
            "Can {an_object} and {an_other} be seen at once {here}?",
            "Is {an_object} in view together with {an_other} {here}?",
            "Does one see both {an_object} and {an_other} simultaneously {here}?",
        ),
        classes_for_frame_or_seen,
        together,
    ),
    QuestionTemplate(
        "same-object",
        A.INSTANCE_MATCHING,
        (SEGMENT, PROCEDURE),
        "binary",
        (
            "Is the {object} visible at {at} the same one as the {object} visible at {then}?",
            "One {object} is in view at {at} and one at {then}. Are they the same object?",
            "Do {at} and {then} show the same {object}?",
            "Is it one and the same {object} that is in view at {at} and at {then}?",
            "Compare the {object} at {at} with the {object} at {then}. Is it the same object?",
        ),
        one_seen_twice,
        same_object,
        (A.TEMPORAL_LOCALIZATION,),
        needs=Needs(certain=("instances",)),
    ),
    QuestionTemplate(
        "seen-again",
        A.INSTANCE_MATCHING,
        (SEGMENT, PROCEDURE),
        "number",
        (
            "How many of the {objects} visible at {at} are also visible at {then}?",
            "Of the {objects} in view at {at}, how many are in view at {then}?",
            "Some {objects} are in view at {at}. How many of them are in view at {then}?",
            "How many of the same {objects} can be seen both at {at} and at {then}?",
            "Count the {objects} of {at} that one sees at {then}, too.",
        ),
        object_in_view_twice,
        seen_again,
        (A.OBJECT_AGGREGATION,),
        needs=Needs(certain=("instances",)),
    ),
    QuestionTemplate(
        "largest-class",
        A.OBJECT_ATTRIBUTES,
        (FRAME,),
        "fo_class",
        (
            "To which class does the {thing} with the largest bounding box belong?",
            "Which {thing} has the largest bounding box {here}?",
            "Of which class is the {thing} whose bounding box is the largest {here}?",
            "Compare the bounding boxes of all {things} {here}. Which class has the largest one?",
            "Name the class of the {thing} with the bounding box of the largest area.",
        ),
        nothing,
        largest_class,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, certain=("boxes",)),
    ),
    QuestionTemplate(
        "hidden-classes",
        A.OBJECT_ATTRIBUTES,
        (FRAME, SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which classes of {things} are partly hidden behind something {here}{when}?",
            "Name the classes of all {things} {here} that something lies in front of{when}.",
            "Of which classes are the {things} {here} that are seen only in part because something covers them{when}?",
            "{things} of which classes are partly covered {here}{when}?",
            "List the classes of the {things} {here} of which something before them hides a part{when}.",
        ),
        second_in_view,
        hidden_classes,
        (A.OBJECT_IDENTIFICATION,),
        several=True,
        needs=Needs(all_classes=True, certain=("visibility",)),
    ),
    QuestionTemplate(
        "attribute-of",
        A.OBJECT_ATTRIBUTES,
        (FRAME, SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "What is the {attribute} of the {object} {here}{when}?",
            "Which {attribute} does the {object} have {here}{when}?",
            "Name the {attribute} of the {object} {here}{when}.",
            "The {object} {here}: what is its {attribute}{when}?",
            "How would one describe the {attribute} of the {object} {here}{when}?",
        ),
        attributes_in_view,
        attribute_of,
        needs=Needs(attributes=True),
    ),
    QuestionTemplate(
        "nearest-centre",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "fo_class",
        (
            "Which is the {thing} whose centre is closest to the centre of the image?",
            "To which class does the {thing} belong whose centre is nearest to the middle of the image?",
            "Of all {things} {here}, of which class is the one whose centre is nearest to the centre of the image?",
            "Name the class of the {thing} whose centre lies closest to the middle of the image.",
            "Measure from the centre of the image: of which class is the {thing} whose centre is nearest?",
        ),
        nothing,
        nearest_centre,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, certain=IMAGE_SIZE),
    ),
    QuestionTemplate(
        "quadrant-of",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME, SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "In which quadrant of the image is the {object}{when}?",
            "Where in the image is the centre of the {object}{when}?",
            "Which quadrant of the image holds the centre of the {object}{when}?",
            "The centre of the {object} lies in one quadrant of the image{when}. Which one is it?",
            "Divide the image into four quadrants. In which one is the centre of the {object}{when}?",
        ),
        in_quadrant,
        quadrant_of,
        needs=Needs(certain=IMAGE_SIZE),
    ),
    QuestionTemplate(
        "all-quadrants",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "open_ended",
        (
            "List every visible {thing} with the quadrant of the image it lies in.",
            "Which {things} are visible {here}, and in which quadrant of the image is each?",
            "Name all {things} {here}, each with its quadrant of the image.",
            "For every {thing} in view, tell its class and the quadrant of the image in which it lies.",
            "What {things} can be seen {here}, and which quadrant of the image does each lie in?",
        ),
        nothing,
        all_quadrants,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, certain=IMAGE_SIZE),
    ),
    QuestionTemplate(
        "left-of",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "binary",
        (
            "Is the {object} to the left of the {other} {here}?",
            "Does the {object} lie further left than the {other}?",
            "Does the {other} lie to the right of the {object} {here}?",
            "Is the centre of the {object} further left in the image than that of the {other}?",
            "Seen from left to right {here}, does the {object} come before the {other}?",
        ),
        two_classes,
        left_of,
        needs=Needs(certain=IMAGE_SIZE),
    ),
    QuestionTemplate(
        "place-of",
        A.SPATIAL_LOCALIZATION_SITUS,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "Where in the body was the {object} placed at {moment}?",
            "At {moment} {an_object} is put down. Where in the body?",
            "Name the place in the body where the {object} is put at {moment}.",
            "In what part of the body does the {object} come to lie when it is placed at {moment}?",
            "What is the place in the body at which {an_object} is put down at {moment}?",
        ),
        told_event(EventKind.PLACED, detail=Detail.PLACE),
        place_of,
        (A.FO_INTERACTION_RECOGNITION,),
        clinical=True,
        needs=needed_events(EventKind.PLACED),
    ),
    QuestionTemplate(
        "structure-of",
        A.SPATIAL_LOCALIZATION_SITUS,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "On which anatomical structure was the {object} placed at {moment}?",
            "Which structure received the {object} at {moment}?",
            "To which anatomical structure is the {object} applied at {moment}?",
            "At {moment} the {object} is placed on an anatomical structure. On which?",
            "Name the anatomical structure on which {an_object} is put at {moment}.",
        ),
        told_event(EventKind.PLACED, detail=Detail.STRUCTURE),
        structure_of,
        (A.FO_INTERACTION_RECOGNITION,),
        clinical=True,
        needs=needed_events(EventKind.PLACED),
    ),
    QuestionTemplate(
        "sits-on",
        A.SPATIAL_LOCALIZATION_SITUS,
        (FRAME,),
        "open_ended",
        (
            "On which anatomical structure does the visible {object} sit?",
            "Which anatomical structure is the {object} {here} attached to or lying on?",
            "Name the anatomical structure that the visible {object} sits on.",
            "To which anatomical structure is the {object} {here} fixed, or on which does it lie?",
            "The {object} {here} sits on an anatomical structure. Which one is it?",
        ),
        object_in_view,
        sits_on,
        needs=needed_events(EventKind.PLACED, EventKind.GRASPED),
    ),
    QuestionTemplate(
        "last-place",
        A.SPATIAL_LOCALIZATION_SITUS,
        (PROCEDURE,),
        "open_ended",
        (
            "The {object} in the body is out of view now. Where was it last placed?",
            "Where should one look for the {object} that is in the body but not in view?",
            "Where in the body was the {object} put last that is now out of view?",
            "The {object} cannot be seen now but is in the body. At which place was it last put?",
            "Name the place where the {object} in the body that is out of view was last put.",
        ),
        introduced_class,
        last_place,
        (A.MULTI_STEP_REASONING,),
        clinical=True,
        needs=needed_events(EventKind.PLACED, EventKind.GRASPED, *COMING_AND_GOING),
    ),
)
