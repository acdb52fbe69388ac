"""Yes and no: truth values of members, and the answer to a single question."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from surgvalid.asking.reading.candidates import is_aside
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.objects import KeyedPairs, embedded_objects
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import Mood, cannot_look, clauses, refuses

_YES = frozenset(
    (
        "1|1.0|achieved|correct|detected|fulfilled|in use|is met|is present|ja|met|oui|positive|present|"
        "satisfied|seen|si|sichtbar|true|used|verdadero|visible|vorhanden|vrai|wahr|x|y|yes|yep|yeah|yup|yes present|"
        "erfüllt|sí|☑|✅|✓|✔|可见|存在|是|是的|有|满足"
    ).split("|")
)
_NO = frozenset(
    (
        "0|0.0|absent|falsch|false|falso|faux|fehlt|invisible|missing|is not met|is not present|n|nein|nope|nah|"
        "negative|nicht vorhanden|no|no hay|non|none|not achieved|not detected|not fulfilled|not in use|not met|"
        "not present|not satisfied|not seen|not used|not visible|unmet|nicht erfüllt|×|☐|✕|✗|✘|❌|不|"
        "不可见|不是|不满足|否|无|未满足|没有"
    ).split("|")
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
        if apart and first in _YES | _NO and not set(re.findall(r"\w+", rest)) & (_YES | _NO):
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
    pieces = re.split(r"\s*[,(;:–—。]\s*|\s-\s", word, maxsplit=1)
    return pieces[0].strip(), len(pieces) > 1, pieces[-1]


_LEAD = re.compile(
    r"^(?:most likely|but|and|however|aber|mais|pero|probably|likely|so|therefore|thus|hence|also|daher|donc|así que"
    r"|it appears so|apparently"
    r"|i(?: would| d)? (?:say|think|believe)|the answer is)\s+",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"\byes(?: or | and |\s*/\s*)no\b|\bno(?: and |\s*/\s*)yes\b|\b(?:not|n['’]t) (?:sure|certain)\b|\bunsure\b",
    re.IGNORECASE,
)
_SEES = re.compile(
    r"^(?:yes\b)|\bthere (?:is|are) (?:definitely |clearly |indeed |at least )?(?:a|an|one|two|three|some|several"
    r"|\d+)\b|\b(?:is|are) (?:clearly |indeed |also )?(?:visible|present|seen|shown|there|in view|met)\b"
    r"|\bi (?:can |do |clearly )?see (?:a|an|one|two|the)\b|\bthere (?:appears|seems) to be\b|\bcan be seen\b"
    r"|\b(?:shows|includes|contains|displays|features|depicts) (?:a|an|one|two)\b|\bes gibt eine?\b"
    r"|\bil y a\b|\bhay una?\b|\bse ve\b|\bon voit\b|^(?:图.{0,6}|画面.{0,4})?有"
)
_TALK = re.compile(
    r"^\W*(?:yes|no|sure|of course|ja|nein|oui|non|sí)\W+(?:(?:please|bitte|of course)\b|(?:i|ich|je)\b['’]?\s?(?:can"
    r"|d|could|will|would|am|m|ll|have|kann|peux)? ?(?:not )?(?:\w+ )?(?:help|assist|try|understand|verstehe|received"
    r"|glad|happy|ready|answer|(?:image|picture|video|bilder|bild)s?)\b)",
    re.IGNORECASE,
)
"""Yes or no to whoever asks, and not to what is asked."""
_OF_THE_MEDIUM = re.compile(r"\b(?:image|picture|frame|video|photo|scene|question|answers?|point|light)\b")
_OF_ANOTHER = re.compile(
    r"\b(?:there (?:is|are)|shows?|i (?:can )?see) (?:an?|the|no|some) (?!one\b)\w+|^(?:an?|the|two) \w+(?: \w+)?"
    r" (?:is|are) (?:not )?(?:visible|present|seen)"
)
"""Something is there or not, and it has a name: another than the one that is asked for."""
_PLACE = re.compile(
    r"\b(?:in|on|of|from|within|throughout|at) (?:the|this|that|your) \w+|^the (?:image|frame|picture|video)\b"
)
_SEES_NOT = re.compile(
    r"\bthere (?:is|are) (?:no|not|none)\b|\b(?:does not|doesn t|do not) (?:show|contain|include|display|feature"
    r"|have)\b|\bthere (?:does not|doesn t|do not|don t) (?:appear|seem) to be\b"
    r"|^not (?:an? |any |the )?\w+$|\b(?:is|are)(?: not|n t) (?:visible|present|seen|shown|there|in view|any|met)\b"
    r"|\bno \w+(?: \w+)? (?:is|are|was|can be) (?:visible|present|seen|shown|there|in view"
    r"|identified|detected|found|recogni[sz]ed|observed|made out)\b"
    r"|^no (?!\w+ing)\w+(?: \w+){0,2}$|\bi (?:do not|don t) see (?:a|an|any|one|the)\b|\bi see no\b"
    r"|\bje ne vois (?:pas|aucune?)\b|\bon ne voit (?:pas|aucune?)\b|\b(?:no veo|no se ven?)\b|\b(?:kein\w*|aucune?"
    r"|ning[uú]n\w*)\b|\bno hay\b|没 有|\bnot (?:visible|present)\b|\babsent\b|\bno longer (?:in"
    r"|visible|present|seen|there)\b|\b(?:has|have) been (?:withdrawn|removed|taken out)\b|\bout of (?:view|sight)\b"
)


_HEAD = re.compile(
    r"^(?!(?:yes|no|ja|nein|oui|non|sí)\b)[\w ]{1,25}:\s*(?=\w+\W*$)|^yes\s*/\s*no\s*:\s*", re.IGNORECASE
)
"""What a single word after a colon is said of."""


def read_yes_no(text: str, schema: ReplySchema) -> ReplyReading:
    """The answer to a single question; "Yes. No." is none, and neither is "Sorry, no idea."."""
    for one in embedded_objects(text):
        held = truth(one.value)
        if held is not None:
            return read_as(held.holds, "object")
    plain = _HEAD.sub("", text.replace("**", "").strip())
    if plain in ("yes", "no"):
        return read_as(plain == "yes", AS_ASKED)
    whole = truth(plain)
    if whole is not None and whole.probability is None and not _DOUBTS.search(plain) and not _is_talk(plain):
        return read_as(
            whole.holds, "bare value" if schema.form == "binary" or folded(plain) not in ("yes", "no") else AS_ASKED
        )
    return _of_clauses(plain, schema)


_IS = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did) ")


def _restates(text: str, schema: ReplySchema) -> bool:
    """Whether a sentence says what was asked as so, or that what was asked for does something."""
    plain = folded(text)
    if schema.question and _IS.sub("", plain) == _IS.sub("", schema.question):
        return True
    thing = schema.thing.search(plain) if schema.thing else None
    before, after = (plain[: thing.start()], plain[thing.end() :]) if thing else ("", "")
    acts = re.match(r" (?:(?:is|are) \w+ing|holds?|grasps?|enters?|retracts?|touches)\b", after)
    return acts is not None and re.fullmatch(r"(?:an?|the|one|two) (?:\w+ )?", before) is not None


_SURELY = re.compile(r"(?:absolutely|certainly|definitely|indeed|claro|natürlich|bien sûr)\s*[!.,]", re.IGNORECASE)


def _is_talk(text: str) -> bool:
    return cannot_look(text) or _TALK.search(text) is not None


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    spoken = clauses(text)
    if refuses(text) or _is_talk(text):
        return refused(f"declines: {text[:60]!r}")
    if _DOUBTS.search(text):
        return failed(f"neither yes nor no is meant in {text[:60]!r}")
    about = [clause for clause in spoken if schema.about(clause.text)]
    leading: list[bool] = []
    seen: list[bool] = []
    for clause in spoken:
        plain = _LEAD.sub("", folded(clause.text))
        word = plain.split(" ")[0] if plain else ""
        if clause.mood is not Mood.ASSERTS:
            continue
        if _SURELY.match(clause.text) or word in ("yes", "yep", "yeah", "ja", "oui", "sí", "是", "true", "affirmative"):
            leading.append(True)
        elif plain in ("no", "nein", "non", "否", "false") or (
            word in ("no", "nein", "non")
            and (len(plain.split()) == 1 or re.match(r"\w+\s*[,.:;—–-]", clause.text.strip("*_ ")))
        ):
            leading.append(False)
        elif plain in ("actually no", "actually yes"):
            return failed(f"neither yes nor no is meant in {text[:60]!r}")
        elif (
            (about and clause not in about)
            or (schema.thing and not about and _OF_ANOTHER.search(plain))
            or _OF_THE_MEDIUM.search(_PLACE.sub("", plain))
        ):
            continue
        elif _SEES_NOT.search(plain):
            seen.append(False)
        elif _SEES.search(plain) or _restates(clause.text, schema):
            seen.append(True)
    votes = leading or seen[:1]
    if len(set(votes)) > 1:
        return contradiction("yes and no are both stated")
    return read_as(votes[0], "words") if votes else failed(f"neither yes nor no in {text[:60]!r}")
