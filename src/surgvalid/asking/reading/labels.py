"""Any number of classes: a truth value under each name, lists under keys, names in a row, or what clauses assert.

Order counts for nothing. A class that is not mentioned has no answer, which is not the same as absent; a rule that the
caller chooses says what becomes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from surgvalid.asking.reading.candidates import is_aside, is_whole
from surgvalid.asking.reading.frames import DRESS, PICTURED, marked
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.objects import KeyedPairs, embedded_objects, plain_key
from surgvalid.asking.reading.reading import (
    AS_ASKED,
    ReplyRead,
    ReplyReading,
    agreed,
    contradiction,
    failed,
    read_as,
    refused,
)
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import (
    Clause,
    Mood,
    clauses,
    named_groups,
    refuses,
    says_nothing_is_there,
)
from surgvalid.asking.reading.truth import Truth, truth

Labels = dict[str, bool | None]
NONE = "None"
"""What stands for no object at all in FOCUS questions."""
_NOTHING = frozenset({"null", "none", "nothing", "no", "n a", "", "empty", "null instrument"})
_FEW = 2
_ALL = re.compile(
    r"^(?:yes )?all (?:of )?(?:the |these )?(?:two |three |four |five |six |seven |cvs )*(?:criteria|tools"
    r"|instruments|structures|actions|of them|two|three|four)?(?: \w+){0,3}? (?:are|were|have been) (?:clearly "
    r"|fully )?(?:met|visible|present|achieved|fulfilled|satisfied|seen|shown)$|^(?:alle|tous|toutes|todos|todas)(?:"
    r" \w+){1,4} (?:erfüllt|sichtbar|vorhanden|remplis|visibles|présente?s|cumplen|presentes|cumplid[oa]s)$|^(?:所"
    r" 有|全 部|三 条).*(?:满 足|可 见|达 到)$"
)
_LONGER = (
    " longer",
    " more",
    " sign",
    " of",
    " to ",
    " for ",
    " in every",
    " when",
    " if",
    " once",
    " in most",
    " in all",
)
_DOUBTS = re.compile(
    r"(?:^| )(?:neither|nor|without|except|apart from|other than|außer|sauf|salvo|excepto|if|whether|unclear|may|might"
    r"|would)(?![^\W_])"
)
_EXCEPT = re.compile(r"\b(?:except|apart from|other than|außer|bis auf|sauf|excepto|salvo|menos)\b", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:all|every\w*|alles?|tous|toutes|todos|todas)\b", re.IGNORECASE)


def read_labels(text: str, schema: ReplySchema) -> ReplyReading:
    """A truth value per class, None where the reply says nothing of it."""
    if _REST_FALSE.search(text) or any(_names_all(clause, schema) for clause in clauses(text)):
        schema = replace(schema, missing_keys="negative")
    text = _BOX.sub(_in_words, text)
    objects = embedded_objects(text)
    lines = KeyedPairs(pair for one in objects if isinstance(one.value, KeyedPairs) for pair in one.value)
    if len(lines) == len(objects) > 1:
        objects = [objects[0]._replace(value=lines)]
    readings = [reading for one in objects if (reading := _of_object(one.value, schema)) is not None]
    if readings:
        return _agreed(readings, whole=_is_whole(text))
    if text.strip() == "[]":
        return read_as(dict.fromkeys(schema.classes, False), "empty list")
    pairs = [*_columns(text, schema)] or _each_with_truth(text, schema) or list(_pairs(text, schema))
    if pairs:
        return _settled(pairs, schema, "pairs")
    return _of_clauses(text, schema)


_REST_FALSE = re.compile(
    r"\b(?:nothing|none|no one) else\b(?! to)|\beverything else\W+(?:is )?(?:absent|no|false|0|not)\b|\bonly (?:one"
    r"|two|three|\d) (?:tool|instrument|structure|criterion|criteria)\w*[^.:\n]{0,30}:|\bsonst (?:nichts|kein\w*)"
    r"|\brien d['’]autre\b|\bnada más\b|\bet rien\b|\b(?:the |all |all the )?(?:rest|others|other (?!hand|side|words"
    r"|end|one)\w+|remaining \w+|übrigen|anderen|restlichen|autres|demás|otr[oa]s)\b[^.;\n]{0,25}\b(?:not|no|none"
    r"|absent|false|missing|ausentes?|nicht|fehlen|0)\b|\b(?:not|no|absent|ausentes?|absents?"
    r"|fehlen)\b[^.;\n]{0,25}\b(?:rest|others|übrigen|anderen|autres|demás|otros)\b|\b(?:no|keine?|aucune?"
    r"|ning[uú]n\w*|pas d['’]|no hay) (?:other|further|additional|weiter\w*|ander\w*|autres?|otr[oa]s?) [^\W_]+"
    r"|(?:其余|其他|别的)[^。;\n]{0,6}[未没无不]",
    re.IGNORECASE,
)
"""Says that what is not named is not there."""
_ONLY = re.compile(
    r"(?<![^\W_])(?:only|just|solely|nur|lediglich|ausschließlich|seule?s?|seulement|uniquement"
    r"|ne? (?:[^\W_]+ ){1,3}que|sol[oa]|sólo|solamente|únicamente|只 有|只 能|仅|只)"
    r"(?: (?!part|half|the tip|teil|above|below|behind|before|after|next|one|two)[^\W_]+){0,4}\s*$"
)
_ALONE = re.compile(
    r" (?:(?:is|ist|est|es) (?:the|das|der|die|le|la|el) (?:only|einzige\w*|seule?|únic[oa])|alone|allein"
    r"|only(?! [^\W_]))\b"
)
_BOX = re.compile(
    r"(?m)(?:^[ \t>]*(?:[-*+]|\d+[.)])?|[,;])[ \t]*(?:\[([ xX✓✔]?)\]|([✅☑✓✔])"
    r"|[❌✗✘✕☒☐])\ufe0f?[ \t]*([^\n:,;✅☑✓✔❌✗✘✕☒☐]+)(?=[,;]|$)"
)


def _names_all(clause: Clause, schema: ReplySchema) -> bool:
    """Whether a clause says that only what it names is there."""
    plain = folded(clause.text)
    return clause.counts and any(
        _ONLY.search(plain[: one.start]) or _ALONE.match(plain, one.end) for one in schema.names.mentions(plain)
    )


def _in_words(box: re.Match[str]) -> str:
    return f"\n{box[3].strip(' *')}: {'yes' if box[2] or (box[1] or '').strip() else 'no'}"


def _cells(text: str) -> list[list[str]]:
    """The rows of a table."""
    lines = (line.strip().strip("|").split("|") for line in text.splitlines() if "|" in line)
    return [[cell.strip(" *`") for cell in line] for line in lines]


def _columns(text: str, schema: ReplySchema) -> Iterator[tuple[str, Any]]:
    """The classes that head the columns of a table, and what stands below each."""
    rows = _cells(text)
    heads = [schema.names.exact(cell) for cell in rows[0]] if rows else []
    for row in rows[1:] if sum(map(bool, heads)) > 1 else ():
        if len(row) == len(heads):
            yield from ((name, cell) for name, cell in zip(heads, row, strict=True) if name and cell.strip("-: "))


def _is_whole(text: str) -> bool:
    return any(is_whole(text, one) for one in embedded_objects(text))


def _agreed(readings: Sequence[ReplyReading], *, whole: bool) -> ReplyReading:
    one = agreed(readings)
    if whole or not one.usable:
        return one
    return replace(one, status=ReplyRead.REPAIRED, path="object" if one.path == AS_ASKED else one.path)


def _of_object(value: Any, schema: ReplySchema, depth: int = 0) -> ReplyReading | None:
    """The labels of an object or list; None where it is about something else."""
    if isinstance(value, KeyedPairs) and value:
        named = [(name, one) for key, one in value if (name := schema.names.exact(key))]
        if named:
            unknown = [key for key, _ in value if not schema.names.exact(key) and not is_aside(key)]
            return _settled(named, schema, AS_ASKED if not depth else "wrapped object", unknown)
        sides = [(schema.names.exact(str(one)), truth(key)) for key, given in value if _is_list(given) for one in given]
        if sides and all(name and held for name, held in sides):
            return _settled([(name, held.holds) for name, held in sides if name and held], schema, "lists")
        kept = [one for key, one in value if not is_aside(key)]
        inner = [reading for one in kept if (reading := _of_object(one, schema, depth + 1)) is not None]
        usable = [one for one in inner if one.usable]
        if len(usable) == 1:
            return usable[0]
        shown = ", ".join(repr(key) for key, _ in value[:5]) or "none"
        return inner[0] if inner else failed(f"no class has a truth value; keys are {shown}")
    if isinstance(value, list):
        return _of_list(value, schema, depth)
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, KeyedPairs)


def _of_list(value: list[Any], schema: ReplySchema, depth: int) -> ReplyReading | None:
    if value and all(isinstance(one, KeyedPairs) for one in value):
        pairs = [pair for one in value if (pair := _named_entry(one, schema)) is not None]
        if pairs:
            return _settled(pairs, schema, "list of objects")
        inner = [reading for one in value if (reading := _of_object(one, schema, depth + 1)) is not None]
        return _agreed(inner, whole=False) if inner else None
    names = [schema.names.exact(one) for one in value if isinstance(one, str)]
    if not value:
        return read_as(dict.fromkeys(schema.classes, False), "empty list") if depth else None
    if names and len(names) == len(value) and all(names):
        return _settled([(name, True) for name in names if name], schema, "list of names")
    return failed(f"{str(value)[:60]} names no class") if depth else None


def _is_echo(names: Sequence[str | None], schema: ReplySchema) -> bool:
    """Whether names are all classes in their order, as the prompt lists them."""
    return len(names) > _FEW and tuple(names) == schema.classes


def _named_entry(entry: KeyedPairs, schema: ReplySchema) -> tuple[str, Any] | None:
    """A class and its truth value in an object of their own."""
    names = [name for _, one in entry if isinstance(one, str) and (name := schema.names.exact(one))]
    truths = [one for key, one in entry if not is_aside(key) and not isinstance(one, str) and truth(one) is not None]
    truths += [one for _, one in entry if isinstance(one, str) and schema.names.exact(one) is None and truth(one)]
    return (names[0], truths[0]) if len(names) == 1 and len(truths) == 1 else None


def _settled(
    pairs: Sequence[tuple[str, Any]], schema: ReplySchema, path: str, unknown: Sequence[str] = ()
) -> ReplyReading:
    """The labels of names and values; a name with two truth values has none."""
    labels: Labels = dict.fromkeys(schema.classes)
    probabilities: dict[str, float] = {}
    seen: dict[str, set[bool | None]] = {}
    unread = []
    for name, value in pairs:
        held: Truth | None = truth(value)
        if held is None:
            unread.append(f"{name}: {str(value)[:30]!r}")
        elif held.probability is not None:
            probabilities[name] = held.probability
        if name in labels:
            seen.setdefault(name, set()).add(None if held is None else held.holds)
    for name, answers in seen.items():
        labels[name] = next(iter(answers)) if len(answers) == 1 else None
    if all(one is None for one in labels.values()):
        return failed(f"no class has a truth value: {', '.join(unread[:3])}")
    if any(re.fullmatch(r"\d+(?:\.\d+)?", str(value).strip()) and truth(value) is None for _, value in pairs):
        return contradiction("a number that is no truth value")
    notes = [f"unknown keys: {', '.join(unknown[:5])}"] if unknown else []
    notes += [f"no truth value for {', '.join(unread[:5])}"] if unread else []
    return silent_settled(labels, schema, path, notes, probabilities)


def silent_settled(
    labels: Labels, schema: ReplySchema, path: str, notes: Sequence[str] = (), scores: dict[str, float] | None = None
) -> ReplyReading:
    """Labels under the rule for classes that are not mentioned."""
    silent = [name for name, one in labels.items() if one is None]
    notes = [*notes, f"nothing is said of {', '.join(silent)}"] if silent else [*notes]
    if silent and schema.missing_keys == "fail":
        return failed(notes[-1], *notes)
    if silent and schema.missing_keys == "negative":
        labels = {name: bool(one) for name, one in labels.items()}
    status = ReplyRead.OK if path == AS_ASKED and not silent else ReplyRead.REPAIRED
    path = "object with missing keys" if path == AS_ASKED and silent else path
    whole = scores if scores and len(scores) == len(schema.classes) else None
    return ReplyReading(status, labels, notes=tuple(notes), scores=whole, path=path)


_PIECES = re.compile(r"[\n;]+|,(?![^()]*\))|(?<=[\w)])\.(?=\s|$)|(?<=\|)\s*\n")
_PAIR = re.compile(
    r"^[\s>*#_\-•|\"'“`\d.)(]*(?P<name>[^:=|]*?[\w)])[\"'”`*_\s]*(?::|=|\||->|→|–|—|-(?=\s))[\s*_\"'“`]*(?P<value>[^"
    r"|]+?)[\s|*_\"'”`,]*$"
)


_BETWEEN = re.compile(r"[:=|→–—]|->|- ")
_LONGEST_PAIR = 300


def _pairs(text: str, schema: ReplySchema) -> Iterator[tuple[str, Any]]:
    """Names and truth values in lines, rows of a table, or with commas between."""
    if refuses(text) and ":" not in text and "|" not in text:
        return
    for piece in _PIECES.split(text.strip("{}[] \n`")):
        match = _PAIR.match(piece) if piece and len(piece) < _LONGEST_PAIR and _BETWEEN.search(piece) else None
        if match is None:
            continue
        name = schema.names.exact(match["name"])
        if name is not None:
            yield name, match["value"]


_TRUTH = re.compile(
    r" (?:is |are |was )?(?P<truth>not (?:met|present|visible|achieved|seen|fulfilled)|[^\W_]+)(?![^\W_])"
)
_SEEN = re.compile(r"\b(?:visible|present|seen?|shown?|all|met|here|found)\b")
_LEADS = re.compile(rf" ?(?:(?:and|but|while|whereas|und|et|y|aber|mais|pero) )*{DRESS}")
"""What may stand before a name of which a truth value follows."""
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")
_NO_TRUTH = re.compile(r"\bn\s*/\s*a\b", re.IGNORECASE)
_SAYS_CHINESE = re.compile("[未没不](?:满足|达到|可见|存在|出现)|没有|无|(?P<yes>满足|达到|可见|存在|出现|(?<!所)有)")
_TICKS = str.maketrans(dict.fromkeys("✓✔✅☑", " yes ") | dict.fromkeys("✗✘❌✕☒×", " no "))


def _each_with_truth(text: str, schema: ReplySchema) -> list[tuple[str, Any]]:
    """Names and truth values where every name is followed by one and begins its sentence, or follows another."""
    text = _SAYS_CHINESE.sub(lambda word: " yes " if word["yes"] else " no ", text.translate(_TICKS))
    plain = folded(_SENTENCE_ENDS.sub(" stop ", _NO_TRUTH.sub("unknown", text)))
    pairs: list[tuple[str, Any]] = []
    mentions = schema.names.mentions(plain)
    ends = [0]
    for mention in mentions:
        after = _TRUTH.match(plain, mention.end)
        if not _LEADS.fullmatch(plain[ends[-1] : mention.start].rpartition(" stop")[2]):
            return []
        ends.append(after.end() if after else mention.end)
        if after is not None and truth(after["truth"]) is not None and not plain.startswith(_LONGER, after.end()):
            pairs.append((mention.name, after["truth"]))
        else:
            return []
    doubted = any(not one.counts and schema.names.mentions(folded(one.text)) for one in clauses(text))
    return [] if doubted or refuses(text) or _DOUBTS.search(plain) else pairs


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    labels: Labels = dict.fromkeys(schema.classes)
    opposed = False
    unclear: set[str] = set()
    spoken = clauses(text)
    pictured = PICTURED.search(marked(text)) is not None
    for clause in spoken:
        groups = named_groups(clause.text, schema.names, thing=pictured)
        if not clause.counts:
            continue
        if groups and (left := _EXCEPT.search(clause.text)):
            if _EVERY.search(clause.text[: left.start()]):
                named = {name for group in groups for name in group.names}
                labels = {name: name not in named for name in labels}
            continue
        if not groups and says_nothing_is_there(clause.text) and not refuses(text):
            return silent_settled(dict.fromkeys(schema.classes, False), schema, "nothing is there")
        if not groups and _ALL.match(folded(clause.text)):
            return silent_settled(dict.fromkeys(schema.classes, True), schema, "all are there")
        if (
            len(groups) == 1
            and not groups[0].denied
            and _is_echo(groups[0].names, schema)
            and not _SEEN.search(folded(clause.text))
        ):
            return failed("the list of all classes is repeated")
        for group in (one for one in groups if one.denied or not one.either):
            for name in group.names:
                if not (group.denied or group.framed):
                    unclear.add(name)
                    continue
                opposed = opposed or labels[name] is (group.denied)
                labels[name] = not group.denied
    if opposed:
        return contradiction("a class is said to be there and not to be there")
    if unclear := {name for name in unclear if labels[name] is None}:
        return failed(f"{min(unclear)!r} is named, and not said to be there or not")
    if all(one is None for one in labels.values()):
        if any(clause.mood is Mood.REFUSES for clause in spoken):
            return refused(f"declines: {text[:60]!r}")
        return failed(f"no class is asserted in {text[:60]!r}" if text.strip() else "an empty answer")
    if any(clause.mood is Mood.REFUSES and not named_groups(clause.text, schema.names) for clause in spoken):
        return refused(f"declines: {text[:60]!r}")
    return silent_settled(labels, schema, "words")


# --- names under a key, and names alone ----------------------------------------------------------


_TUPLE = re.compile(r"[<(\[]\s*([^<>()\[\],:]+),\s*([^<>()\[\],:]+),\s*([^<>()\[\],:]+)\s*[>)\]]")
_PLACES = {"instrument": 0, "verb": 1, "target": 2}


def read_lists(text: str, schema: ReplySchema) -> ReplyReading:
    """The classes named under the key; an instrument that is null is none at all."""
    readings = []
    for one in embedded_objects(text):
        if isinstance(one.value, KeyedPairs) or (
            one.value and all(isinstance(inner, KeyedPairs) for inner in one.value)
        ):
            reading = _under_key(one.value, schema)
            exact = reading.usable and _is_whole(text) and reading.path == AS_ASKED
            readings.append(
                reading if exact or not reading.usable else read_as(reading.value, "object", *reading.notes)
            )
    if readings:
        return agreed(readings)
    return _of_rows(text, schema)


def _under_key(value: Any, schema: ReplySchema) -> ReplyReading:
    entries = value if not isinstance(value, KeyedPairs) else [value]
    given: list[Any] = []
    keyed = False
    for entry in entries:
        values = entry.values_of(schema.key, f"{schema.key}s")
        keyed = keyed or bool(values)
        if len({repr(one) for one in values}) > 1:
            return contradiction(f"key {schema.key!r} stands twice")
        given += [one for held in values[:1] for one in (held if isinstance(held, list) else [held])]
    if keyed and any(isinstance(one, str) and refuses(one) for entry in entries for _, one in entry):
        return refused("declines beside the answer")
    if keyed:
        return _named(given, schema, AS_ASKED)
    inner = [one for entry in entries for key, one in entry if not is_aside(key) and isinstance(one, list)]
    if len(inner) == 1:
        reading = (
            _under_key(inner[0], schema) if isinstance(inner[0], KeyedPairs) or _all_pairs(inner[0]) else failed("")
        )
        return (
            read_as(reading.value, "wrapped object", *reading.notes)
            if reading.usable
            else failed(reading.problem or f"no key {schema.key!r}")
        )
    held = _of_object(value, schema)
    if held and held.usable:
        return read_as([name for name, one in held.value.items() if one], "truth values")
    shown = ", ".join(repr(key) for entry in entries for key, _ in entry[:5]) or "no keys"
    return failed(f"no key {schema.key!r} in an object with {shown}")


def _all_pairs(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(one, KeyedPairs) for one in value)


def _named(given: Sequence[Any], schema: ReplySchema, path: str) -> ReplyReading:
    names, unknown = [], []
    for one in given:
        name = None if isinstance(one, list | bool) else schema.names.exact("null" if one is None else str(one))
        if name is not None:
            names.append(name)
        elif one is not None and folded(str(one)) not in _NOTHING:
            unknown.append(str(one)[:30])
    if unknown and not names:
        why = f"none of {', '.join(map(repr, unknown[:5]))} is a class"
        return failed(why)
    notes = (f"unknown names: {', '.join(unknown[:5])}",) if unknown else ()
    return read_as(list(dict.fromkeys(names)), "names with unknown ones" if unknown else path, *notes)


def _of_rows(text: str, schema: ReplySchema) -> ReplyReading:
    """Names in tuples, in the column of a table, after the key on a line, or in clauses about instruments."""
    place = _PLACES.get(schema.key)
    if place is not None and (rows := _TUPLE.findall(text)):
        return _named([row[place].strip(" \"'") for row in rows], schema, "tuples")
    table = _cells(text)
    heads = [plain_key(cell) for cell in table[0]] if table else []
    column = next(
        (heads.index(key) for key in (plain_key(schema.key), f"{plain_key(schema.key)}s") if key in heads), None
    )
    if column is not None:
        cells = [row[column] for row in table[1:] if len(row) > column and row[column].strip("-: ")]
        return _named(cells, schema, "table")
    pattern = rf"(?:^|[\n,;])[\s>*#_\-•\"'“]*{re.escape(schema.key)}s?[\s*_\"'”]*[:=][\s*_]*(\[[^\]\n]*\]|[^\n]+)"
    if lines := re.findall(pattern, text, re.IGNORECASE):
        given = [
            re.sub(rf"[.,;]\s*[\"']?(?:{'|'.join(_PLACES)})s?[\"']?\s*[:=].*", "", one, flags=re.IGNORECASE)
            for one in lines
        ]
        cells = [cell.strip(" []\"'*`.") for one in given for cell in re.split(r",|\band\b", one.strip("[] "))]
        return _named([cell for cell in cells if cell], schema, "line with key")
    reading = _there(text, schema)
    if reading.value and schema.key not in ("", "instrument") and not schema.names.exact(text):
        return failed(f"no class is asserted under {schema.key!r} in {text[:60]!r}")
    return reading


def read_classes(text: str, schema: ReplySchema) -> ReplyReading:
    """The classes of foreign objects that a reply names, or that there are none."""
    pieces = [piece.strip(" \t\"'`*.•-_") for piece in re.split(r",|\n|;|\band\b|&", text)]
    listed = _listed([piece for piece in pieces if piece], schema, AS_ASKED)
    if listed.usable or listed.path == "contradiction":
        asked = listed.usable and text.strip() == ", ".join(listed.value)
        return listed if asked or not listed.usable else read_as(listed.value, "list of names")
    if "," in text and ":" not in text and all(len(piece.split()) < _FEW for piece in pieces):
        return contradiction(f"{text[:60]!r} names what is no class")
    reading = _there(text, schema)
    return read_as([NONE], reading.path) if reading.value == [] else reading


def _there(text: str, schema: ReplySchema) -> ReplyReading:
    """The classes that are said to be there; none of them where nothing is."""
    reading = read_labels(text, schema)
    names = [name for name, one in reading.value.items() if one] if reading.usable else []
    if reading.usable and (names or reading.path in ("nothing is there", "empty list")):
        return read_as(names, reading.path)
    return failed(f"no class is asserted in {text[:60]!r}") if reading.usable else reading


def _listed(pieces: Sequence[str], schema: ReplySchema, path: str) -> ReplyReading:
    names = [NONE if folded(one) == "none" else schema.names.exact(one) for one in pieces]
    if not pieces or not all(names):
        return failed(f"{', '.join(pieces)[:60]!r} is no list of classes")
    kept = list(dict.fromkeys(name for name in names if name))
    return contradiction("none, and some") if NONE in kept and len(kept) > 1 else read_as(kept, path)
