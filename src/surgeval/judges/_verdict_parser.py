"""The strict verdict parser: a verdict is read only where it cannot mean anything else.

The words are CORRECT, INCORRECT and UNSURE, in any case. After reasoning blocks are removed, a reply
holds a verdict in exactly these ways:

1. It is one JSON object (a code fence around it is allowed) whose `verdict` is one of the words.
2. Its last line is that object or one of the words alone. The line may be written bold or quoted, may
   end in one period or exclamation mark, and may start with `Verdict:` or `Answer:` (with `Final`
   before it). Without such a start the line before must have come to an end: a blank line, or
   punctuation. So "NOT" and "CORRECT" on two lines are no verdict.

Everything else is an abstention, never a guess: "NOT CORRECT", "partially correct", "in correct", a
line with both words, two verdict lines that differ, JSON with another word or with `verdict` twice,
and silence. "NOT CORRECT" is deliberately not read as INCORRECT: whoever ignores the three words may
mean "not fully". Look-alike letters of other scripts are not the words. UNSURE is an abstention that
the judge chose.
"""

from __future__ import annotations

import json
import re
from typing import Any

from surgeval.judges._case import ABSTAINED, FAILED, JUDGED, Verdict, cut

_WORDS: dict[str, bool | None] = {"CORRECT": True, "INCORRECT": False, "UNSURE": None}
_BLOCK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"<(?:think|thinking|reasoning)>.*$", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^```(?:json)?[ \t]*\n(?P<body>.*?)\n?```$", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(
    r"^[*_`\"']{0,3}(?P<label>(?:final +)?(?:verdict|answer)[*_]{0,2} *:[*_]{0,2} *)?[*_`\"']{0,3}"
    r"(?P<word>correct|incorrect|unsure)[*_`\"']{0,3}[.!]?[*_`\"']{0,3}$",
    re.IGNORECASE | re.ASCII,
)
_ENDS = tuple(".!?:;)]}\"'*`")


def verdict_from_reply(text: str, *, was_cut: bool = False, latency_s: float = 0.0, tokens: int = 0) -> Verdict:
    """The verdict in a judge's reply.

    Args:
        text: The reply.
        was_cut: The reply reached the token limit. A verdict may then be the beginning of something
            else, so there is none: the state is `failed`, and a later run asks again.
        latency_s: How long the reply took.
        tokens: What it used.
    """
    if was_cut:
        return Verdict(None, FAILED, cut(f"cut off at the token limit: {text}"), latency_s, tokens)
    correct = parse_verdict(text)
    state = ABSTAINED if correct is None else JUDGED
    return Verdict(correct, state, cut(text.strip()), latency_s, tokens)


def parse_verdict(text: str) -> bool | None:
    """True for CORRECT, False for INCORRECT, None for UNSURE and whatever is no clear verdict.

    Example:
        >>> [parse_verdict(text) for text in ('{"verdict": "CORRECT"}', "Other side.\\nINCORRECT", "NOT CORRECT")]
        [True, False, None]
    """
    reply = without_reasoning(text).strip()
    if fenced := _FENCE.match(reply):
        reply = fenced["body"].strip()
    if reply.startswith("{") and (word := _word_in_json(reply)):
        return _WORDS[word]
    lines = [line.strip() for line in reply.splitlines()]
    said = [word for i in range(len(lines)) if (word := _word_on_line(lines, i))]
    if not lines or not said or _word_on_line(lines, len(lines) - 1) is None or len(set(said)) > 1:
        return None
    return _WORDS[said[-1]]


def without_reasoning(text: str) -> str:
    """The reply without its reasoning blocks, also where the opening or the closing tag is missing.

    Some chat templates open the block themselves, so a reply may hold only the closing tag; a reply
    that never closes it has not reached its answer.
    """
    text = _CLOSED.sub("", _BLOCK.sub("", text))
    return _OPENED.sub("", text)


def _word_on_line(lines: list[str], index: int) -> str | None:
    """The verdict word that the line consists of, or None."""
    line = lines[index]
    if line.startswith("{"):
        return _word_in_json(line)
    match = _LINE.match(line)
    if match is None:
        return None
    ended = index == 0 or not lines[index - 1] or lines[index - 1].endswith(_ENDS)
    alone = ended or _LINE.match(lines[index - 1]) is not None
    return match["word"].upper() if match["label"] or alone else None


def _word_in_json(text: str) -> str | None:
    """The verdict word of a JSON object, or None when it has none or two."""
    try:
        document = json.loads(text, object_pairs_hook=_pairs)
    except (ValueError, RecursionError):
        return None
    values = [value for key, value in document if key == "verdict"] if isinstance(document, list) else []
    word = values[0].strip().upper() if len(values) == 1 and isinstance(values[0], str) else None
    return word if word in _WORDS else None


def _pairs(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return pairs
