"""The strict verdict parser: a verdict is read only where it cannot mean anything else.

The words are CORRECT, INCORRECT and UNSURE, in any case. After reasoning blocks are removed, a reply
holds a verdict in exactly these ways:

1. It is, or ends in, one JSON object (a code fence around it is allowed) with one `verdict`, which is one of
   the words and stands at the top: a second one anywhere inside takes it away, under this name or another
   (`final_verdict`, `correct`), and so does another of the words as any value. Object or fence begin a line or follow
   a label (`Verdict:`): within a sentence they are quoted.
2. Its last line is labelled: `Verdict:` or `Answer:` (with `Final` before it) and one of the words.
3. Its last line is one of the words alone, or its last sentence is "The answer is CORRECT." These are weaker, so
   nothing before may speak against: no other verdict word, before CORRECT no negation or half measure, before
   INCORRECT none that hangs in the air, and no word in letters whose negations are not known here.

Everything else is an abstention, never a guess: "NOT CORRECT", "NOT" and "CORRECT" some lines apart, "partially
correct", two statements that differ, JSON with another word, a reasoning block that never ends, and silence.
"NOT CORRECT" is deliberately not read as INCORRECT: whoever ignores the three words may mean "not fully".
Look-alike letters of other scripts are not the words. UNSURE is an abstention that the judge chose. A judge is
asked once more before an abstention counts, so what is too strict here costs a question and no verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from surgeval.asking.reasoning import without_blocks
from surgeval.judges._case import ABSTAINED, CUT_OFF, JUDGED, Verdict, cut

_WORDS: dict[str, bool | None] = {"CORRECT": True, "INCORRECT": False, "UNSURE": None}
_FLAGS = re.IGNORECASE | re.ASCII
_REASONING = ("think", "thinking", "reasoning")
_CLOSED = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(
    r"^[ \t]*```(?:json)?[ \t]*\n(?P<body>(?:(?!```).)*?)\n?[ \t]*```\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE
)
_BEFORE_OBJECT = re.compile(
    r"^[ \t>#*_-]{0,6}(?:(?:(?:so|thus|hence|therefore|here|this|is|the|my|final)[ ,]+){0,4}"
    r"(?:verdict|answer|reply|response|json)[*_]{0,2} *:[*_]{0,2} *)?$",
    _FLAGS,
)
"""What may stand on the line on which an object begins: a mark of a list, or a label."""
_SPEAKS = re.compile(r"verdict|^(?:is)?(?:in)?correct(?:ness)?$")
"""Names of members that say whether the candidate is right."""
_WORD = r"(?P<word>correct|incorrect|unsure)"
_LINE = re.compile(
    r"^[*_`\"']{0,3}(?P<label>(?:final +)?(?:verdict|answer)[*_]{0,2} *:[*_]{0,2} *)?[*_`\"']{0,3}"
    rf"{_WORD}[*_`\"']{{0,3}}[.!]?[*_`\"']{{0,3}}$",
    _FLAGS,
)
_SENTENCE = re.compile(
    r"(?:^|(?<=[.!?\n])) *(?:(?:so|thus|hence|therefore),? +)?(?:the|this|that|my) +(?:candidate(?:'s)? +)?"
    rf"(?:final +)?(?:answer|verdict|response) +is +[*_`\"']{{0,3}}{_WORD}[*_`\"']{{0,3}}[.!][*_]{{0,2}}(?= |\n|$)",
    _FLAGS | re.MULTILINE,
)
_LABELLED = re.compile(
    rf"^[ \t>#*_`\"'-]{{0,6}}(?:final +)?(?:verdict|answer)[*_]{{0,2}} *:[*_]{{0,2}} *[*_`\"']{{0,3}}{_WORD}\b",
    _FLAGS | re.MULTILINE,
)
_NO = (
    r"not|no|nor|neither|never|cannot|partial(?:ly)?|partly|mostly|almost|nearly|hardly|barely|somewhat|half"
    r"|nicht|nein|kein(?:e[nrms]?)?|nie|falsch|teilweise|fast|kaum|halb|non|pas|jamais|faux|presque|partiellement"
    r"|nunca|falso|casi|parcialmente|quase|nao|mai|sbagliat[oa]|quasi|parzialmente|niet|geen|nooit|gedeeltelijk|fout"
)
"""Negations and half measures in languages whose letters are those of English."""
_AGAINST_RIGHT = re.compile(
    rf"\b(?:{_NO}|incorrect|wrong|false|mistaken|unsure|unclear|but|however|although)\b|n['’]t\b|\b(?:in|un|non)$",
    re.IGNORECASE,
)
_AGAINST_WRONG = re.compile(
    rf"(?<!not )\bcorrect\b|\bunsure\b|(?:\b(?:{_NO}|in|un|non)|n['’]t)(?: be)?$", re.IGNORECASE
)
_OTHER_LETTERS = re.compile(r"[^\W\d_a-zA-Z]")
_ENDS = ("\n", *".!?:;)]}\"'*`")
_OBJECTS_TRIED = 64


def verdict_from_reply(
    text: str, *, was_cut: bool = False, finish: str = "", latency_s: float = 0.0, tokens: int = 0
) -> Verdict:
    """The verdict in a judge's reply.

    Args:
        text: The reply.
        was_cut: The reply reached the token limit. A verdict may then be the beginning of something
            else, so there is none. The judge has abstained: whose answers make a judge talk without end must not
            gain by it. No store keeps that, so a later run, perhaps with more room, asks again.
        finish: Why the model stopped, in the server's words.
        latency_s: How long the reply took.
        tokens: What it used.
    """
    correct = None if was_cut else parse_verdict(text)
    state = ABSTAINED if correct is None else JUDGED
    shown = f"{CUT_OFF}{text}" if was_cut else text.strip() or "(an empty reply)"
    return Verdict(correct, state, cut(shown), latency_s, tokens, finish)


def parse_verdict(text: str) -> bool | None:
    """True for CORRECT, False for INCORRECT, None for UNSURE and whatever is no clear verdict.

    Example:
        >>> [parse_verdict(text) for text in ('{"verdict": "CORRECT"}', "Other side.\\nINCORRECT", "NOT CORRECT")]
        [True, False, None]
    """
    word = stated_word(text)
    return None if word is None else _WORDS[word]


def stated_word(text: str) -> str | None:
    """CORRECT, INCORRECT or UNSURE where the reply says so clearly, else None."""
    reply = without_reasoning(text).replace("\r\n", "\n").strip()
    fenced = _FENCE.search(reply)
    if fenced is not None and fenced.start() == 0:
        reply, fenced = fenced["body"].strip(), None
    before, word = _final_object(reply, fenced)
    if word is None and before is not None:
        return None  # it ends in an object, and that is no verdict
    if word is None:
        before, word = _final_words(reply)
    if word is None or _stated(before or "") - {word}:
        return None
    return word


def without_reasoning(text: str) -> str:
    """The reply without its reasoning blocks, also where the opening tag is missing; nothing where one never ends.

    Some chat templates open the block themselves, so a reply may hold only the closing tag; a reply
    that never closes it has not reached its answer.
    """
    text = _CLOSED.sub("", without_blocks(text, _REASONING))
    return "" if _OPENED.search(text) else text


def _final_object(reply: str, fenced: re.Match[str] | None) -> tuple[str | None, str | None]:
    """What stands before the JSON object that ends the reply, and its verdict word; None and None without one."""
    if fenced is not None:
        return reply[: fenced.start()], _word_in_json(fenced["body"].strip())
    if not reply.endswith("}"):
        return None, None
    starts = [match.start() for match in re.finditer(r"\{", reply)][:_OBJECTS_TRIED]
    for start in starts:
        if _document(reply[start:]) is not None:
            is_quoted = _BEFORE_OBJECT.match(reply[:start].rpartition("\n")[2]) is None
            return reply[:start], None if is_quoted else _word_in_json(reply[start:])
    return None, None


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
    if not ended and not _LINE.match(before.rpartition("\n")[2].strip()):
        return True
    if _OTHER_LETTERS.search(prose):
        return True
    return (_AGAINST_RIGHT if word == "CORRECT" else _AGAINST_WRONG).search(prose) is not None


def _stated(text: str) -> set[str]:
    """Every verdict that the text states clearly, by a line, a label, a sentence or an object."""
    lines = (match for line in text.splitlines() if (match := _LINE.match(line.strip())))
    words = {match["word"].upper() for match in (*lines, *_LABELLED.finditer(text), *_SENTENCE.finditer(text))}
    return words.union(*(_words_in(document) for document in _objects(text) if _verdicts_in(document)))


def _objects(text: str) -> Iterator[_Pairs]:
    """The JSON objects in a text, wherever they stand."""
    start = text.find("{")
    for _ in range(_OBJECTS_TRIED):
        if start < 0:
            return
        try:
            document, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield document
        start = text.find("{", end)


def _word_in_json(text: str) -> str | None:
    """The verdict word of the JSON object that a text is."""
    document = _document(text)
    return None if document is None else _word_in(document)


def _word_in(document: _Pairs) -> str | None:
    """The verdict word of an object, or None when it has none, or more than one at any depth."""
    if _verdicts_in(document) != 1:
        return None
    value = next((value for key, value in document if key.strip().lower() == "verdict"), None)
    word = value.strip().upper() if isinstance(value, str) else None
    return word if word in _WORDS and _words_in(document) == {word} else None


def _document(text: str) -> _Pairs | None:
    """The members of the JSON object that the text is, repeated keys included, or None."""
    try:
        document = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, _Pairs) else None


class _Pairs(list[tuple[str, Any]]):
    """The members of one JSON object, in order."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs)


def _verdicts_in(value: Any) -> int:
    if isinstance(value, _Pairs):
        return sum(_speaks(key) + _verdicts_in(member) for key, member in value)
    return sum(map(_verdicts_in, value)) if isinstance(value, list) else 0


def _speaks(key: str) -> bool:
    """Whether a member of this name says that the candidate is right or wrong."""
    return _SPEAKS.search("".join(letter for letter in key.lower() if letter.isalpha())) is not None


def _words_in(value: Any) -> set[str]:
    """Every verdict word that stands alone as a value, at any depth."""
    if isinstance(value, list):
        members = (member for _, member in value) if isinstance(value, _Pairs) else value
        return {word for member in members for word in _words_in(member)}
    word = value.strip().upper() if isinstance(value, str) else ""
    return {word} & _WORDS.keys()
