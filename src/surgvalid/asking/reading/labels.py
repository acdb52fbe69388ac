"""Any number of classes: a truth value under each name, lists under keys, names in a row, or what clauses assert.

Order counts for nothing. A class that is not mentioned has no answer, which is not the same as absent; a rule that the
caller chooses says what becomes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from surgvalid.asking.reading.candidates import asserted_objects, is_aside
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.objects import KeyedPairs, plain_key
from surgvalid.asking.reading.reading import AS_ASKED, ReplyRead, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Mood, clauses, named_groups, refuses, says_nothing_is_there
from surgvalid.asking.reading.truth import Truth, truth

Labels = dict[str, bool | None]
NONE = "None"
"""What stands for no object at all in FOCUS questions."""
_NOTHING = frozenset({"null", "none", "nothing", "no", "n a", "", "empty", "null instrument"})
_UNKNOWN = frozenset({"unknown", "unclear", "uncertain", "unidentified", "not sure", "undetermined"})
_SHORT = 3
_FEW = 2
_ALL = re.compile(
    r"^(?:yes )?all (?:of )?(?:the |these )?(?:two |three |four |five |six |seven |cvs )*(?:criteria|tools"
    r"|instruments|structures|actions|of them)?"
    r"(?: \w+){0,3}? (?:are|were|have been) (?:clearly |fully )?(?:met|visible|present|achieved|fulfilled"
    r"|satisfied|seen|shown)$"
)
_SEEN = re.compile(r"\b(?:is|are|visible|see|seen|shows?|no|not|voit|sieht|ve|a|an)\b|[有没]", re.IGNORECASE)
_LONGER = (" longer", " more", " sign", " of")
_AND = re.compile(r" and (?![^\W_]+ (?:is|are))")
_DOUBTS = re.compile(r"(?:^| )(?:neither|nor|without|if|whether|unclear|may|might|would)(?![^\W_])")
_EXCEPT = re.compile(r"\b(?:except|apart from|other than|besides|außer|sauf|salvo)\b", re.IGNORECASE)


def read_labels(text: str, schema: ReplySchema) -> ReplyReading:
    """A truth value per class, None where the reply says nothing of it."""
    readings = [reading for one in asserted_objects(text) if (reading := _of_object(one.value, schema)) is not None]
    if readings:
        return _agreed(readings, whole=_is_whole(text))
    if text.strip() == "[]":
        return read_as(dict.fromkeys(schema.classes, False), "empty list")
    pairs = _each_with_truth(text, schema) or list(_pairs(text, schema))
    if pairs:
        return _settled(pairs, schema, "pairs")
    return _of_clauses(text, schema)


def _is_whole(text: str) -> bool:
    objects = asserted_objects(text)
    return len(objects) == 1 and objects[0].strict and (objects[0].start, objects[0].end) == (0, len(text.strip()))


def _agreed(readings: Sequence[ReplyReading], *, whole: bool) -> ReplyReading:
    usable = [one for one in readings if one.usable]
    if not usable:
        return readings[0]
    if any(one.value != usable[0].value for one in usable):
        return contradiction("two objects say different things")
    status = usable[0].status if whole else ReplyRead.REPAIRED
    path = usable[0].path if whole or usable[0].path != AS_ASKED else "object"
    first = usable[0]
    return ReplyReading(status, first.value, notes=first.notes, scores=first.scores, path=path)


def _of_object(value: Any, schema: ReplySchema, depth: int = 0) -> ReplyReading | None:
    """The labels of an object or list; None where it is about something else."""
    if isinstance(value, KeyedPairs):
        named = [(name, one) for key, one in value if (name := schema.names.exact(key))]
        if named:
            unknown = [key for key, _ in value if not schema.names.exact(key) and not is_aside(key)]
            return _settled(named, schema, AS_ASKED if not depth else "wrapped object", unknown)
        kept = [one for key, one in value if not is_aside(key)]
        inner = [reading for one in kept if (reading := _of_object(one, schema, depth + 1)) is not None]
        usable = [one for one in inner if one.usable]
        if len(usable) == 1:
            return usable[0]
        if len(usable) > 1:
            return contradiction("several objects within one")
        shown = ", ".join(repr(key) for key, _ in value[:5]) or "none"
        values = {folded(str(one)) for one in kept}
        if kept and (None in kept or values & _UNKNOWN or any(plain_key(key) == "error" for key, _ in value)):
            return refused(f"no class has a truth value; keys are {shown}")
        return inner[0] if inner else failed(f"no class has a truth value; keys are {shown}")
    if isinstance(value, str) and depth:
        pieces = [piece.strip() for piece in re.split(r",|;|\band\b", value)]
        listed = _of_list([piece for piece in pieces if piece], schema, depth)
        return listed if listed is not None and listed.usable else None
    if isinstance(value, list):
        return _of_list(value, schema, depth)
    return None


def _of_list(value: list[Any], schema: ReplySchema, depth: int) -> ReplyReading | None:
    if value and all(isinstance(one, KeyedPairs) for one in value):
        pairs = [pair for one in value if (pair := _named_entry(one, schema)) is not None]
        if pairs:
            return _settled(pairs, schema, "list of objects")
        inner = [reading for one in value if (reading := _of_object(one, schema, depth + 1)) is not None]
        usable = [one for one in inner if one.usable]
        if len(value) > 1 and usable and all(len(one) == 1 for one in value):
            return _settled(
                [(schema.names.exact(k) or "", v) for one in value for k, v in one], schema, "list of objects"
            )
        return _agreed(inner, whole=False) if inner else None
    names = [schema.names.exact(one) for one in value if isinstance(one, str)]
    if _is_echo(names, schema):
        return failed("the list of all classes is repeated")
    if not value:
        return read_as(dict.fromkeys(schema.classes, False), "empty list") if depth else None
    if names and len(names) == len(value) and all(names):
        return _settled([(name, True) for name in names if name], schema, "list of names")
    if all(isinstance(one, str) and folded(one) in _NOTHING for one in value):
        return read_as(dict.fromkeys(schema.classes, False), "empty list")
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
    r"^[\s>*#_\-•|\"'“`\d.)(]*(?P<name>[^:=|]*?[\w)])[\"'”`*_\s]*(?::|=|\||->|→|–|—"
    r"|-(?=\s))[\s*_\"'“`]*(?P<value>[^|]+?)[\s|*_\"'”`,]*$"
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
        name = schema.names.exact(match["name"]) or _last_name(match["name"], schema)
        if name is not None:
            yield name, match["value"]


_TRUTH = re.compile(
    r" (?:is |are |was )?(?P<truth>not (?:met|present|visible|achieved|seen|fulfilled)|[^\W_]+)(?![^\W_])"
)
_TICKS = str.maketrans(dict.fromkeys("✓✔✅☑", " yes ") | dict.fromkeys("✗✘❌✕☒×", " no "))


def _each_with_truth(text: str, schema: ReplySchema) -> list[tuple[str, Any]]:
    """Names and truth values where every name that stands there is followed by one, whatever stands between."""
    plain = folded(text.translate(_TICKS))
    pairs: list[tuple[str, Any]] = []
    waiting: list[str] = []
    mentions = schema.names.mentions(plain)
    starts = {mention.start for mention in mentions}
    for mention in mentions:
        after = _TRUTH.match(plain, mention.end)
        if after is not None and truth(after["truth"]) is not None and not plain.startswith(_LONGER, after.end()):
            pairs += [(name, after["truth"]) for name in [*waiting, mention.name]]
            waiting = []
        elif _AND.match(plain, mention.end) or mention.end + 1 in starts:
            waiting.append(mention.name)
        else:
            return []
    return [] if waiting or refuses(text) or _DOUBTS.search(plain) else pairs


def _last_name(words: str, schema: ReplySchema) -> str | None:
    """The class that ends a few words, such as `criterion C1`."""
    plain = folded(words)
    mentions = schema.names.mentions(plain)
    if len(mentions) == 1 and len(plain.split()) <= 8 and mentions[0].end == len(plain):
        return mentions[0].name
    first = re.match(r"([^(]+)\(", words)
    return schema.names.exact(first[1]) if first else None


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    labels: Labels = dict.fromkeys(schema.classes)
    opposed = False
    spoken = clauses(text)
    for clause in spoken:
        if not clause.counts or _EXCEPT.search(clause.text):
            continue
        groups = named_groups(clause.text, schema.names)
        if not groups and says_nothing_is_there(clause.text):
            return silent_settled(dict.fromkeys(schema.classes, False), schema, "nothing is there")
        if not groups and _ALL.match(folded(clause.text)):
            return silent_settled(dict.fromkeys(schema.classes, True), schema, "all are there")
        if (
            len(groups) == 1
            and _is_echo(groups[0].names, schema)
            and folded(clause.text).startswith(folded(schema.classes[0]))
        ):
            return failed("the list of all classes is repeated")
        for group in (one for one in groups if one.denied or not one.either):
            for name in group.names:
                opposed = opposed or labels[name] is (group.denied)
                labels[name] = not group.denied
    if opposed:
        return contradiction("a class is said to be there and not to be there")
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
    for one in asserted_objects(text):
        if isinstance(one.value, KeyedPairs) or (
            one.value and all(isinstance(inner, KeyedPairs) for inner in one.value)
        ):
            reading = _under_key(one.value, schema)
            exact = reading.usable and _is_whole(text) and reading.path == AS_ASKED
            readings.append(
                reading if exact or not reading.usable else read_as(reading.value, "object", *reading.notes)
            )
    if readings:
        usable = [one for one in readings if one.usable]
        if any(set(one.value) != set(usable[0].value) for one in usable):
            return contradiction("two objects say different things")
        return usable[0] if usable else readings[0]
    listed = [one for one in asserted_objects(text) if isinstance(one.value, list) and not _TUPLE.search(text)]
    if len(listed) == 1 and not refuses(text):
        return _named(listed[0].value, schema, "list of names")
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
    if keyed:
        return _named(given, schema, AS_ASKED)
    truths = [(name, one) for entry in entries for key, one in entry if (name := schema.names.exact(key))]
    if truths:
        settled = _settled(truths, schema, "truth values")
        names = [name for name, held in (settled.value or {}).items() if held]
        return read_as(names, "truth values") if settled.usable else settled
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
    shown = ", ".join(repr(key) for entry in entries for key, _ in entry[:5]) or "no keys"
    return failed(f"no key {schema.key!r} in an object with {shown}")


def _all_pairs(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(one, KeyedPairs) for one in value)


def _named(given: Sequence[Any], schema: ReplySchema, path: str) -> ReplyReading:
    names, unknown = [], []
    for one in given:
        name = None if isinstance(one, list | bool) else schema.names.exact("null" if one is None else str(one))
        name = name or (
            schema.names.exact(str(one).replace("null_", "null ").split(" ")[0]) if isinstance(one, str) else None
        )
        if name is not None:
            names.append(name)
        elif one is not None and folded(str(one)) not in _NOTHING:
            unknown.append(str(one)[:30])
    if unknown and not names:
        asked = all(folded(one) in _UNKNOWN for one in unknown)
        why = f"none of {', '.join(map(repr, unknown[:5]))} is a class"
        return refused(why) if asked else failed(why)
    notes = (f"unknown names: {', '.join(unknown[:5])}",) if unknown else ()
    return read_as(list(dict.fromkeys(names)), "names with unknown ones" if unknown else path, *notes)


def _of_rows(text: str, schema: ReplySchema) -> ReplyReading:
    """Names in tuples, in the column of a table, after the key on a line, or in clauses about instruments."""
    place = _PLACES.get(schema.key)
    if place is not None and (rows := _TUPLE.findall(text)):
        return _named([row[place].strip(" \"'") for row in rows], schema, "tuples")
    table = [
        [cell.strip(" *`") for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    heads = [plain_key(cell) for cell in table[0]] if table else []
    column = next(
        (heads.index(key) for key in (plain_key(schema.key), f"{plain_key(schema.key)}s") if key in heads), None
    )
    if column is not None:
        cells = [row[column] for row in table[1:] if len(row) > column and row[column].strip("-: ")]
        return _named(cells, schema, "table")
    pattern = rf"(?:^|[\n,;])[\s>*#_\-•\"'“]*{re.escape(schema.key)}s?[\s*_\"'”]*[:=][\s*_]*(\[[^\]\n]*\]|[^\n]+)"
    if lines := re.findall(pattern, text, re.IGNORECASE):
        given = [re.sub(rf",\s*[\"']?(?:{'|'.join(_PLACES)})s?[\"']?\s*[:=].*", "", one) for one in lines]
        cells = [cell.strip(" []\"'*`.") for one in given for cell in re.split(r",|\band\b", one.strip("[] "))]
        return _named([cell for cell in cells if cell], schema, "line with key")
    return _of_list_clauses(text, schema)


def _of_list_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    spoken = [clause for clause in clauses(text) if clause.counts]
    if any(says_nothing_is_there(clause.text) for clause in spoken):
        return read_as([], "nothing is there")
    groups = [group for clause in spoken for group in named_groups(clause.text, schema.names)]
    names = list(dict.fromkeys(name for group in groups if not group.denied for name in group.names))
    if names and (schema.key in ("", "instrument") or schema.names.exact(text)):
        return read_as(names, "words")
    return failed(f"no class is asserted under {schema.key!r} in {text[:60]!r}")


def read_classes(text: str, schema: ReplySchema) -> ReplyReading:
    """The classes of foreign objects that a reply names, or that there are none."""
    objects = asserted_objects(text)
    given = [_flat(one.value) for one in objects if _flat(one.value)]
    if given:
        if any(set(map(folded, one)) != set(map(folded, given[0])) for one in given):
            return contradiction("two lists say different things")
        return _listed(given[0], schema, "object")
    pieces = [piece.strip(" \t\"'`*.•-_") for piece in re.split(r",|\n|;|\band\b|&", text)]
    listed = _listed([piece for piece in pieces if piece], schema, AS_ASKED)
    if listed.usable or listed.path == "contradiction":
        asked = listed.usable and text.strip() == ", ".join(listed.value)
        return listed if asked or not listed.usable else read_as(listed.value, "list of names")
    if pairs := list(_pairs(text, schema)):
        settled = _settled(pairs, schema, "pairs")
        names = [name for name, held in (settled.value or {}).items() if held]
        return read_as(names, "pairs") if names else failed("no class is said to be there")
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    if "," in text and all(len(piece.split()) <= _SHORT for piece in pieces) and not _SEEN.search(text):
        return contradiction(f"{text[:60]!r} names what is no class")
    spoken = [clause for clause in clauses(text) if clause.counts]
    nothing = any(says_nothing_is_there(clause.text) for clause in spoken)
    groups = [one for clause in spoken for one in named_groups(clause.text, schema.names) if not one.denied]
    if any(one.either for one in groups):
        return contradiction(f"one or the other: {text[:60]!r}")
    names = list(dict.fromkeys(name for one in groups for name in one.names))
    if nothing and names:
        return contradiction("none, and some")
    if nothing or names:
        return read_as(names or [NONE], "nothing is there" if nothing else "words")
    return failed(f"no class is asserted in {text[:60]!r}" if text.strip() else "an empty answer")


def _flat(value: Any) -> list[str]:
    if isinstance(value, KeyedPairs):
        kept = [one for key, one in value if not is_aside(key)]
        return _flat(kept[0]) if len(kept) == 1 else []
    if isinstance(value, list):
        return [str(one) for one in value] if all(isinstance(one, str) for one in value) else []
    return [value] if isinstance(value, str) else []


def _listed(pieces: Sequence[str], schema: ReplySchema, path: str) -> ReplyReading:
    names = [NONE if folded(one) == "none" else schema.names.exact(one) for one in pieces]
    if not pieces or not all(names):
        return failed(f"{', '.join(pieces)[:60]!r} is no list of classes")
    kept = list(dict.fromkeys(name for name in names if name))
    return contradiction("none, and some") if NONE in kept and len(kept) > 1 else read_as(kept, path)
