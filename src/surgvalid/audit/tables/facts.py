"""What is known about a table beside what it prints: kind of classification, classes, cases, prevalences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import polars as pl

from surgvalid.audit.tables.cells import PrintedCell, cells_in
from surgvalid.audit.tables.layout import PrintedTable
from surgvalid.audit.tables.vocabulary import Kind
from surgvalid.errors import TableInvalid, UnknownName

KINDS = get_args(Kind)
_ALIASES = {"mcc": "multi-class", "multiclass": "multi-class", "mlc": "multi-label", "multilabel": "multi-label"}
COLUMNS = ("table", "column", "kind", "classes", "cases", "prevalence")


@dataclass(frozen=True)
class Facts:
    """What is known about one table."""

    kind: str = ""
    """Of classification; empty where nobody said it."""
    classes: int = 0
    cases: int = 0
    prevalence: tuple[PrintedCell, ...] = ()
    """Of each class, as printed."""
    column_cases: Mapping[str, int] = field(default_factory=dict)
    """Cases that the shares in a column are out of, by its heading."""


class KnownFacts:
    """Facts by table: those of a sidecar, and for all others those of the options."""

    def __init__(self, general: Facts, rows: Sequence[Mapping[str, Any]] = (), where: str = "facts") -> None:
        self.general = general
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._used: set[str] = set()
        for row in _checked(rows, where):
            self._rows.setdefault(row["table"].casefold(), []).append(row)

    def of(self, table: PrintedTable) -> Facts:
        """The facts of a table."""
        facts = self.general
        texts = (table.title, f"table {table.label}", table.label, table.name)
        names = [name for name in dict.fromkeys(text.casefold() for text in texts if text) if name in self._rows]
        self._used.update(names)
        for row in (row for name in names for row in self._rows[name]):
            if row["column"]:
                facts = replace(facts, column_cases={**facts.column_cases, row["column"]: row["cases"]})
            else:
                given = {name: row[name] for name in ("kind", "classes", "cases", "prevalence") if row[name]}
                facts = replace(facts, **given)
        return facts

    @property
    def unused(self) -> list[str]:
        """Tables that the sidecar names and nobody printed."""
        return [rows[0]["table"] for name, rows in self._rows.items() if name not in self._used]


def kind_named(text: str) -> str:
    """A kind of classification by name.

    Raises:
        UnknownName: No such kind.
    """
    kind = _ALIASES.get(text.lower(), text.lower())
    if kind and kind not in KINDS:
        raise UnknownName("kind of classification", text, KINDS)
    return kind


def facts_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a sidecar as texts."""
    texts = frame.select(pl.all().cast(pl.String).fill_null(""))
    return texts.rename({name: name.strip().lower() for name in texts.columns}).to_dicts()


def _checked(rows: Sequence[Mapping[str, Any]], where: str) -> Iterator[dict[str, Any]]:
    """The rows with their numbers read.

    Raises:
        TableInvalid: With everything that cannot be meant.
    """
    problems: list[str] = []
    checked = []
    if rows and "table" not in rows[0]:
        raise TableInvalid(where, [f"column 'table' is missing; known columns: {', '.join(COLUMNS)}"])
    for unknown in sorted({name for row in rows for name in row} - set(COLUMNS)):
        problems.append(f"column {unknown!r} is not known; known columns: {', '.join(COLUMNS)}")
    for number, row in enumerate(rows, start=1):
        texts = {name: str(row.get(name) or "").strip() for name in COLUMNS}
        values: dict[str, Any] = {"table": texts["table"], "column": texts["column"]}
        try:
            values["kind"] = kind_named(texts["kind"])
        except UnknownName as error:
            problems.append(f"row {number}: {error}")
        for name in ("classes", "cases"):
            whole = texts[name].replace(",", "").removesuffix(".0")
            values[name] = int(whole) if whole.isdecimal() else 0
            if whole and not values[name]:
                problems.append(f"row {number}: {name} must be a whole number above 0, got {texts[name]!r}")
        pieces = [cells_in(piece)[0] for piece in texts["prevalence"].split(";") if piece.strip()]
        if any(piece.value is None for piece in pieces):
            problems.append(f"row {number}: prevalence must be numbers apart by ';', got {texts['prevalence']!r}")
        if values["column"] and not values["cases"]:
            problems.append(
                f"row {number}: column {values['column']!r} of a table can only be given cases, and has none"
            )
        checked.append({**values, "prevalence": tuple(pieces)})
    if problems:
        raise TableInvalid(where, problems)
    return iter(checked)
