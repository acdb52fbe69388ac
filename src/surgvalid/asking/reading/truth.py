"""Yes and no: truth values of members, and the answer to a single question."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from surgvalid.asking.reading.candidates import asserted_objects, is_aside
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.objects import KeyedPairs
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Mood, cannot_look, clauses, refuses

_YES = frozenset(
    {"true", "yes", "1", "present", "visible", "achieved", "met", "fulfilled", "positive", "y", "1.0", "ja", "oui"}
    | {
        "sí",
        "si",
        "是",
        "有",
        "是的",
        "✓",
        "✔",
        "✅",
        "☑",
        "x",
        "satisfied",
        "seen",
        "detected",
        "in use",
        "used",
        "correct",
    }
    | {"wahr", "vrai", "verdadero", "vorhanden", "erfüllt", "sichtbar", "yes present", "is met", "is present"}
)
_NO = frozenset(
    {"false", "no", "0", "absent", "not present", "not visible", "not achieved", "not met", "unmet", "negative", "n"}
    | {
        "0.0",
        "none",
        "not fulfilled",
        "invisible",
        "nein",
        "non",
        "否",
        "没有",
        "无",
        "不是",
        "✗",
        "✘",
        "❌",
        "☐",
        "✕",
        "×",
    }
    | {
        "falsch",
        "faux",
        "falso",
        "not seen",
        "not detected",
        "not satisfied",
        "not used",
        "nicht vorhanden",
        "nicht erfüllt",
    }
    | {"is not met", "is not present", "no hay", "fehlt", "不", "not in use"}
)
_HALF = 0.5


class Truth(NamedTuple):
    """Whether something holds, and how probable the reply calls it."""

    holds: bool
    probability: float | None = None


def truth(value: Any) -> Truth | None:
    """The truth value that a value stands for; None where it stands for none.

    Example:
        >>> truth("Yes"), truth(0.8), truth("maybe")
        (Truth(holds=True, probability=None), Truth(holds=True, probability=0.8), None)
    """
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, list) and not isinstance(value, KeyedPairs) and len(value) == 1:
        return truth(value[0])
    if isinstance(value, KeyedPairs):
        held = [one for key, inner in value if not is_aside(key) and (one := truth(inner)) is not None]
        return held[0] if len(held) == 1 else None
    if isinstance(value, str):
        word = value.strip("*`_\"'“” \t.!()\ufe0f").casefold()
        if word in _YES or word in _NO:
            return Truth(word in _YES)
        first, apart, rest = _apart(word)
        if apart and first in _YES | _NO and not set(folded(rest).split()) & (_YES | _NO):
            return Truth(first in _YES)
        try:
            value = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        return None
    return Truth(bool(value)) if value in (0, 1) else Truth(value >= _HALF, float(value))


def _apart(word: str) -> tuple[str, bool, str]:
    """What stands before a reason, whether there is one, and the reason."""
    pieces = re.split(r"\s*[,(;:–—]\s*|\s-\s", word, maxsplit=1)
    return pieces[0].strip(), len(pieces) > 1, pieces[-1]


_LEAD = re.compile(
    r"^(?:most likely|probably|likely|it appears so|apparently|i(?: would| d)? (?:say|think|believe)|the answer is)\s+",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"\byes(?: or | and |\s*/\s*)no\b|\bno(?: and |\s*/\s*)yes\b|\b(?:not|n['’]t) (?:sure|certain)\b|\bunsure\b",
    re.IGNORECASE,
)
_SEES = re.compile(
    r"^(?:yes\b)|\bthere (?:is|are) (?:definitely |clearly |indeed |at least )?(?:a|an|one|two|three|some|several"
    r"|\d+)\b|\b(?:is|are) (?:clearly |indeed |also )?"
    r"(?:visible|present|seen|shown|there|in view|met)\b|\bi (?:can )?see (?:a|an|one|two|the)\b|\bcan be seen\b"
    r"|\bshows (?:a|an|one|two)\b|\bes gibt eine?\b"
    r"|\bil y a\b|\bhay una?\b|\bse ve\b|\bon voit\b|^(?:图.{0,6}|画面.{0,4})?有"
)
_SEES_NOT = re.compile(
    r"\bthere (?:is|are) (?:no|not)\b|\b(?:is|are)(?: not|n t) (?:visible|present|seen|shown|there|in view|any|met)\b"
    r"|\bno \w+(?: \w+)? (?:is|are|was|can be) (?:visible|present|seen|shown|there|in view)\b"
    r"|^no (?!\w+ing)\w+(?: \w+){0,2}$"
    r"|\bi (?:do not|don t) see (?:a|an|any|one|the)\b|\bi see no\b|\b(?:kein\w*|aucune?|ning[uú]n\w*)\b"
    r"|\bno hay\b|没 有|\bnot (?:visible|present)\b|\babsent\b"
)


def read_yes_no(text: str, schema: ReplySchema) -> ReplyReading:
    """The answer to a single question; "Yes. No." is none, and neither is "Sorry, no idea."."""
    for one in asserted_objects(text):
        held = truth(one.value)
        if held is not None:
            return read_as(held.holds, "object")
    plain = text.replace("**", "").strip()
    if plain in ("yes", "no"):
        return read_as(plain == "yes", AS_ASKED)
    whole = truth(plain)
    if whole is not None and whole.probability is None and not _DOUBTS.search(plain) and not cannot_look(plain):
        return read_as(
            whole.holds, "bare value" if schema.form == "binary" or folded(plain) not in ("yes", "no") else AS_ASKED
        )
    return _of_clauses(plain)


def _of_clauses(text: str) -> ReplyReading:
    spoken = clauses(text)
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    if _DOUBTS.search(text):
        return failed(f"neither yes nor no is meant in {text[:60]!r}")
    leading: list[bool] = []
    seen: list[bool] = []
    for clause in spoken:
        plain = _LEAD.sub("", folded(clause.text))
        word = plain.split(" ")[0] if plain else ""
        if clause.mood is not Mood.ASSERTS:
            continue
        if word in ("yes", "ja", "oui", "sí", "是", "true", "affirmative") or (
            plain.endswith(" yes") and ":" in clause.text
        ):
            leading.append(True)
        elif (
            plain in ("no", "nein", "non", "否", "false")
            or (plain.endswith(" no") and ":" in clause.text)
            or (
                word in ("no", "nein", "non")
                and (len(plain.split()) == 1 or re.match(r"\w+\s*[,.:;—–-]", clause.text.strip("*_ ")))
            )
        ):
            leading.append(False)
        elif _SEES_NOT.search(plain):
            seen.append(False)
        elif _SEES.search(plain):
            seen.append(True)
    votes = leading or seen[:1]
    if len(set(votes)) > 1:
        return contradiction("yes and no are both stated")
    return read_as(votes[0], "words") if votes else failed(f"neither yes nor no in {text[:60]!r}")
