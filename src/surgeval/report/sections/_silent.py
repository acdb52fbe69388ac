"""Pictures that would carry no information: a sentence stands in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl


def silence(chart: str, frame: Any, group: object = None) -> str:
    """What to say instead of a picture that shows nothing; empty where it shows something.

    Args:
        chart: Its name.
        frame: The table that it is drawn from.
        group: The board or task that it shows.

    Example:
        >>> silence("dominance_matrix", pl.DataFrame({"a_dominates_b": [False, False]}))
        'No model dominates another.'
    """
    rule = _RULES.get(chart)
    if rule is None or not isinstance(frame, pl.DataFrame) or frame.is_empty():
        return ""
    column = next((name for name in ("board", "task", "group") if name in frame.columns), "")
    rows = frame.filter(pl.col(column) == group) if column and group is not None else frame
    return rule(rows) if not rows.is_empty() else ""


def _when(column: str, says_nothing: Callable[[pl.Series], bool], sentence: str) -> Callable[[pl.DataFrame], str]:
    def rule(frame: pl.DataFrame) -> str:
        known = frame[column].drop_nulls() if column in frame.columns else pl.Series()
        return sentence if len(known) and says_nothing(known) else ""

    return rule


def _none(values: pl.Series) -> bool:
    return not values.cast(pl.Boolean).any()


def _one(values: pl.Series) -> bool:
    return values.n_unique() == 1


def _zero(values: pl.Series) -> bool:
    return bool((values.cast(pl.Float64).abs() < 1e-9).all())


def _same_places(frame: pl.DataFrame) -> str:
    rules = [name for name in frame.columns if frame.schema[name].is_numeric()]
    same = len(rules) > 1 and all(frame[name].equals(frame[rules[0]]) for name in rules[1:])
    return "Every way to merge gives the same places." if same else ""


_NO_RANKS = "All models share one rank everywhere, because no difference is significant."
_FIRM = "Every model keeps its place in every resample."
_RULES: Mapping[str, Callable[[pl.DataFrame], str]] = {
    "dominance_matrix": _when("a_dominates_b", _none, "No model dominates another."),
    "significance_map": _when("significant", _none, "No difference between two models is significant."),
    "ranking_heat_map": _when("rank", _one, _NO_RANKS),
    "place_frequencies": _when("share", lambda shares: bool((shares >= 1).all()), _FIRM),
    "place_shares": _when("share", lambda shares: bool((shares >= 1).all()), _FIRM),
    "tau_violin": _when("tau_b", _one, "Every resample gives the same agreement with the order as it is."),
    "caterpillar": _when("mean", _zero, "Their random effects are all estimated as zero."),
    "video_leverage": _when("change", _zero, "No single video moves the value."),
    "places_by_rule": _same_places,
}
