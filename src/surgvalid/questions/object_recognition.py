"""Questions on what is seen, in which state and where (capabilities 1a to 1e)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from surgvalid.questions.answers import classes, detail_of, number, places, proof, yes_no
from surgvalid.questions.knowledge import look_alike
from surgvalid.questions.proposals import (
    any_class,
    inner_stretch,
    introduced_class,
    lone_views,
    nothing,
    object_in_view,
    object_in_view_twice,
    one_second,
    one_seen_twice,
    second_in_view,
    told_event,
    two_apart,
    two_classes,
)
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
    clock,
    needed_events,
    second_of,
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


def same_object_at(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """At which of several times the object in view is the one that is in view at another."""
    times = [second_of(text) for text in slots["options"]]
    entries = [scene.the_one(slots["object"], second) for second in (slots["at_s"], *times)]
    if None in entries:
        return None
    same = [second for second, entry in zip(times, entries[1:], strict=True) if entry is entries[0]]
    if len(same) != 1:
        return None
    around = [scene.the_one(slots["object"], second + step) for second in times for step in (-1, 1)]
    steady = around == [entry for entry in entries[1:] for _ in (-1, 1)]
    why = proof([entry for entry in entries if entry], [slots["at_s"], *times])
    return TemplateAnswer(clock(same[0]), why, None if steady else "it changes within a second of the quoted time")


def times_of_one(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A class, a time, and further times of which one shows the same object; the others show look-alikes."""
    for name, alone in lone_views(scene, draw):
        keys = list(alone)
        mine = keys[int(draw.integers(0, len(keys)))]
        pair = two_apart(alone[mine], draw)
        if pair is None or len(keys) < 2:
            continue
        others = [one_second(alone[key], draw) for key in keys if key != mine]
        chosen = sorted([pair[1], *others[: min(3, len(others))]])
        yield {"object": name, "at_s": pair[0], "options": tuple(clock(second) for second in chosen)}


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


def match_quadrants(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """The quadrant of each class of which one object is in view."""
    entries = [scene.the_one(name, scene.second) for name in slots["each"]]
    boxes = [entry.box_at(scene.second) for entry in entries if entry]
    if len(boxes) < len(slots["each"]):
        return None
    size = scene.ledger.procedure.width_px, scene.ledger.procedure.height_px
    quadrants = [places(box.center, *size) for box in boxes if box]
    doubt = next((doubt for _, doubt in quadrants if doubt), None)
    pairs = zip(slots["each"], quadrants, strict=True)
    answer = "; ".join(f"{name}: {quadrant}" for name, (quadrant, _) in pairs)
    return TemplateAnswer(answer, proof([entry for entry in entries if entry], [scene.second]), doubt)


def classes_seen_once(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """Two to four classes of which exactly one object is in view, in random order, with the quadrants."""
    seen = [entry.class_name for entry in scene.ledger.in_view(scene.second)]
    single = sorted(name for name in set(seen) if seen.count(name) == 1)
    if len(single) < 2:
        return []
    chosen = tuple(single[at] for at in draw.permutation(len(single))[:4])
    return [{"each": chosen, "options": QUADRANTS}]


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
            "Which classes of foreign objects are visible {here}?",
            "Name every foreign object class that can be seen {here}.",
            "What kinds of foreign objects does this image show?",
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
            "Exactly one foreign object is visible {here}. To which class does it belong?",
            "There is a single foreign object {here}. What is it?",
        ),
        nothing,
        only_class,
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "classes-between",
        A.OBJECT_IDENTIFICATION,
        (SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which classes of foreign objects are visible between {from} and {to}?",
            "Name every foreign object class that is seen from {from} to {to}.",
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
        ("Is {an_object} visible {here}?", "Can {an_object} be seen {here}?"),
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
        ),
        one_seen_twice,
        same_object,
        (A.TEMPORAL_LOCALIZATION,),
    ),
    QuestionTemplate(
        "same-object-at",
        A.INSTANCE_MATCHING,
        (SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "At which of these times is the {object} in view the same one as at {at}?",
            "One {object} is visible at {at}. At which of these times is that very {object} visible again?",
        ),
        times_of_one,
        same_object_at,
        (A.TEMPORAL_LOCALIZATION,),
    ),
    QuestionTemplate(
        "seen-again",
        A.INSTANCE_MATCHING,
        (SEGMENT, PROCEDURE),
        "number",
        (
            "How many of the {objects} visible at {at} are also visible at {then}?",
            "Of the {objects} in view at {at}, how many are in view at {then}?",
        ),
        object_in_view_twice,
        seen_again,
        (A.OBJECT_AGGREGATION,),
    ),
    QuestionTemplate(
        "largest-class",
        A.OBJECT_ATTRIBUTES,
        (FRAME,),
        "fo_class",
        (
            "To which class does the foreign object with the largest bounding box belong?",
            "Which foreign object has the largest bounding box {here}?",
        ),
        nothing,
        largest_class,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "hidden-classes",
        A.OBJECT_ATTRIBUTES,
        (FRAME, SEGMENT, PROCEDURE),
        "fo_class",
        (
            "Which classes of foreign objects are partly hidden behind something {here}{when}?",
            "Name the classes of all foreign objects {here} that something lies in front of{when}.",
        ),
        second_in_view,
        hidden_classes,
        (A.OBJECT_IDENTIFICATION,),
        several=True,
        needs=Needs(all_classes=True),
    ),
    QuestionTemplate(
        "attribute-of",
        A.OBJECT_ATTRIBUTES,
        (FRAME, SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "What is the {attribute} of the {object} {here}{when}?",
            "Which {attribute} does the {object} have {here}{when}?",
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
            "Which is the foreign object whose centre is closest to the centre of the image?",
            "To which class does the foreign object belong whose centre is nearest to the middle of the image?",
        ),
        nothing,
        nearest_centre,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, size=True),
    ),
    QuestionTemplate(
        "quadrant-of",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME, SEGMENT, PROCEDURE),
        "multiple_choice",
        (
            "In which quadrant of the image is the {object}{when}?",
            "Where in the image is the centre of the {object}{when}?",
        ),
        in_quadrant,
        quadrant_of,
        needs=Needs(size=True),
    ),
    QuestionTemplate(
        "all-quadrants",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "open_ended",
        (
            "List every visible foreign object with the quadrant of the image it lies in.",
            "Which foreign objects are visible {here}, and in which quadrant of the image is each?",
        ),
        nothing,
        all_quadrants,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(all_classes=True, size=True),
    ),
    QuestionTemplate(
        "match-quadrants",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "matching",
        (
            "Match every one of these foreign objects {here} with the quadrant it lies in.",
            "In which quadrant of the image is each of these foreign objects?",
        ),
        classes_seen_once,
        match_quadrants,
        (A.OBJECT_IDENTIFICATION,),
        needs=Needs(size=True),
    ),
    QuestionTemplate(
        "left-of",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "binary",
        ("Is the {object} to the left of the {other} {here}?", "Does the {object} lie further left than the {other}?"),
        two_classes,
        left_of,
        needs=Needs(size=True),
    ),
    QuestionTemplate(
        "place-of",
        A.SPATIAL_LOCALIZATION_SITUS,
        (SEGMENT, PROCEDURE),
        "open_ended",
        (
            "Where in the body was the {object} placed at {moment}?",
            "At {moment} {an_object} is put down. Where in the body?",
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
        ),
        introduced_class,
        last_place,
        (A.MULTI_STEP_REASONING,),
        clinical=True,
        needs=needed_events(EventKind.PLACED, EventKind.GRASPED, *COMING_AND_GOING),
    ),
)
