"""Files as the official toolkit reads and writes them.

Reading keeps JSON values as they are, since the toolkit's decisions depend on their types. Writing
reproduces what its data frames print: a column's type follows from all its values together.
"""

from __future__ import annotations

import csv
import io
import math
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from surgvalid.errors import FileUnreadable, OfficialAborts
from surgvalid.results.tables import OFFICIAL_SUMMARY
from surgvalid.schema.documents import is_whole
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.formats import time_tolerance_s
from surgvalid.schema.questions.question_files import REFERENCES, REQUESTS, RESPONSES, Part, RowSource, Sources, opened
from surgvalid.schema.questions.question_rows import is_data_set_row, response_from_row
from surgvalid.schema.questions.questions import Response
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import Row, TooDeep

if TYPE_CHECKING:
    from surgvalid.scoring.official.decisions import OfficialResults
    from surgvalid.scoring.official.summary import SummaryRow

Kind = Literal["request", "reference", "response"]
_PARTS: dict[Kind, Part] = {"request": REQUESTS, "reference": REFERENCES, "response": RESPONSES}
_STOPS = ("byte-order-mark", "not-an-object", "huge-number")
"""What the toolkit's reader cannot read, and ours can."""


# --- reading -------------------------------------------------------------------------------------


def load_rows(sources: Sources, kind: Kind) -> list[Row]:
    """The rows of official files, values untouched; other layouts are brought into that form first.

    Raises:
        OfficialAborts: The official toolkit cannot load the file.
    """
    rows = [row for source in opened(sources, _PARTS[kind], keep=True) for row in _rows_of(source, kind)]
    if kind != "response":
        _check_names(rows)
    return rows


def load_answers(sources: Sources) -> tuple[list[Row], dict[Any, Status]]:
    """The rows of official answer files, and what our own files say became of a question.

    Where a file says that nothing came back, there is no row, as in an official file; a late answer is
    one without text, whose latency tells.
    """
    rows: list[Row] = []
    stated: dict[Any, Status] = {}
    for source in opened(sources, RESPONSES, keep=True):
        is_official = source.is_official
        for member in _members(source):
            if is_official and isinstance(member, dict):
                rows.append(member)
                continue
            response = member if isinstance(member, Response) else response_from_row(member, source.namespace, _quiet)
            if response is not None and response.status is not None:
                stated[response.case] = response.status
            if response is not None and (row := official_row(response)) is not None:
                rows.append(row)
    return rows, stated


def official_row(response: Response) -> Row | None:
    """The response in an official answer file, or None where it has no place there."""
    if not response.is_excused:
        return response.as_row()
    return response.as_row() | {"content": ""} if response.status is Status.TIMED_OUT else None


def _members(source: RowSource) -> list[Any]:
    """Everything in a source, which is read now unless it was before."""
    if source.path is not None and not source.is_read:
        with suppress(FileUnreadable):
            deque(source.read(_quiet), maxlen=0)
    if source.broken is not None and not source.is_official:
        raise source.broken
    if not source.is_official:
        return [row for row in source.rows if type(row) is not TooDeep]
    problems = [finding.message for finding in source.findings if finding.code in _STOPS]
    problems += [] if source.broken is None else source.broken.problems
    if problems:
        raise OfficialAborts(source.broken.where if source.broken else str(source.path), problems)
    return source.rows


def _quiet(*_: Any) -> None:
    return None


def _check_names(rows: Sequence[Row]) -> None:
    """Refuse identifiers of questions and videos that cannot be written into `results.csv`."""
    values = [row.get(key) for row in rows for key in ("qID", "videoID")]
    names = [value for value in values if isinstance(value, str) and not value.isascii()]
    if bad := [f"{name!a} holds half a character" for name in names if not is_whole(name)]:
        raise OfficialAborts("results.csv cannot be written", bad)


def _rows_of(source: RowSource, kind: Kind) -> list[Row]:
    members = _members(source)
    if source.is_official:
        return [member if isinstance(member, dict) else member.as_row() for member in members]
    if kind != "response" and members and source.namespace is None and "qID" not in members[0]:
        return [_data_set_row(row, kind) for row in members]
    reading = _PARTS[kind]
    runs = (reading.columns(list(run), source.namespace, _quiet)[1] for _, run in groupby(members, is_data_set_row))
    return [item.as_row() for columns in runs for item in map(reading.kind, *columns)]


def _data_set_row(row: Row, kind: Kind) -> Row:
    """A row of the public data sets as the toolkit's loader turns it: `ood` is not read there."""
    try:
        start, end = (_whole_seconds(row[key]) for key in ("timestamp_start", "timestamp_end"))
        if kind == "request":
            names = {"videoID": "video", "procedure_type": "procedure_type", "question": "question"}
            times = {"start_time": start, "end_time": end}
            return {"qID": str(row["id"]), **times, **{ours: row[theirs] for ours, theirs in names.items()}}
        tolerance = {"threshold_seconds": time_tolerance_s(end - start)} if row["answer_format"] == "time" else {}
        return {
            "qID": str(row["id"]),
            "primary": row["primary_capability"],
            "format": row["answer_format"],
            "format_kwargs": tolerance,
            "answer": row["answer"],
            "secondaries": [c for c in row["secondary_capabilities"] if Capability.named(c) is not None],
            "clinical": row["clinical_relevance"],
        }
    except KeyError as error:
        raise OfficialAborts("data set", [f"the column {error} is missing"]) from None
    except (ValueError, TypeError, AttributeError) as error:
        raise OfficialAborts("data set", [f"row {row.get('id')!r}: {error}"]) from None


def _whole_seconds(stamp: str) -> int:
    hours, minutes, seconds = stamp.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


# --- writing -------------------------------------------------------------------------------------


def results_csv(results: OfficialResults) -> str:
    """The text of `results.csv`."""
    return csv_text(results._fields, results)


def summary_csv(rows: Sequence[SummaryRow]) -> str:
    """The text of `summary.csv`."""
    return csv_text(OFFICIAL_SUMMARY, [[row[i] for row in rows] for i in range(len(OFFICIAL_SUMMARY))])


def csv_text(names: Sequence[str], columns: Iterable[list[Any]]) -> str:
    """Columns as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(printed_column(column) for column in columns), strict=True))
    return text.getvalue()


def printed_column(values: list[Any]) -> list[str]:
    """How a data frame prints a column of these values.

    Whole numbers next to fractions or gaps become floats, unless one machine word cannot hold them all,
    with or without sign; truth values next to anything else stay what they are; a gap is the empty string.

    Example:
        >>> printed_column([1, 2.5]), printed_column([True, None]), printed_column([1, None])
        (['1.0', '2.5'], ['True', ''], ['1.0', ''])
    """
    kinds = {type(value) for value in values}
    mixed = kinds <= {int, float, type(None)} and bool(kinds & {float, type(None)}) and bool(kinds & {int, float})
    whole = [value for value in values if type(value) is int]
    lowest, highest = min(whole, default=0), max(whole, default=0)
    if mixed and lowest >= -(1 << 63) and highest < (1 << (63 if lowest < 0 else 64)):
        values = [None if value is None else float(value) for value in values]
    if kinds <= {str}:
        return values
    if kinds <= {float}:
        return ["" if value != value else repr(value) for value in values]
    return list(map(str, values)) if kinds <= {bool} or kinds <= {int} else list(map(_printed, values))


def _printed(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
