"""One number, a share, moments, or a stretch of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from surgvalid.asking.reading.candidates import is_aside, is_whole, object_value
from surgvalid.asking.reading.frames import is_framed, marked
from surgvalid.asking.reading.labels import read_labels
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.numbers import CLOCK, Moment, moments, seconds_of, with_digits, with_shares
from surgvalid.asking.reading.objects import KeyedPairs, embedded_objects
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Mood, clauses, is_denied, refuses

_NUMBER = re.compile(r"(?<![a-zA-Z\d_.:/])[-+−]?\d+(?:[.,]\d+)?(?![a-zA-Z\d]|\s*%|\s*[:/]\s*\d)")
_NAMED = re.compile(
    r"\b(?:phase|image|frame|question|option|choice|item|step|surgeon|version|figure|case|patient|day|level"
    r"|grade|page|port|room|bild"
    r"|frage|imagen|pregunta|第)\s*(?:no\.?|nr\.?|number|#)?\s*\d+\b|(?<=[a-z])-\d+\b|\b\d+-[a-z]+|\b\d+ (?:quarters"
    r"|thirds|halves|fifths|tenths)\b|\b\d+\s*(?:mm|cm|m|ml|kg|s|sec|secs|seconds?|min|mins|minutes?|h|hours?|px"
    r"|pixels?|years?|fps|degrees?|sekunden|minuten|secondes|segundos|minutos)\b",
    re.IGNORECASE,
)
"""Numbers that name or measure something, and count nothing."""
_SOME_ONE = re.compile(
    r"\b(?:no|this|that|the|which|every|any|each|missed)[- ]one\b|\bone (?:of|can|could|cannot|may|might|must|should"
    r"|would|sees|has|knows|moment|second|possibility|option|way|reason|thing|point)\b|\b(?:for|number|other) one\b"
    r"|[,;] (?:and )?one (?:is|being|placed|lying|partly|half)\b",
    re.IGNORECASE,
)
_NOT_ONE = re.compile(
    r"\d\s*(?:-|–|—|to|or|bis|oder|and|/|到|至)\s*\d|\b(?:at least|at most|more than|less than"
    r"|fewer than|over|under|up to"
    r"|between|about|around|approximately|roughly|circa|etwa|ungefähr|environ|mehr als|weniger als|plus de|moins de"
    r"|más de|menos de|mindestens|höchstens|au moins|au plus|al menos|a lo sumo)\b|[<>≥≤~≈]|\d\s*\+|至少|最多",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:at least|at most|more than|less than|fewer than|over|under|up to|between|almost|nearly|mehr als"
    r"|weniger als|plus de|moins de|más de|menos de|above|below)\b|[<>≥≤]|\d\s*%?\s*(?:-|–|—|to|or|bis|oder)\s*\d",
    re.IGNORECASE,
)
_NONE_THERE = re.compile(
    r"^(?:there (?:is|are) )?(?:no|none|zero|keine?|aucune?|ning[uú]n\w*|nothing)(?:(?: \w+){0,3} (?:is|are|can be"
    r"|sind|ist|in) .*| (?:clips?|objects?|needles?|sponges?|\w+s)(?: \w+)*| visible| present)?$|^(?:there (?:is|are)"
    r"|i see|es gibt|il n y a|no hay) (?:no|none|keine?|pas|aucune?)\b|^没 有"
)
_TOTAL = re.compile(
    r"\b(?:total|altogether|overall|in all|i count|insgesamt|en tout|au total|en total|makes|soit)\b|[一总]?共",
    re.IGNORECASE,
)
"""Says that one of the numbers is the sum of the others."""
_CONFIDENT = re.compile(
    r"%\s*(?:\w+\s+)?(?:sure|certain|accura\w+|sicher|sûre?|segur[oa]|unable|black|blank)|confiden|accurac|probabilit"
    r"|certaint|chance|likelihood|sicherheit|wahrscheinlich|certitude|certeza|seguridad|把握|置信",
    re.IGNORECASE,
)
_MOST_SHARE = 100
_WORDS_BETWEEN = 4
_AND = re.compile(r"(?:^| )(?:and|und|et|y|和) $")
_UNIT = re.compile(r"\s*(?:in total|in all|altogether|(?P<times>times?)|pieces?|[个枚根块次颗])")


_TIMES = {
    "once": "1 time",
    "twice": "2 times",
    "einmal": "1 mal",
    "zweimal": "2 mal",
}
_OFTEN = re.compile(rf"\b(?:{'|'.join(_TIMES)})\b", re.IGNORECASE)


def read_number(text: str, schema: ReplySchema) -> ReplyReading:
    """A whole number that is not negative."""
    plain, held = _in_words(text, _count)
    if isinstance(plain, ReplyReading):
        return plain
    if schema.about("times"):
        plain = _OFTEN.sub(lambda word: _TIMES[word[0].lower()], plain)
    if re.fullmatch(r"\d+", plain):
        return read_as(int(plain), AS_ASKED if not held else "object")
    return _of_clauses(plain, schema)


def _in_words(text: str, of: Callable[[Any, str], ReplyReading]) -> tuple[str | ReplyReading, bool]:
    """What is to be read in words, or the reading of an object; and whether there is one."""
    held, value = object_value(text)
    if held and not isinstance(value, str | ReplyReading):
        value = of(value, "object")
    return (value if isinstance(value, ReplyReading) else (value if held else text).strip()), held


def _count(value: Any, path: str) -> ReplyReading:
    return _checked_number(value, path, is_fit=lambda number: number >= 0 and number == int(number), kind=int)


def _checked_number(
    value: Any, path: str, *, is_fit: Callable[[float], bool], kind: Callable[[float], float] = float
) -> ReplyReading:
    try:
        number = float(str(value).replace(",", ".").replace("−", "-"))
    except ValueError:
        return failed(f"{value!r} is no number")
    return read_as(kind(number), path) if is_fit(number) else contradiction(f"{value!r} cannot be the answer")


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    spoken = clauses(text)
    if any(clause.mood is Mood.REFUSES for clause in spoken):
        return refused(f"declines: {text[:60]!r}")
    numbers: list[float] = []
    for clause in spoken:
        if not clause.counts:
            continue
        digits = _NAMED.sub(" ", with_digits(_SOME_ONE.sub("; ", CLOCK.sub(" ", clause.text))))
        if _CONFIDENT.search(clause.text):
            continue
        if _NONE_THERE.search(folded(clause.text)):
            numbers.append(0)
        elif _NOT_ONE.search(digits):
            return contradiction(f"no single number: {clause.text[:60]!r}")
        else:
            numbers += _counts_in(digits, schema)
    summed = [clause.text for clause in spoken if _TOTAL.search(clause.text)]
    stated = [float(one) for clause in spoken if clause.counts for one in re.findall(r"\d+", with_digits(clause.text))]
    if summed and stated and 2 * max(stated) == sum(stated):
        numbers = [max(stated)]
    elif stated and re.match(r"\W*\w+\s*[:(–—]", text) and 2 * stated[0] == sum(stated) and len(stated) > _PAIR:
        numbers = [stated[0]]
    elif summed and len(last := list(_counts_in(with_digits(summed[-1]), schema))) == 1:
        numbers = last
    if numbers and not summed and re.search(r"\banother\b", text, re.IGNORECASE):
        return contradiction(f"and another: {text[:60]!r}")
    if numbers and any(one.mood is Mood.GUESSES and _NUMBER.search(with_digits(one.text)) for one in spoken):
        return contradiction(f"another number is possible: {text[:60]!r}")
    if len(set(numbers)) > 1:
        return contradiction(f"several numbers: {', '.join(f'{one:g}' for one in sorted(set(numbers))[:4])}")
    if not numbers and schema.thing and not re.search(r"\d", with_digits(text)):
        there = read_labels(text, schema.of_the_thing)
        numbers = [0.0] if there.usable and not any(there.value.values()) else []
    return _count(numbers.pop(), "words") if numbers else failed(f"no number is stated in {text[:60]!r}")


def _counts_in(digits: str, schema: ReplySchema) -> Iterator[float]:
    """The numbers of a clause that count what was asked for, or are said to be the answer."""
    for one in _NUMBER.finditer(digits):
        if _is_denied(digits, one.start(), one.end()):
            continue
        before, after = f"{marked(digits[: one.start()])} ", f" {marked(digits[one.end() :])}"
        thing = schema.thing.search(after.partition("¶")[0]) if schema.thing else None
        between = after[: thing.start()] if thing else "" if schema.thing is None else None
        if (
            (between is not None and between.count(" ") < _WORDS_BETWEEN)
            or ((unit := _UNIT.match(after)) and (not unit["times"] or schema.thing is None or schema.about("times")))
            or (is_framed(before, after) and not _AND.search(before))
        ):
            yield float(one[0].replace(",", ".").replace("−", "-"))


_NOT_SO = re.compile(r" (?:\w+ ){0,2}(?:(?:is|are|was|were|es|ist|sind) (?:not|gone|no longer|nicht|pas)|nothing)\b")


def _is_denied(text: str, start: int, end: int) -> bool:
    """Whether the words around a number, up to the next mark, take it back."""
    before, after = (marked(side) for side in (text[:start], text[end:]))
    return is_denied(f"{re.split('[¶¦]', before)[-1]} ", "") or _NOT_SO.match(f" {after}") is not None


_OF_FRAME = re.compile(
    r"%\s*of (?:the |this )?(?:image|frame|picture|screen|view|field|pixel|area)|\b(?:zoom|brightness|opacity|scale)\b",
    re.IGNORECASE,
)


def read_share(text: str, schema: ReplySchema) -> ReplyReading:
    """A share in percent."""
    plain, held = _in_words(text, _percent)
    if isinstance(plain, ReplyReading):
        return plain
    plain = with_shares(plain)
    if re.fullmatch(r"\d+(?:\.\d+)?%", plain):
        return _percent(plain[:-1], AS_ASKED if not held and "%" in text else "object")
    bare = plain.strip(" *`\"'.!~≈")
    if re.fullmatch(r"[-+−]?\d+(?:[.,]\d+)?%?", bare):
        return _percent(bare.rstrip("%"), "bare value")
    spoken = clauses(plain)
    if any(clause.mood is Mood.REFUSES for clause in spoken):
        return refused(f"declines: {text[:60]!r}")
    shares: set[float] = set()
    for clause in spoken:
        if not clause.counts:
            continue
        words = with_digits(clause.text)
        if (other := _OF_FRAME.search(words)) and other[0].split()[-1] not in schema.asked:
            continue
        if (of := re.search(r"%\s*of (?:the |all )?(\w+)", words)) and schema.about(of[1]):
            continue
        numbers = list(re.finditer(r"[-−]?\d+(?:[.,]\d+)?(?=%)", words))
        if numbers and (_BOUND.search(words) or _CONFIDENT.search(words)):
            return contradiction(f"no single share: {clause.text[:60]!r}")
        numbers = [one for one in numbers if not _is_denied(words, one.start(), one.end())]
        shares |= {float(one[0].replace(",", ".").replace("−", "-")) for one in numbers}
    if len(shares) > 1:
        return contradiction(f"several shares: {', '.join(f'{one:g}' for one in sorted(shares)[:4])}")
    return _percent(shares.pop(), "words") if shares else failed(f"no share is stated in {text[:60]!r}")


def _percent(value: Any, path: str) -> ReplyReading:
    return _checked_number(value, path, is_fit=lambda number: 0 <= number <= _MOST_SHARE)


_AT = re.compile(
    r"(?:^|[^\w\s]|\d|[一-鿿]|(?<![^\W_])(?:(?<!not )(?<!nicht )(?<!ends )at|um|bei|en|à|vers|gegen|around|about"
    r"|approximately|roughly|ungefähr|etwa|environ|las|los|is|are|was|ist|est|es|time|then|again|and|und|et|y|to|bis"
    r"|until|or|oder|ou|o"
    r"|in|on|from|but|first|say))\s*$",
    re.IGNORECASE,
)
"""What stands before a moment that is said to be the answer."""
_LENGTH = re.compile(
    r"\b(?:window|video|clip|recording|segment) (?:starts|begins|ends|runs|lasts|stops)\b|\b(?:duration|length"
    r"|runtime|laufzeit|dauer|durée|duración|format)\b|\b(?:image|frame|picture|photo|screenshot)s? (?:\w+ )?(?:taken"
    r"|recorded|captured)\b|^\s*(?:long|in length)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\s*(?:-|–|—|to|bis|until|à|hasta|or|oder)\s*$", re.IGNORECASE)


def read_moments(text: str, schema: ReplySchema) -> ReplyReading:
    """Moments in seconds, in order; one unless several were asked for."""
    held, value = object_value(text)
    if isinstance(value, ReplyReading):
        return value
    times: list[float] = []
    tied: list[float] = []
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
            tied += stated if schema.about(clause.text) else []
    if len(times) > 1 and tied and not schema.several:
        times = tied
    asked = re.fullmatch(r"\d\d:\d\d:\d\d(?:,\s*\d\d:\d\d:\d\d)*", text.strip())
    return _in_order(times, schema, AS_ASKED if asked else "words") if times else failed(f"no time in {text[:60]!r}")


def _plain_time(value: Any) -> float | ReplyReading:
    seconds = seconds_of(value)
    return failed(f"{value!r} is no time") if seconds is None else float(seconds)


def _of_clause(text: str, schema: ReplySchema) -> list[float] | ReplyReading:
    times = moments(text)
    kept = []
    for place, one in enumerate(times):
        before = text[times[place - 1].end if place else 0 : one.start]
        if _is_denied(text, one.start, one.end) or _other_event(before, schema):
            continue
        if not _AT.search(before) or _LENGTH.search(before) or _LENGTH.search(text[one.end : one.end + 20]):
            continue
        if place and _RANGE.match(before) and (not schema.several or before.strip().lower() not in ("or", "oder")):
            return contradiction(f"a range and no moment: {text[:60]!r}")
        kept.append(one)
    if len(kept) > 1 and not schema.several and "," in text:
        ends = [0, *(one.end for one in times)]
        tied = [
            one for end, one in zip(ends, times, strict=False) if one in kept and schema.about(text[end : one.start])
        ]
        kept = tied if len(tied) == 1 else kept
    if kept and re.search(r"\b(?:between|either|zwischen|entre)\b", text, re.IGNORECASE):
        return contradiction(f"no single moment: {text[:60]!r}")
    seconds = []
    for one in kept:
        reading = _moment([one], schema)
        if not isinstance(reading, float):
            return reading
        seconds.append(reading)
    return seconds


_ENDING = re.compile(r"\b(disappear|vanish|leave|end|stop|remove|withdraw|verschwind|dispara|desapare)", re.IGNORECASE)


def _other_event(text: str, schema: ReplySchema) -> bool:
    """Whether a text speaks of an end that was not asked for."""
    ending = _ENDING.search(text)
    return ending is not None and bool(schema.asked) and ending[1].lower() not in schema.asked.lower()


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


def read_span(text: str, schema: ReplySchema) -> ReplyReading:
    """Start and end in seconds of the clip."""
    spans, exact = [], False
    held = embedded_objects(text)
    bare = embedded_objects(f"{{{text}}}") if not held else []
    if len(bare) == 1 and bare[0].value.values_of(*_STARTS) and bare[0].value.values_of(*_ENDS):
        held = bare
    for one in held:
        for entry in _entries(one.value):
            span = _of_entry(entry, schema)
            if isinstance(span, ReplyReading):
                return span
            spans.append(span)
            exact = is_whole(text, one)
    if spans:
        if any(span != spans[0] for span in spans):
            return contradiction("several spans")
        return _checked(*spans[0], schema, AS_ASKED if exact else "object")
    return _span_of_words(text, schema)


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


_NO_SPAN = re.compile(
    r"\b(?:not|either)\b|\b(?:for|lasts|takes) \d|\b(?:clip|video|recording"
    r"|footage) (?:itself )?(?:starts|begins|runs|lasts|is|goes|spans|covers)\b",
    re.IGNORECASE,
)


_NO_ERROR = re.compile(
    r"\bno (?:\w+ )?(?:error|event|bleeding|mistake)s?\b|\bnothing (?:goes|happens|is wrong)\b|\b(?:first"
    r"|last) frame\b",
    re.IGNORECASE,
)
_OF_SPAN = re.compile(
    r"^\W*(?:(?:from|at|between|von|zwischen|de|du|del|desde|entre|about|around|approximately|seconds?|the|t)\W+|从"
    r"|第)*\s*[\d–-]|\b(?:it|this|answer|error\w*|erreur|fehler|mistake|event|bleeding|injury|perforation|spill\w*"
    r"|start\w*|beg[aiu]n\w*|début\w*|fin|commence|comienza|inicio|empieza|onset|end(?=\W*:)|stop\w*|finish\w*"
    r"|happen\w*|occur\w*|lasts|interval|time\w*)\b"
    r"|错误|开始|时间|出血",
    re.IGNORECASE,
)
"""A stretch alone, or that of what was asked for."""
_SHARED_UNIT = re.compile(
    r"(?<![\d:.])(\d+(?:\.\d+)?)(?=\s*(?:-|–|—|to|and|bis|und|à|et|a|y|hasta)\s*\d+(?:\.\d+)?\s*"
    r"(s|sec\w*|sek\w*|seg\w*|min\w*|秒)(?![^\W_]))",
    re.IGNORECASE,
)


def _span_of_words(text: str, schema: ReplySchema) -> ReplyReading:
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    spoken = clauses(_SHARED_UNIT.sub(r"\1 \2", text))
    if any(_NO_ERROR.search(one.text) for one in spoken):
        return failed("nothing happens")
    counted = [one for one in spoken if one.counts and not _NO_SPAN.search(one.text) and _OF_SPAN.search(one.text)]
    times = [time for one in counted for time in moments(one.text)]
    if any(one.seconds is None for one in times):
        return contradiction("no such time")
    if len(times) != _PAIR or sum(len(moments(one.text)) for one in spoken) != _PAIR:
        return contradiction(f"{len(times)} times and not two") if times else failed("no two times in the answer")
    return _checked(times[0].seconds or 0.0, times[1].seconds or 0.0, schema, "words")


def _checked(start: float, end: float, schema: ReplySchema, path: str) -> ReplyReading:
    if end < start:
        return contradiction(f"ends at {end:g} s, before its start at {start:g} s")
    limit = schema.duration_s
    if limit is not None and (start >= limit or end > limit):
        if start >= limit or not _overshoots_little(end, limit):
            return contradiction(f"{start:g} to {end:g} s is not within the {limit:g} s of the clip")
        return read_as((start, limit), path, f"cut to the {limit:g} s of the clip")
    return read_as((start, end), path)


def _overshoots_little(end: float, limit: float) -> bool:
    """Within the last second: whoever counts whole seconds rounds up."""
    return end - limit <= 1
