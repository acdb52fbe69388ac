"""One number, a share, moments, or a stretch of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from surgvalid.asking.reading.candidates import asserted_objects, is_aside
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.numbers import CLOCK, Moment, moments, seconds_of, with_digits, with_shares
from surgvalid.asking.reading.objects import KeyedPairs
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Mood, clauses, refuses

_NUMBER = re.compile(r"(?<![a-zA-Z\d_.:/])[-+−]?\d+(?:[.,]\d+)?(?!\d|\s*%|\s*[:/]\s*\d)")
_NOT_ONE = re.compile(
    r"\d\s*(?:-|–|—|to|or|bis|oder|and|/)\s*\d|\b(?:at least|at most|more than|less than|fewer than|over|under"
    r"|up to|between|"
    r"about|around|approximately|roughly|circa|etwa|ungefähr|environ|mehr als|weniger als|plus de|moins de|más de"
    r"|menos de)\b|[<>≥≤~≈]",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:at least|at most|more than|less than|fewer than|over|under|up to|between|almost|nearly|mehr als|weniger als"
    r"|plus de|moins de|más de|menos de|above|below)\b|[<>≥≤]|\d\s*%?\s*(?:-|–|—|to|or|bis|oder)\s*\d",
    re.IGNORECASE,
)
_NONE_THERE = re.compile(
    r"^(?:there (?:is|are) )?(?:no|none|zero|keine?|aucune?|ning[uú]n\w*|nothing)(?:(?: \w+){0,3} (?:is|are|can be"
    r"|sind|ist|in) .*| (?:clips?|objects?|needles?|sponges?|\w+s)(?: \w+)*| visible| present)?$"
    r"|^(?:there (?:is|are)|i see|es gibt|il n y a|no hay) (?:no|none|keine?|pas|aucune?)\b|^没 有"
)
_TOTAL = re.compile(r"\b(?:total|altogether|overall|in all|i count|insgesamt)\b", re.IGNORECASE)
"""Says that one of the numbers is the sum of the others."""
_CONFIDENT = re.compile(
    r"%\s*(?:\w+\s+)?(?:sure|confiden\w+|certain\w*|probab\w+|likel\w+|accura\w+|sicher|unable)", re.IGNORECASE
)
_MOST_SHARE = 100


def _object_value(text: str) -> tuple[bool, Any]:
    """Whether the reply holds objects, and the one value that they share."""
    values = []
    for one in asserted_objects(text):
        value = one.value
        while isinstance(value, KeyedPairs):
            kept = [inner for key, inner in value if not is_aside(key)]
            if len(kept) != 1:
                return True, contradiction("an object with several values")
            value = kept[0]
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        values.append(value)
    if not values:
        return False, None
    if any(repr(one) != repr(values[0]) for one in values):
        return True, contradiction("two objects say different things")
    return True, values[0]


def read_number(text: str, schema: ReplySchema) -> ReplyReading:
    """A whole number that is not negative."""
    held, value = _object_value(text)
    if isinstance(value, ReplyReading):
        return value
    if held and value is None:
        return refused("no value is given")
    if held and not isinstance(value, str):
        return _count(value, "object")
    plain = (value if held else text).strip()
    if re.fullmatch(r"\d+", plain):
        return read_as(int(plain), AS_ASKED if not held else "object")
    bare = with_digits(plain.strip(" *`\"'.!"))
    if re.fullmatch(r"[-+−]?\d+(?:[.,]\d+)?", bare):
        return _count(bare.replace(",", ".").replace("−", "-"), "bare value")
    return _of_clauses(plain, schema)


def _count(value: Any, path: str) -> ReplyReading:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return failed(f"{value!r} is no number")
    if isinstance(value, bool) or number < 0 or number != int(number):
        return contradiction(f"{value!r} is no count")
    return read_as(int(number), path)


def _of_clauses(text: str, _: ReplySchema) -> ReplyReading:
    spoken = clauses(text)
    if any(clause.mood is Mood.REFUSES for clause in spoken):
        return refused(f"declines: {text[:60]!r}")
    numbers: list[float] = []
    for clause in spoken:
        if not clause.counts:
            continue
        digits = with_digits(CLOCK.sub(" ", clause.text))
        if _NONE_THERE.search(folded(clause.text)):
            numbers.append(0)
        elif _NOT_ONE.search(digits):
            return contradiction(f"no single number: {clause.text[:60]!r}")
        else:
            numbers += [float(one.replace(",", ".").replace("−", "-")) for one in _NUMBER.findall(digits)]
    if numbers and _TOTAL.search(text) and 2 * max(numbers) == sum(numbers):
        numbers = [max(numbers)]
    if len(set(numbers)) > 1:
        return contradiction(f"several numbers: {', '.join(f'{one:g}' for one in sorted(set(numbers))[:4])}")
    return _count(numbers.pop(), "words") if numbers else failed(f"no number is stated in {text[:60]!r}")


def read_share(text: str, _: ReplySchema) -> ReplyReading:
    """A share in percent."""
    held, value = _object_value(text)
    if isinstance(value, ReplyReading):
        return value
    if held and value is None:
        return refused("no value is given")
    if held and not isinstance(value, str):
        return _percent(value, "object")
    plain = with_shares((value if held else text).strip())
    if re.fullmatch(r"\d+(?:\.\d+)?%", plain):
        return _percent(plain[:-1], AS_ASKED if not held and "%" in text else "object")
    bare = plain.strip(" *`\"'.!~≈")
    if re.fullmatch(r"[-+−]?\d+(?:[.,]\d+)?%?", bare):
        return _percent(bare.rstrip("%").replace(",", ".").replace("−", "-"), "bare value")
    spoken = clauses(plain)
    if any(clause.mood is Mood.REFUSES for clause in spoken):
        return refused(f"declines: {text[:60]!r}")
    shares: set[float] = set()
    for clause in spoken:
        if not clause.counts:
            continue
        words = with_digits(clause.text)
        numbers = re.findall(r"[-−]?\d+(?:[.,]\d+)?(?=%)", words)
        if numbers and (_BOUND.search(words) or _CONFIDENT.search(words)):
            return contradiction(f"no single share: {clause.text[:60]!r}")
        shares |= {float(one.replace(",", ".").replace("−", "-")) for one in numbers}
    if len(shares) > 1:
        return contradiction(f"several shares: {', '.join(f'{one:g}' for one in sorted(shares)[:4])}")
    return _percent(shares.pop(), "words") if shares else failed(f"no share is stated in {text[:60]!r}")


def _percent(value: Any, path: str) -> ReplyReading:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return failed(f"{value!r} is no share")
    if isinstance(value, bool) or not 0 <= number <= _MOST_SHARE:
        return contradiction(f"{value!r} is no share of a whole")
    return read_as(number, path)


_DURATION = re.compile(
    r"\b(?:for|lasting|lasts|lasted|took|takes|during|within|während|pendant|durante|für)\s+(?:about\s+|the\s+)?$",
    re.IGNORECASE,
)
_NOT_AT = re.compile(
    r"\b(?:not|before|after|until|by|since|ends? at|vor|nach|avant|après|antes de|nicht|later than)\s+(?:at\s+)?$",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\s*(?:-|–|—|to|bis|until|à|hasta|or|oder)\s*$", re.IGNORECASE)


def read_moments(text: str, schema: ReplySchema) -> ReplyReading:
    """Moments in seconds, in order; one unless several were asked for."""
    held, value = _listed_value(text)
    if held and value is None:
        return refused("no value is given")
    times: list[float] = []
    if held:
        given = value if isinstance(value, list) and not isinstance(value, KeyedPairs) else [value]
        for one in given:
            reading = _moment(moments(str(one)), schema) if isinstance(one, str) else _plain_time(one)
            if not isinstance(reading, float):
                return reading
            times.append(reading)
        return _in_order(times, schema, "object")
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    for clause in clauses(text):
        if clause.counts:
            stated = _of_clause(clause.text, schema)
            if isinstance(stated, ReplyReading):
                return stated
            times += stated
    asked = re.fullmatch(r"\d\d:\d\d:\d\d(?:,\s*\d\d:\d\d:\d\d)*", text.strip())
    return _in_order(times, schema, AS_ASKED if asked else "words") if times else failed(f"no time in {text[:60]!r}")


def _listed_value(text: str) -> tuple[bool, Any]:
    objects = asserted_objects(text)
    if not objects:
        return False, None
    value = objects[0].value
    if len(objects) > 1 and any(repr(one.value) != repr(value) for one in objects):
        return True, ["two objects"]
    while isinstance(value, KeyedPairs):
        kept = [inner for key, inner in value if not is_aside(key)]
        value = kept[0] if len(kept) == 1 else ["several values"]
    return True, value


def _plain_time(value: Any) -> float | ReplyReading:
    seconds = seconds_of(value)
    return failed(f"{value!r} is no time") if seconds is None else float(seconds)


def _of_clause(text: str, schema: ReplySchema) -> list[float] | ReplyReading:
    times = moments(text)
    kept = []
    for place, one in enumerate(times):
        before = text[times[place - 1].end if place else 0 : one.start]
        if _DURATION.search(before) or _NOT_AT.search(before):
            continue
        if place and _RANGE.match(before) and (not schema.several or before.strip().lower() not in ("or", "oder")):
            return contradiction(f"a range and no moment: {text[:60]!r}")
        kept.append(one)
    if kept and re.search(r"\b(?:between|either|zwischen|entre)\b", text, re.IGNORECASE):
        return contradiction(f"no single moment: {text[:60]!r}")
    seconds = []
    for one in kept:
        reading = _moment([one], schema)
        if not isinstance(reading, float):
            return reading
        seconds.append(reading)
    return seconds


def _moment(times: Sequence[Moment], schema: ReplySchema) -> float | ReplyReading:
    if len(times) != 1:
        return contradiction("several times") if times else failed("no time")
    one = times[0]
    if one.seconds is None:
        return contradiction("no such time")
    low, high = schema.window_s or (0.0, float("inf"))
    fits = [value for value in (one.seconds, one.other) if value is not None and low <= value <= high]
    if not fits:
        return contradiction(f"{one.seconds:g} s lies outside of the video")
    if len(fits) > 1:
        return failed("minutes and seconds, or hours and minutes")
    return float(fits[0])


def _in_order(times: Sequence[float], schema: ReplySchema, path: str) -> ReplyReading:
    kept = sorted(set(times))
    low, high = schema.window_s or (0.0, float("inf"))
    if not kept or any(not low <= one <= high for one in kept):
        return contradiction("outside of the video") if kept else failed("no time")
    if len(kept) > 1 and not schema.several:
        return contradiction(f"{len(kept)} times")
    return read_as(kept, path)


_STARTS = "start_time start begin start_s from begins start_frame onset beginning".split()
_ENDS = "end_time end stop end_s to ends end_frame offset finish".split()
_PAIR = 2


def read_span(text: str, schema: ReplySchema, *, exchange: bool = False) -> ReplyReading:
    """Start and end in seconds of the clip."""
    spans, exact = [], False
    for one in asserted_objects(text):
        for entry in _entries(one.value):
            span = _of_entry(entry, schema)
            if isinstance(span, ReplyReading):
                return span
            spans.append(span)
            exact = one.strict and (one.start, one.end) == (0, len(text.strip()))
    if spans:
        if any(span != spans[0] for span in spans):
            return contradiction("several spans")
        return _checked(*spans[0], schema, AS_ASKED if exact else "object", exchange)
    return _span_of_words(text, schema, exchange)


def _entries(value: Any) -> list[Any]:
    if isinstance(value, KeyedPairs):
        if value.values_of(*_STARTS) or value.values_of(*_ENDS):
            return [value]
        inner = [one for key, one in value if isinstance(one, list) and not is_aside(key)]
        return [entry for one in inner for entry in _entries(one)] or [value]
    if isinstance(value, list) and value and all(isinstance(one, list) for one in value):
        return [entry for one in value for entry in _entries(one)]
    return [value] if isinstance(value, list) and len(value) == _PAIR else []


def _of_entry(entry: Any, schema: ReplySchema) -> tuple[float, float] | ReplyReading:
    if isinstance(entry, KeyedPairs):
        starts, ends = entry.values_of(*_STARTS), entry.values_of(*_ENDS)
        if any(len({repr(one) for one in values}) > 1 for values in (starts, ends)):
            return contradiction("a key stands twice")
        given: Sequence[Any] = [*starts[:1], *ends[:1]]
    else:
        given = entry
    if len(given) == _PAIR and given[0] is None and given[1] is None:
        return refused("start and end are null")
    times = [seconds_of(one, frames_s=schema.frames_s) for one in given]
    if len(times) != _PAIR or times[0] is None or times[1] is None:
        return contradiction("start or end is no time")
    return times[0], times[1]


def _span_of_words(text: str, schema: ReplySchema, exchange: bool) -> ReplyReading:
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    times = [
        one
        for clause in clauses(text)
        if clause.counts and not re.search(r"\bnot\b|\beither\b", clause.text, re.IGNORECASE)
        for one in moments(clause.text)
    ]
    if any(one.seconds is None for one in times):
        return contradiction("no such time")
    if len(times) != _PAIR or len(moments(text)) != _PAIR:
        return contradiction(f"{len(times)} times and not two") if times else failed("no two times in the answer")
    return _checked(times[0].seconds or 0.0, times[1].seconds or 0.0, schema, "words", exchange)


def _checked(start: float, end: float, schema: ReplySchema, path: str, exchange: bool) -> ReplyReading:
    if end < start:
        if not exchange:
            return contradiction(f"ends at {end:g} s, before its start at {start:g} s")
        return _checked(end, start, schema, "guess: start and end exchanged", exchange)
    limit = schema.duration_s
    if limit is not None and (start >= limit or end > limit):
        if start >= limit or not _overshoots_little(end, limit):
            return contradiction(f"{start:g} to {end:g} s is not within the {limit:g} s of the clip")
        return read_as((start, limit), path, f"cut to the {limit:g} s of the clip")
    return read_as((start, end), path)


def _overshoots_little(end: float, limit: float) -> bool:
    """Within the last second: whoever counts whole seconds rounds up."""
    return end - limit <= 1
