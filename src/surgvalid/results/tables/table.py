"""A table that a verb writes, declared once: producers build it, readers check it and the docs print it from here.

Kinds are few on purpose: what a CSV file can carry and a reader can tell apart without guessing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from surgvalid.errors import TableInvalid

Mark = Literal["more", "unread"]
KINDS: Mapping[str, type[pl.DataType]] = {
    "text": pl.String,
    "number": pl.Float64,
    "whole number": pl.Int64,
    "yes or no": pl.Boolean,
}


class Column(NamedTuple):
    """What a column holds; call it to say what it means.

    Example:
        >>> number("share of resamples", needed=False)
        Column(kind='number', meaning='share of resamples', needed=False)
    """

    kind: str
    meaning: str = ""
    needed: bool = True
    """Whether a reader refuses a table without it; a producer gives every column."""

    def __call__(self, meaning: str = "", *, needed: bool = True) -> Column:
        """The same kind of column, with its meaning."""
        return Column(self.kind, meaning, needed)


text, number, whole, yes_no = (Column(kind) for kind in KINDS)


def declared(module: str) -> dict[str, Table]:
    """The tables in the TOML file of a module's name, by the section of each.

    A section has `about`, `columns` (names in the order of the file; `?`: a reader does not need it), and where needed
    `name`, `marks` and `own`: what columns hold (`number: share of resamples`) where `[usual]` says something else.
    """
    given = tomllib.loads((Path(__file__).with_name(f"{module.rpartition('.')[2]}.toml")).read_text(encoding="utf-8"))
    usual = given.pop("usual", {})
    return {name: _declared(one.get("name", name), one, usual | one.get("own", {})) for name, one in given.items()}


def _declared(name: str, one: Mapping[str, Any], holds: Mapping[str, str]) -> Table:
    columns = {}
    for column in one["columns"].split():
        kind, _, meaning = holds[column.rstrip("?")].partition(": ")
        columns[column.rstrip("?")] = Column(kind, meaning, not column.endswith("?"))
    return Table(name, one["about"], *one.get("marks", ()), **columns)


class Table:
    """The columns of one published table, in the order of its file.

    Example:
        >>> PLACES = Table("places", "Who came where.", model=text, place=whole("1 is best"))
        >>> PLACES.frame([{"model": "A", "place": 1}]).rows()
        [('A', 1)]
        >>> PLACES.frame({"model": ["A"]})
        Traceback (most recent call last):
        ...
        surgvalid.errors.TableInvalid: table 'places': column 'place' is not given
    """

    def __init__(self, name: str, about: str, /, *marks: Mark, **columns: Column) -> None:
        """Declare a table.

        Args:
            name: That of its file, without the ending.
            about: What one row is.
            *marks: `more`: further columns may come with it, such as the strata of a user. `unread`: the reader of
                folders leaves it alone, because nothing is drawn from it.
            **columns: Kind and meaning of each column.
        """
        self.name, self.about, self.columns = name, about, columns
        self.more, self.read = "more" in marks, "unread" not in marks

    def frame(self, data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | pl.DataFrame) -> pl.DataFrame:
        """The table from columns, from rows by name or from another frame, with the declared columns and types.

        Raises:
            TableInvalid: With every column that is not declared, not given or of another kind.
        """
        if not isinstance(data, pl.DataFrame) and not len(data):
            data = pl.DataFrame(schema={name: KINDS[column.kind] for name, column in self.columns.items()})
        self._check(_names(data))
        # Whole numbers are inferred: told to make them whole, polars would cut fractions off in silence.
        kinds = {name: KINDS[c.kind] for name, c in self.columns.items() if c.kind != "whole number"}
        try:
            frame = pl.DataFrame(data, schema_overrides=kinds, infer_schema_length=None)
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise TableInvalid(f"table {self.name!r}", [str(error).partition("\n")[0]]) from None
        return self._whole_numbers(frame if self.more else frame.select(list(self.columns)))

    def checked(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
        """A table that was read, with the declared kinds of columns, and what is wrong with it.

        Example:
            >>> PLACES = Table("places", "Who came where.", model=text, place=whole)
            >>> PLACES.checked(pl.DataFrame({"model": ["A"], "place": ["first"]}))[1]
            ["column 'place' holds something else than whole numbers"]
        """
        words = {"text": "text", "number": "numbers", "whole number": "whole numbers", "yes or no": "yes or no"}
        problems = []
        for name, column in self.columns.items():
            if name not in frame.columns:
                problems += [f"column {name!r} is missing"] if column.needed else []
                continue
            try:
                frame = frame.with_columns(_cast(frame[name], KINDS[column.kind]))
            except pl.exceptions.PolarsError:
                problems.append(f"column {name!r} holds something else than {words[column.kind]}")
        return frame, problems

    @property
    def texts(self) -> frozenset[str]:
        """The columns that hold text."""
        return frozenset(name for name, column in self.columns.items() if column.kind == "text")

    def _check(self, given: Sequence[str]) -> None:
        problems = [f"column {name!r} is not given" for name in self.columns if name not in given]
        if not self.more:
            problems += [f"column {name!r} is not declared" for name in given if name not in self.columns]
        if problems:
            raise TableInvalid(f"table {self.name!r}", problems)

    def _whole_numbers(self, frame: pl.DataFrame) -> pl.DataFrame:
        names = [name for name, column in self.columns.items() if column.kind == "whole number"]
        kinds = {name: frame.schema[name] for name in names}
        if bad := [name for name, kind in kinds.items() if not (kind.is_integer() or kind == pl.Null)]:
            problems = [f"column {name!r} must hold whole numbers, got {kinds[name]}" for name in bad]
            raise TableInvalid(f"table {self.name!r}", problems)
        other = [name for name, kind in kinds.items() if kind != pl.Int64]
        return frame.with_columns(pl.col(other).cast(pl.Int64)) if other else frame


def _names(data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | pl.DataFrame) -> list[str]:
    if isinstance(data, pl.DataFrame):
        return data.columns
    return list(data) if isinstance(data, Mapping) else list(dict.fromkeys(name for row in data for name in row))


def _cast(column: pl.Series, kind: type[pl.DataType]) -> pl.Series:
    if kind is pl.Boolean and column.dtype == pl.String:
        lower = column.str.to_lowercase()
        return lower.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
    cast = column.cast(kind)
    return cast.fill_nan(None) if kind is pl.Float64 else cast
