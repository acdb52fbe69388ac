"""Lint: everything that is wrong with an answer file, before anybody scores it.

Reading is a stream: each response is looked at once and not kept, so a million of them need little
more memory than their identifiers. Nothing here stops on bad input; an unreadable file is a finding
too, and what stands before its broken place is still checked. `score` reads through `checked` as well, so both say
the same of the same files.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import NamedTuple

from surgeval.errors import FileUnreadable
from surgeval.results.request import requested
from surgeval.schema.finding_log import FindingLog
from surgeval.schema.foreign_objects import read_definitions
from surgeval.schema.question_files import QuestionSet, Sources, collect_questions, responses_of
from surgeval.schema.questions import Response
from surgeval.scoring.lint_checks import Check
from surgeval.scoring.lint_report import LintReport

KEPT_PER_CODE = 10_000


@requested("lint", files=("requests", "responses", "references", "definitions"))
def lint(
    requests: Sources,
    responses: Sources,
    references: Sources | None = None,
    *,
    class_names: tuple[str, ...] | None = None,
    definitions: str | Path | None = None,
    keep_per_code: int = KEPT_PER_CODE,
) -> LintReport:
    """Everything noticed about an answer file; never stops on what the files contain.

    Args:
        requests: The questions: a path, `NAME=PATH`, a table, several of these, dictionaries or `Request` objects.
        responses: The answers, given alike.
        references: The reference answers. Without them the answer formats are unknown, so only
            identifiers, content and latency are checked, and the report says so.
        class_names: Legal foreign-object classes, where they are not the ten of the challenge.
        definitions: A foreign-object definitions file to take the classes from.
        keep_per_code: Findings listed per code; all are counted.

    Example:
        >>> from surgeval import Reference, Request, Response, Capability
        >>> asked = [Request("q1", "v1", 0, 60, "", "Is a clip visible?")]
        >>> known = [Reference("q1", Capability.read("1a"), "binary", "yes")]
        >>> lint(asked, [Response("q1", "Yes, it is")], known).findings[0].nearest
        'yes'
    """
    log = FindingLog(keep_per_code)
    if definitions is not None:
        try:
            class_names = tuple(kind.name for kind in read_definitions(definitions)) or class_names
        except FileUnreadable as error:
            log.unreadable(error)
    return checked(requests, responses, references, class_names=class_names, log=log).report


class Checked(NamedTuple):
    """Questions and responses that were read once and compared with each other once."""

    questions: QuestionSet
    responses: MutableMapping[str, Response | None]
    """The first response to each question, where they are kept."""
    flags: Mapping[str, tuple[str, ...]]
    """Names of the signs of an injection, of the kept responses that have some."""
    report: LintReport


def checked(
    requests: Sources,
    responses: Sources,
    references: Sources | None = None,
    *,
    class_names: tuple[str, ...] | None = None,
    log: FindingLog,
    keep: bool = False,
) -> Checked:
    """Questions and responses with what was noticed about them, in the log and in a report.

    Args:
        requests: As for `lint`.
        responses: As for `lint`.
        references: As for `lint`.
        class_names: As for `lint`.
        log: Takes what is noticed; asked afterwards, it refuses what cannot be used.
        keep: Whether the responses are wanted, and not only what is odd about them.
    """
    questions = collect_questions(requests, () if references is None else references, class_names=class_names, log=log)
    check = Check(questions, log, has_references=references is not None, keep=keep)
    for response in responses_of(responses, log):
        check.response(response)
    check.whole()
    return Checked(questions, check.seen, check.flags, check.report())
