"""The page of `surgvalid study` without a file: drop a table, see how each column was read, correct it; the verdict
follows at once.

Nothing leaves the machine: the server answers on 127.0.0.1 the one browser that opened its address first. The table is
kept in memory, and lies in a temporary folder only while it is read.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from urllib.parse import unquote

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.chart import NARROW_PX, Chart
from surgvalid.report.drawing.svg import page_colours
from surgvalid.report.latex import latex_table
from surgvalid.report.serving import CSS, HTML, NOT_HERE, POLICY, SCRIPT, LocalServer, PageReply, asset, json_reply
from surgvalid.report.verdict_page import evidence, figure_of
from surgvalid.report.words import plain
from surgvalid.schema.tables.table_files import ROLE_OPTIONS
from surgvalid.schema.tables.table_reading import frame_in
from surgvalid.schema.tables.workbooks import filled_sheets
from surgvalid.stats.verdict.sentences import sentences_of, title_of
from surgvalid.studies.column_roles import Asked, cards, offers, read_with
from surgvalid.studies.study import StudyResult, study

_ROWS, _LETTERS = 8, 40
"""That are shown of the table, and of each cell."""


_KINDS = {"": HTML, "local.css": CSS, "local.js": SCRIPT}


class LocalPage(LocalServer):
    """Serves one person on this machine: a table, its reading, the verdict."""

    once = True
    most_sent_bytes = 64 << 20

    def __init__(self, *, port: int = 0) -> None:
        """Take a port, 0 for a free one; nothing is answered before `serve_forever`."""
        super().__init__(port=port)
        self.name, self.data = "", b""
        self.result: StudyResult | None = None
        self._lock = Lock()

    def get(self, name: str, rest: str, headers: Mapping[str, str]) -> PageReply:
        """The page, its parts, or the verdict page of what was read last."""
        del name, headers
        if rest == "study.html" and self.result is not None:
            return PageReply(200, self.result.html().encode("utf-8", "replace"), HTML)
        if rest not in _KINDS:
            return NOT_HERE
        first = page_colours().encode() if _KINDS[rest] is CSS else b""
        return PageReply(200, first + asset(rest or "local.html"), _KINDS[rest], more=POLICY)

    def post(self, name: str, rest: str, body: bytes) -> PageReply:
        """What comes of a table, of other options, or of the question what a column may be."""
        del name
        with self._lock:
            if rest.startswith("table/"):
                self.name, self.data, body = _file_name(unquote(rest.removeprefix("table/"))), body, b'{"asked": {}}'
            try:
                message = json.loads(body)
                asked = {name: value for name, value in message["asked"].items() if value}
                return json_reply(self.offers(asked, message["column"]) if rest == "offers" else self.read(asked))
            except (ValueError, TypeError, LookupError, AttributeError, pl.exceptions.PolarsError):
                return json_reply({"problem": "not understood"}, code=400)

    def read(self, asked: Asked) -> dict[str, Any]:
        """What the page shows of the table with these options, as far as it can be read."""
        shown: dict[str, Any] = {"name": self.name, "asked": dict(asked)}
        self.result = None
        with self._file() as path:
            try:
                shown["sheets"] = filled_sheets(path) if path.suffix.lower() == ".xlsx" else []
                frame = frame_in(path, asked.get("columns", {}), asked.get("sheet"))
                shown |= _rows(frame)
                shown |= _reading(path, frame, asked)
                self.result = study(path, **asked)
                shown |= _verdict(self.result) | {"command": command(self.name, asked)}
            except SurgvalidError as problem:
                shown["problem"] = str(problem).replace(f"{path.parent}{os.sep}", "")
        return shown

    def offers(self, asked: Asked, column: str) -> list[dict[str, Any]]:
        """What a column may be, and what each role would change."""
        with self._file() as path:
            return offers(path, column, asked)

    @contextmanager
    def _file(self) -> Iterator[Path]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / self.name
            path.write_bytes(self.data)
            yield path


def command(name: str, asked: Asked) -> str:
    """The command line that repeats a study; empty where a name cannot be written there.

    Example:
        >>> command("my dice.csv", {"columns": {"video": "pat"}, "margin": 0.02})
        "surgvalid study 'my dice.csv' --unit pat --margin 0.02"
    """
    columns = asked.get("columns", {})
    flags = {ROLE_OPTIONS[ours]: theirs for ours, theirs in columns.items() if ours in ROLE_OPTIONS}
    several = {"--score": asked.get("scores", ()), "--models": asked.get("models", ())}
    several["--columns"] = [f"{ours}={theirs}" for ours, theirs in columns.items() if ours not in ROLE_OPTIONS]
    if any("," in one for names in several.values() for one in names):
        return ""
    flags |= {flag: ",".join(names) for flag, names in several.items() if names}
    flags |= {f"--{name}": str(value) for name, value in asked.items() if not isinstance(value, dict | list)}
    return shlex.join(["surgvalid", "study", name, *(word for pair in flags.items() for word in pair)])


def _file_name(name: str) -> str:
    """The name of a dropped file as one in a folder of ours."""
    kept = re.sub(r"[\x00-\x1f\x7f/\\]|^-+", "_", name).encode("utf-8", "replace").decode()[-60:]
    return kept if kept.strip(".") else "table"


def _rows(frame: pl.DataFrame) -> dict[str, Any]:
    """The columns with the first rows."""
    rows = [["" if cell is None else plain(cell, limit=_LETTERS) for cell in row] for row in frame.head(_ROWS).rows()]
    return {"height": frame.height, "rows": rows, "columns": frame.columns}


def _reading(path: Path, frame: pl.DataFrame, asked: Asked) -> dict[str, Any]:
    reading = read_with(path, asked)
    return {
        "cards": cards(frame, reading, asked),
        "readings": reading.interpreted,
        "metrics": reading.table.metrics,
        "metric": reading.metric,
        "models": reading.table.models,
        "unit": reading.unit.word if reading.unit.is_known else "",
    }


def _verdict(result: StudyResult) -> dict[str, Any]:
    judged = result.judged
    values = result.table.select("model", "value", "low", "high", "videos")
    drawn = next((one for one in figure_of(judged, result.tables, result.cases) if isinstance(one, Chart)), None)
    return {
        "title": title_of(judged),
        "sentences": sentences_of(judged),
        "evidence": evidence(judged),
        "findings": [(one.severity.value, judged.unit.called(one.text)) for one in result.findings],
        "figure": drawn and {"inline": drawn.inline(NARROW_PX), "file": drawn.svg(), "caption": drawn.caption},
        "methods": judged.unit.called(result.prose),
        "latex": latex_table(values, [result.metric.name, "from", "to", f"{judged.unit.word}s"]),
    }
