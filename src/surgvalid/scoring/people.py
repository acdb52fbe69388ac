"""How well people do on the questions that are scored: the ceiling that lies with a release, or with scores of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from surgvalid.results.tables.scoring import CEILING
from surgvalid.schema.findings import Finding, Severity


def people_on(paths: Iterable[str | Path]) -> pl.DataFrame:
    """The ceilings of the folders in which the paths lie; no rows where there is none."""
    homes = [home for path in paths for home in (Path(path), *list(Path(path).absolute().parents)[:3])]
    files = dict.fromkeys(home.absolute() / "ceiling.csv" for home in homes)
    read = [CEILING.checked(pl.read_csv(path, infer_schema=False)) for path in files if path.is_file()]
    sound = [frame.select(list(CEILING.columns)) for frame, problems in read if not problems]
    return pl.concat(sound) if sound else CEILING.frame([])


def said_of_people(ceiling: pl.DataFrame) -> list[Finding]:
    """The ceiling in words."""
    overall = ceiling.filter(level="overall").drop_nulls("low") if ceiling.height else ceiling
    texts = [
        f"People answer {row['accuracy']:.3f} of the closed questions of the release rightly before they see a "
        f"reference (95 % {row['low']:.3f} to {row['high']:.3f}; {row['raters']} people, {row['questions']} questions)."
        for row in overall.iter_rows(named=True)
    ]
    return [Finding("human-ceiling", Severity.NOTE, text) for text in texts]
