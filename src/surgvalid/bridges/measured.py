"""What every tool is told of a study: value, interval and what they rest on, for each model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from surgvalid.errors import WouldOverwrite
from surgvalid.results.folder import write_files
from surgvalid.schema.tables.units import UNSAID
from surgvalid.studies.study import StudyResult


class ModelValue(NamedTuple):
    """The value of one model."""

    model: str
    metric: str
    value: float
    low: float | None
    high: float | None
    level: float
    units: int | None
    unit: str
    absent: str = ""
    """What scores that are not there count as."""

    @property
    def words(self) -> str:
        """The interval in a sentence, for tools that have no field for one.

        Example:
            >>> ModelValue("a", "dice", 0.8, 0.7, 0.9, 0.95, 12, "patient").words
            '95% interval 0.7 to 0.9 over 12 patients (surgvalid)'
        """
        if self.units is None:
            return f"no interval: {UNSAID} (surgvalid){self.absent}"
        over = f"over {self.units:,} {self.unit}{'s' if self.units != 1 else ''} (surgvalid)"
        if self.low is None or self.high is None:
            return f"no interval {over}{self.absent}"
        return f"{self.level:.0%} interval {self.low:.6g} to {self.high:.6g} {over}{self.absent}"


def measured(result: StudyResult) -> list[ModelValue]:
    """The values of a study, the best model first."""
    names = ("model", "metric", "value", "low", "high", "level")
    absent = "".join(f"; {one.removesuffix('.')}" for one in result.matrix.absent.sentences)
    return [
        ModelValue(**{name: row[name] for name in names}, units=row["videos"], unit=result.unit, absent=absent)
        for row in result.table.iter_rows(named=True)
        if row["value"] is not None
    ]


def numbers(result: StudyResult) -> dict[str, float]:
    """The value and the ends of the interval by name; with several models each under the model's.

    Trackers know one number per name, so an interval is three.
    """
    listed = measured(result)
    named: dict[str, float] = {}
    for one in listed:
        name = one.metric if len(listed) == 1 else f"{slug(one.model)}/{one.metric}"
        ends = {"": one.value, "_low": one.low, "_high": one.high}
        named |= {f"{name}{end}": value for end, value in ends.items() if value is not None}
    return named


def write_texts(texts: Mapping[str, str], folder: str | Path, *, force: bool, by_force: bool = True) -> list[Path]:
    """Write files into a folder that may hold others; gives them.

    Raises:
        WouldOverwrite: One is there.
    """
    places = [Path(folder) / name for name in texts]
    if not force and (there := [path for path in places if path.exists()]):
        raise WouldOverwrite(there[0], by_force=by_force)
    write_files(texts, Path(folder))
    return places


def slug(text: str) -> str:
    """A name as every tool takes it.

    Example:
        >>> slug("org/My model (v2)")
        'org-My-model-v2'
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-") or "model"
