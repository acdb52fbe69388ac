"""What a question template is: when it can be asked, how it is worded, what the ledger answers.

Where a template needs more than was looked for in a procedure, it is withheld.

A template never looks at tracks. `propose` suggests what its blanks (slots) could hold in a scene,
`answer` computes the reference from the ledger, with the proof it rests on, or None where the
question makes no sense. Slots that hold a time end in `_s`; what each may be called:
    object, other              foreign-object classes
    at_s, then_s               seconds at which something is seen; may be off by a second
    from_s, to_s               a stretch inside the window
    event_s                    the second of an annotated event
    gap_s                      a least duration
    tool, structure            an instrument's class, and what it is called that is no object
    nth, event, phase, purpose, attribute, options
    each                       what is to be matched, in the order of the answer
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from string import Formatter
from typing import Any

import numpy as np

from surgvalid.questions.usual import Usual
from surgvalid.schema.procedures.ledger import RETRIEVED_IN_BAG, Entry, Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import STAGE, THING, Event, EventKind, Procedure
from surgvalid.schema.questions.formats import time_tolerance_s
from surgvalid.schema.questions.taxonomy import Capability

COMING_AND_GOING = frozenset({EventKind.RETRIEVED, EventKind.BAGGED})
"""What tells whether an object is out of the body."""
WHEREABOUTS = COMING_AND_GOING | {EventKind.LEFT_IN_SITU}
"""What tells whether an object still has to leave it."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be annotated so that an answer can be derived from what is not there, too."""

    all_classes: bool = False
    """The question speaks of all foreign objects."""
    events: frozenset[EventKind] = frozenset()
    phases: bool = False
    attributes: bool = False
    relations: bool = False
    """How things stand to each other, which is told at some seconds only."""
    certain: tuple[str, ...] = ()
    """What must not be assumed only: names as in `Procedure.assumed`."""

    def missing_from(self, procedure: Procedure) -> str | None:
        """Why the question cannot be asked of a procedure, or None."""
        annotated = procedure.annotated
        unsaid = "" if procedure.declared else " (nothing is declared, so only what occurs counts)"
        if self.all_classes and annotated.classes is not None:
            return f"not every foreign-object class was annotated{unsaid}"
        if lacking := sorted(kind.value for kind in self.events if kind not in annotated.events):
            return f"events {', '.join(lacking)} were not annotated{unsaid}"
        if self.events and annotated.spans is not None and not _covers_all(annotated.spans, procedure.duration_s):
            return "the story is known in stretches only, and it needs events"
        if self.phases and not annotated.phases:
            return f"phases were not annotated{unsaid}"
        if self.attributes and not annotated.attributes:
            return f"attributes were not annotated{unsaid}"
        if self.relations and not procedure.relations:
            return "nobody told what lies on or before what"
        if assumed := [name for name in self.certain if name in procedure.assumed]:
            return f"nobody told {' and '.join(assumed)}"
        return None


def _covers_all(spans: tuple[tuple[int, int], ...], duration_s: int) -> bool:
    reached = 0
    for start_s, end_s in sorted(spans):
        if start_s > reached:
            return False
        reached = max(reached, end_s)
    return reached >= duration_s


def needed_events(*kinds: EventKind) -> Needs:
    """The need of those kinds of events."""
    return Needs(events=frozenset(kinds))


NOTHING_MORE = Needs()
"""Tracks alone will do."""
IMAGE_SIZE = ("width_px", "height_px")


Slots = Mapping[str, Any]
Draw = np.random.Generator


class QuestionTrack(StrEnum):
    """The three tracks: what a model gets to see."""

    FRAME = "frame"
    """One image."""
    SEGMENT = "segment"
    """A stretch of at most five minutes."""
    PROCEDURE = "procedure"
    """Everything from the start to a second t."""


FRAME, SEGMENT, PROCEDURE = QuestionTrack
LONGEST_SEGMENT_S = 300


