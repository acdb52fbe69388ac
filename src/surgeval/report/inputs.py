"""What a folder of results holds: every part that a verb wrote, read with care.

The folder may come from anywhere, so nothing in it is trusted: links are not followed, depth, number and size are
bounded, and whatever cannot be read becomes a finding while the rest is reported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.errors import FileUnreadable, Misuse, SurgevalError
from surgeval.report.live import Live
from surgeval.report.published import MARKS, RECORDS, RESULT_FILES, TABLES, checked
from surgeval.report.verdicts import in_short
from surgeval.report.words import plain
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.score_table import FIXED, ScoreTable, read_frame, read_score_table
from surgeval.schema.tabular import first_line

DEEPEST = 4
MOST_FOLDERS = 3_000
MOST_ENTRIES = 200_000
MOST_BYTES = 300_000_000
"""Of one table; documents may have a sixth of it."""
KEPT_FINDINGS = 200
"""Findings of a lint report that are kept; its counts cover all."""
SCORES = "scores.parquet"
_SKIPPED = frozenset({"floor_answers", "videos", "overlayed", "conditions", "node_modules"})
_TEXT_COLUMNS = frozenset(
    name for tables in TABLES.values() for columns in tables.values() for name, kind in columns.items() if kind == "t"
)
_NOT_NEEDED = frozenset({"template", "secondaries", "ood_stated", "window_s", "flags"})
"""Columns of a score table that no section shows; they are long."""
_EXPECTED = (
    "expected a folder that holds what surgeval score, rank, failures, floors, evaluate, questions, rehearse or"
    " simulate wrote, or a score table (CSV or Parquet with model, case and value)"
)


@dataclass(frozen=True)
class Part:
    """What one run of a verb left behind."""

    name: str
    """Where it lies, seen from the folder."""
    verb: str
    path: Path
    manifest: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """By name of the file; only tables that keep their promise."""
    records: Mapping[str, Any] = field(default_factory=dict)
    prose: str = ""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the run, as its manifest has them."""
        given = self.manifest.get("options")
        return given if isinstance(given, dict) else {}

    @property
    def notes(self) -> list[str]:
        """What the run said a reader must know."""
        given = self.manifest.get("notes")
        return [str(note) for note in given] if isinstance(given, list) else []

    def table(self, name: str) -> pl.DataFrame:
        """A table, without rows where there is none."""
        return self.tables.get(name, pl.DataFrame())


