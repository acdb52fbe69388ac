"""The verdict of a judge: read only where it cannot mean anything else.

The words are CORRECT, INCORRECT and UNSURE, in any case. A reply holds a verdict in exactly these ways:

1. It is, or ends in, one object with one `verdict`, which is one of the words and stands at the top: a second one
   anywhere inside takes it away, under this name or another (`final_verdict`, `correct`), and so does another of the
   words as any value. The object begins a line or follows a label (`Verdict:`): within a sentence it is quoted.
2. Its last line is labelled: `Verdict:` or `Answer:` (with `Final` before it) and one of the words.
3. Its last line is one of the words alone, or its last sentence is "The answer is CORRECT." These are weaker, so
   nothing before may speak against: no other verdict word, before CORRECT no negation or half measure, before
   INCORRECT none that hangs in the air, and no word in letters whose negations are not known here.
A tag, a box (`\\boxed{CORRECT}`) or a mark (a tick, a cross) around all of that changes nothing.

Everything else is an abstention, never a guess: "NOT CORRECT", "partially correct", two statements that differ, and
silence. "NOT CORRECT" is deliberately not read as INCORRECT: whoever ignores the three words may mean "not fully".
Look-alike letters of other scripts are not the words. UNSURE is an abstention that the judge chose. A judge is
asked once more before an abstention counts, so what is too strict here costs a question and no verdict.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from surgvalid.asking.reading.objects import KeyedPairs, embedded_objects
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import refuses

VERDICT_WORDS: dict[str, bool | None] = {"CORRECT": True, "INCORRECT": False, "UNSURE": None}
UNSURE = "unsure"
"""The path of an abstention that the judge chose."""
_FLAGS = re.IGNORECASE | re.ASCII
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
_BEFORE_OBJECT = re.compile(
    r"^[ \t>#*_-]{0,6}(?:(?:(?:so|thus|hence|therefore|here|this|is|the|my|final)[ ,]+){0,4}(?:verdict|answer|reply"
    r"|response|json)[*_]{0,2} *:[*_]{0,2} *)?$|[.!?。]\s*$",
    _FLAGS,
)
"""What may stand on the line on which an object begins: a mark of a list, a label, or whole sentences."""
_WRAPPED = re.compile(
    r"(?:^|(?<=\n))[ \t]*(?:<(?P<tag>answer|output|verdict|final_answer|final|result)>\s*(?P<inner>.*?)\s*</(?P=tag)>"
    r"|<\|begin_of_box\|>(?P<box>.*?)<\|end_of_box\|>|\$?\\boxed\{(?:\\text\{)?(?P<tex>[^{}]*"
    r"|\{[^{}]*\})\}{1,2}\$?\.?)[ \t]*\Z",
    re.DOTALL | re.IGNORECASE,
)
_MARKS = re.compile(r"(?m)^[ \t]*[✓✔✅☑❌✗✘✕☒]\ufe0f?[ \t]*|[ \t]*[✓✔✅☑❌✗✘✕☒]\ufe0f?[ \t]*$")
_SPEAKS = re.compile(r"verdict|^(?:is)?(?:in)?correct(?:ness)?$")
"""Names of members that say whether the candidate is right."""
_LABELS = "(?:verdict|urteil|answer|veredicto|verdicto|antwort|réponse|respuesta|判定|裁定|结论|答案)(?: final)?"
_WORD = r"(?P<word>correct|incorrect|unsure)"
_LINE = re.compile(
    rf"^[*_`\"']{{0,3}}(?P<label>(?:(?:final|the|my|das|mein|le|mon|el"
    rf"|mi) +)?(?:{_LABELS})[*_`\"']{{0,3}} *(?:lautet|is|est|es)? *[:=][*_]{{0,2}} *)?[*_`\"']{{0,3}}{_WORD}["
    rf"*_`\"']{{0,3}}[.!]?[*_`\"']{{0,3}}$",
    _FLAGS,
)
_SENTENCE = re.compile(
    r"(?:^|(?<=[.!?\n])) *(?:(?:so|thus|hence|therefore),? +)?(?:the|this|that|my|das|mein|le|mon|el"
    r"|mi) +(?:candidate(?:'s)? +)?"
    rf"(?:final +)?(?:answer|response|{_LABELS}) +(?:is|ist|lautet|est"
    rf"|es) +[*_`\"']{{0,3}}{_WORD}[*_`\"']{{0,3}}[.!][*_]{{0,2}}(?= |\n|$)",
    _FLAGS | re.MULTILINE,
)
_LABELLED = re.compile(
    rf"^[ \t>#*_`\"'-]{{0,6}}(?:final +)?(?:{_LABELS})[*_]{{0,2}} *:[*_]{{0,2}} *[*_`\"']{{0,3}}{_WORD}\b",
    _FLAGS | re.MULTILINE,
)
_NO = (
    r"not|no|nor|neither|never|cannot|partial(?:ly)?|partly|mostly|almost|nearly|hardly|barely|somewhat|half|nicht"
    r"|nein|kein(?:e[nrms]?)?|nie|falsch|teilweise|fast|kaum|halb|non|pas|jamais|faux|presque|partiellement|nunca"
    r"|falso|casi|parcialmente|quase|nao|mai|sbagliat[oa]|quasi|parzialmente|niet|geen|nooit|gedeeltelijk|fout"
)
"""Negations and half measures in languages whose letters are those of English."""
_AGAINST_RIGHT = re.compile(
    rf"\b(?:{_NO}|incorrect|wrong|false|mistaken|unsure|unclear|but|however|although)\b|n['’]t\b|\b(?:in|un|non)$",
    re.IGNORECASE,
)
_AGAINST_WRONG = re.compile(
    rf"(?<!not )\bcorrect\b|\bunsure\b|(?:\b(?:{_NO}|in|un|non)|n['’]t)(?: be)?$", re.IGNORECASE
)
_HEADING = re.compile(r"(?:^|\n)[#*_ ]*(?:final +)?(?:verdict|answer)[*_: ]*$", _FLAGS)
_OTHER_LETTERS = re.compile(r"[^\W\d_a-zA-Z]")
_ENDS = ("\n", *".!?:;)]}\"'*`")


def read_verdict(text: str, _: ReplySchema) -> ReplyReading:
    """True for CORRECT, False for INCORRECT; UNSURE and whatever is no clear verdict is none."""
    word = _word_of(text)
    if word is None:
        return refused("declines") if refuses(text) else failed("no clear verdict")
    if VERDICT_WORDS[word] is None:
        return replace(refused("the judge is unsure"), path=UNSURE)
    asked = re.fullmatch(r'\{\s*"verdict"\s*:\s*"(?:CORRECT|INCORRECT)"\s*\}', text.strip())
    return read_as(VERDICT_WORDS[word], AS_ASKED if asked else "verdict")


def _word_of(text: str) -> str | None:
    """CORRECT, INCORRECT or UNSURE where the reply says so clearly, else None."""
    reply = _MARKS.sub("", text.strip()).strip()
    if wrapped := _WRAPPED.search(reply):
        inner = next(one for one in (wrapped["inner"], wrapped["box"], wrapped["tex"]) if one is not None)
        reply = f"{reply[: wrapped.start()]}{inner}".strip()
    reply = _FENCE.sub(r"\1", reply).strip()
    before, word = _final_object(reply)
    if word is None and before is not None:
        return None  # it ends in an object, and that is no verdict
    if word is None:
        before, word = _final_words(reply)
    if word is None or _stated(before or "") - {word}:
        return None
    return word


def _final_object(reply: str) -> tuple[str | None, str | None]:
    """What stands before the object that ends the reply, and its verdict word; None and None without one."""
    if not reply.endswith(("}", "]")):
        return None, None
    objects = embedded_objects(reply)
    if not objects or objects[-1].end != len(reply):
        return None, None
    start = objects[-1].start
    is_quoted = _BEFORE_OBJECT.search(reply[:start].rpartition("\n")[2]) is None
    return reply[:start], None if is_quoted else _word_in_object(reply[start:])


def _final_words(reply: str) -> tuple[str | None, str | None]:
    """What stands before the verdict in words that ends the reply, and its word; None and None without one."""
    before, _, last = reply.rpartition("\n")
    line = _LINE.match(last.strip())
    if line is not None:
        word = line["word"].upper()
        return before, word if line["label"] or not _speaks_against(before, word) else None
    sentence = next((match for match in _SENTENCE.finditer(reply) if match.end() == len(reply)), None)
    if sentence is None:
        return None, None
    before, word = reply[: sentence.start()], sentence["word"].upper()
    return before, None if _speaks_against(before, word) else word


def _speaks_against(before: str, word: str) -> bool:
    prose = "\n".join(line for line in before.splitlines() if not _LINE.match(line.strip()))
    end = next((i for i in range(len(prose), 0, -1) if prose[i - 1].isalnum()), 0)
    prose = prose[:end]
    ended = not prose or before.rstrip(" \t").endswith(_ENDS)
    if not ended and not _LINE.match(before.rpartition("\n")[2].strip()) and not _HEADING.search(before.rstrip()):
        return True
    if _OTHER_LETTERS.search(prose):
        return True
    return (_AGAINST_RIGHT if word == "CORRECT" else _AGAINST_WRONG).search(prose) is not None


def _stated(text: str) -> set[str]:
    """Every verdict that the text states clearly, by a line, a label, a sentence or an object."""
    lines = (match for line in text.splitlines() if (match := _LINE.match(line.strip())))
    words = {match["word"].upper() for match in (*lines, *_LABELLED.finditer(text), *_SENTENCE.finditer(text))}
    values = (one.value for one in embedded_objects(text))
    return words.union(*(_words_in(value) for value in values if _verdicts_in(value)))


def _word_in_object(text: str) -> str | None:
    """The verdict word of the object that a text is."""
    objects = embedded_objects(text)
    whole = len(objects) == 1 and (objects[0].start, objects[0].end) == (0, len(text))
    return _word_in(objects[0].value) if whole and isinstance(objects[0].value, KeyedPairs) else None


def _word_in(document: KeyedPairs) -> str | None:
    """The verdict word of an object, or None when it has none, or more than one at any depth."""
    if _verdicts_in(document) != 1:
        return None
    value = next((value for key, value in document if key.strip().lower() == "verdict"), None)
    word = value.strip().upper() if isinstance(value, str) else None
    return word if word in VERDICT_WORDS and _words_in(document) == {word} else None


def _verdicts_in(value: Any) -> int:
    if isinstance(value, KeyedPairs):
        return sum(_speaks(key) + _verdicts_in(member) for key, member in value)
    return sum(map(_verdicts_in, value)) if isinstance(value, list) else 0


def _speaks(key: str) -> bool:
    """Whether a member of this name says that the candidate is right or wrong."""
    return _SPEAKS.search("".join(letter for letter in key.lower() if letter.isalpha())) is not None


def _words_in(value: Any) -> set[str]:
    """Every verdict word that stands alone as a value, at any depth."""
    if isinstance(value, list):
        members = (member for _, member in value) if isinstance(value, KeyedPairs) else value
        return {word for member in members for word in _words_in(member)}
    word = value.strip().upper() if isinstance(value, str) else ""
    return {word} & VERDICT_WORDS.keys()
