"""How well people do on the questions that are scored: the ceiling that lies with a release, or with scores of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from surgvalid.results.tables.scoring import CEILING
from surgvalid.schema.findings import Finding, Severity

_FILE, _ALL = "ceiling.csv", "."


def people_on(paths: Iterable[str | Path]) -> pl.DataFrame:
    """The ceilings of the folders in which the paths lie, of parts of a release those named; no rows without any."""
    parts: dict[Path, set[str]] = defaultdict(set)
    for path in (Path(one).absolute() for one in paths):
        parts[path / _FILE].add(_ALL)
        for home in list(path.parents)[:3]:
            parts[home / _FILE].add(path.parent.relative_to(home).as_posix())
    read = {file: CEILING.checked(pl.read_csv(file, infer_schema=False)) for file in parts if file.is_file()}
    sound = [
        frame.select(list(CEILING.columns)).filter(
            (pl.col("level") != "part") | pl.col("name").is_in(parts[file]) | (_ALL in parts[file])
        )
        for file, (frame, problems) in read.items()
        if not problems
    ]
    return pl.concat(sound) if sound else CEILING.frame([])


def said_of_people(ceiling: pl.DataFrame) -> list[Finding]:
    """The ceiling in words."""
    if ceiling.is_empty():
        return []
    overall = ceiling.filter(level="overall") if (parts := ceiling.filter(level="part")).is_empty() else parts
    texts = [
        f"People answer {row['accuracy']:.3f} of the closed questions of {row['name'] or 'the release'} rightly before "
        f"they see a reference (95 % {row['low']:.3f} to {row['high']:.3f}; {row['raters']} people, "
        f"{row['questions']} questions)."
        for row in overall.drop_nulls("low").iter_rows(named=True)
    ]
    return [Finding("human-ceiling", Severity.NOTE, text) for text in texts]
