"""Properties of surgical images that may make models fail: the schema of seed 001 Table 1 as a ready template.

Nine local characteristics are asked of every instrument instance, five of them of the background as well, and three
of the whole image: 17 yes/no questions. A table of properties has one row per instance (or per image) and one column
per property, with 1, 0 or nothing where nobody looked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from surgeval.errors import FileUnreadable, TableInvalid

_YES = ("1", "1.0", "true", "yes", "y")
_NO = ("0", "0.0", "false", "no", "n")


class Scope(StrEnum):
    """What a property describes."""

    INSTANCE = "instance"
    BACKGROUND = "background"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Property:
    """One yes/no question about an instance, the background or the image."""

    name: str
    scope: Scope
    question: str


def _local(name: str, question: str, *, background: bool) -> list[Property]:
    properties = [Property(f"instance_{name}", Scope.INSTANCE, f"Is the instance {question}?")]
    if background:
        properties.append(Property(f"background_{name}", Scope.BACKGROUND, f"Is the background {question}?"))
    return properties


TABLE_1: tuple[Property, ...] = (
    *_local("blood", "covered by blood", background=True),
    *_local("smoke", "covered by smoke", background=True),
    *_local("tissue", "covered by tissue", background=False),
    *_local("motion", "subject to motion artefacts", background=True),
    *_local("reflections", "covered by specular reflections", background=True),
    *_local("instrument", "covered by another instrument", background=False),
    *_local("object", "covered by any other, non-surgical object", background=True),
    *_local("bright", "too bright", background=False),
    *_local("dark", "too dark", background=False),
    Property("image_bright", Scope.IMAGE, "Is the image too bright?"),
    Property("image_dark", Scope.IMAGE, "Is the image too dark?"),
    Property("image_dirty_lens", Scope.IMAGE, "Does the lens seem dirty?"),
)
"""The characteristics of seed 001, in the order of its table."""


def template(cases: Iterable[tuple[str, str]], *, properties: Sequence[Property] = TABLE_1) -> pl.DataFrame:
    """An empty annotation table: one row per (case, instance), one column per property.

    Example:
        >>> template([("frame_001", "1")]).columns[:3]
        ['case', 'instance', 'instance_blood']
    """
    rows = list(cases)
    keys = {"case": [str(case) for case, _ in rows], "instance": [str(instance) for _, instance in rows]}
    empty = {item.name: pl.Series([None] * len(rows), dtype=pl.Int8) for item in properties}
    return pl.DataFrame(keys | empty, schema_overrides={"case": pl.String, "instance": pl.String})


def read_properties(path: str | Path, *, keys: Sequence[str] = ("case", "instance")) -> pl.DataFrame:
    """A filled annotation table from CSV or Parquet, answers as 1, 0 or null.

    Columns beyond the keys are properties; yes/no, true/false and 1/0 are understood. `keys` that the file lacks
    are left out, so a table per image needs only `case`.

    Raises:
        FileUnreadable: The file is missing or of an unknown kind.
        TableInvalid: With every problem: no key, repeated rows, answers that are neither yes nor no.
    """
    frame = _text_frame(Path(path))
    present = [name for name in keys if name in frame.columns]
    if not present:
        raise TableInvalid(str(path), [f"has none of the key columns {', '.join(map(repr, keys))}"])
    names = [name for name in frame.columns if name not in present]
    problems = [*_repeats(frame, present), *(p for name in names for p in _not_answers(frame[name]))]
    if problems:
        raise TableInvalid(str(path), problems)
    return frame.select(*present, *(_answer(name) for name in names))


def _text_frame(path: Path) -> pl.DataFrame:
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path).cast(pl.String)
        return pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise FileUnreadable(str(path), [str(error).splitlines()[0]]) from None


def _folded(column: pl.Expr) -> pl.Expr:
    return column.str.strip_chars().str.to_lowercase()


def _answer(name: str) -> pl.Expr:
    answer = _folded(pl.col(name))
    return pl.when(answer.is_in(_YES)).then(1).when(answer.is_in(_NO)).then(0).cast(pl.Int8).alias(name)


def _repeats(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    repeated = int(frame.select(keys).is_duplicated().sum())
    return [f"{repeated} rows repeat a combination of {', '.join(map(repr, keys))}"] if repeated else []


def _not_answers(column: pl.Series) -> list[str]:
    frame = column.to_frame().with_row_index("row", offset=1)
    answer = _folded(pl.col(column.name))
    bad = frame.filter(pl.col(column.name).is_not_null() & ~answer.is_in([*_YES, *_NO, ""]))
    if bad.is_empty():
        return []
    row, text = bad.row(0)
    return [
        f"property {column.name!r} has {bad.height} answers that are neither yes nor no (first: row {row}, {text!r})"
    ]
