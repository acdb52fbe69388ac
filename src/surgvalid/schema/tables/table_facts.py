"""The facts that travel with a score table: in the metadata of Parquet, and as JSON beside it or beside a CSV file.

Facts in files go before what a name says by itself, but may not turn the direction of a known metric round. Tables that
are stacked must agree: a Dice score under two rules for empty masks is two metrics, and a comparison of them would be
about the rules.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import FileUnreadable, Misuse, TableInvalid, UnknownName
from surgvalid.schema.documents import json_text, read_json
from surgvalid.schema.legacy import former
from surgvalid.schema.metric_facts import BETTER, CATALOGUE_VERSION, MetricFacts, facts_by_name, known_as
from surgvalid.schema.tables.harness_logs import read_log
from surgvalid.schema.tables.read_rows import ReadAs
from surgvalid.schema.tables.units import Interpreted

FACTS_FILE = "metrics.json"
_TABLES = (".csv", ".tsv", ".parquet")
_KEY = "surgvalid.metrics"
"""Of the facts in the metadata of Parquet."""

Directions = str | Mapping[str, str] | None
"""`larger` or `smaller` for the metric that is looked at, or the direction of each by name."""


@dataclass(frozen=True)
class TableFacts:
    """What a file says about the metrics of its table."""

    metrics: Mapping[str, MetricFacts] = field(default_factory=dict)
    main: str | None = None
    """The metric that was asked for, where the table holds others beside it."""
    read_as: ReadAs | None = None
    """What was interpreted as what, where the table was read from another."""
    marks: tuple[Interpreted, ...] = ()
    """What every verb must say of its numbers."""

    def as_text(self) -> str:
        """The facts as the JSON that `facts_beside` reads."""
        metrics = {name: facts.as_dict() for name, facts in self.metrics.items()}
        document: dict[str, Any] = {"version": CATALOGUE_VERSION, "main": self.main, "metrics": metrics}
        if self.read_as not in (None, ReadAs()):
            document["read_as"] = self.read_as.as_dict()
        if self.marks:
            document["marks"] = [list(one) for one in self.marks]
        return json_text(document, indent=2)

    def metadata(self) -> dict[str, str]:
        """The facts as metadata of a Parquet file."""
        return {_KEY: self.as_text()}


def facts_beside(path: Path) -> TableFacts:
    """The facts in a table file and beside it: in Parquet or a log itself, `STEM.metrics.json`, `metrics.json`.

    Raises:
        FileUnreadable: `STEM.metrics.json` or the metadata hold no facts, or `metrics.json` is damaged.
        TableInvalid: They contradict each other, or the known direction of a metric.
    """
    if (log := read_log(path)) is not None:
        return TableFacts(log.metrics, marks=log.marks)
    path = path / "scores.parquet" if path.is_dir() else path
    places: dict[str, TableFacts] = {}
    if path.suffix.lower() == ".parquet" and path.is_file():
        places[path.name] = _in_parquet(path)
    for file in facts_files(path):
        places[file.name] = _of_document(read_json(file), str(file)) if file.name != FACTS_FILE else _if_facts(file)
    return merged(places)


def of_other_releases(models: Mapping[Path, Iterable[str]]) -> list[str]:
    """Why scores do not go together: models that were scored on different releases of questions.

    What a later release no longer asks would count as missing for those that were scored on it.

    Args:
        models: By table file, the models in it; the manifest beside it names the releases.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for path, names in models.items():
        manifest = (path if path.is_dir() else path.parent) / "manifest.json"
        match read_json(manifest) if manifest.is_file() else None:
            case {"settled": {"release": list() as releases}}:
                for name in names:
                    named[name] |= {*map(str, releases)}
    if len({frozenset(releases) for releases in named.values()}) < 2:
        return []
    listed = "; ".join(f"{name} on {' and '.join(sorted(releases))}" for name, releases in sorted(named.items())[:4])
    return [f"the models were scored on different releases ({listed}); score the answers of all of them on one release"]


def facts_files(path: Path) -> list[Path]:
    """The file of facts beside a table: its own, or the one of its folder; none where there is none."""
    if path.suffix.lower() not in _TABLES:
        return []
    named, shared = path.with_name(f"{path.stem}.{FACTS_FILE}"), path.with_name(FACTS_FILE)
    return [file for file in (named, shared) if file.is_file()][:1]


def merged(places: Mapping[str, TableFacts]) -> TableFacts:
    """The facts of several places in one; the main metric only where all agree.

    Raises:
        TableInvalid: With every metric of which two places say different things.
    """
    first_told: dict[str, tuple[str, MetricFacts]] = {}
    problems = []
    for place, table in places.items():
        for name, facts in table.metrics.items():
            first, known = first_told.setdefault(name, (place, facts))
            if differing := known.differing(facts):
                problems.append(f"metric {name!r} is not the same in {first} and {place}: {'; '.join(differing[:3])}")
    if problems:
        raise TableInvalid(", ".join(places), problems)
    mains = {table.main for table in places.values() if table.metrics}
    metrics = {name: facts for name, (_, facts) in first_told.items()}
    read = [table.read_as for table in places.values() if table.metrics]
    marks = tuple(dict.fromkeys(mark for table in places.values() for mark in table.marks))
    return TableFacts(metrics, mains.pop() if len(mains) == 1 else None, read_alike(read), marks)


