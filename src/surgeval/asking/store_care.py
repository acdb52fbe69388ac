"""Looking after content stores: what is in one, what is damaged, several made into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from surgeval.asking.lines import is_being_written, object_in, raw_lines
from surgeval.asking.store import VERDICT, ContentStore
from surgeval.errors import FileUnreadable


def opened(place: Path) -> ContentStore:
    """The store at a place where there must be one.

    Raises:
        FileUnreadable: There is none.
    """
    store = ContentStore(place)
    if not store.segments():
        raise FileUnreadable(str(place), ["holds no store; name the folder that `--store` named"])
    return store


def counted(store: ContentStore) -> pl.DataFrame:
    """How many replies the store holds of each kind, asker and prompt version."""
    counts = Counter(
        (str(row.get("kind", VERDICT)), str(row.get("asker", row.get("judge", ""))), str(row.get("prompt", "")))
        for row in store.rows()
    )
    rows = [(*names, number) for names, number in sorted(counts.items())]
    kinds = {"kind": pl.String, "asker": pl.String, "prompt": pl.String, "replies": pl.Int64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def damaged_lines(store: ContentStore) -> list[str]:
    """Every line that is no stored reply, all read whole."""
    problems = []
    for segment in store.segments():
        for number, raw in raw_lines(segment):
            row = object_in(raw)
            if not raw.endswith(b"\n") and is_being_written(segment):
                continue
            if isinstance(row, str) or not raw.endswith(b"\n"):
                problems.append(f"{segment.name} line {number}: {row if isinstance(row, str) else 'cut off'}")
            elif row is not None and not isinstance(row.get("key"), str):
                problems.append(f"{segment.name} line {number}: no stored reply")
    return problems


def merged(sources: Sequence[Path], out: Path) -> tuple[int, list[str]]:
    """How many replies were added to the store at `out`, and the lines that were left behind.

    Raises:
        FileUnreadable: A source holds no store.
    """
    problems: list[str] = []
    with ContentStore(out) as target:
        before = len(target)
        for source in sources:
            with opened(source) as store:
                for row in store.rows():
                    target.put(row["key"], {key: value for key, value in row.items() if key != "key"})
                problems += [f"{source}: {problem}" for problem in store.problems]
        return len(target) - before, problems
