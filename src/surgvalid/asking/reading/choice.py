"""One class out of several, or one option: from an object, from a number and name, or from what clauses assert.

A number beside a name is checked against it. Two classes are no answer, and neither the first nor the last is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from surgvalid.asking.reading.candidates import is_aside, is_whole
from surgvalid.asking.reading.frames import is_framed, marked
from surgvalid.asking.reading.labels import read_labels
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.numbers import NUMBER_WORDS, with_digits
from surgvalid.asking.reading.objects import KeyedPairs, embedded_objects, plain_key
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, agreed, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Clause, Mood, clauses, is_denied, mood_of, named_groups, refuses

_NAMING = frozenset("id index number no name label class code letter option answer text title value".split())
"""Members that say one thing in two ways."""
_OTHER_TIME = re.compile(r"previous|next|last|before|after|not|alternative|second|rejected|other|unlikely|candidate")
_KEYS = (
    r"answer|label|class|category|phase|fase|phase name|score|rating|grade|grad|level|severity|gesture|action|motion"
    r"|movement|error(?:[ _.]type)?|type d['’]erreur|type|option|choice|value|bewertung|note|puntuación|阶段|答案|评分"
    r"|选项|错误类型|类型|等级|typ|tipo|opción|respuesta|réponse|antwort|richtig|correcta?|选"
)
_NTH = re.compile(r"第\s*(\d+)\s*个?阶段")
_HEADED = re.compile(rf"(?:^|(?<=\n))[#*_\s]*({_KEYS})[*_]*[ \t]*\n+", re.IGNORECASE)
_NUMBERED = re.compile(
    r"[#(\[]{0,2}(?P<mark>[-+]?\d+(?:\.\d+)?|[A-Za-zäöüÄÖÜé]+)[)\]]?(?P<between>\s*[).:,;\-–—=(]+\s*"
    r"|\s+)(?P<rest>\S.*)",
    re.DOTALL,
)
_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?")
_BEGINS_WITH_LETTER = re.compile(r"(?:(?:or|and|oder|und|ou|et|y|o)\s|[/,&])\s*\(?[A-Z]\b|\(?[A-Z]\W*$")
_BEGINS_WITH_NUMBER = re.compile(r"(?:(?:or|and|to|bis|oder|ou|o|und|et|y|->|>|/)\s*)?[-+]?\d")
_SCALE = re.compile(
    r"(?<=\d)\s*(?:/|(?:out )?of|von|sur|de)\s*\d+\b|\(?\b(?:on|using|from)?\s*(?:a|the)?\s*scale\s*(?:of"
    r"|from)?\s*\d+\s*(?:to|-|–)\s*\d+\)?|\(\s*\d+\s*(?:to|-|–)\s*\d+\s*\)|分?\s*\(?满分\s*\d+\s*分?\)?",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b\d+ (?!(?:because|since|for|as|on|out|of|points?|stars?|and|or|in|due|based|with|overall|to|is|punkten?"
    r"|sterne|puntos|estrellas|étoiles)\b)[a-z]+",
    re.IGNORECASE,
)
_REASON = re.compile(r"(?:because|since|as|weil|denn|car|parce|puisque|porque|ya que|因为)\b|因为", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:la|le|el|die|der|das|the) (?=[A-Z\d]$)")
_FURTHER = r"[)\]\"'*]*\s*(?:/|-|–|—|->|→|,|&|or|and|to|bis|oder|ou|o|und|et|y|或|和)\s*"
_CONFIDENCE = re.compile(r"\bconfiden\w+\W+(?:\w+\W+)?\d|\d\s*(?:confident|certain|sure)\b", re.IGNORECASE)
_FLAGS = re.compile(r"[:|=]\s*(?:yes|no|true|false|0|1|ja|nein|oui|non|sí)\b|[✓✔✅☑❌✗✘✕☒]", re.IGNORECASE)
_OBJECT = re.compile(r"[{\[].*[}\]]", re.DOTALL)
_DRESS = " \t\n\"'`*_.,;:!()[]“”‘’-−•>#$"


def read_choice(text: str, schema: ReplySchema) -> ReplyReading:
    """The class or option that a reply commits itself to."""
    text = _HEADED.sub(r"\1: ", _NTH.sub(r"阶段 \1", text))
    readings = []
    for one in embedded_objects(text):
        reading = _of_value(one.value, schema)
        whole = is_whole(text, one) and isinstance(one.value, KeyedPairs)
        exact = whole and [plain_key(key) for key, _ in one.value] == [plain_key(schema.key)] and bool(schema.key)
        readings.append(read_as(reading.value, AS_ASKED) if reading.usable and exact else reading)
    if readings:
        shared, prose = agreed(readings), _OBJECT.sub(" ", text)
        in_prose = {name for one in clauses(prose) if one.counts for name in _asserted(one, schema)}
        if shared.usable and len(in_prose) == 1 and shared.value not in in_prose and not schema.ordered:
            return contradiction(f"{shared.value!r} in an object, {min(in_prose)!r} in words")
        return shared
    bare = _bare(text, schema)
    if bare is not None:
        return bare
    flags = read_labels(text, schema) if _FLAGS.search(text) else None
    held = flags.value if flags is not None and flags.usable else {}
    if sum(map(bool, held.values())) == 1 and False in held.values():
        return read_as(next(name for name, one in held.items() if one), "truth values")
    return _behind_a_colon(text, schema) or _of_clauses(text, schema)


_TAIL = re.compile(r"((?:[^\s:]+ ){2}[^:\n]*[a-z)])\s*(?::|→|->|=>|–|—)\s*([^:\n]{1,60})$", re.IGNORECASE)
_NUMBER_OF = re.compile(
    r"\b(?:number|count|total|confiden\w+|certain\w+|tools?|instruments?|frames?|images?|previous|next|last|then)\b",
    re.IGNORECASE,
)


def _behind_a_colon(text: str, schema: ReplySchema) -> ReplyReading | None:
    """The class with which one sentence ends, behind a colon or an arrow; None where there is none."""
    tail = _TAIL.fullmatch(text.strip(" .*\n"))
    if not tail or mood_of(text) is not Mood.ASSERTS or _NUMBER_OF.search(tail[1]):
        return None
    read = _bare(tail[2], schema)
    named = {name for one in clauses(tail[1]) for name in _asserted(one, schema)}
    if not (read and read.usable) or named - {read.value} or is_denied(f"{folded(tail[1])[-24:]} ", ""):
        return None
    return read_as(read.value, "behind a colon")


def _of_value(value: Any, schema: ReplySchema) -> ReplyReading:
    """By the key that was asked for; by the only value where the key is another."""
    if isinstance(value, KeyedPairs):
        return _of_members(value, schema)
    if isinstance(value, list):
        readings = [_of_value(one, schema) for one in value]
        if len(readings) > 1 and not all(one.usable for one in readings):
            return contradiction(f"a list of {len(readings)} values")
        return agreed(readings) if readings else failed("an empty list")
    return class_of(value, schema)


def _of_members(members: KeyedPairs, schema: ReplySchema) -> ReplyReading:
    if any(refuses(str(one)) for one in members.values_of("error", "message", "warning")):
        return refused("declines beside the answer")
    keyed = members.values_of(schema.key) if schema.key else []
    if keyed:
        reading = agreed([_of_value(one, schema) for one in keyed])
        beside = [name for key, one in members if _names_it(key, schema) and (name := _exact(one, schema))]
        if reading.usable and any(name != reading.value for name in beside):
            return contradiction(f"{reading.value!r} beside {beside[0]!r}")
        return reading if not reading.usable or reading.path != AS_ASKED else read_as(reading.value, "object")
    kept = KeyedPairs((key, one) for key, one in members if not is_aside(key))
    if len(kept) > 1 and all(plain_key(key).removeprefix(plain_key(schema.key)) in _NAMING for key, _ in kept):
        named = [_of_value(one, schema) for _, one in kept]
        return agreed(named) if all(one.usable for one in named) else failed("an object without the answer")
    inner = [one for _, one in kept if isinstance(one, KeyedPairs) and _holds(one, schema.key)]
    if len(kept) > 1 and len(inner) == 1:
        kept = KeyedPairs([("", inner[0])])
    if len(kept) == 1:
        reading = _of_value(kept[0][1], schema)
        return read_as(reading.value, "object with another key") if reading.usable else reading
    keys = ", ".join(repr(key) for key, _ in kept[:5])
    return failed(f"no key {schema.key!r} in an object with {keys}" if schema.key else f"several keys: {keys}")


def _holds(value: Any, key: str) -> bool:
    """Whether an object has the key, at any depth."""
    return isinstance(value, KeyedPairs) and any(
        plain_key(name) == plain_key(key) or _holds(one, key) for name, one in value
    )


def _names_it(key: str, schema: ReplySchema) -> bool:
    plain = plain_key(key)
    explains = is_aside(key) and plain != "description"
    return plain != plain_key(schema.key) and not explains and not _OTHER_TIME.search(plain)


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
    stripped = _ARTICLE.sub("", _undressed(text))
    if exact := _result(schema.names.exact(stripped), schema):
        asked = not schema.key and text.strip() == (schema.options.get(exact) if schema.options else exact)
        return read_as(exact, AS_ASKED if asked else "bare value")
    number = _NUMBER.fullmatch(stripped)
    if number or folded(stripped) in NUMBER_WORDS or (schema.options and len(stripped) == 1):
        name = _of_mark(number[0] if number else stripped, schema)
        return read_as(name, "bare value") if name else contradiction(f"{stripped!r} stands for no class")
    if schema.ordered and _is_of_another_scale(with_digits(stripped), schema):
        return contradiction(f"{stripped[:60]!r} is of another scale")
    text = _undressed(_SCALE.sub("", stripped)) if schema.ordered else stripped
    return _numbered(text, schema)


def _is_of_another_scale(text: str, schema: ReplySchema) -> bool:
    """Whether a grade is given out of another number than the highest grade."""
    outs = re.findall(r"\d\s*(?:/|(?:out )?of|von|sur|de)\s*(\d+)\b", text, re.IGNORECASE)
    return any(out != schema.classes[-1] for out in outs)


def _numbered(text: str, schema: ReplySchema) -> ReplyReading | None:
    """Number and name, which must agree; or a number and why."""
    match = _NUMBERED.fullmatch(text)
    if match is None or (
        not match["mark"][-1].isdigit() and folded(match["mark"]) not in NUMBER_WORDS and not schema.options
    ):
        return None
    marked = match["between"].strip() or text[match.end("mark")] in ")]" or _REASON.match(match["rest"])
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


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    """The only class that clauses assert; in a reply that declines, only where it is stated outright."""
    text = _SCALE.sub(" ", with_digits(text)) if schema.ordered else text
    spoken = clauses(text)
    asserted = [clause for clause in spoken if clause.counts]
    decided = [clause for clause in asserted if _DECIDES.search(clause.text)]
    asserted = decided if len(decided) == 1 else asserted
    numbers = [one for clause in asserted for one in _stated(clause, schema)]
    if (None, True) in numbers:
        return contradiction("a number that stands for no class is stated")
    strong = [name for name, framed in numbers if framed and name]
    framed = [name for clause in asserted for name in _asserted(clause, schema, framed=True)]
    named = list(dict.fromkeys(strong if strong and schema.ordered else [*strong, *framed]))
    if named and any(name not in named for name, _ in numbers):
        return contradiction("a number is said to be something else")
    if len(named) > 1:
        return contradiction(f"several classes are named: {', '.join(map(repr, named[:4]))}")
    if any(clause.mood is Mood.REFUSES for clause in spoken) and not framed:
        return refused(f"declines: {text.strip()[:60]!r}")
    if not named:
        unclear = [name for clause in asserted for name in _asserted(clause, schema)]
        why = f"{unclear[0]!r} is named, and not said to be the answer" if unclear else "no class is asserted"
        return failed(f"{why} in {text.strip()[:60]!r}")
    beside = re.search(
        rf"{re.escape(str(named[0]))}s?(?:\W*\((\d+)\)|\)?\s*[:=]\s*([\d.]+%?"
        rf"|false))",
        text,
        re.IGNORECASE,
    )
    if (
        beside
        and (beside[2] or schema.numbered_from is not None)
        and _of_mark(beside[1] or beside[2], schema) != named[0]
    ):
        return contradiction(f"{beside[0]!r}: number and name disagree")
    return read_as(named[0], "words")


def _asserted(clause: Clause, schema: ReplySchema, *, framed: bool = False) -> list[str]:
    if schema.ordered and _CONFIDENCE.search(clause.text):
        return []
    text = _COUNTED.sub(" ", clause.text) if schema.ordered else clause.text
    groups = named_groups(text, schema.names, thing=bool(schema.options))
    kept = (group for group in groups if not group.denied and group.framed >= framed)
    return [name for group in kept for one in group.names if (name := _result(one, schema))]


_DECIDES = re.compile(
    r"\bi(?:['’](?:d|ll)| would| will| therefore| thus)? (?:choose|pick|select|opt for|go with|settle (?:on|for)"
    r"|decide (?:on|for))\b"
    r"|\bich (?:wähle|entscheide)\b|\bje (?:choisis|retiens)\b|\belijo\b|\bme quedo con\b|我选",
    re.IGNORECASE,
)
_NAMED_AT_END = (
    r"it is|it['’]s|that is|makes it|leaves|label it|the number is|die zahl ist|i(?: would| will|['’]d|['’]ll)?"
    r" (?:choose|pick|select|answer|say|go with|opt for)|wähle(?: daher)?|choisis|elijo|c['’]est|es ist|es la|es el"
)


def _stated(clause: Clause, schema: ReplySchema) -> Iterator[tuple[str | None, bool]]:
    """What a clause states outright: a number or letter after a word for the answer; None for one of no class.

    With each whether what follows lets it stand: "phase 2 lasts long" says something else of it.
    """
    keys = f"{_KEYS}|{re.escape(folded(schema.key))}" if schema.key else _KEYS
    mark = r"[A-Z]" if schema.options else r"[-+]?\d+(?:\.\d+)?"
    keys += rf"|(?:{_NAMED_AT_END})(?=\s+{mark}\W*$)"
    pattern = (
        rf"(?<![a-zA-Z0-9])(?<![Oo]n )(?i:{keys})(?:(?<=[一-鿿])|(?![a-zA-Z0-9]))[\"'*_]*\s*(?:(?:is|was|=|:|of"
        rf"|no\.?|number|[iI][dD]|\||level|ist|est|es|是|为|编号|en cours|would be|la|le|el|die|número|numéro"
        rf"|(?:shown |visible )?(?:in|of|for) (?:this|the) \w+|nummer)\s*){{0,3}}[\"'*`(\[]*(?P<mark>{mark})(?![^\W_]"
        rf"|\.\d)"
    )
    text = clause.text if schema.options else with_digits(clause.text)
    for match in re.finditer(pattern, text):
        rest = text[match.end() :]
        if schema.numbered_from is None and not schema.ordered and not schema.options:
            return
        before = text[: match.start()]
        if is_denied(f"{folded(before)} ", f" {folded(rest)}") or _SURENESS.search(before):
            continue
        framed = is_framed("is" if _EQUALS.search(match[0]) else "", marked(rest))
        name = None if re.match(_FURTHER + mark, rest) else _of_mark(match["mark"], schema)
        beside = schema.names.mentions(folded(rest)[:60])
        named = _result(beside[0].name, schema) if beside and beside[0].start == 0 else None
        yield (name if named in (None, name) or schema.ordered else None), framed


_SURENESS = re.compile(r"\b(?:confidence|certainty|probability) (?:in|of|for)[^.,:;]*$", re.IGNORECASE)
_EQUALS = re.compile(r"[:=]|\b(?:is|was|ist|est|es|be)\b|[是为]", re.IGNORECASE)


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
