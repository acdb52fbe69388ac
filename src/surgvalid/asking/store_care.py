"""Looking after content stores: what is in one, what is damaged, several made into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from surgvalid.asking.lines import is_being_written, lines_set_aside, object_in, raw_lines, set_lines_aside
from surgvalid.asking.store import VERDICT, ContentStore
from surgvalid.errors import FileUnreadable


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


class DamagedLine(NamedTuple):
    """A line of a store that is no stored reply."""

    segment: Path
    number: int
    raw: bytes
    why: str

    def __str__(self) -> str:
        return f"{self.segment.name} line {self.number}: {self.why}"


def damaged_lines(store: ContentStore) -> list[DamagedLine]:
    """Every line that is no stored reply and was not set aside before, all read whole."""
    return [line for segment in store.segments() for line in _damaged_in(segment)]


def _damaged_in(segment: Path) -> Iterator[DamagedLine]:
    aside = lines_set_aside(segment)
    for number, raw in raw_lines(segment):
        whole = raw.endswith(b"\n")
        if raw.removesuffix(b"\n") in aside or (not whole and is_being_written(segment)):
            continue
        row = object_in(raw)
        if isinstance(row, str) or not whole:
            yield DamagedLine(segment, number, raw, row if isinstance(row, str) else "cut off")
        elif row is not None and not isinstance(row.get("key"), str):
            yield DamagedLine(segment, number, raw, "no stored reply")


def set_aside(lines: Sequence[DamagedLine]) -> None:
    """Keep damaged lines beside their segments, so that nobody names them again; nothing is rewritten."""
    for segment in dict.fromkeys(line.segment for line in lines):
        set_lines_aside(segment, [line.raw for line in lines if line.segment == segment])


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
