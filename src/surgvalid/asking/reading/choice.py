"""One class out of several, or one option: from an object, from a number and name, or from what clauses assert.

A number beside a name is checked against it. Two classes are no answer, and neither the first nor the last is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from surgvalid.asking.reading.candidates import asserted_objects, is_aside
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.numbers import NUMBER_WORDS, with_digits
from surgvalid.asking.reading.objects import KeyedPairs, plain_key
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Clause, Mood, clauses, is_denied, mood_of, named_groups, refuses

_KEYS = (
    r"answer|label|class|category|phase|fase|phase name|score|rating|grade|grad|level|severity|gesture|action|motion"
    r"|movement|error(?:[ _.]type)?|type|step|stage|option|choice|value|bewertung|note|puntuación|阶段|答案|评分|选项"
    r"|错误类型|类型|等级"
)
_NUMBERED = re.compile(
    r"[#(\[]{0,2}(?P<mark>[-+]?\d+(?:\.\d+)?|[A-Za-zäöüÄÖÜé]+)[)\]]?(?P<between>\s*[).:,;\-–—=(]+\s*"
    r"|\s+)(?P<rest>\S.*)",
    re.DOTALL,
)
_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?")
_BEGINS_WITH_LETTER = re.compile(r"(?:(?:or|and|oder|und|ou|et|y|o)\s|[/,&])\s*\(?[A-Z]\b|\(?[A-Z]\W*$")
_BEGINS_WITH_NUMBER = re.compile(r"(?:(?:or|and|to|bis|oder|ou|o|und|et|y|->|/)\s*)?[-+]?\d")
_SCALE = re.compile(
    r"(?<=\d)\s*(?:/|out of|von|sur|de)\s*\d+\b|\(?\b(?:on|using|from)?\s*(?:a|the)?\s*scale\s*(?:of|from)?\s*\d+\s*"
    r"(?:to|-|–)\s*\d+\)?|\(\s*\d+\s*(?:to|-|–)\s*\d+\s*\)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b\d+ (?!(?:because|since|for|as|on|out|of|points?|stars?|and|or|in|due|based|with|overall|to|is)\b)[a-z]+",
    re.IGNORECASE,
)
_FURTHER = r"[)\]\"'*]*\s*(?:/|-|–|—|->|→|,|&|or|and|to|bis|oder|ou|o|und|et|y|或|和)\s*"
_BOUND = re.compile(
    r"\b(?:at least|at most|more than|less than|above|below|over|under|about|around|approximately|roughly)\s+\d",
    re.IGNORECASE,
)
_SURE = re.compile(r"\b(?:is|:|=|best|most likely|appears|answer|therefore|so)\b|[:=]", re.IGNORECASE)
_DRESS = " \t\n\"'`*_.,;:!()[]“”‘’-−•>#$"


def read_choice(text: str, schema: ReplySchema) -> ReplyReading:
    """The class or option that a reply commits itself to."""
    readings = []
    for one in asserted_objects(text):
        reading = _of_value(one.value, schema)
        whole = one.strict and text.strip() == text[one.start : one.end] and isinstance(one.value, KeyedPairs)
        exact = whole and [plain_key(key) for key, _ in one.value] == [plain_key(schema.key)] and bool(schema.key)
        readings.append(read_as(reading.value, AS_ASKED) if reading.usable and exact else reading)
    if readings:
        return _agreed(readings)
    bare = _bare(text, schema)
    if bare is not None:
        return bare
    listed = _of_lines(text, schema)
    return listed if listed is not None else _of_clauses(text, schema)


def _agreed(readings: list[ReplyReading]) -> ReplyReading:
    """Of several readings the one that all share."""
    usable = [one for one in readings if one.usable]
    values = list(dict.fromkeys(one.value for one in usable))
    broken = next((one for one in readings if one.path == "contradiction"), None)
    if len(values) > 1:
        return contradiction(f"two answers are given: {values[0]!r} and {values[1]!r}")
    if broken is not None:
        return broken
    return usable[0] if usable else readings[0]


def _of_value(value: Any, schema: ReplySchema) -> ReplyReading:
    """By the key that was asked for; by the only value where the key is another."""
    if isinstance(value, KeyedPairs):
        return _of_members(value, schema)
    if isinstance(value, list):
        readings = [_of_value(one, schema) for one in value]
        if len(readings) > 1 and not all(one.usable for one in readings):
            return contradiction(f"a list of {len(readings)} values")
        return _agreed(readings) if readings else failed("an empty list")
    return class_of(value, schema)


def _of_members(members: KeyedPairs, schema: ReplySchema) -> ReplyReading:
    keyed = members.values_of(schema.key) if schema.key else []
    if keyed:
        reading = _agreed([_of_value(one, schema) for one in keyed])
        beside = [name for key, one in members if _names_it(key, schema) and (name := _exact(one, schema))]
        if reading.usable and any(name != reading.value for name in beside):
            return contradiction(f"{reading.value!r} beside {beside[0]!r}")
        return reading if not reading.usable or reading.path != AS_ASKED else read_as(reading.value, "object")
    kept = KeyedPairs((key, one) for key, one in members if not is_aside(key))
    if not kept:
        return failed("an object without the answer")
    if len(kept) == 1:
        reading = _of_value(kept[0][1], schema)
        return read_as(reading.value, "object with another key") if reading.usable else reading
    keys = ", ".join(repr(key) for key, _ in kept[:5])
    return failed(f"no key {schema.key!r} in an object with {keys}" if schema.key else f"several keys: {keys}")


def _names_it(key: str, schema: ReplySchema) -> bool:
    plain = plain_key(key)
    return plain != plain_key(schema.key) and (
        plain_key(schema.key) in plain or plain in ("name", "label", "class", "description")
    )


def _exact(value: Any, schema: ReplySchema) -> str | None:
    return _result(schema.names.exact(value), schema) if isinstance(value, str) else None


def class_of(value: Any, schema: ReplySchema) -> ReplyReading:
    """The class that one value stands for."""
    if value is None:
        return refused("no value is given")
    if isinstance(value, bool):
        return failed(f"{value!r} is no class")
    if isinstance(value, int | float):
        name = _of_mark(f"{value:g}", schema)
        return read_as(name, "object") if name else contradiction(f"{value!r} is the number of no class")
    bare = _bare(value, schema)
    if bare is not None:
        return read_as(bare.value, "object") if bare.usable else bare
    reading = _of_clauses(value, schema)
    return read_as(reading.value, "object") if reading.usable else reading


def _result(name: str | None, schema: ReplySchema) -> str | None:
    """A class as it is handed over: of options its letter."""
    if name is None or not schema.options:
        return name
    return next(letter for letter, text in schema.options.items() if text == name)


def _of_mark(mark: str, schema: ReplySchema) -> str | None:
    """The class of a number, or the option of a letter."""
    if schema.options:
        return mark.upper() if mark.upper() in schema.options else None
    mark = str(NUMBER_WORDS.get(mark.casefold(), mark))
    try:
        number = float(mark.replace("−", "-"))
    except ValueError:
        return None
    if f"{number:g}" in schema.classes:
        return f"{number:g}"
    if schema.numbered_from is None or number != int(number):
        return None
    place = int(number) - schema.numbered_from
    return schema.classes[place] if 0 <= place < len(schema.classes) else None


def _undressed(text: str) -> str:
    """A text without quotes, bullets and marks around it; the sign of a number stays."""
    bare = text.strip(_DRESS)
    before = text[: text.find(bare)] if bare else ""
    return f"-{bare}" if bare[:1].isdigit() and before.endswith(("-", "−")) else bare


def _bare(text: str, schema: ReplySchema) -> ReplyReading | None:
    """A text that is a name, a number, or both; None where it is something else."""
    stripped = _undressed(text)
    if exact := _result(schema.names.exact(stripped), schema):
        asked = not schema.key and text.strip() == (schema.options.get(exact) if schema.options else exact)
        return read_as(exact, AS_ASKED if asked else "bare value")
    number = _NUMBER.fullmatch(stripped)
    if number or folded(stripped) in NUMBER_WORDS or (schema.options and len(stripped) == 1):
        name = _of_mark(number[0] if number else stripped, schema)
        if name is None and schema.numbered_from is None and not schema.ordered and not schema.options:
            return failed(f"{stripped!r} is the number of no class")
        return read_as(name, "bare value") if name else contradiction(f"{stripped!r} stands for no class")
    text = _undressed(_SCALE.sub("", stripped)) if schema.ordered else stripped
    if text != stripped and _NUMBER.fullmatch(text):
        name = _of_mark(text, schema)
        return read_as(name, "bare value") if name else contradiction(f"{text!r} stands for no class")
    return _numbered(text, schema)


def _numbered(text: str, schema: ReplySchema) -> ReplyReading | None:
    """Number and name, which must agree; or a number and why."""
    match = _NUMBERED.fullmatch(text)
    if match is None or (
        not match["mark"][-1].isdigit() and folded(match["mark"]) not in NUMBER_WORDS and not schema.options
    ):
        return None
    marked = bool(match["between"].strip()) or text[match.end("mark")] in ")]"
    if schema.options and (len(match["mark"]) != 1 or not (marked or text[:1] in "([")):
        return None
    if schema.numbered_from is None and not schema.ordered and not schema.options:
        return None
    name, rest = _of_mark(match["mark"], schema), match["rest"]
    named = _result(schema.names.exact(rest.strip(_DRESS)), schema)
    if named is not None and not schema.ordered:
        same = named == name
        return read_as(named, "number and name") if same else contradiction(f"{text[:60]!r}: number and name disagree")
    if not marked or ("\n" in rest.strip() and _several_lines(text)):
        return None
    if _BEGINS_WITH_NUMBER.match(rest) or (schema.options and _BEGINS_WITH_LETTER.match(rest)):
        return contradiction(f"{text[:60]!r} names several answers")
    if name is None:
        return contradiction(f"{match['mark']!r} stands for no class")
    others = {one for clause in clauses(rest) if clause.counts for one in _asserted(clause, schema)} - {name}
    if others and not schema.ordered:
        return contradiction(f"{text[:60]!r} names {name!r} and {min(others)!r}")
    if mood_of(rest) is not Mood.ASSERTS:
        return failed(f"{text[:60]!r} {mood_of(rest)}")
    return read_as(name, "number and reason")


def _several_lines(text: str) -> bool:
    return sum(bool(re.match(r"[\s\-*•]*\(?(?:\d+|[A-Z])\s*[).:]", line)) for line in text.splitlines()) > 1


_LINE = re.compile(r"^[\s>*#_\-•|]*(?P<key>[^\n:=|]{1,40}?)[*_\s|]*[:=|][*_\s]*(?P<value>[^\n]+?)[\s|]*$", re.MULTILINE)


def _of_lines(text: str, schema: ReplySchema) -> ReplyReading | None:
    """The value of a line whose key is the one that was asked for, or is a word for it."""
    pattern = re.compile(rf"(?:.* )?(?:{_KEYS})(?: \w+)?", re.IGNORECASE)
    readings = []
    for match in _LINE.finditer(text):
        key = folded(match["key"])
        if (schema.key and plain_key(key) == plain_key(schema.key)) or pattern.fullmatch(key):
            if len(match["key"].split()) > 4 or mood_of(match["key"]) is not Mood.ASSERTS:
                continue
            readings.append(class_of(_undressed(match["value"]), schema))
    usable = [one for one in readings if one.usable or one.path == "contradiction"]
    if not usable:
        return None
    agreed = _agreed(usable)
    return read_as(agreed.value, "line with key") if agreed.usable else agreed


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    """The only class that clauses assert; in a reply that declines, only where it is stated outright."""
    text = _SCALE.sub(" ", text) if schema.ordered else text
    spoken = clauses(text)
    asserted = [clause for clause in spoken if clause.counts]
    strong = [name for clause in asserted for name in _stated(clause, schema)]
    if None in strong:
        return contradiction("a number that stands for no class is stated")
    named = list(dict.fromkeys(strong)) or list(
        dict.fromkeys(n for clause in asserted for n in _asserted(clause, schema))
    )
    if len(named) > 1:
        return contradiction(f"several classes are named: {', '.join(map(repr, named[:4]))}")
    if any(clause.mood is Mood.REFUSES for clause in spoken):
        sure = any(_SURE.search(clause.text) and _asserted(clause, schema) for clause in asserted)
        if not named or not sure:
            return refused(f"declines: {text.strip()[:60]!r}")
    if not named:
        return _why_none(spoken, schema, text)
    return read_as(named[0], "words")


def _why_none(spoken: list[Clause], schema: ReplySchema, text: str) -> ReplyReading:
    """Why no clause asserts a class."""
    for clause in spoken:
        if groups := named_groups(clause.text, schema.names):
            how = (
                f"denied in {clause.text[:60]!r}"
                if clause.counts
                else f"not asserted: {clause.text[:60]!r} {clause.mood}"
            )
            return failed(f"{groups[0].names[0]!r} is {how}")
    return failed(f"no class is named in {text.strip()[:60]!r}")


def _asserted(clause: Clause, schema: ReplySchema) -> list[str]:
    if schema.ordered and _BOUND.search(clause.text):
        return []
    text = _COUNTED.sub(" ", clause.text) if schema.ordered else clause.text
    groups = named_groups(text, schema.names)
    return [name for group in groups if not group.denied for one in group.names if (name := _result(one, schema))]


def _stated(clause: Clause, schema: ReplySchema) -> Iterator[str | None]:
    """What a clause states outright: a number or letter after a word for the answer; None for one of no class."""
    keys = f"{_KEYS}|{re.escape(folded(schema.key))}" if schema.key else _KEYS
    mark = r"[A-Z]" if schema.options else r"[-+]?\d+(?:\.\d+)?"
    pattern = (
        rf"(?<![a-zA-Z0-9])(?i:{keys})(?![a-zA-Z0-9])[\"'*]*\s*(?:(?:is|was|=|:|of|no\.?|number|level|ist|est|es|是|为"
        rf"|would be|la|le|el|die|número|numéro|nummer)\s*){{0,3}}"
        rf"[\"'*`(\[]*(?P<mark>{mark})(?![^\W_]|\.\d)"
    )
    text = clause.text if schema.options else with_digits(clause.text)
    for match in re.finditer(pattern, text):
        rest = text[match.end() :]
        if schema.numbered_from is None and not schema.ordered and not schema.options:
            return
        if is_denied(folded(text[: match.start()]) + " ", f" {folded(rest)}"):
            continue
        name = None if re.match(_FURTHER + mark, rest) else _of_mark(match["mark"], schema)
        beside = schema.names.mentions(folded(rest)[:60])
        named = _result(beside[0].name, schema) if beside and beside[0].start == 0 else None
        yield name if named in (None, name) or schema.ordered else None


def guess_choice(text: str, schema: ReplySchema) -> ReplyReading:
    """The only class that is named at all, where nothing declines or contradicts."""
    names = [
        name
        for clause in clauses(text)
        if clause.mood in (Mood.ASSERTS, Mood.GUESSES)
        for name in _asserted(clause, schema)
    ]
    one = list(dict.fromkeys(names))
    return read_as(one[0], "guess: a class named with perhaps") if len(one) == 1 and not refuses(text) else failed("")
