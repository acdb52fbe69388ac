"""Lint: everything that is wrong with an answer file, before anybody scores it.

Reading is a stream: each response is looked at once and not kept, so a million of them need little
more memory than their identifiers. Nothing here stops on bad input; an unreadable file is a finding
too, and what stands before its broken place is still checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable, Misuse
from surgeval.results.request import requested
from surgeval.schema.foreign_objects import read_definitions
from surgeval.schema.formats import shown
from surgeval.schema.question_files import Source, Sources, collect_questions, split_source, unreadable
from surgeval.schema.questions import Response, response_from_row
from surgeval.schema.rows import read_rows
from surgeval.scoring.lint_checks import Check
from surgeval.scoring.lint_report import FindingLog, LintReport

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
        requests: The questions: a path, `NAME=PATH`, several of these, or `Request` objects.
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
    sources = {"requests": requests, "responses": responses, "references": references}
    listed = {name: _listed(given) for name, given in sources.items() if given is not None}
    if definitions is not None:
        class_names = _class_names(definitions, log) or class_names
    questions = collect_questions(listed["requests"], listed.get("references", []), class_names=class_names)
    for finding in questions.findings:
        log.add(finding)
    check = Check(questions, log, has_references=references is not None)
    for where, response in _stream(listed["responses"], log):
        check.response(response, where)
    check.whole()
    return check.report()


def _listed(given: Sources) -> list[Any]:
    return [given] if isinstance(given, str | Path) else list(given)


def _class_names(definitions: str | Path, log: FindingLog) -> tuple[str, ...] | None:
    try:
        return tuple(kind.name for kind in read_definitions(definitions))
    except FileUnreadable as error:
        log.add(unreadable(error))
        return None


def _stream(sources: Iterable[Any], log: FindingLog) -> Iterator[tuple[str | None, Response]]:
    for source in sources:
        if isinstance(source, Response):
            yield None, source
        elif isinstance(source, str | Path):
            yield from _stream_file(source, log)
        else:
            raise Misuse(f"expected a path or a Response, got {type(source).__name__}")


def _stream_file(source: Source, log: FindingLog) -> Iterator[tuple[str | None, Response]]:
    namespace, path = split_source(source)
    name, number, is_json = path.name, 0, path.suffix.lower() in (".json", ".jsonl", ".ndjson")
    row: Mapping[str, Any] = {}

    def complain(code: str, text: str) -> None:
        raw = row.get("qID", row.get("id"))
        log.note(code, text, case=None if raw is None else str(raw)[:80], where=f"{name} row {number}")

    try:
        for number, row in enumerate(read_rows(path, report=log.add), start=1):
            response = response_from_row(row, namespace, complain)
            if response is None:
                continue
            if is_json and type(row.get("latency")) is str and not math.isnan(response.latency_s):
                complain("latency-is-text", f"the latency is the text {shown(row['latency'])}")
            yield f"{name} row {number}", response
    except FileUnreadable as error:
        before = [f"the {number} rows before it were checked"] if number else []
        log.note("file-unreadable", "; ".join([*error.problems, *before]), where=error.where)
    if path.suffix.lower() != ".json" and number:
        log.note("not-json", f"the answers are {path.suffix}, not .json", where=name)