@dataclass(frozen=True, slots=True)
class QuestionScene:
    """What a question is about: a window of a procedure, as a track shows it."""

    ledger: Ledger
    window: Window
    track: QuestionTrack
    usual: Usual | None = None
    """What is usual in the data; in this procedure, where nobody says."""

    def values(self, class_name: str, what: str) -> tuple[str, ...]:
        """The values that objects of a class usually have, fewer than two of them never."""
        procedure = self.ledger.procedure
        return (self.usual or Usual([procedure])).values(procedure.procedure_type, class_name, what)

    @property
    def second(self) -> int:
        """The last second of the window; for a frame, its second."""
        return self.window.end_s

    @property
    def tolerance_s(self) -> float:
        """How far off a time answer may be."""
        return time_tolerance_s(self.window.length_s)

    def the_one(self, class_name: str, second: int) -> Entry | None:
        """The object of a class in view at that second, if there is exactly one."""
        if not self.window.start_s <= second <= self.window.end_s:
            return None
        entries = self.ledger.in_view(second, class_name)
        return entries[0] if len(entries) == 1 else None


@dataclass(frozen=True, slots=True)
class Proof:
    """What an answer rests on: objects, frames and events that anybody can look up."""

    instances: tuple[str, ...] = ()
    seconds: tuple[int, ...] = ()
    events: tuple[Event, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The proof as plain data."""
        return {
            "instances": list(self.instances),
            "seconds": list(self.seconds),
            "events": [[event.second, event.kind.value, event.instance] for event in self.events],
        }


@dataclass(frozen=True, slots=True)
class TemplateAnswer:
    """A reference answer with its proof."""

    text: str
    proof: Proof = field(default_factory=Proof)
    doubt: str | None = None
    """Why two careful people might answer differently, or None."""


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """One kind of question."""

    name: str
    capability: Capability
    tracks: tuple[QuestionTrack, ...]
    format: str
    phrasings: tuple[str, ...]
    """All mean the same; the last is held out: training never shows it."""
    propose: Callable[[QuestionScene, Draw], Iterable[Slots]]
    answer: Callable[[QuestionScene, Slots], TemplateAnswer | None]
    secondaries: tuple[Capability, ...] = ()
    clinical: bool = False
    several: bool = False
    """Whether the answer may list several times or classes, or none."""
    needs: Needs = NOTHING_MORE
    """What must have been annotated."""
    bag_rule: bool = False
    """Whether the answer rests on the rule that what lies in a specimen bag is retrieved."""
    of_data_sets: bool = False
    """Whether it is asked of data sets alone, which are not about foreign objects."""

    def text(self, scene: QuestionScene, slots: Slots, phrasing: int) -> str:
        """The question in words, ending with the format that is wanted.

        Of a data set with classes of its own, which nobody else defines, it says from which classes one answers.
        """
        question = self.phrasings[phrasing].format_map(_words(scene, slots))
        rule = f" {BAG_RULE}" if self._rests_on_bags(slots) else ""
        listed = self.needs.all_classes and THING in scene.ledger.procedure.facts
        known = f" Classes: {'; '.join(kind.name for kind in scene.ledger.objects)}." if listed else ""
        return f"{question[:1].upper()}{question[1:]}{rule} {self._ending(slots)}{known}"

    def _rests_on_bags(self, slots: Slots) -> bool:
        """Whether the rule on bags decides: retrieval is asked for, of what may lie in one."""
        other_event = "event" in _shown_slots(self.phrasings[0]) and slots["event"] != EventKind.RETRIEVED
        return self.bag_rule and not other_event and slots.get("object", "Specimen") in RETRIEVED_IN_BAG

    def wording(self, slots: Slots) -> tuple[str, ...]:
        """The question without its times: what an input-blind system knows, which reads the text alone."""
        shown = _shown_slots(self.phrasings[0])
        slot_words = (
            f"{key}={sorted(value) if key == 'options' else value}"
            for key, value in sorted(slots.items())
            if key in shown or key == "options"
        )
        return (self.name, *slot_words)

    def _ending(self, slots: Slots) -> str:
        if self.format == "multiple_choice":
            return f"Select one: {'; '.join(slots['options'])}."
        return ENDINGS[self.format, self.several]


BAG_RULE = "Cut-out tissue or a stone in a bag counts as retrieved."
"""Said where the answer depends on it."""
ENDINGS = {
    ("binary", False): "Answer with yes or no.",
    ("number", False): "Answer with a number.",
    ("percentage", False): "Answer with a percentage (xx%).",
    ("time", False): "Answer with a time (hh:mm:ss).",
    ("time", True): "Answer with all times (hh:mm:ss), separated by commas.",
    ("fo_class", False): "Answer with the class name.",
    ("fo_class", True): "Answer with the class names, separated by commas, or none.",
    ("open_ended", False): "Answer in a few words.",
}
"""How a question states its format, by format and whether several answers may be listed."""


# --- words ---------------------------------------------------------------------------------------

_HERE = {FRAME: "in this image", SEGMENT: "in this segment", PROCEDURE: "in the procedure so far"}
VERBS = {
    EventKind.INSERTED: "inserted",
    EventKind.GRASPED: "grasped",
    EventKind.PLACED: "placed",
    EventKind.BAGGED: "put into a bag",
    EventKind.RETRIEVED: "retrieved",
    EventKind.LEFT_IN_SITU: "left in the body",
}
"""How an event is named in a question."""
_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _words(scene: QuestionScene, slots: Slots) -> dict[str, str]:
    facts = scene.ledger.procedure.facts
    thing = facts.get(THING, "foreign object")
    words = {"here": _HERE[scene.track], "when": "", "thing": thing, "stage": facts.get(STAGE, "phase")}
    words |= {"things": plural(thing), "a_thing": with_article(thing)}
    for key, value in slots.items():
        if key in ("object", "other"):
            name = str(value).lower()
            words |= {key: name, f"an_{key}": with_article(name), f"{key}s": plural(name)}
        elif key == "gap_s":
            words["gap"] = f"{value} seconds"
        elif key == "event_s":
            words["moment"] = clock(value)
        elif key == "event":
            words[key] = VERBS[EventKind(value)]
        elif key.endswith("_s"):
            words[key.removesuffix("_s")] = clock(value)
        elif key == "nth":
            words[key] = _ORDINALS[value]
        else:
            words[key] = str(value)
    if scene.track is not FRAME and "at_s" in slots:
        words["when"] = f" at {words['at']}"
    return words


@cache
def _shown_slots(phrasing: str) -> frozenset[str]:
    """The slots that a phrasing tells of, times apart; all phrasings of a template tell of the same."""
    blanks = {name for _, name, _, _ in Formatter().parse(phrasing) if name}
    forms = {"object": {"object", "an_object", "objects"}, "other": {"other", "an_other", "others"}, "gap_s": {"gap"}}
    named = {key for key, spelled in forms.items() if spelled & blanks}
    return frozenset(
        named | blanks & {"nth", "event", "phase", "purpose", "attribute", "criterion", "tool", "structure"}
    )


def clock(second: int) -> str:
    """A second, or a duration, as hh:mm:ss.

    Example:
        >>> clock(3725)
        '01:02:05'
    """
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def second_of(text: str) -> int:
    """The second that `clock` wrote.

    Example:
        >>> second_of("01:02:05")
        3725
    """
    hours, minutes, seconds = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + seconds


PAIRED = ("scissors", "forceps")
"""Words without a singular."""


def with_article(name: str) -> str:
    """The name with its indefinite article.

    Example:
        >>> with_article("external drain"), with_article("scissors")
        ('an external drain', 'a pair of scissors')
    """
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {f'pair of {name}' if name in PAIRED else name}"


def plural(name: str) -> str:
    """The name in the plural.

    Example:
        >>> plural("mesh"), plural("clip")
        ('meshes', 'clips')
    """
    return name if name in PAIRED else name + ("es" if name.endswith(("sh", "ch", "s", "x")) else "s")
