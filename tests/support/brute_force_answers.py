"""For every template, the answer by walking through every second: the oracle of `test_every_template`.

Each function takes the plain reading, the first and last second of the window and the slots, and gives
the answer text, or None where the question makes no sense. Nothing of the ledger or of the questions
room is used, except the texts of the knowledge table, which are data.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import hypot
from typing import Any

from brute_force_ledger import STAYS, PlainReading
from surgvalid.questions.knowledge import HARM, USE, WHY

Slots = dict[str, Any]
Answerer = Callable[[PlainReading, int, int, Slots], str | None]


# --- the seconds of a window ------------------------------------------------------------------------


def span(a: int, b: int) -> range:
    return range(a, b + 1)


def hms(second: int) -> str:
    hours, rest = divmod(second, 3600)
    return f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"


def listed(names) -> str:
    return ", ".join(sorted(set(names))) or "None"


def yn(truth: bool) -> str:
    return "yes" if truth else "no"


def seen_between(p: PlainReading, a: int, b: int, name: str | None = None) -> list[str]:
    return [n for n in p.named(name) if any(s in p.points[n] for s in span(a, b))]


def shown(p: PlainReading, a: int, b: int, name: str) -> list[int]:
    return [s for s in span(a, b) if p.seen(s, name)]


def holes(seconds: list[int], least: int) -> list[tuple[int, int]]:
    """(last second before, first second after) of every absence of at least `least` seconds."""
    return [(x, y) for x, y in pairwise(seconds) if y - x - 1 >= least]


def happened(p: PlainReading, a: int, b: int, kinds: tuple[str, ...], name: str | None = None):
    return [
        e
        for e in p.procedure.events
        if a <= e.second <= b and e.kind in kinds and name in (None, p.class_of[e.instance])
    ]


def single(p: PlainReading, second: int, name: str, a: int, b: int) -> str | None:
    found = p.seen(second, name) if a <= second <= b else []
    return found[0] if len(found) == 1 else None


def middle(p: PlainReading, name: str, second: int) -> tuple[float, float]:
    box = p.points[name][second].box
    return box.x + box.width / 2, box.y + box.height / 2


def quadrant(p: PlainReading, name: str, second: int) -> str:
    x, y = middle(p, name, second)
    vertical = "upper" if y < p.procedure.height_px / 2 else "lower"
    return f"{vertical} {'left' if x < p.procedure.width_px / 2 else 'right'}"


def back_s(p: PlainReading, name: str) -> int | None:
    return next((s for s in p.seconds if p.is_back(name, s)), None)


def meant(p: PlainReading, a: int, b: int, k: Slots):
    if not a <= k["event_s"] <= b:
        return None
    found = happened(p, k["event_s"], k["event_s"], (k["event"],), k.get("object"))
    return found[0] if found else None


def detail(key: str) -> Answerer:
    def answer(p, a, b, k):
        event = meant(p, a, b, k)
        return None if event is None else event.details.get(key)

    return answer


# --- one function per template ----------------------------------------------------------------------


def only_class(p, a, b, k):
    seen = p.seen(b)
    return p.class_of[seen[0]] if len(seen) == 1 else None


def classes_between(p, a, b, k):
    if not a <= k["from_s"] <= k["to_s"] <= b:
        return None
    return listed(p.class_of[n] for n in seen_between(p, k["from_s"], k["to_s"]))


def same_object(p, a, b, k):
    one, other = (single(p, k[key], k["object"], a, b) for key in ("at_s", "then_s"))
    return None if one is None or other is None else yn(one == other)


def seen_again(p, a, b, k):
    before = p.seen(k["at_s"], k["object"])
    return str(len(set(before) & set(p.seen(k["then_s"], k["object"])))) if before else None


def largest_class(p, a, b, k):
    seen = p.seen(b)
    if len({p.class_of[n] for n in seen}) < 2:
        return None
    areas = {n: p.points[n][b].box.width * p.points[n][b].box.height for n in seen}
    return p.class_of[max(areas, key=lambda n: areas[n])]


def nearest_centre(p, a, b, k):
    seen = p.seen(b)
    if len({p.class_of[n] for n in seen}) < 2:
        return None
    cx, cy = p.procedure.width_px / 2, p.procedure.height_px / 2
    return p.class_of[min(seen, key=lambda n: hypot(middle(p, n, b)[0] - cx, middle(p, n, b)[1] - cy))]


def hidden_classes(p, a, b, k):
    second = k.get("at_s", b)
    seen = p.seen(second) if a <= second <= b else []
    return listed(p.class_of[n] for n in seen if p.points[n][second].visibility.name == "OCCLUDED") if seen else None


def attribute_of(p, a, b, k):
    b = k.get("at_s", b)
    name = single(p, b, k["object"], a, b)
    if name is None:
        return None
    track = next(t for t in p.procedure.tracks if t.instance == name)
    values = [c.value for c in track.changes if c.name == k["attribute"] and c.second <= b]
    return values[-1] if values else track.attributes.get(k["attribute"])


def quadrant_of(p, a, b, k):
    name = single(p, k["at_s"], k["object"], a, b)
    return None if name is None else quadrant(p, name, k["at_s"])


def all_quadrants(p, a, b, k):
    seen = p.seen(b)
    return "; ".join(sorted(f"{p.class_of[n]}: {quadrant(p, n, b)}" for n in seen)) if 1 <= len(seen) <= 4 else None


def left_of(p, a, b, k):
    one, other = single(p, b, k["object"], a, b), single(p, b, k["other"], a, b)
    return None if one is None or other is None else yn(middle(p, one, b)[0] < middle(p, other, b)[0])


def sits_on(p, a, b, k):
    name = single(p, b, k["object"], a, b)
    handled = [e for e in happened(p, 0, b, ("placed", "grasped")) if e.instance == name]
    return handled[-1].details.get("structure") if handled and handled[-1].kind == "placed" else None


def inside(p: PlainReading, second: int, name: str) -> list[str]:
    return [n for n in p.introduced(second, name) if not p.is_back(n, second)]


def last_place(p, a, b, k):
    left = inside(p, b, k["object"])
    if len(left) != 1 or b in p.points[left[0]]:
        return None
    told = [e.details["place"] for e in p.events[left[0]] if e.second <= b and "place" in e.details]
    return told[-1] if told else None


def nth_inserted(p, a, b, k):
    told = happened(p, a, b, ("inserted",), k["object"])
    return hms(told[k["nth"] - 1].second) if len(told) >= k["nth"] else None


def retrieved_at(p, a, b, k):
    name = single(p, k["at_s"], k["object"], a, b)
    back = None if name is None else back_s(p, name)
    return hms(back) if back is not None and k["at_s"] <= back <= b else None


def comes_back(p, a, b, k):
    name = single(p, k["at_s"], k["object"], a, b)
    if name is None:
        return None
    found = holes([s for s in span(k["at_s"], b) if s in p.points[name]], k["gap_s"])
    return hms(found[0][1]) if found else None


def appearances(p, a, b, k):
    seconds = shown(p, a, b, k["object"])
    times = [*seconds[:1], *(y for _, y in holes(seconds, k["gap_s"]))]
    return ", ".join(hms(s) for s in times) if 1 <= len(times) <= 8 else None


def share_visible(p, a, b, k):
    share = 100 * len(shown(p, a, b, k["object"])) / len(span(a, b))
    return f"{int(share + 0.5 + 1e-9)}%"


def longest_absence(p, a, b, k):
    found = holes(shown(p, a, b, k["object"]), 5)
    return hms(max(y - x - 1 for x, y in found)) if found else None


def time_in_body(p, a, b, k):
    name = single(p, k["at_s"], k["object"], a, b)
    if name is None:
        return None
    told = [e.second for e in p.events[name] if e.kind == "inserted"]
    back = back_s(p, name)
    return hms(back - told[0]) if told and back is not None and a <= told[0] <= back <= b else None


def returned(p: PlainReading, a: int, b: int, name: str | None = None) -> list[int]:
    """The seconds of the window in which an object comes to count as retrieved."""
    back = [back_s(p, n) for n in p.named(name)]
    return sorted(second for second in back if second is not None and a <= second <= b)


def event_count(p, a, b, k):
    if k["event"] == "retrieved":
        return str(len(returned(p, a, b, k["object"])))
    return str(len(happened(p, a, b, (k["event"],), k["object"])))


def retrieved_count(p, a, b, k):
    used = p.introduced(b, k["object"])
    return str(sum(p.is_back(n, b) for n in used)) if used else None


def events_in_phase(p, a, b, k):
    parts = [phase for phase in p.procedure.phases if phase.name == k["phase"]]
    if not parts or max(phase.end_s for phase in parts) > b + 1:
        return None
    told = [e.second for e in happened(p, 0, b, (k["event"],))]
    told = returned(p, 0, b) if k["event"] == "retrieved" else told
    return str(sum(p.procedure.phase_at(second) == k["phase"] for second in told))


VERB = {"inserted": "inserted", "grasped": "grasped", "placed": "placed", "bagged": "put into a bag",
        "retrieved": "retrieved", "left_in_situ": "left in the body"}  # fmt: skip


def what_happens(p, a, b, k):
    event = meant(p, a, b, k)
    return None if event is None else VERB[event.kind]


def handled_class(p, a, b, k):
    event = meant(p, a, b, k)
    return None if event is None else p.class_of[event.instance]


def main_use(p, a, b, k):
    seen = p.seen(b)
    fact = USE.get(p.class_of[seen[0]]) if len(seen) == 1 else None
    return fact.text if fact else None


def class_for(p, a, b, k):
    told = [e for e in happened(p, a, b, ("placed",)) if e.details.get("purpose") == k["purpose"]]
    return listed(p.class_of[e.instance] for e in told)


def which_first(p, a, b, k):
    one, other = shown(p, a, b, k["object"])[:1], shown(p, a, b, k["other"])[:1]
    if not one or not other or one == other:
        return None
    return k["object"] if one < other else k["other"]


def order_of_appearance(p, a, b, k):
    first = {}
    for second in span(a, b):
        for name in sorted(p.class_of[n] for n in p.seen(second)):
            first.setdefault(name, second)
    return ", ".join(first) if 3 <= len(first) <= 5 else None


def retrieved_before(p, a, b, k):
    back, seen = returned(p, a, b, k["object"]), shown(p, a, b, k["other"])
    return yn(back[0] < seen[0]) if back and seen else None


def phase_of(p, a, b, k):
    seconds = shown(p, a, b, k["object"])
    return p.procedure.phase_at(seconds[0]) if seconds else None


def stays(p: PlainReading, name: str, second: int) -> bool:
    return p.class_of[name] in STAYS or p.state(name, second) == "left_in_situ"


def must_leave(p, a, b, k):
    seen = p.seen(b)
    return listed(p.class_of[n] for n in seen if not stays(p, n, b)) if seen else None


def may_remain(p, a, b, k):
    seen = p.seen(b)
    return yn(stays(p, seen[0], b)) if len(seen) == 1 else None


def why_event(p, a, b, k):
    event = meant(p, a, b, k)
    fact = WHY.get((p.class_of[event.instance], event.kind)) if event else None
    return fact.text if fact else None


def harm_if_left(p, a, b, k):
    found = [n for n in p.seen(b) if not stays(p, n, b)] if a == b else p.outstanding(b)
    fact = HARM.get(p.class_of[found[0]]) if len(found) == 1 else None
    return fact.text if fact else None


def count_effect(p, a, b, k):
    event = meant(p, a, b, k)
    if event is None:
        return None
    now, before = (event.instance in p.outstanding(s) for s in (event.second, event.second - 1))
    return "it stays the same" if now == before else "it goes up" if now else "it goes down"


def all_retrieved(p, a, b, k):
    used = [n for n in p.introduced(b) if p.class_of[n] not in STAYS]
    return yn(not p.outstanding(b)) if used else None


def missing(p: PlainReading, b: int) -> list[str]:
    return [n for n in p.outstanding(b) if b not in p.points[n]]


def missing_last_seen(p, a, b, k):
    lost = missing(p, b)
    seconds = [s for s in span(a, b) if s in p.points[lost[0]]] if len(lost) == 1 else []
    return hms(seconds[-1]) if seconds else None


def phase_seconds(p: PlainReading, a: int, b: int, name: str) -> list[int]:
    """The seconds of the window that lie in a phase."""
    return [s for s in span(a, b) for q in p.procedure.phases if q.name == name and q.start_s <= s < q.end_s]


def phase_over(p: PlainReading, second: int) -> str | None:
    """The phase of a second."""
    return next((q.name for q in p.procedure.phases if second in range(q.start_s, q.end_s)), None)


def phase_begins(p, a, b, k):
    """The first second of the phase; a beginning that the window does not show is none."""
    seconds = phase_seconds(p, a, b, k["phase"])
    return hms(seconds[0]) if seconds and seconds[0] > a else None


def phase_length(p, a, b, k):
    seconds = phase_seconds(p, a, b, k["phase"])
    return hms(len(seconds)) if seconds else None


def phase_next(p, a, b, k):
    """What goes on in the first second after the phase, if the window shows that second."""
    seconds = phase_seconds(p, a, b, k["phase"])
    after = next((s for s in span(seconds[0], b) if phase_over(p, s) != k["phase"]), None) if seconds else None
    return None if after is None else phase_over(p, after)


def criterion_met(p, a, b, k):
    for track in p.procedure.instruments:
        if track.instance == k["criterion"]:
            for at, second in enumerate(track.seconds.tolist()):
                if second == b:
                    return yn(track.visibility[at] == 0)
    return None


def told_of(p: PlainReading, b: int, *kinds: str) -> list[tuple[str, str, str]]:
    return [(s, kind.value, o) for second, s, kind, o in p.procedure.relations if second == b and kind.value in kinds]


def called(p: PlainReading, name: str) -> str:
    return p.class_of[name].lower() if name in p.class_of else name.split("_hand")[0].replace("_", " ")


def lies_on(p, a, b, k):
    seen = p.seen(b, k["object"])
    under = [other for subject, _, other in told_of(p, b, "lies on") if [subject] == seen]
    return called(p, under[0]) if under else None


def hands(p: PlainReading, b: int, tool: str) -> list[str]:
    return [s for s, _, _ in told_of(p, b, "visible") if "_hand" in s and called(p, s) == tool]


def in_front(p, a, b, k):
    seen, found = p.seen(b, k["object"]), set()
    if len(seen) != 1:
        return None
    for front, _, back in told_of(p, b, "is in front of"):
        if front == seen[0] and called(p, back) == k["structure"]:
            found.add(k["object"].lower())
        if back == seen[0] and called(p, front) == k["structure"]:
            found.add(k["structure"])
    is_tool = k["structure"] in TOOL_NAMES
    return found.pop() if len(found) == 1 and not (is_tool and len(hands(p, b, k["structure"])) != 1) else None


TOOL_NAMES = ("grasper", "hook", "scissors", "clip applier", "needle driver", "suction", "stapler")


def touched(p, a, b, k):
    those = hands(p, b, k["tool"])
    if len(those) != 1:
        return None
    met = [other for subject, _, other in told_of(p, b, "touches", "may touch") if subject == those[0]]
    return met[0] if met else "none of them"


def structure_visible(p, a, b, k):
    told = {name: kind for name, kind, _ in told_of(p, b, "visible", "doubtful")}
    return yn(k["structure"] in told) if told else None


ANSWERS: dict[str, Answerer] = {
    "lies-on": lies_on,
    "in-front": in_front,
    "touched": touched,
    "structure-visible": structure_visible,
    "phase-now": lambda p, a, b, k: phase_over(p, b),
    "phase-begins": phase_begins,
    "phase-length": phase_length,
    "phase-next": phase_next,
    "criterion-met": criterion_met,
    "visible-classes": lambda p, a, b, k: listed(p.class_of[n] for n in p.seen(b)),
    "only-class": only_class,
    "classes-between": classes_between,
    "class-visible": lambda p, a, b, k: yn(bool(shown(p, a, b, k["object"]))),
    "together": lambda p, a, b, k: yn(any(p.seen(s, k["object"]) and p.seen(s, k["other"]) for s in span(a, b))),
    "same-object": same_object,
    "seen-again": seen_again,
    "largest-class": largest_class,
    "hidden-classes": hidden_classes,
    "attribute-of": attribute_of,
    "nearest-centre": nearest_centre,
    "quadrant-of": quadrant_of,
    "all-quadrants": all_quadrants,
    "left-of": left_of,
    "place-of": detail("place"),
    "structure-of": detail("structure"),
    "sits-on": sits_on,
    "last-place": last_place,
    "first-visible": lambda p, a, b, k: next((hms(s) for s in shown(p, a, b, k["object"])), None),
    "last-visible": lambda p, a, b, k: next((hms(s) for s in reversed(shown(p, a, b, k["object"]))), None),
    "nth-inserted": nth_inserted,
    "retrieved-at": retrieved_at,
    "comes-back": comes_back,
    "appearances": appearances,
    "share-visible": share_visible,
    "longest-absence": longest_absence,
    "time-in-body": time_in_body,
    "objects-visible": lambda p, a, b, k: str(len(p.seen(b))),
    "classes-count": lambda p, a, b, k: str(len({p.class_of[n] for n in seen_between(p, a, b)})),
    "instances-seen": lambda p, a, b, k: str(len(seen_between(p, a, b, k["object"]))),
    "most-at-once": lambda p, a, b, k: str(max(len(p.seen(s, k["object"])) for s in span(a, b))),
    "still-inside": lambda p, a, b, k: str(len(inside(p, b, k["object"]))),
    "retrieved-count": retrieved_count,
    "absence-count": lambda p, a, b, k: str(len(holes(shown(p, a, b, k["object"]), k["gap_s"]))),
    "event-count": event_count,
    "events-in-phase": events_in_phase,
    "what-happens": what_happens,
    "instrument-of": detail("instrument"),
    "handled-class": handled_class,
    "purpose-of": detail("purpose"),
    "main-use": main_use,
    "class-for": class_for,
    "which-first": which_first,
    "order-of-appearance": order_of_appearance,
    "retrieved-before": retrieved_before,
    "phase-of": phase_of,
    "must-leave": must_leave,
    "may-remain": may_remain,
    "why-event": why_event,
    "harm-if-left": harm_if_left,
    "retained-if-closed": lambda p, a, b, k: listed(p.class_of[n] for n in p.outstanding(b)),
    "count-effect": count_effect,
    "all-retrieved": all_retrieved,
    "missing-count": lambda p, a, b, k: str(len(missing(p, b))),
    "missing-last-seen": missing_last_seen,
}
