"""One name in several spellings: `pat3`, `PAT003` and `Pat 3` are one patient, `p3` and `v3` are two things.

The reader of units and the check for leaks between splits compare names by the same parts. Within one table, where
everybody wrote by one habit, only case, separators and zeros before numbers may differ; between two splits that two
people wrote the word before the number may differ too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import polars as pl

from surgvalid.schema.tables.column_words import PATIENTS, RECORDINGS
from surgvalid.schema.tables.written_numbers import ABSENT

_PIECES = re.compile(r"[^\W\d_]+|\d+")
_SIGNS = re.compile(r"[^\w\s./,;:#-]")
"""What separates nothing: A+ is not A."""
_NAMED = ({"id", "no", "nr"}, {"p", "pt", *PATIENTS}, {"v", "vid", "video"}, {"op", *RECORDINGS} - {"video"}, {"case"})
_THINGS = {word: thing for thing, words in enumerate(_NAMED) for word in words}
"""Words before the number of an identifier that people write or leave out, by the thing that they name; 0 is any."""
_ENDINGS = re.compile(r"\.(?:mp4|m4v|mpe?g|avi|mov|mkv|webm|png|jpe?g|tiff?|dcm|nii|gz|0)$")
"""Of files, and of whole numbers that were read as decimals."""
_FOLDER = re.compile(r"^([^\d]*)[/\\]")
_DAY = re.compile(r"^(\d{4}[-_.]?\d\d[-_.]?\d\d)[\s_-]+(?=[^\W\d_])")
_COPY = re.compile(r"(?<=\d)[\s_-]*(\(\d\d?\)|[\s_-](?:copy|kopie)(?:[\s_-]*\d+)?)$")
"""What file systems and people add to a name: folders, the day, marks of copies."""
_CLIP = re.compile(r"(?<=\d)(?:[a-d]|[\s_-]+(?:clip|part|seg|segment|view|cam|camera|left|right|l|r|[a-d])[\s_-]*\d*)$")
_COUNTER = 4
"""Digits that a number given by counting has at most: patient 3 and video 3 are nothing that agrees."""


PLACEHOLDERS = frozenset({"", "unknown", "unbekannt", "inconnu", "?", *map(str.casefold, ABSENT)})
"""What stands where nobody knows the name, without case."""


def plain_signs(name: str) -> str:
    """A name without case, outer spaces and the other forms that a sign may have (full width, ligatures)."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _numbered(name: str) -> tuple[str, int] | None:
    """The words before the only number of a name, and the number; None where it is built otherwise."""
    *words, last = _pieces(name) or [""]
    return (" ".join(words), int(last)) if last.isdecimal() and not any(map(str.isdecimal, words)) else None


def _without_part(name: str) -> str:
    """A name without what tells parts of one operation (`pat003_clip1`, `pat003a`); empty where it has none.

    Example:
        >>> _without_part("pat003_left"), _without_part("pat003")
        ('pat003', '')
    """
    rest, parts = _CLIP.subn("", _ENDINGS.sub("", plain_signs(name)))
    return rest if parts else ""


def _pieces(name: str) -> list[str]:
    """The words and numbers of a name, without case, separators, zeros before numbers and endings of files."""
    pieces = _PIECES.findall(_ENDINGS.sub("", _ENDINGS.sub("", plain_signs(name))))
    return [piece.lstrip("0") or "0" if piece.isdigit() else piece for piece in pieces]


def without_words(name: str) -> tuple[str, frozenset[int | str]]:
    """What is left of an identifier in every spelling, without words as `patient` before its number.

    With it the things that such words name, where it does no more than count them, and what was added to the name:
    folders, the day, marks of copies.

    Example:
        >>> without_words("pat003") == without_words("Patient-3"), without_words("A3") == without_words("B3")
        (True, False)
    """
    rest, added = _ENDINGS.sub("", plain_signs(name)), set[str]()
    for mark in (_FOLDER, _DAY, _COPY):
        if match := mark.search(rest):
            rest = mark.sub("", rest)
            added.add(match[1].strip())
    pieces = _pieces(rest)
    kept = [piece for piece in pieces if piece not in _THINGS]
    longest = max((len(piece) for piece in kept if piece.isdigit()), default=0)
    things: set[int | str] = {_THINGS[piece] for piece in pieces if longest <= _COUNTER and _THINGS.get(piece)}
    return " ".join(kept if longest else pieces), frozenset(things | added)