@dataclass(frozen=True)
class Inputs:
    """Everything a report is made from."""

    source: Path
    parts: tuple[Part, ...] = ()
    scores: ScoreTable | None = None
    """The scores of all models together."""
    findings: tuple[Finding, ...] = ()
    """What could not be read, and why."""
    procedures: tuple[Path, ...] = ()
    """Files of annotated procedures."""

    @cached_property
    def live(self) -> Live | None:
        """Statistics of the main metric, computed when first asked for; None without scores."""
        return None if self.scores is None else Live(self.scores, self.metric)

    @property
    def metric(self) -> str:
        """The metric that the report is about: `correct` where there is one."""
        metrics = self.scores.metrics if self.scores is not None else []
        return "correct" if "correct" in metrics or not metrics else metrics[0]

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The scores of the main metric; no rows without scores."""
        if self.scores is None or len(self.scores.metrics) == 1:
            return pl.DataFrame() if self.scores is None else self.scores.frame
        return self.scores.frame.filter(pl.col("metric") == self.metric)

    def of(self, *verbs: str) -> list[Part]:
        """The parts that one of the verbs wrote."""
        return [part for part in self.parts if part.verb in verbs]

    def first(self, *verbs: str) -> Part | None:
        """The first such part, or None."""
        return next(iter(self.of(*verbs)), None)

    @property
    def models(self) -> list[str]:
        """All models, in the order in which they appear."""
        names = list(self.scores.models) if self.scores is not None else []
        for part in self.of("rank"):
            frame = part.table("places")
            names += frame["model"].to_list() if "model" in frame.columns else []
        for part in self.of("rank-tasks"):
            frame = part.table("consensus")
            names += frame["model"].to_list() if "model" in frame.columns else []
        return list(dict.fromkeys(names))


def read_inputs(source: str | Path, *, columns: Mapping[str, str] | None = None) -> Inputs:
    """Everything that can be reported of a folder, or of a score table.

    Args:
        source: A folder, or a CSV or Parquet file with one row per model and case.
        columns: Our column names to theirs, where `source` is a table.

    Raises:
        FileUnreadable: There is no such place, or nothing in it that could be reported.
        TableInvalid: A score table given by itself that breaks its own rules.
    """
    place = Path(source)
    if place.is_file():
        return Inputs(place, scores=read_score_table(place, columns=columns))
    if not place.is_dir():
        raise FileUnreadable(str(place), [f"no such folder or file; {_EXPECTED}"])
    if columns:
        raise Misuse("columns can be renamed only where a single table is reported, not a folder")
    reader = _Reader(place)
    parts = tuple(part for folder in reader.folders() for part in reader.parts(folder))
    scores = reader.scores(parts)
    if not parts and scores is None:
        said = [str(finding.message) for finding in reader.findings[:5]]
        raise FileUnreadable(str(place), [f"nothing to report; {_EXPECTED}", *said])
    return Inputs(place, parts, scores, tuple(reader.findings), tuple(reader.procedures))


class _Reader:
    """Reads one folder and remembers what was wrong with it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.findings: list[Finding] = []
        self.procedures: list[Path] = []
        self._entries = 0

    def complain(self, path: Path, why: str, *, severity: Severity = Severity.WARNING) -> None:
        """Remember that something was left out."""
        self.findings.append(Finding("part-left-out", severity, f"{self.name(path)}: {why}"))

    def name(self, path: Path) -> str:
        """The path seen from the root, harmless to print."""
        inside = path.relative_to(self.root).as_posix() if path != self.root else "."
        return plain(inside, limit=120)

    def folders(self) -> Iterator[Path]:
        """The root and the folders below it, in order of their names, within bounds."""
        waiting, seen = [(self.root, 0)], 0
        while waiting:
            folder, depth = waiting.pop(0)
            seen += 1
            if seen > MOST_FOLDERS or self._entries > MOST_ENTRIES:
                self.complain(folder, f"this and further folders were not looked at (bound: {MOST_FOLDERS} folders)")
                return
            yield folder
            below = self._below(folder)
            if below and depth == DEEPEST:
                self.complain(folder, f"folders below were not looked at (deeper than {DEEPEST})")
            elif depth < DEEPEST:
                waiting += [(path, depth + 1) for path in below]

    def _below(self, folder: Path) -> list[Path]:
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.complain(folder, f"cannot be listed ({error.strerror})")
            return []
        self._entries += len(listed)
        links = [entry.name for entry in listed if entry.is_symlink()]
        if links:
            self.complain(folder / links[0], f"{len(links)} links were not followed", severity=Severity.NOTE)
        if folder.name == "procedures":
            files = [e for e in listed if e.name.endswith(".json") and e.name != "manifest.json"]
            self.procedures += [Path(entry.path) for entry in files if not entry.is_symlink()]
        return [
            Path(entry.path)
            for entry in listed
            if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED and not entry.name.startswith(".")
        ]

    def parts(self, folder: Path) -> Iterator[Part]:
        """What verbs wrote into this very folder."""
        manifest = self.document(folder / "manifest.json")
        verb = str(manifest.get("verb", "")).split()[0] if isinstance(manifest, dict) and manifest.get("verb") else ""
        if not verb:
            verb = next((v for file, v in MARKS.items() if _is_file(folder / file)), "")
            if verb:
                self.complain(folder / "manifest.json", f"missing or unreadable; taken for a result of {verb}")
        if verb == "rank" and not _is_file(folder / "places.csv"):
            verb = "rank-tasks"
        if verb in TABLES:
            yield self._part(folder, verb, manifest if isinstance(manifest, dict) else {})
        for path in sorted(folder.glob("*.manifest.json")):
            yield from self._result_file(path)

    def _part(self, folder: Path, verb: str, manifest: Mapping[str, Any]) -> Part:
        tables = {}
        for name, columns in TABLES[verb].items():
            frame = self.table(folder / f"{name}.csv", columns)
            if frame is not None:
                tables[name] = frame
        records = {name: self.document(folder / f"{name}.json") for name in RECORDS.get(verb, ())}
        known: dict[str, Any] = {name: record for name, record in records.items() if isinstance(record, dict)}
        if isinstance(known.get("lint"), dict) and isinstance(known["lint"].get("findings"), list):
            known["lint"] = known["lint"] | {"findings": known["lint"]["findings"][:KEPT_FINDINGS]}
        verdicts = in_short(self.lines(folder / "verdicts.jsonl"))
        if verdicts.answers:
            known["verdicts"] = verdicts
        return Part(self.name(folder), verb, folder, manifest, tables, known, self.text(folder / "methods.txt"))

    def _result_file(self, path: Path) -> Iterator[Part]:
        manifest = self.document(path)
        if not isinstance(manifest, dict) or manifest.get("verb") not in RESULT_FILES:
            return
        for ending in (".csv", ".parquet"):
            file = path.with_name(path.name.removesuffix(".manifest.json") + ending)
            frame = self.table(file, {})
            if frame is not None:
                notes = manifest.get("notes")
                prose = str(notes[0]) if isinstance(notes, list) and notes else ""
                yield Part(self.name(file), str(manifest["verb"]), file, manifest, {"result": frame}, {}, prose)

    def table(self, path: Path, columns: Mapping[str, str]) -> pl.DataFrame | None:
        """The table, or None where there is none or it breaks its promise."""
        if not self._readable(path, MOST_BYTES):
            return None
        try:
            frame = read_frame(path, _TEXT_COLUMNS)
        except SurgevalError as error:
            self.complain(
                path, f"cannot be read ({plain(getattr(error, 'problems', [error])[0], limit=160)}); left out"
            )
            return None
        frame, problems = checked(frame, columns)
        if problems:
            self.complain(path, f"{'; '.join(problems[:4])}; left out")
            return None
        return frame

    def document(self, path: Path) -> Any:
        """A JSON document; None where there is none or it cannot be read."""
        text = self.text(path)
        if not text:
            return None
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            self.complain(path, f"is no JSON ({plain(first_line(error), limit=120)}); left out")
            return None

    def lines(self, path: Path) -> Iterator[dict[str, Any]]:
        """The objects of a JSON Lines file, one by one; lines that are none are counted and left out."""
        if not self._readable(path, MOST_BYTES):
            return
        bad = 0
        try:
            with open(path, encoding="utf-8", errors="replace") as handle:
                for line in handle:
                    row = _object(line)
                    bad += row is None
                    if row is not None:
                        yield row
        except OSError as error:
            self.complain(path, f"cannot be read ({error.strerror}); left out")
        if bad:
            self.complain(path, f"{bad} lines are no JSON objects; left out")

    def text(self, path: Path) -> str:
        """The text of a file; empty where there is none or it cannot be read."""
        if not self._readable(path, MOST_BYTES // 6):
            return ""
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.complain(path, f"cannot be read ({plain(first_line(error), limit=120)}); left out")
            return ""

    def _readable(self, path: Path, most_bytes: int) -> bool:
        if not _is_file(path):
            return False
        size = path.stat().st_size
        if size > most_bytes:
            self.complain(path, f"{size / 1e6:.0f} MB are more than is read ({most_bytes / 1e6:.0f} MB); left out")
        return size <= most_bytes

    def scores(self, parts: Sequence[Part]) -> ScoreTable | None:
        """The scores of all models, stacked; one table that cannot be read does not spoil the others."""
        rehearsals = [part.path for part in parts if part.verb == "rehearse"]
        folders = [part.path for part in parts if part.verb in ("score", "evaluate")]
        own = [folder for folder in folders if folder.parent not in rehearsals] or folders
        paths = [folder / SCORES for folder in own if _is_file(folder / SCORES)] or self._loose_tables()
        tables = [table for path in paths if (table := self._score_table(path)) is not None]
        try:
            return stacked(tables)
        except (SurgevalError, pl.exceptions.PolarsError) as error:
            self.complain(self.root, f"the score tables do not fit together ({plain(first_line(error), limit=300)})")
            return None

    def _loose_tables(self) -> list[Path]:
        """Tables in the folder itself that look like score tables, where no verb wrote any."""
        found = []
        for path in sorted(self.root.iterdir()):
            if path.suffix.lower() in (".csv", ".parquet") and _is_file(path) and path.stat().st_size <= MOST_BYTES:
                try:
                    columns = read_frame(path, FIXED).columns
                except SurgevalError:
                    continue
                found += [path] if {"model", "case", "value"} <= set(columns) else []
        return found

    def _score_table(self, path: Path) -> ScoreTable | None:
        frame = self.table(path, {})
        if frame is None:
            return None
        try:
            table = ScoreTable.of(frame, where=self.name(path))
        except SurgevalError as error:
            self.complain(path, f"{plain(error, limit=300)}; left out")
            return None
        wanted = [name for name in table.frame.columns if name not in _NOT_NEEDED]
        return ScoreTable(table.frame.select(wanted), table.has_videos, table.facts)


def stacked(tables: Sequence[ScoreTable]) -> ScoreTable | None:
    """Sound tables as one.

    Tables of different models need not be looked at again as a whole, which for a hundred models saves most of the
    time and memory; only whether they agree on the video of each case is checked.

    Raises:
        TableInvalid: They contradict each other.
    """
    if len(tables) < 2:
        return tables[0] if tables else None
    frame = pl.concat([table.frame for table in tables], how="diagonal_relaxed")
    models = [model for table in tables for model in table.models]
    key = [name for name in ("case", "task") if name in frame.columns]
    homes = frame.select(*key, "video").unique()
    if homes.select(key).is_duplicated().any() or len(set(models)) < len(models):
        frame = ScoreTable.of(frame).frame
    return ScoreTable(frame, all(table.has_videos for table in tables), tables[0].facts)


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object in a line, or None."""
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError, ValueError):
        return None
    return row if isinstance(row, dict) else None


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
