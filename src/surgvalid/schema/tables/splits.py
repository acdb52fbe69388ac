"""Which rows of a table were tested and which a model was trained or tuned on, where a column `split` says it.

Scores of training rows show memory. Where a table has both, the tested rows alone are read, or without those the rows
that models were chosen on; where all were trained on, that is said, because then nothing is shown about new patients.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from surgvalid.schema.tables.column_words import named_by
from surgvalid.schema.tables.read_rows import TRAINED
from surgvalid.schema.tables.units import Interpreted

SPLITS = {
    "split", "subset", "partition", "data split", "dataset split", "dataset", "set", "phase", "part", "group", "cohort",
}  # fmt: skip
"""What such columns are called; by what they hold they are told from others of the name."""
TEST_WORDS = tuple("test testing evaluation holdout hold-out held-out hidden".split())
CHOICE_WORDS = ("val", "dev", "tun")


def is_test(split: str) -> bool:
    """Whether a split is one that values are reported on."""
    return split.strip().lower().startswith(TEST_WORDS)


def split_column(frame: pl.DataFrame) -> str | None:
    """The column that says which split a row is of: each of its names is that of a test or training split."""
    known = (*TEST_WORDS, *CHOICE_WORDS, "train")
    for column in named_by(frame.columns, SPLITS):
        names = frame[column].drop_nulls().unique().to_list()
        if names and all(isinstance(name, str) and name.strip().lower().startswith(known) for name in names):
            return column
    return None


def rows_of_tests(frame: pl.DataFrame, conditions: Collection[str]) -> tuple[pl.DataFrame, list[Interpreted]]:
    """The rows of a test split, where a column tells them from others and is none of the conditions.

    Example:
        >>> frame = pl.DataFrame({"case": ["a", "b"], "split": ["train", "test"]})
        >>> [one.sentence for one in rows_of_tests(frame, ())[1]]
        ["rows of 'test' are read (1), those of 'train' (1) are left out: models learnt or were chosen there ('split')"]
    """
    column = split_column(frame)
    if column is None or column in conditions:
        return frame, []
    names = frame[column].fill_null("").str.strip_chars().str.to_lowercase().to_list()
    of = [pl.Series([name.startswith(words) for name in names]) for words in (TEST_WORDS, CHOICE_WORDS)]
    chosen = next((rows for rows in of if rows.any()), None)
    if chosen is None:
        text = f"all rows are of {_named(frame, column)} ({column!r}): models learnt there, so the scores say nothing"
        return frame, [Interpreted(TRAINED, column, f"{text} about new patients")]
    kept, rest = frame.filter(chosen), frame.filter(~chosen)
    if rest.is_empty():
        return frame, []
    both = [(_named(rows, column), rows.height) for rows in (kept, rest)]
    read = f"rows of {both[0][0]} are read ({both[0][1]:,}), those of {both[1][0]} ({both[1][1]:,})"
    return kept, [Interpreted("split", column, f"{read} are left out: models learnt or were chosen there ({column!r})")]


def _named(frame: pl.DataFrame, column: str) -> str:
    return ", ".join(map(repr, frame[column].fill_null("no split").unique(maintain_order=True)))
