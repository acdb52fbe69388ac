"""The first stages: a reply without what only machines put there, without its reasoning, and the part that states it.

What the model wrote is stored as it is; this is what is read. All of it takes time that grows with the length of a
reply alone.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_CONTROL = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]")
_TOKENS = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s*(?:assistant|user|system)?(?:<\|end_header_id\|>)?"
    r"|<\|(?:im_end|im_start|endoftext|eot_id|end|eos|end_of_text|eom_id|end_of_turn|start_of_turn)\|>"
    r"|</?(?:s|p|b|i|em|strong|br|li|ul|div|span|code|h\d)\s*/?>|<(?:eos|bos|end_of_utterance|end_of_turn|pad)>"
    r"|\[/?INST\]|\[EOS\]|<｜end▁of▁sentence｜>",
    re.IGNORECASE,
)
_QUOTES = str.maketrans("“”„‟‘’‚", '""""\'\'\'')
_DIGIT = re.compile(r"(?![0-9])\d")
_ROLE = re.compile(r"^\s*(?:assistant|model|gpt|ai)\s*:\s*", re.IGNORECASE)
REASONING = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis")
_OPENED = re.compile(rf"<(?:{'|'.join(REASONING)})>", re.IGNORECASE)
_CLOSED = re.compile(rf"</(?:{'|'.join(REASONING)})>", re.IGNORECASE)
_OTHER_TAGS = (("◁think▷", "◁/think▷"), ("[THINK]", "[/THINK]"), ("<|begin_of_thought|>", "<|end_of_thought|>"))


def cleaned(text: str) -> str:
    """A reply without invisible letters, end-of-text and role tokens, in compatible letters and digits.

    Example:
        >>> cleaned("\\ufeffASSISTANT: １\\u200b<|im_end|>\\r\\n")
        '1'
    """
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = _CONTROL.sub(" ", _INVISIBLE.sub("", text)).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    text = _DIGIT.sub(lambda match: str(unicodedata.digit(match[0])), text)
    return _ROLE.sub("", _TOKENS.sub("", text)).strip()


class WithoutReasoning(NamedTuple):
    """A text without its blocks of reasoning."""

    text: str
    is_open: bool
    """Whether a block never ends: nothing was answered yet."""


def without_reasoning(text: str) -> WithoutReasoning:
    """The text without its reasoning, also where only the end tag is there.

    Example:
        >>> without_reasoning("so it is 1</think>3"), without_reasoning("<think>It is")
        (WithoutReasoning(text='3', is_open=False), WithoutReasoning(text='', is_open=True))
    """
    for begin, end in _OTHER_TAGS:
        text = text.replace(begin, "<think>").replace(end, "</think>")
    text = without_blocks(text, REASONING)
    ends = [match.end() for match in _CLOSED.finditer(text)]
    text = text[ends[-1] :] if ends else text
    is_open = _OPENED.search(text) is not None
    return WithoutReasoning("" if is_open else text.strip(), is_open)


def without_blocks(text: str, names: Sequence[str], *, put: str = "", any_end: bool = False) -> str:
    """The text without its blocks; what begins and never ends stays.

    A pattern `<think>.*?</think>` looks for the end of every beginning, to the end of the text where there is none: a
    megabyte of beginnings would take minutes, and whoever is asked writes what he likes.

    Args:
        text: A reply.
        names: Of the tags, in any case.
        put: In the place of each block.
        any_end: Whether a block may end with another of the names than it began with.

    Example:
        >>> without_blocks("<think>Is it? <think></think>Yes <THINK>no", ["think"])
        'Yes <THINK>no'
    """
    either = "|".join(map(re.escape, names))
    ends: dict[str, list[re.Match[str]]] = {}
    for end in re.finditer(rf"</({either})>", text, re.IGNORECASE | re.ASCII):
        ends.setdefault("" if any_end else end[1].lower(), []).append(end)
    kept, at = [], 0
    for begin in re.finditer(rf"<({either})>", text, re.IGNORECASE | re.ASCII) if ends else ():
        fitting = ends.get("" if any_end else begin[1].lower(), [])
        place = bisect_left(fitting, begin.end(), key=re.Match.start)
        if begin.start() >= at and place < len(fitting):
            kept += [text[at : begin.start()], put]
            at = fitting[place].end()
    return "".join([*kept, text[at:]])
