"""Rows under our names as the statistics take them: the unit as `video`, repeats averaged, parts of a case told apart,
percentages as shares, endless distances as no score.

The decision a reader would question: repeats (seeds, runs) are averaged within the case, since they say nothing about
other patients; counted as cases, three seeds of equal models give a winner in 24 % of tables, five in 38 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from surgvalid.errors import TableInvalid
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.column_words import PARTS, PATIENTS, PLACES, REPEATS, named_by, plain_name
from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.schema.tables.table_files import OURS
from surgvalid.schema.tables.tabular import told_apart_by
from surgvalid.schema.tables.units import (
    Decided,
    Interpreted,
    Unit,
    by_video_names,
    holds_videos,
    one_spelling,
    spelled_as_one,
    spoken_unit,
    unit_of,
)

UNFINISHED, SIGHT, TRAINED, DOUBT = "unfinished", "sight", "trained", "doubt"
MARKS = (UNFINISHED, SIGHT, TRAINED, DOUBT)
"""Codes of lines that no verb leaves out: half a run, a model that may not have seen what it was asked about, rows of
which none was tested, a log that contradicts itself."""
UNREAD = "unread"
"""The code of the line that a column differs between models and is no known metric."""
ORDER = (*MARKS, *"unit spelling split evidence type repeats parts missing shared scale metric".split())
"""In which readings are told; others come after them."""
_KEY = ("model", "case", "metric", "task")
_PERCENT = 100.0
_SEEN = 0.05
"""A p-value up to which groups are seen to differ."""
_MOST_LEVELS = 6
"""Different whole numbers that may still be names of conditions."""
_NEARLY_ONE = 1.5
"""Up to here a ratio may lie beyond 1 by rounding."""


@dataclass(frozen=True)
class ReadAs:
    """How the rows of a table were read."""

    unit: Unit | None = None
    """None where the columns `video` and `case` are all that is known."""
    interpreted: tuple[Interpreted, ...] = ()
    says_why: bool = True
    """Whether rows without a score say why there is none."""
    has_videos: bool = True
    """Whether a column names what is independent; else each case stands for itself."""
    percent: tuple[str, ...] = ()
    """Metrics whose scores were read as percentages, so that a margin is written in percent points too."""
    roles: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What each column of a plain table is: `unit`, `case`, `model`, `score`, ...; no file keeps it."""

    def lines_with(self, *more: Interpreted) -> tuple[Interpreted, ...]:
        """Everything that was interpreted, in its order."""
        return tuple(sorted(dict.fromkeys((*self.interpreted, *more)), key=_place))

    def marked(self, *marks: Interpreted) -> ReadAs:
        """The reading with these marks."""
        return replace(self, interpreted=self.lines_with(*marks))

    @property
    def marks(self) -> tuple[Interpreted, ...]:
        """The lines that no verb leaves out."""
        return tuple(one for one in self.interpreted if one.code in MARKS)

    @property
    def unmarked(self) -> ReadAs:
        """The reading without its marks."""
        return replace(self, interpreted=tuple(one for one in self.interpreted if one.code not in MARKS))

    def as_dict(self) -> dict[str, Any]:
        """The reading as plain data."""
        unit = None if self.unit is None else self.unit.as_dict()
        spoken = [list(one) for one in self.interpreted]
        percent = {"percent": list(self.percent)} if self.percent else {}
        return {"unit": unit, "interpreted": spoken, "says_why": self.says_why, "has_videos": self.has_videos} | percent

    @classmethod
    def of_dict(cls, record: Mapping[str, Any]) -> ReadAs:
        """The reading in a record as `as_dict` makes it."""
        unit = Unit.of_dict(record["unit"]) if record.get("unit") else None
        spoken = tuple(Interpreted(*map(str, one)) for one in record.get("interpreted", ()))
        percent = tuple(map(str, record.get("percent", ())))
        return cls(unit, spoken, bool(record.get("says_why", True)), bool(record.get("has_videos", True)), percent)


