"""The answer to a single question: yes or no, the question said again, or what was asked for said to be there."""

from __future__ import annotations

import re

from surgvalid.asking.reading.labels import read_labels
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.objects import embedded_objects
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, contradiction, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import cannot_look, clauses, refuses
from surgvalid.asking.reading.truth import truth

_LEAD = re.compile(
    r"^(?:most likely|but|and|however|aber|mais|pero|probably|likely|so|therefore|thus|hence|also|daher|donc|así que"
    r"|it appears so|apparently|i(?: would| d)? (?:say|think|believe)|the answer is)\s+",
    re.IGNORECASE,
)
_YES = frozenset("yes yep yeah ja oui sí 是 true affirmative".split())
_NO = frozenset("no nein non 否 false".split())
_DOUBTS = re.compile(
    r"\byes(?: or | and |\s*/\s*)no\b|\bno(?: and |\s*/\s*)yes\b|\b(?:not|n['’]t) (?:sure|certain)\b|\bunsure\b"
    r"|\bactually,? (?:yes|no)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"^\W*(?:yes|no|sure|of course|ja|nein|oui|non|sí)\W+(?:(?:please|bitte|of course)\b|(?:i|ich|je)\b['’]?\s?(?:can"
    r"|d|could|will|would|am|m|ll|have|kann|peux)? ?(?:not )?(?:\w+ )?(?:help|assist|try|understand|verstehe|received"
    r"|glad|happy|ready|answer|(?:image|picture|video|bilder|bild)s?)\b)",
    re.IGNORECASE,
)
"""Yes or no to whoever asks, and not to what is asked."""
_HEAD = re.compile(
    r"^(?!(?:yes|no|ja|nein|oui|non|sí)\b)[\w ]{1,25}:\s*(?=(?:yes|no|true|false|ja|nein|oui|non|sí|[01])\W*$)"
    r"|^yes\s*/\s*no\s*:\s*",
    re.IGNORECASE,
)
"""What a single word after a colon is said of."""
_SURELY = re.compile(r"(?:absolutely|certainly|definitely|indeed|claro|natürlich|bien sûr)\s*[!.,]", re.IGNORECASE)
_IF = re.compile(r"\W*\w+,?\s+(?:but )?(?:only )?(?:if|unless|provided|assuming)\b", re.IGNORECASE)
_APART = re.compile(r"\w+\s*(?:[,.:;—–-]|$)")
_NOT = re.compile(r"\b(?:not |n t |yet$)")
_SEES_NONE = re.compile(r"(?:je|on) ne voi[st] (?:pas|aucune?)\b|no (?:veo|se ven?)\b|没 有 (?:看 到|发 现)|看 不 到")
"""In words of another language than that of the question, which names what is asked for otherwise."""
_NONE_SEEN = re.compile(r"no (?:\w+ ){1,2}(?:is|are) (?:visible|present|seen)\b")
_IS = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did) ")


def read_yes_no(text: str, schema: ReplySchema) -> ReplyReading:
    """The answer to a single question; "Yes. No." is none, and neither is "Sorry, no idea."."""
    for one in embedded_objects(text):
        held = truth(one.value)
        if held is not None:
            return read_as(held.holds, "object")
    plain = _HEAD.sub("", text.replace("**", "").strip())
    if plain in ("yes", "no"):
        return read_as(plain == "yes", AS_ASKED)
    if cannot_look(plain) or _TALK.search(plain):
        return refused(f"declines: {text[:60]!r}")
    if _DOUBTS.search(plain):
        return failed(f"neither yes nor no is meant in {text[:60]!r}")
    if _IF.match(plain):
        return failed(f"on a condition: {text[:60]!r}")
    whole = truth(plain)
    if whole is not None and whole.probability is None:
        asked = schema.form == "yes_no" and folded(plain) in ("yes", "no")
        return read_as(whole.holds, AS_ASKED if asked else "bare value")
    if refuses(plain):
        return refused(f"declines: {text[:60]!r}")
    return _of_clauses(plain, schema)


def _of_clauses(text: str, schema: ReplySchema) -> ReplyReading:
    leading: list[bool] = []
    stated: list[bool] = []
    for clause in clauses(text):
        if not clause.counts:
            continue
        plain = _LEAD.sub("", folded(clause.text))
        word = plain.split(" ")[0]
        if word in _YES or _SURELY.match(clause.text):
            leading.append(True)
        elif word in _NO and (plain == word or _APART.match(clause.text.strip("*_ "))):
            leading.append(False)
        elif _SEES_NONE.match(plain) or (not schema.asked and _NONE_SEEN.match(plain)):
            stated.append(False)
        elif schema.question and _IS.sub("", _NOT.sub("", plain)) == _IS.sub("", schema.question):
            stated.append(not _NOT.search(plain))
    if not (leading or stated) and schema.thing and schema.asks_what_is_there and " " in folded(text):
        there = read_labels(text, schema.of_the_thing)
        if not there.usable:
            return there
        stated = list(there.value.values())
    votes = set(leading or stated)
    if len(votes) > 1:
        return contradiction("yes and no are both stated")
    return read_as(votes.pop(), "words") if votes else failed(f"neither yes nor no in {text[:60]!r}")
