"""The protocol in which the official toolkit 0.4.0 asks judges: its prompt, and how it reads a reply.

A reply is right when it contains CORRECT and not INCORRECT, so "NOT CORRECT" and "partially correct" are right; a
judge that cannot be reached is wrong. Nothing here is how we would judge: it is how the official numbers come about.
The texts are taken from the installed package, not copied, so they are the toolkit's to the letter.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from surgeval.errors import Misuse
from surgeval.judges._case import Judge, JudgeCase

PROTOCOL = "orena-focus-0.4.0"
LOCAL_TOKENS = 8
_PACKAGE, _, _VERSION = PROTOCOL.rpartition("-")


class Texts(NamedTuple):
    """What the toolkit writes to every judge."""

    system: str
    user: str
    """With a place for every field of a case."""
    definitions: str


@cache
def official_texts() -> Texts:
    """The texts of the installed toolkit, which is read and not imported.

    Raises:
        Misuse: It is not installed, or in another version.
    """
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        raise _needs("it is not installed") from None
    if package.version != _VERSION:
        raise _needs(f"version {package.version} is installed")
    try:
        source = Path(str(package.locate_file("focus/evaluation/judges.py"))).read_text(encoding="utf-8")
        definitions = Path(str(package.locate_file("focus/assets/FO_definitions.txt"))).read_text(encoding="utf-8")
    except OSError as error:
        raise _needs(f"its files cannot be read ({error})") from None
    constants: dict[str, str] = {
        target.id: node.value.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return Texts(constants["JUDGE_SYSTEM_PROMPT"], constants["JUDGE_USER_TEMPLATE"], definitions)


def _needs(problem: str) -> Misuse:
    return Misuse(
        f"under the official profiles a language model judges with the texts of {_PACKAGE} {_VERSION}, and {problem}; "
        f"pip install --no-deps {_PACKAGE}=={_VERSION} brings them"
    )


def official_messages(case: JudgeCase) -> list[dict[str, str]]:
    """The prompt of the toolkit for a case. The candidate stands in it as it came, without a fence."""
    texts = official_texts()
    user = texts.user.format(
        procedure_type=case.procedure,
        fo_definitions=texts.definitions,
        start_time=case.start_s,
        end_time=case.end_s,
        question=case.question,
        reference=case.reference,
        candidate=case.candidate,
    )
    return [{"role": "system", "content": texts.system}, {"role": "user", "content": user}]


def says_correct(reply: str) -> bool:
    """How the toolkit reads a reply.

    Example:
        >>> says_correct("NOT CORRECT"), says_correct("partially correct"), says_correct("Incorrect.")
        (True, True, False)
    """
    text = reply.strip().upper()
    return "CORRECT" in text and "INCORRECT" not in text


def in_official_protocol(judge: Judge) -> Judge:
    """The judge as the toolkit would ask it; judges that ask no language model stay what they are."""
    convert = getattr(judge, "as_official", None)
    return judge if convert is None else convert()