def in_one_spelling(names: pl.Series) -> tuple[pl.Series, list[str]]:
    """Names as each was spelled first, and those that had several spellings with all of them.

    Example:
        >>> in_one_spelling(pl.Series(["pat1", "PAT001", "Pat 1", "v1"]))[1]
        ['pat1 = PAT001 = Pat 1']
    """
    spelled: dict[tuple[str, ...], list[str]] = {}
    for name in names.drop_nulls().unique(maintain_order=True):
        spelled.setdefault((*_pieces(name), *_SIGNS.findall(name)), []).append(name)
    several = [alike for key, alike in spelled.items() if key and len(alike) > 1]
    first = {name: alike[0] for alike in several for name in alike}
    return names.replace(first) if first else names, [" = ".join(alike) for alike in several]


SpelledNames = dict[tuple[str, ...], dict[frozenset[int | str], str]]
"""Names by what is left of them (by itself, and within one data set), and by what was left away."""


def spelled_names(names: Iterable[tuple[str, str]], *, words: bool = True) -> SpelledNames:
    """Names, each with its data set, as `names_in_both` compares them.

    Args:
        names: Each name and what it is unique in.
        words: Whether a name may be spelled in several ways; else case and forms of signs alone may differ.
    """
    spelled: SpelledNames = {}
    for name, of_set in names:
        spelled[(plain_signs(name),)] = {frozenset(): name}
        if words:
            plain, things = without_words(name)
            spelled.setdefault((plain, of_set), {})[things] = name
    return spelled


def names_in_both(some: SpelledNames, others: SpelledNames) -> tuple[list[str], list[str]]:
    """Names on both sides, those that are written in two ways with both; and names that may be of one patient."""
    pairs = _pairs(some, others)
    counted = _counted(some), _counted(others)
    doubtful = {one: other for one, other in pairs.items() if _two_counts(one, other, *counted)}
    parts = _pairs(_stems(some), _stems(others)).items()
    near = {one: other for one, other in parts if one not in pairs and any(map(_without_part, (one, other)))}
    near |= {one: other for one, other in _within(some, others) if one not in pairs}
    near |= {one: other for other, one in _within(others, some) if one not in pairs}
    same = {one: other for one, other in pairs.items() if one not in doubtful}
    return _spelled(same), _spelled(doubtful | near)


def _pairs(some: SpelledNames, others: SpelledNames) -> dict[str, str]:
    return {
        one: other
        for key in sorted(some.keys() & others.keys(), key=len, reverse=True)
        for things, one in some[key].items()
        for words, other in others[key].items()
        if things <= words or words <= things
    }


def _within(some: SpelledNames, others: SpelledNames) -> Iterator[tuple[str, str]]:
    """Names of a word and a number, and longer ones on the other side that hold them: `pat12`, `north_pat12_cut`."""
    ours, theirs = (
        [(key[1], name) for key, ways in names.items() for name in ways.values() if len(key) > 1]
        for names in (some, others)
    )
    bare = {(of_set, *_thing_and_number(pieces)): name for of_set, name in ours if len(pieces := _pieces(name)) == 2}
    for of_set, longer in theirs:
        for pair in pairwise(_pieces(longer)):
            if pair[1].isdigit() and (name := bare.get((of_set, *_thing_and_number(pair)))):
                yield name, longer


def _thing_and_number(pieces: Sequence[str]) -> tuple[int | str, str]:
    return _THINGS.get(pieces[0], pieces[0]), pieces[1]


def _spelled(pairs: dict[str, str]) -> list[str]:
    return sorted(one if one.casefold() == other.casefold() else f"{one} = {other}" for one, other in pairs.items())


def _stems(names: SpelledNames) -> SpelledNames:
    """The names by what is left of them without the part of the operation as well."""
    stems: SpelledNames = {}
    for key, ways in names.items():
        for name in ways.values() if len(key) > 1 else ():
            plain, things = without_words(_without_part(name) or name)
            stems.setdefault((plain, *key[1:]), {})[things] = name
    return stems


def _counted(names: SpelledNames) -> set[str]:
    """Words before numbers that run from 1 without a gap."""
    runs: dict[str, set[int]] = {}
    for ways in names.values():
        for word, number in filter(None, map(_numbered, ways.values())):
            runs.setdefault(word, set()).add(number)
    return {word for word, run in runs.items() if len(run) >= _RUN and run == set(range(1, len(run) + 1))}


_RUN = 3
"""Names that make a numbering."""


def _two_counts(one: str, other: str, mine: set[str], theirs: set[str]) -> bool:
    """Whether two names are numbers of two numberings under different words, each from 1."""
    first, second = _numbered(one), _numbered(other)
    return bool(first and second and first[0] != second[0] and first[0] in mine and second[0] in theirs)
