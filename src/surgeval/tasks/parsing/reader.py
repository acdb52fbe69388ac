"""The stage that reads answers: by the form of the task, with what must be known of the case and of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from surgeval.errors import UnknownName
from surgeval.tasks.parsing.choices import read_choice
from surgeval.tasks.parsing.json_objects import without_reasoning
from surgeval.tasks.parsing.label_sets import KEY_RULES, read_labels
from surgeval.tasks.parsing.names import ClassNames
from surgeval.tasks.parsing.places import read_boxes, read_outlines
from surgeval.tasks.parsing.reading import Read, Reading, failed
from surgeval.tasks.parsing.spans import read_span
from surgeval.tasks.task import AnswerForm, Form

PARSER_VERSION = "1"
"""Changes whenever an answer could be read otherwise than before."""
_DECLINED = re.compile(
    r"\bi\s*(?:'|a)m\s+(?:sorry|unable)"
    r"|\bi\s+(?:can(?:'|no)t|won't|am not able to)\s+(?:assist|help|answer|provide|analy[sz]e|comply|identify)"
    r"|\bunable to (?:assist|help|provide)|\bagainst (?:my|the) (?:policy|guidelines)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Context:
    """What must be known beside the text of an answer."""

    duration_s: float | None = None
    frames_s: tuple[float, ...] = ()
    """The real times of the frames that were shown."""
    boxes: str | None = None
    """The convention of the model's boxes."""
    size_px: tuple[int, int] | None = None
    shown_px: tuple[int, int] | None = None
    missing_keys: str = KEY_RULES[0]
    lenient: bool = False


NOTHING = Context()


class AnswerReader:
    """Reads the answers of one task; the names of its classes are prepared once."""

    def __init__(self, answer: AnswerForm) -> None:
        self.answer, self.names = answer, ClassNames(answer.classes, answer.synonyms)

    def read(self, text: str, context: Context = NOTHING) -> Reading:
        """An answer as the rules read it.

        Raises:
            UnknownName: A rule for classes that are not mentioned that there is not.
        """
        if context.missing_keys not in KEY_RULES:
            raise UnknownName("rule for classes that are not mentioned", context.missing_keys, KEY_RULES)
        shown = without_reasoning(text)
        if not shown.strip():
            return failed("an empty answer" if not text.strip() else "the answer ends within its reasoning")
        reading = _READERS[self.answer.form](self, shown, context)
        if not reading.usable and _DECLINED.search(shown):
            return replace(reading, status=Read.REFUSED)
        return reading


def read_answer(text: str, answer: AnswerForm, context: Context = NOTHING) -> Reading:
    """One answer of a task, read by its form.

    Example:
        >>> form = AnswerForm(form=Form.CHOICE, classes=("G1", "G10"), column="gesture")
        >>> read_answer("It is G10.", form).value
        'G10'
    """
    return AnswerReader(answer).read(text, context)


def _choice(reader: AnswerReader, text: str, _: Context) -> Reading:
    return read_choice(text, reader.answer, reader.names)


def _labels(reader: AnswerReader, text: str, context: Context) -> Reading:
    return read_labels(text, reader.answer, reader.names, missing_keys=context.missing_keys)


def _span(reader: AnswerReader, text: str, context: Context) -> Reading:
    frames_s = context.frames_s if reader.answer.frames_prompted else ()
    return read_span(text, duration_s=context.duration_s, frames_s=frames_s, lenient=context.lenient)


def _boxes(reader: AnswerReader, text: str, context: Context) -> Reading:
    return read_boxes(
        text, reader.names, convention=context.boxes, size_px=context.size_px, shown_px=context.shown_px
    )  # fmt: skip


def _masks(reader: AnswerReader, text: str, _: Context) -> Reading:
    return read_outlines(text, reader.names)


def _text(_: AnswerReader, text: str, __: Context) -> Reading:
    return Reading(Read.OK, text.strip())


_READERS: Mapping[Form, Callable[[AnswerReader, str, Context], Reading]] = {
    Form.CHOICE: _choice,
    Form.LABELS: _labels,
    Form.SPAN: _span,
    Form.BOXES: _boxes,
    Form.MASKS: _masks,
    Form.TEXT: _text,
}