def _place(one: Interpreted) -> int:
    return ORDER.index(one.code) if one.code in ORDER else len(ORDER)


def with_unit(frame: pl.DataFrame, where: str, stated: str | None = None) -> tuple[pl.DataFrame, ReadAs]:
    """Rows under our names with their unit as `video`; what was called so stays as the condition `video_id`.

    Args:
        frame: The rows.
        where: What to call them in problems.
        stated: The unit, where somebody says it: a column, `case`, or `prefix:N`.
    """
    conditions = [column for column in frame.columns if column not in OURS]
    patients = named_by(conditions, PATIENTS)
    if stated is None and not patients and "video" in frame.columns:
        return _by_video(frame, where, conditions)
    seen = [column for column in frame.columns if column in ("case", "video") or column in conditions]
    if stated == "video":
        return frame, ReadAs(Unit("video", "video", "E1"))
    model = "model" if "model" in frame.columns else None
    decided = unit_of(where, frame.select(*seen, *([model] if model else [])), stated=stated, case="case", model=model)
    frame = spelled_as_one(frame, decided, model)
    unit = decided.unit
    if unit.column in ("case", "") and decided.groups is None:
        gone = ["video"] if stated == "case" else []
        return frame.drop([name for name in gone if name in frame.columns]), ReadAs(unit, decided.spoken)
    groups = decided.groups if decided.groups is not None else frame[unit.column].cast(pl.String)
    names = frame[unit.column].cast(pl.String) if unit.column in frame.columns else groups
    frame = frame.drop([unit.column] if unit.column in patients else [])
    return _grouped(frame, groups, names), ReadAs(unit, decided.spoken)


def _by_video(frame: pl.DataFrame, where: str, conditions: Sequence[str]) -> tuple[pl.DataFrame, ReadAs]:
    """Rows by video, or by the patients that the names of videos begin with."""
    names, lines = one_spelling(frame["video"], "video")
    frame = frame.with_columns(names)
    key = [name for name in _KEY if name in frame.columns]
    if not told_apart_by(frame, key) and told_apart_by(frame, [*key, "video"]):
        frame = frame.with_columns(pl.concat_str(pl.col("video", "case").cast(pl.String), separator="/").alias("case"))
        lines = (*lines, Interpreted("columns", "case", "'case' numbers the cases of each video"))
    decided = by_video_names(where, frame, "video", Decided(Unit(), ()))
    if decided.groups is not None:
        return _grouped(frame, decided.groups, decided.groups), ReadAs(
            decided.unit, (spoken_unit(frame, decided), *lines)
        )
    if problem := holds_videos(frame, "video", "video", conditions):
        raise TableInvalid(where, [problem])
    return frame, ReadAs(interpreted=lines)


def _grouped(frame: pl.DataFrame, groups: pl.Series, names: pl.Series) -> pl.DataFrame:
    """Rows with these groups as `video`; what was called so stays as the condition `video_id`.

    Cases that are numbered within each group are told apart by the name that the group has in its own rows.
    """
    frame = frame.rename({"video": "video_id"}) if "video" in frame.columns else frame
    frame = frame.with_columns(groups.alias("video"))
    several = frame.select("case", "video").unique().height > frame["case"].n_unique()
    if several:  # cases are numbered within each patient
        frame = frame.with_columns(pl.concat_str(names, pl.col("case").cast(pl.String), separator="/").alias("case"))
    return frame


