"""Prompts as versioned data: which text a case is asked with, and what is known to be wrong with it.

`faithful` is what a study printed or ran, faults and all; `mended` is the same without them. A placeholder `<NAME>` is
filled for each case from the case itself, in a copy of the text: what the first case was asked can reach no other. The
one exception is a faithful prompt that says so (`first_case_only`), because the study's own code did just that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.models import Can
from surgvalid.schema.documents import read_toml
from surgvalid.tasks.task import TaskInstance

FOLDER = Path(__file__).with_name("prompts")
VERSIONS = ("mended", "faithful")
"""The first that there is counts, unless one is asked for; a task of one's own may have others besides."""
_PLACEHOLDER = re.compile(r"<([A-Z][A-Z_]+)>")


class Asks(StrEnum):
    """How the texts of a prompt are put."""

    ONCE = "once"
    PER_CLASS = "per class"
    """One question per class, answered yes or no."""
    COMPARES = "compares"
    """One text per class, compared with the image."""


@dataclass(frozen=True, kw_only=True)
class PromptText:
    """One version of a prompt for one family of models."""

    family: str
    version: str
    asks: Asks
    text: str = ""
    texts: tuple[str, ...] = ()
    """One per class."""
    by: str = ""
    """The column of the case that decides the text."""
    text_by: Mapping[str, str] = field(default_factory=dict)
    after_shots: str = ""
    """The text where examples were shown before it; the usual text if empty."""
    faults: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()
    first_case_only: tuple[str, ...] = ()
    """Placeholders that are filled from the first case for all."""
    native_video: bool = False
    """Whether the video itself is shown and not frames of it."""
    ours: bool = False
    """Whether the study has no such prompt."""

    @property
    def digest(self) -> str:
        """A short hash of everything that is put to a model."""
        content: list[Any] = [self.asks, self.text, self.texts, self.by, dict(self.text_by), self.after_shots]
        content += [self.first_case_only, self.native_video]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    @property
    def id(self) -> str:
        """What a leaderboard calls it: family, version and hash."""
        return f"{self.family}/{self.version}/{self.digest}"

    def of_case(self, case: Mapping[str, Any], *, shots: bool = False) -> str:
        """The text that a case is asked with, its placeholders still open.

        Raises:
            InputInvalid: The prompt has no text for what the case says.
        """
        if not self.by:
            return (self.after_shots or self.text) if shots else self.text
        value = str(case.get(self.by))
        if value not in self.text_by:
            known = ", ".join(map(repr, self.text_by))
            raise InputInvalid(f"case {case.get('case')}", [f"{self.by} {value!r} has no prompt; there are {known}"])
        return self.text_by[value]


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders filled; nothing else in it changes.

    Raises:
        Misuse: A placeholder that nothing fills.

    Example:
        >>> filled("When does <ERROR_TYPE> occur? {}", {"ERROR_TYPE": "bleeding"})
        'When does bleeding occur? {}'
    """
    lacking = sorted({name for name in _PLACEHOLDER.findall(text) if name not in values})
    if lacking:
        raise Misuse(f"the prompt asks for {', '.join(lacking)}, which the cases do not have; add such a column")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def prompts_of(task: TaskInstance) -> tuple[PromptText, ...]:
    """Every prompt of a task: of the file that it names, or of a TOML file beside its own.

    Raises:
        FileUnreadable: No such file, or no TOML.
        InputInvalid: With every problem of it.
    """
    beside = Path(task.file).parent / task.prompts if task.prompts.endswith(".toml") else None
    texts = read_prompts(beside or FOLDER / f"{task.prompts}.toml")
    wrong = [
        f"{one.family}/{one.version} has {len(one.texts)} texts for {len(task.answer.classes)} classes"
        for one in texts
        if one.asks is not Asks.ONCE and len(one.texts) != len(task.answer.classes)
    ]
    if wrong:
        raise InputInvalid(f"prompts of {task.name}", wrong)
    return texts


@cache
def read_prompts(path: Path) -> tuple[PromptText, ...]:
    """The prompts of a TOML file.

    Raises:
        FileUnreadable: No such file, or no TOML.
        InputInvalid: With every problem of it.
    """
    entries = read_toml(path).get("prompt")
    if not isinstance(entries, list) or not entries:
        raise InputInvalid(str(path), ["holds no [[prompt]]"])
    problems = [problem for number, entry in enumerate(entries, 1) for problem in _problems(entry, number)]
    if problems:
        raise InputInvalid(str(path), problems)
    return tuple(_made(entry) for entry in entries)


_LISTS = ("texts", "faults", "mends", "first_case_only")
_FLAGS = ("ours", "native_video")
_WORDS = ("family", "version", "asks", "text", "by", "after_shots")


def _problems(entry: Any, number: int) -> list[str]:
    if not isinstance(entry, dict):
        return [f"prompt {number} is no table"]
    where = f"prompt {number}"
    known = (*_LISTS, *_WORDS, "text_by", *_FLAGS)
    problems = [f"{where} has no entry {name!r}" for name in entry if name not in known]
    problems += [f"{where} lacks {name!r}" for name in ("family", "version") if name not in entry]
    problems += [f"{where}: {name!r} is no text" for name in _WORDS if not isinstance(entry.get(name, ""), str)]
    problems += [f"{where}: {name!r} is no list of texts" for name in _LISTS if not _texts(entry.get(name, []))]
    asks = entry.get("asks", Asks.ONCE)
    if asks not in list(Asks):
        problems.append(f"{where}: asks {asks!r}; known: {', '.join(Asks)}")
    elif asks == Asks.ONCE and not (entry.get("text") or entry.get("text_by")):
        problems.append(f"{where} lacks 'text'")
    elif asks != Asks.ONCE and not entry.get("texts"):
        problems.append(f"{where} lacks 'texts', one per class")
    return problems


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _made(entry: Mapping[str, Any]) -> PromptText:
    lists: dict[str, Any] = {name: tuple(entry.get(name, ())) for name in _LISTS}
    words = {name: entry[name] for name in _WORDS if name in entry and name != "asks"}
    more: dict[str, Any] = {
        "text_by": entry.get("text_by", {}),
        **{flag: bool(entry.get(flag, False)) for flag in _FLAGS},
    }
    return PromptText(asks=Asks(entry.get("asks", Asks.ONCE)), **lists, **words, **more)


def chosen_prompt(
    texts: Sequence[PromptText], can: Can, *, family: str | None = None, version: str | None = None
) -> PromptText:
    """The prompt for a model that can do so much: the first family that fits, in the version asked for or the best.

    Args:
        texts: Of the task.
        can: What the model can do.
        family: One of the task's families; by default the first that the model can answer.
        version: `mended`, `faithful` or another of the task; by default mended where there is such a version.

    Raises:
        UnknownName: No such family or version in this task.
        Misuse: No prompt of the task fits what the model can do.
    """
    families = list(dict.fromkeys(one.family for one in texts))
    if family is not None and family not in families:
        raise UnknownName("family of prompts of this task", family, families)
    versions = dict.fromkeys((*VERSIONS, *(one.version for one in texts)))
    if version is not None and version not in versions:
        raise UnknownName("version of prompts", version, versions)
    fitting = [one for one in texts if (family in (None, one.family)) and _fits(one, can)]
    if not fitting:
        listed = ", ".join(families)
        raise Misuse(f"no prompt of this task is for a model that {_ability(can)}; there are {listed}")
    first = min(fitting, key=lambda one: _preference(one, can)).family
    of_family = {one.version: one for one in fitting if one.family == first}
    wanted = version or next(name for name in versions if name in of_family)
    if wanted not in of_family:
        return of_family[next(iter(of_family))]
    return of_family[wanted]


def _fits(one: PromptText, can: Can) -> bool:
    return (can.scores or not can.text) if one.asks is Asks.COMPARES else can.text


def _preference(one: PromptText, can: Can) -> tuple[bool, bool]:
    """Words before comparisons for a model of words; prompts for native video only where it takes video."""
    return (one.asks is Asks.COMPARES) == can.text, one.native_video != can.video


def _ability(can: Can) -> str:
    return "answers in words" if can.text else "gives a number per label"
