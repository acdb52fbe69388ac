"""The part of a reply that states its answer: in a tag or a box, after a label, or after a correction.

Where there is one, only it is read. Two that differ are none; so all of them are handed over.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAGS = re.compile(
    r"<(answer|output|final_answer|final|response|result|verdict|solution|phase|action|score|severity|gesture|label"
    r"|class|option|error_type)>(.*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
_BOX_TOKENS = re.compile(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>", re.DOTALL)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_TEX_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}")
_LABEL_WORDS = (
    r"answer|final answer|final verdict|verdict|output|result|response|conclusion|prediction|final|antwort|ergebnis"
    r"|réponse(?: finale)?|respuesta(?: final)?|答案|最终答案|结论|回答|die antwort lautet|la réponse est"
    r"|la respuesta es|so(?=:)|the (?:final |correct |best )?answer is|my (?:final |best )?answer is|answer is"
    r"|endgültige antwort"
)
_LABEL = re.compile(
    rf"(?:^|(?<=[\n.!?;。])|(?<=,)(?=\s*(?:so|de modo|así|por|donc|also|daher|所以)))[ \t>#*_\-]*(?:(?:so|thus|hence"
    rf"|therefore|de modo que|así que|por (?:lo )?tanto|donc|also|daher|所以|my|the|here is (?:the"
    rf"|my))[ ,]*)*[*_]*(?P<label>{_LABEL_WORDS})[*_]*[ \t]*(?P<mark>[:：=][*_]*|(?<= is)\b|(?<= lautet)\b"
    rf"|(?<= est)\b|(?<= es)\b|[*_]*\n+)[ \t]*|(?:^|(?<=\n)|(?<=[.!?)]\s))(?:→|⇒|➡|[=-]>)\ufe0f?\s+"
    r"|(?<=[a-zA-Z)])\s*(?:→|⇒|➡|[=-]>)\s*(?=[\d{]\S*\s*$)",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"\b(?:correction|corrected(?: (?:answer|to|version))?|korrektur|rectification|corrección|更正|revised(?:"
    r" answer)?|i (?:meant|mean)|scratch that|let me correct(?: that| myself)?|on second thought|or rather|no[,.]?"
    r" wait|wait[,.]? no|actually[,.]? no|sorry(?=[,.]? (?:(?:yes|no|phase|it is|it['’]s)\b|\d))|sorry[,.]? (?:i"
    r" meant|that is|that['’]s|it is|it['’]s)|(?:i )?change (?:it|that|my answer) to|make that|on reflection|en"
    r" realidad|en réalité|perdón|pardon|(?:(?<=[.!?\n}])|(?<=[.!?\n}] ))(?:wait|hmm|hold on)(?=[,.:…\-—])|(?:the"
    r" )?correct (?:is|are)|je (?:me )?corrige|me corrijo|ich korrigiere|不对)(?!\w)\s*[:,.\-—]*\s*|\bbut (?:it|that"
    r"|this) (?:isn['’]t"
    r"|is not)(?: one| it)?(?=\s*[:;—.])\s*[:,.\-—]*\s*|(?:\.\.\.|…|—|–|\s-|\d,)\s*(?:no|nein|non)[,:]\s+",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?|~~~\w*\n?")
_WHY = re.compile(
    r"(?<=[\w.)}*`])\n+\W*(?:explanation|reason(?:ing)?|rationale|justification|confidence|notes?|why)\W*[:\n].*",
    re.DOTALL | re.IGNORECASE,
)
"""What explains an answer that was given on a line before."""
_OBJECT_BEGINS = re.compile(r"[\s*`$\\(]*[{\[\"'“]")


class StatedPart(NamedTuple):
    """What is to be read of a reply."""

    text: str
    path: str
    """Empty for the whole reply."""


def without_fences(text: str) -> str:
    """The text without marks of code."""
    return _FENCE.sub("", text).strip()


def stated_parts(text: str, *, one_line: bool = True) -> list[StatedPart]:
    """The parts that state the answer; the whole reply where none does.

    Args:
        text: A reply without its reasoning.
        one_line: Whether what follows a label ends with its line, unless an object begins there.

    Example:
        >>> [stated.text for stated in stated_parts("It may be 1 or 3. Answer: 3")]
        ['3']
    """
    marked = [StatedPart(match[2], "tag") for match in _TAGS.finditer(text)]
    marked += [StatedPart(match[1], "box") for match in _BOX_TOKENS.finditer(text)]
    marked += [StatedPart(inner, "box") for inner in _boxed(text)]
    if marked:
        return [StatedPart(without_fences(stated.text), stated.path) for stated in marked if stated.text.strip()]
    text = without_fences(text)
    text = _WHY.split(text)[0] if one_line else text
    corrections = list(_CORRECTED.finditer(text))
    if corrections and text[corrections[-1].end() :].strip():
        after = text[corrections[-1].end() :].strip()
        labelled = _labelled(after, one_line)
        return [StatedPart(labelled[-1].text if labelled else after, "correction")]
    return _labelled(text, one_line) or [StatedPart(text, "")]


def _boxed(text: str) -> list[str]:
    r"""What stands in `\boxed{}`; braces within are balanced."""
    inner = []
    for match in _BOXED.finditer(text):
        depth, at = 1, match.end()
        while at < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        if not depth:
            content = _TEX_TEXT.sub(r"\1", text[match.end() : at - 1]).strip()
            inner.append(content.replace("\\{", "{").replace("\\}", "}").replace("\\%", "%"))
    return inner


def _labelled(text: str, one_line: bool) -> list[StatedPart]:
    """What follows the labels; those of a final answer before others."""
    marks = [match for match in _LABEL.finditer(text) if text[match.end() :].strip()]
    final = [match for match in marks if re.search("final|最终", match["label"] or "", re.IGNORECASE)]
    parts = []
    for place, match in enumerate(marks):
        if final and match not in final:
            continue
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        rest = text[match.end() : end].strip()
        if one_line and not _OBJECT_BEGINS.match(rest):
            rest = rest.split("\n")[0].strip()
        if rest:
            parts.append(StatedPart(rest, "label"))
    return parts