def telling_kinds(
    frame: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts and the repeats among some columns that tell rows with equal keys apart; none where they do not.

    Args:
        frame: The rows.
        keys: What says which case of which model a row is of.
        columns: Those that may name parts and repeats.
    """
    if not keys or told_apart_by(frame, keys):
        return (), ()
    single = [[column] for column in columns if told_apart_by(frame, [*keys, column])]
    telling = single[0] if len(single) == 1 else list(columns)
    if not telling or not told_apart_by(frame, [*keys, *telling]):
        return (), ()
    repeats = named_by(telling, REPEATS)
    return tuple(column for column in telling if column not in repeats), tuple(repeats)


def told_apart(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Interpreted]]:
    """Rows of which no two are of one model, case and metric, where repeats or parts are why some are."""
    key = [name for name in _KEY if name in frame.columns]
    kinds = [column for column in named_by(frame.columns, {*PARTS, *REPEATS}) if column not in OURS]
    parts, repeats = telling_kinds(frame, key, kinds)
    if parts:
        names = [pl.col(column).cast(pl.String).fill_null("") for column in ("case", *parts)]
        frame = frame.with_columns(pl.concat_str(names, separator="/").alias("case"))
    frame, spoken = averaged(frame, key, repeats)
    return frame, [*spoken, *part_lines(parts)]


def part_lines(parts: Sequence[str]) -> list[Interpreted]:
    """What is told about parts of a case."""
    return [
        Interpreted("parts", column, f"{column!r} names parts of a case: they count alike within their unit")
        for column in parts
    ]


def averaged(frame: pl.DataFrame, key: Sequence[str], repeats: Sequence[str]) -> tuple[pl.DataFrame, list[Interpreted]]:
    """One row for each case, with the mean of its repeats, and how much they differ.

    Args:
        frame: Rows with `value`.
        key: What a row is of, without the repeat.
        repeats: The columns that number them; they go.
    """
    if not repeats:
        return frame, []
    rest = [column for column in frame.columns if column not in {*key, *repeats, "value"}]
    values = pl.col("value").cast(pl.Float64).fill_nan(None)
    grouped = frame.group_by(key, maintain_order=True).agg(
        values.mean(), *(pl.col(column).first() for column in rest), __sd__=values.std(), __n__=values.count()
    )
    spread, count = grouped["__sd__"].drop_nulls().median(), max(grouped["__n__"].to_list(), default=0)
    differ = "" if spread is None else f"; they differ by SD {float(spread):.3g} (median within case)"  # type: ignore[arg-type]
    name = repeats[0] if repeats[0].endswith("s") else f"{repeats[0]}s"
    sentence = f"{count} {name} per case averaged (repeated measurements of one case){differ}"
    order = [column for column in frame.columns if column not in repeats]
    return grouped.select(order), [Interpreted("repeats", ", ".join(repeats), sentence)]


def rescaled(frame: pl.DataFrame, facts: Mapping[str, MetricFacts]) -> tuple[pl.DataFrame, list[Interpreted]]:
    """Rows whose percentages are shares, and in which an endless distance is no score.

    Args:
        frame: Rows with `metric`, `model` and `value`, a number.
        facts: Of every metric.
    """
    spoken = []
    changed = pl.col("value")
    for name, known in facts.items():
        rows = frame.filter((pl.col("metric") == name) & pl.col("value").is_not_null())
        values = rows["value"]
        if math.isinf(known.high) and known.better == "smaller" and (endless := int((values == math.inf).sum())):
            changed = pl.when((pl.col("metric") == name) & (pl.col("value") == math.inf)).then(None).otherwise(changed)
            sentence = f"{endless} endless value{'s' if endless > 1 else ''} of {name!r} count as no score"
            spoken.append(Interpreted("missing", name, sentence))
        if (known.low, known.high) == (0.0, 1.0) and _in_percent(rows):
            changed = pl.when(pl.col("metric") == name).then(pl.col("value") / _PERCENT).otherwise(changed)
            spoken.append(Interpreted("scale", name, f"{name!r} is read as percent: values are divided by 100"))
    return (frame.with_columns(changed.alias("value")) if spoken else frame), spoken


def _in_percent(rows: pl.DataFrame) -> bool:
    """Whether scores of a ratio are percentages: some beyond 1, none beyond 100, and most of every model's beyond 1."""
    values = rows["value"]
    if values.is_empty() or not (values.max() > _NEARLY_ONE and values.max() <= _PERCENT and values.min() >= 0):  # type: ignore[operator]
        return False
    return bool((rows.group_by("model").agg(pl.col("value").median())["value"] > 1).all())


def group_evidence(frame: pl.DataFrame, metric: str) -> str:
    """How alike scores and differences of one unit are: the intraclass correlation of each, with the F test of it.

    Evidence only: whether rows are grouped does not depend on it (see `units`).
    """
    rows = frame.filter(pl.col("metric") == metric)
    wide = rows.pivot("model", index=["video", "case"], values="value", aggregate_function="mean").drop_nulls()
    models = wide.columns[2:]
    sides = {"the scores": pl.mean_horizontal(models)}
    if len(models) == 2:
        sides["their differences"] = pl.col(models[0]) - pl.col(models[1])
    correlations = {what: _intraclass(wide.select("video", value=value)) for what, value in sides.items()}
    known = {what: one for what, one in correlations.items() if one is not None}
    text = ", ".join(f"{what} {icc:.2f} (F test {p_phrase(p)})" for what, (icc, p) in known.items())
    alike = known and all(p > _SEEN for _, p in known.values())
    more = "; scores do not differ between these groups: --unit case if every image is another patient" if alike else ""
    return f"intraclass correlation of {text}{more}" if text else ""


def _intraclass(rows: pl.DataFrame) -> tuple[float, float] | None:
    """The correlation of rows of one unit by one-way analysis of variance, and its p-value; None without spread."""
    from scipy.special import fdtrc

    by_unit = rows.group_by("video").agg(
        pl.len(), pl.col("value").mean(), spread=pl.col("value").var() * (pl.len() - 1)
    )
    groups, count = by_unit.height, rows.height
    sizes, means = by_unit["len"].to_numpy().astype(float), by_unit["value"].to_numpy()
    if groups < 2 or count <= groups:
        return None
    within = float(by_unit["spread"].fill_null(0.0).sum()) / (count - groups)
    between = float((sizes * (means - (sizes * means).sum() / count) ** 2).sum()) / (groups - 1)
    typical = (count - (sizes**2).sum() / count) / (groups - 1)
    if within <= 0:
        return None
    icc = (between - within) / (between + (typical - 1) * within)
    return float(icc), float(fdtrc(groups - 1, count - groups, between / within))


def thirds(column: pl.Series, units: pl.Series) -> pl.Series | None:
    """A quantity as thirds of the units; None where it is none, or differs within units.

    Whole numbers with more than six values and numbers with decimals are quantities: with each value as a condition of
    its own, most would be of one patient.

    Example:
        >>> found = thirds(pl.Series("age", [30, 40, 50, 60, 70, 80, 90]), pl.Series(list("abcdefg")))
        >>> found.unique().sort().to_list()
        ['30 to 50', '60 to 70', '80 to 90']
    """
    if not is_quantity(column):
        return None
    rows = pl.DataFrame({"unit": units, "number": column.cast(pl.Float64)}).drop_nulls().unique()
    if rows["unit"].is_duplicated().any() or rows.height < 3:
        return None
    ends = [rows["number"].quantile(share, "lower") for share in (1 / 3, 2 / 3)]
    place = pl.sum_horizontal(*(pl.col("number") > end for end in ends))
    spans = rows.group_by(place.alias("place")).agg(low=pl.col("number").min(), high=pl.col("number").max())
    texts = {at: f"{low:g} to {high:g}" if low < high else f"{low:g}" for at, low, high in spans.iter_rows()}
    frame = pl.DataFrame({"number": column.cast(pl.Float64)})
    return frame.select(
        place.replace_strict(texts, default=None, return_dtype=pl.String).alias(column.name)
    ).to_series()


def is_quantity(column: pl.Series) -> bool:
    """Whether a column holds amounts, not names or levels: numbers with decimals, or more than six whole ones."""
    if not column.dtype.is_numeric() or plain_name(column.name) in PLACES:
        return False
    known = column.drop_nulls().cast(pl.Float64)
    return bool((known != known.round()).any()) or known.n_unique() > _MOST_LEVELS
