"""Results read back from folders, with care: a folder may come from anywhere.

Nothing in it is trusted: links are not followed, depth, number and size are bounded, and whatever cannot be read
becomes a finding while the rest is read on.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable, SurgvalidError
from surgvalid.results.folder import current, outputs_of
from surgvalid.results.manifest import MANIFEST
from surgvalid.results.request import VerbRequest
from surgvalid.results.result import Result
from surgvalid.results.tables import MARKS, OLDER_COLUMNS, READABLE, RECORDS, RESULT_FILES, Table
from surgvalid.results.tables import current as current_columns
from surgvalid.schema.findings import Finding, Severity, as_findings
from surgvalid.schema.legacy import with_new_keys
from surgvalid.schema.shown_text import plain
from surgvalid.schema.tables.score_table import FIXED, ScoreTable
from surgvalid.schema.tables.table_facts import facts_beside
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.schema.tables.tabular import first_line

DEEPEST = 4
MOST_FOLDERS = 3_000
MOST_ENTRIES = 200_000
MOST_UNASKED = 50
"""Folders without a result that are read before somebody is asked: the tree may be no project's."""
MOST_BYTES = 300_000_000
"""Of one table; documents may have a sixth of it."""
KEPT_FINDINGS = 200
"""Findings of a lint report that are kept; its counts cover all."""
_SKIPPED = frozenset({"floor_answers", "videos", "overlayed", "conditions", "node_modules"})
_TEXT_COLUMNS = frozenset(name for tables in READABLE.values() for table in tables.values() for name in table.texts)
_NOT_NEEDED = frozenset({"template", "secondaries", "ood_stated", "window_s", "flags"})
"""Columns of a score table that no section shows; they are long."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StoredResult(Result):
    """A result as its folder holds it."""

    kind: str = ""
    """The verb that wrote it; `rank-tasks` for rankings by generic rules."""
    label: str = ""
    """Where it lies, as seen from the folder that was read."""
    path: Path = Path()
    """Its folder, or the file of its table."""
    stored: Mapping[str, Any] = field(default_factory=dict)
    """Its manifest as it stands in the file."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the run, and what they came to."""
        return {**self.request.options, **self.request.settled}

    @property
    def title(self) -> str:
        """The verb and the place."""
        return f"{self.kind} ({self.label})"

    def frame(self, name: str) -> pl.DataFrame:
        """A table, without rows where there is none."""
        return self.tables.get(name, pl.DataFrame())

    def write(self, folder: Path) -> None:
        """Copy every file that the manifest lists, those too that no table or document stands for."""
        home = self.path if self.path.is_dir() else self.path.parent
        for name in outputs_of(self.stored):
            if is_file(current(home, name)):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(current(home, name), folder / name)

    def manifest(self, outputs: Mapping[str, Path] | None = None) -> dict[str, Any]:  # noqa: ARG002
        """The manifest as it was read; a copy is the same result."""
        return dict(self.stored)


def read(folder: str | Path) -> StoredResult:
    """The result in a folder that a verb or `to_dir` wrote, whichever version of surgvalid did, or in a single file.

    Raises:
        FileUnreadable: There is no such folder or no result in it, or a part of it cannot be read.
    """
    place = Path(folder)
    reader = FolderReader(place if place.is_dir() else place.parent, everything=True)
    beside = place.with_name(f"{place.stem}.{MANIFEST}")
    result = next(reader.results(place) if place.is_dir() else reader.single(beside), None)
    notes = tuple(finding for finding in reader.findings if finding.severity is Severity.NOTE)
    problems = [finding.message for finding in reader.findings if finding not in notes]
    if result is None:
        problems.append(
            "expected a folder that a verb of surgvalid wrote, with a manifest.json in it, or a table with one beside"
        )
    if problems or result is None:
        raise FileUnreadable(str(place), problems)
    return replace(result, findings=(*result.findings, *notes))


def folders_without_results(root: Path) -> int:
    """How many folders of a tree were looked into without meeting a result; 0 where one is near, or the tree small."""
    reader = FolderReader(root)
    for seen, folder in enumerate(reader.folders()):
        if next(reader.results(folder), None) is not None:
            return 0
        if seen == MOST_UNASKED:
            return seen
    return 0


def _kind(verb: str, stored: Mapping[str, Any]) -> str:
    """The kind of result that a verb made: `failures` makes three, each with tables of its own."""
    options = stored.get("options")
    if verb != "failures" or not isinstance(options, dict):
        return verb
    return "adjusted" if options.get("marginal") else "failure-table" if options.get("form") == "symbols" else verb


