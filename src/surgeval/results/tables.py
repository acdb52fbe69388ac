"""The columns that verbs promise to write, so that a broken table is left out with a reason before it is drawn."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

Columns = Mapping[str, str]
"""Column to kind: `t` text, `n` number, `w` whole number, `b` yes or no."""
KINDS: dict[str, type[pl.DataType]] = {"t": pl.String, "n": pl.Float64, "w": pl.Int64, "b": pl.Boolean}


def _columns(text: str) -> Columns:
    return {name: kind for name, _, kind in (word.partition(":") for word in text.split())}


FOCUS_TABLES: Mapping[str, Columns] = {
    "places": _columns(
        "board:t model:t place:w copeland:w dominated:w dominated_by:w macro_accuracy:n win_rate:n baseline:b"
    ),
    "buckets": _columns(
        "board:t capability:t ood:b model:t accuracy:n low:n high:n questions:w videos:w rank:w letters:t"
    ),
    "pairs": _columns(
        "board:t capability:t ood:b model_a:t model_b:t difference:n p_value:n p_adjusted:n significant:b"
    ),
    "stability": _columns("board:t model:t mean_place:n sd_place:n place_low:n place_high:n p_first:n p_top3:n"),
    "place_frequencies": _columns("board:t model:t place:w share:n"),
    "summary": _columns(
        "board:t model:t place:w macro_accuracy:n mean_rank:n letters:t in_confidence_set:b rank_width:n"
    ),
    "dominance": _columns("board:t model_a:t model_b:t buckets_a_ahead:w buckets_b_ahead:w a_dominates_b:b"),
    "differences": _columns("board:t capability:t ood:b model_a:t model_b:t difference:n low:n high:n"),
    "sensitivity": _columns("board:t model:t"),
    "influence": _columns("board:t left_out:t name:t tau_b:n models_moved:w first_changes:b order_swapped:b"),
    "gate_evidence": _columns(
        "board:t model:t baseline:t macro_accuracy:n baseline_macro_accuracy:n gap:n low:n high:n above:b"
    ),
    "prizes": _columns("board:t model:t"),
    "tau_frequencies": _columns("board:t tau_b:n share:n"),
}
GENERIC_TABLES: Mapping[str, Columns] = {
    "ranks": _columns("task:t model:t value:n rank:w"),
    "consensus": _columns("model:t mean_rank:n rank:w"),
    "kendall": _columns("task_a:t task_b:t tau_b:n"),
    "footrule": _columns("task_a:t task_b:t footrule:n"),
    "pairs": _columns("task:t model_a:t model_b:t p_value:n p_adjusted:n significant:b"),
    "stability": _columns("task:t model:t mean_rank:n sd_rank:n rank_low:n rank_high:n p_first:n p_top3:n"),
    "frequencies": _columns("task:t model:t rank:w share:n"),
    "tau": _columns("task:t mean:n q25:n median:n q75:n replicates:w"),
    "tau_frequencies": _columns("task:t tau_b:n share:n"),
}
TABLES: Mapping[str, Mapping[str, Columns]] = {
    "score": {
        "summary": _columns("level:t name:t accuracy:n low:n high:n count:w"),
        "targeted": _columns("format:t metric:t estimand:t value:n n:w n_missing:w videos:w"),
        "counts": _columns("case:t video:t reference:w response:w"),
        "leverage_questions": _columns("bucket:t questions:w weight_of_bucket:n weight_of_question:n"),
        "leverage_videos": _columns("video:t questions:w headline_without:n change:n"),
    },
    "rank": FOCUS_TABLES,
    "rank-tasks": GENERIC_TABLES,
    "failures": {
        "effects": _columns("term:t estimate:n std_error:n z:n p_value:n p_holm:n odds_ratio:n low:n high:n symbol:t"),
        "variance": _columns("group:t variance:n sd:n icc:n"),
        "per_model": _columns("model:t term:t estimate:n std_error:n p_value:n odds_ratio:n low:n high:n symbol:t"),
        "marginal": _columns("term:t"),
        "random_effects": _columns("group:t level:t mean:n sd:n"),
        "quantiles": _columns("group:t expected:n observed:n n:w"),
        "marginal_means": _columns("term:t value:n scale:t mean:n low:n high:n"),
        "residuals": _columns("residual:n"),
        "residual_tests": _columns("test:t value:n"),
    },
    "floors": {
        "floors": _columns("floor:t level:t name:t accuracy:n right:w questions:w videos:w"),
        "templates": _columns("format:t template:t questions:w videos:w answers:w single_answer:b"),
        "margins": _columns(
            "model:t level:t name:t accuracy:n best_floor:t floor_accuracy:n margin:n oracle_accuracy:n questions:w"
            " videos:w missing:w not_scored:w"
        ),
    },
    "evaluate": {
        "metrics": _columns("metric:t value:n low:n high:n videos:w"),
        "per_video": _columns("video:t"),
        "per_class": _columns("metric:t"),
        "per_stratum": _columns("metric:t"),
        "reliability": _columns("metric:t task:t share:n confidence:n observed:n"),
    },
    "simulate": {"procedures": _columns("video:t procedure_type:t center:t duration_s:n")},
    "questions": {},
    "lint": {},
    "rehearse": {},
}
"""Tables of every kind of folder; a table that is not named here is not read."""
RECORDS: Mapping[str, tuple[str, ...]] = {
    "score": ("lint",),
    "rank": ("gate", "structure"),
    "rank-tasks": (),
    "failures": ("fit",),
    "evaluate": ("conventions",),
    "questions": ("data_card",),
    "lint": ("lint",),
}
"""JSON documents beside the tables."""
MARKS: Mapping[str, str] = {
    "places.csv": "rank",
    "ranks.csv": "rank",
    "effects.csv": "failures",
    "floors.csv": "floors",
    "data_card.json": "questions",
    "metrics.csv": "evaluate",
    "scores.parquet": "score",
}
"""Files that betray a verb where the manifest is lost; the first that is there decides."""
RESULT_FILES = ("interval", "compare", "strata", "aggregate", "agreement")
"""Verbs that write one table with `NAME.manifest.json` beside it."""


OLDER_COLUMNS: Mapping[str, str] = {"ci_low": "low", "ci_high": "high"}
"""What version 0.1.0 and the official files call the ends of intervals, and what they are called here."""
OFFICIAL_SUMMARY = ("level", "name", "accuracy", "ci_low", "ci_high", "count")
"""The columns of an official `summary.csv`, which never change."""


def current(frame: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """The table under the column names of this version, and whether an older version wrote it.

    Example:
        >>> frame, older = current(pl.DataFrame({"term": ["smoke"], "ci_low": [0.2], "ci_high": [0.6]}))
        >>> frame.columns, older
        (['term', 'low', 'high'], True)
    """
    names = {theirs: ours for theirs, ours in OLDER_COLUMNS.items() if theirs in frame.columns}
    if not names or set(names.values()) & set(frame.columns):
        return frame, False
    return frame.rename(names), tuple(frame.columns) != OFFICIAL_SUMMARY


def checked(frame: pl.DataFrame, columns: Columns) -> tuple[pl.DataFrame, list[str]]:
    """The table with the promised kinds of columns, and what is wrong with it.

    Example:
        >>> frame, problems = checked(pl.DataFrame({"model": ["A"], "place": ["first"]}), {"model": "t", "place": "w"})
        >>> problems
        ["column 'place' holds something else than whole numbers"]
    """
    words = {"t": "text", "n": "numbers", "w": "whole numbers", "b": "yes or no"}
    problems = []
    for name, kind in columns.items():
        if name not in frame.columns:
            problems.append(f"column {name!r} is missing")
            continue
        try:
            frame = frame.with_columns(_cast(frame[name], KINDS[kind]))
        except pl.exceptions.PolarsError:
            problems.append(f"column {name!r} holds something else than {words[kind]}")
    return frame, problems


def _cast(column: pl.Series, kind: type[pl.DataType]) -> pl.Series:
    if kind is pl.Boolean and column.dtype == pl.String:
        lower = column.str.to_lowercase()
        return lower.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
    cast = column.cast(kind)
    return cast.fill_nan(None) if kind is pl.Float64 else cast