def read_alike(read: Sequence[ReadAs | None]) -> ReadAs | None:
    """How tables were read, where that is known of all and their units are the same."""
    known = [one for one in read if one is not None]
    if not known or len(known) < len(read) or len({one.unit for one in known}) > 1:
        return None
    lines = tuple(dict.fromkeys(line for one in known for line in one.interpreted))
    says_why, has_videos = all(one.says_why for one in known), all(one.has_videos for one in known)
    percent = tuple(dict.fromkeys(name for one in known for name in one.percent))
    return ReadAs(known[0].unit, lines, says_why, has_videos, percent)


def against_names(carried: TableFacts, tables: Mapping[str, Iterable[str]]) -> list[str]:
    """Where facts of one table contradict what the name of the metric says of another, which has none of its own.

    Args:
        carried: The facts of all tables together.
        tables: For each table, its metrics that it has no facts of.
    """
    problems = []
    for where, names in tables.items():
        for name in names:
            known = facts_by_name(name)
            facts = carried.metrics.get(name, known)
            pairs = [(end, getattr(facts, end), getattr(known, end)) for end in ("low", "high")]
            differing = [
                f"{end} {a:g} and {b:g}" for end, a, b in pairs if a != b and math.isfinite(a) and math.isfinite(b)
            ]
            if differing:
                problems.append(
                    f"{where} has no facts of metric {name!r}, and what its name says is not what facts beside another "
                    f"table say: {'; '.join(differing)}"
                )
    return problems


def directed(facts: Mapping[str, MetricFacts], better: Directions, chosen: Sequence[str]) -> dict[str, MetricFacts]:
    """The facts of the metrics whose direction somebody stated.

    Args:
        facts: Of every metric of the table.
        better: What was stated; a bare word is about `chosen`.
        chosen: The metrics that are looked at.

    Raises:
        UnknownName: A direction that is none, or a metric that the table does not have.
        Misuse: A direction against what is known.
    """
    if isinstance(better, str) and better not in BETTER:
        raise UnknownName("direction", better, BETTER)
    wanted = dict.fromkeys(chosen, better) if isinstance(better, str) else dict(better or {})
    for name in wanted:
        if name not in facts:
            raise UnknownName("metric", name, facts)
    return {name: facts[name].directed(direction) for name, direction in wanted.items()}


def taken_over(facts: MetricFacts) -> str | None:
    """What to say where the facts of a metric were taken from a registered one of another name."""
    registered = known_as(facts.name)
    if registered in (None, facts.name) or facts != facts_by_name(facts.name):
        return None
    return f"{facts.name!r} is read as {registered!r}: {facts.better} is better, {facts.low:g} to {facts.high:g}."


def _in_parquet(path: Path) -> TableFacts:
    try:
        metadata = pl.read_parquet_metadata(path)
        text = metadata.get(_KEY) or metadata.get(former(_KEY))
    except (pl.exceptions.PolarsError, OSError):
        return TableFacts()  # reading the table itself says what is wrong with it
    try:
        return _of_document(json.loads(text), str(path)) if text else TableFacts()
    except ValueError:
        raise FileUnreadable(str(path), [f"its metadata {_KEY!r} are no JSON"]) from None


def _if_facts(path: Path) -> TableFacts:
    """The facts in a file whose name others use too; nothing where it holds something else, such as values."""
    document = read_json(path)
    records = document.get("metrics") if isinstance(document, dict) else None
    others = not isinstance(records, dict) or all(isinstance(record, int | float) for record in records.values())
    return TableFacts() if others else _of_document(document, str(path))


def _of_document(document: Any, where: str) -> TableFacts:
    records = document.get("metrics") if isinstance(document, dict) else None
    if not isinstance(records, dict) or not all(isinstance(record, dict) for record in records.values()):
        raise FileUnreadable(where, ['expected facts such as {"metrics": {"hd95": {"better": "smaller"}}}'])
    try:
        metrics = {name: MetricFacts.from_dict({"name": name, **record}) for name, record in records.items()}
    except (Misuse, TypeError, ValueError) as error:
        raise FileUnreadable(where, [str(error)]) from None
    if reversed_ones := [problem for facts in metrics.values() if (problem := _reversed(facts))]:
        raise TableInvalid(where, reversed_ones)
    main, read_as = document.get("main"), document.get("read_as")
    try:
        read = ReadAs.of_dict(read_as) if isinstance(read_as, dict) else None
    except (KeyError, TypeError, ValueError):
        raise FileUnreadable(where, ["'read_as' does not say how the table was read; remove it"]) from None
    try:
        marks = tuple(Interpreted(*map(str, one)) for one in document.get("marks", ()))
    except TypeError:
        raise FileUnreadable(where, ["'marks' holds something else than code, column and sentence"]) from None
    return TableFacts(metrics, main if isinstance(main, str) else None, read, marks)


def _reversed(facts: MetricFacts) -> str | None:
    """What is wrong where facts say the opposite direction of the one that the name of the metric says."""
    known = facts_by_name(facts.name).better
    if None in (known, facts.better) or known == facts.better:
        return None
    return (
        f"{facts.name!r} is better when {known}, but the facts say {facts.better}; leave that out, or give the metric "
        "another name if it means something else"
    )