class FolderReader:
    """Reads one folder and remembers what was wrong with it."""

    def __init__(self, root: Path, *, everything: bool = False) -> None:
        self.root = root
        self.everything = everything
        """Whether tables and documents are read that no declaration names."""
        self.findings: list[Finding] = []
        self.procedures: list[Path] = []
        self.frames: list[Path] = []
        self.read: dict[Path, None] = {}
        """Files whose content was looked at, in order."""
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
        if folder.name == "frames":
            self.frames += [Path(e.path) for e in listed if e.name.endswith(".png") and not e.is_symlink()]
        return [
            Path(entry.path)
            for entry in listed
            if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED and not entry.name.startswith(".")
        ]

    def results(self, folder: Path) -> Iterator[StoredResult]:
        """What verbs wrote into this very folder."""
        manifest = self.document(current(folder, MANIFEST))
        stored = with_new_keys(manifest) if isinstance(manifest, dict) else {}
        verb = (str(stored.get("verb") or "").split() or [""])[0]
        if not verb:
            verb = next((v for file, v in MARKS.items() if is_file(folder / file)), "")
            if verb:
                self.complain(folder / MANIFEST, f"missing or unreadable; read as a result of {verb}")
        if verb == "rank" and not is_file(current(folder, "places.csv")):
            verb = "rank-tasks"
        verb = _kind(verb, stored)
        if (verb in READABLE and (stored or verb not in RESULT_FILES)) or (stored and self.everything):
            yield self._result(folder, verb, stored)
        for path in sorted(folder.glob("*.manifest.json")):
            yield from self.single(path)

    def _result(self, folder: Path, verb: str, stored: Mapping[str, Any]) -> StoredResult:
        tables = {}
        for name, declared in self._named(stored, "csv", READABLE.get(verb, {})).items():
            wanted = declared is None or declared.read or self.everything
            frame = self.table(current(folder, f"{name}.csv"), declared) if wanted else None
            if frame is not None:
                tables[name] = frame
        records = {}
        for name in self._named(stored, "json", dict.fromkeys(RECORDS.get(verb, ()))):
            record = self.document(current(folder, f"{name}.json"))
            if isinstance(record, dict) or (self.everything and isinstance(record, list)):
                records[name] = record
        if not self.everything:
            records = self._shortened(folder, records)
        prose = stored.get("prose") if "prose" in stored else self.text(folder / "methods.txt")
        return self._stored(verb, folder, stored, tables, records, str(prose))

    def _named(self, stored: Mapping[str, Any], ending: str, declared: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is looked for: what is declared for the verb, and where everything is wanted what the manifest lists.

        The table that is declared as `result` lies in a folder under a name of its own, which the manifest tells.
        """
        main = str(stored.get("main") or "")
        if "result" in declared and ending == "csv" and "/" not in main:
            declared = {main: declared["result"], **declared}
        if not self.everything or "outputs" not in stored:
            return declared
        listed = [name.removesuffix(f".{ending}") for name in outputs_of(stored) if name.endswith(f".{ending}")]
        return {name: declared.get(name) for name in listed if "/" not in name}

    def _shortened(self, folder: Path, records: dict[str, Any]) -> dict[str, Any]:
        """The documents as a report needs them: the first findings of a lint report, verdicts in short."""
        lint = records.get("lint")
        if lint is not None and isinstance(lint.get("findings"), list):
            records["lint"] = lint | {"findings": lint["findings"][:KEPT_FINDINGS]}
        verdicts = in_short(self.lines(folder / "verdicts.jsonl"))
        return records | ({"verdicts": verdicts} if verdicts.answers else {})

    def _stored(
        self,
        kind: str,
        path: Path,
        stored: Mapping[str, Any],
        tables: Mapping[str, pl.DataFrame],
        records: Mapping[str, Any],
        prose: str,
    ) -> StoredResult:
        asked = ("options", "given", "settled")
        parts: dict[str, Any] = {name: given for name in asked if isinstance(given := stored.get(name), dict)}
        main = str(stored.get("main") or "")
        return StoredResult(
            tables=tables,
            main=main if main in tables else "",
            records=records,
            prose=prose,
            findings=_findings(stored, prose),
            request=VerbRequest(str(stored.get("verb", kind)), **parts),
            kind=kind,
            label=self.name(path),
            path=path,
            stored=stored,
        )

    def single(self, path: Path) -> Iterator[StoredResult]:
        """The result of a verb that wrote one table, by the manifest beside it."""
        stored = self.document(path)
        kind = _kind(str(stored.get("verb")), stored) if isinstance(stored, dict) else ""
        if not isinstance(stored, dict) or kind not in RESULT_FILES:
            self.read.pop(path, None)  # such as that of an earlier report, which is no part of this one
            return
        stored = with_new_keys(stored)
        for ending in (".csv", ".parquet"):
            file = path.with_name(path.name.removesuffix(".manifest.json") + ending)
            frame = self.table(file, READABLE[kind]["result"])
            if frame is not None:
                notes = stored.get("notes")
                prose = stored.get("prose") or (notes[0] if isinstance(notes, list) and notes else "")
                yield self._stored(kind, file, stored, {"result": frame}, {}, str(prose))

    def table(self, path: Path, declared: Table | None = None) -> pl.DataFrame | None:
        """The table, or None where there is none or it breaks its promise."""
        if not self._readable(path, MOST_BYTES):
            return None
        try:
            frame = read_frame(path, _TEXT_COLUMNS)
        except SurgvalidError as error:
            self.complain(
                path, f"cannot be read ({plain(getattr(error, 'problems', [error])[0], limit=160)}); left out"
            )
            return None
        if declared is None:
            return frame
        frame, older = current_columns(frame)
        if older:
            names, ours = ", ".join(OLDER_COLUMNS), ", ".join(OLDER_COLUMNS.values())
            text = f"{self.name(path)}: columns {names} of an older version were read as {ours}"
            self.findings.append(Finding("older-columns", Severity.NOTE, text))
        frame, problems = declared.checked(frame)
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
        except (RecursionError, ValueError) as error:
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
        if not is_file(path):
            return False
        size = path.stat().st_size
        if size > most_bytes:
            self.complain(path, f"{size / 1e6:.0f} MB are more than is read ({most_bytes / 1e6:.0f} MB); left out")
            return False
        self.read[path] = None
        return True

    def loose_tables(self) -> list[Path]:
        """Tables in the folder itself that look like score tables, where no verb wrote any."""
        tables = []
        for path in sorted(self.root.iterdir()):
            if path.suffix.lower() in (".csv", ".parquet") and is_file(path) and path.stat().st_size <= MOST_BYTES:
                try:
                    columns = read_frame(path, FIXED).columns
                except SurgvalidError:
                    continue
                tables += [path] if {"model", "case", "value"} <= set(columns) else []
        return tables

    def score_table(self, path: Path) -> ScoreTable | None:
        """The score table in a file, without columns that no section shows; None where it is unsound."""
        frame = self.table(path)
        if frame is None:
            return None
        try:
            carried = facts_beside(path)
            table = ScoreTable.of(
                frame, where=self.name(path), facts=carried.metrics, main=carried.main, read_as=carried.read_as
            )
            table = replace(table, read_as=table.read_as.marked(*carried.marks))
        except SurgvalidError as error:
            self.complain(path, f"{plain(error, limit=300)}; left out")
            return None
        wanted = [name for name in table.frame.columns if name not in _NOT_NEEDED]
        return replace(table, frame=table.frame.select(wanted))


def _findings(stored: Mapping[str, Any], prose: str) -> tuple[Finding, ...]:
    """The findings in a manifest; sentences of older ones, without the paragraph that stood among them."""
    listed = stored.get("findings")
    if isinstance(listed, list):
        return tuple(Finding.of_dict(entry) for entry in listed if isinstance(entry, dict))
    notes = stored.get("notes")
    sentences = [str(note) for note in notes] if isinstance(notes, list) else []
    return as_findings((note for note in sentences if note != prose), severity=Severity.WARNING)


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object in a line, or None."""
    try:
        row = json.loads(line)
    except (RecursionError, ValueError):
        return None
    return row if isinstance(row, dict) else None


def is_file(path: Path) -> bool:
    """Whether there is a file, and not a link to one."""
    return path.is_file() and not path.is_symlink()


KEPT_WRONG = 30
"""Answers judged wrong that are kept as examples."""


class Verdicts(NamedTuple):
    """The verdicts on one model's answers, in short."""

    judges: tuple[str, ...]
    answers: int
    """Answers that were judged."""
    apart: int
    """Answers on which judges say different things; abstaining is different from both."""
    wrong: tuple[Mapping[str, Any], ...]
    """The first answers judged wrong, as they stand in the file."""


def in_short(rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """The verdicts in short, read one by one so that large files take little memory.

    Example:
        >>> said = [{"judge": "a", "qID": "1", "verdict": True}, {"judge": "b", "qID": "1", "verdict": False}]
        >>> in_short(said)[:3]
        (('a', 'b'), 1, 1)
    """
    judges: dict[str, None] = {}
    votes: dict[int, set[str]] = {}
    wrong: list[Mapping[str, Any]] = []
    for row in rows:
        judges[str(row.get("judge"))] = None
        answer = hash((str(row.get("qID")), str(row.get("candidate"))))
        votes.setdefault(answer, set()).add(str(row.get("verdict")))
        if row.get("verdict") is False and len(wrong) < KEPT_WRONG:
            wrong.append(row)
    return Verdicts(tuple(judges), len(votes), sum(len(verdicts) > 1 for verdicts in votes.values()), tuple(wrong))
