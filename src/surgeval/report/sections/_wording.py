"""Words and tables that several sections share."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from surgeval.report.inputs import StoredResult
from surgeval.report.section import Note, Section
from surgeval.report.words import plain
from surgeval.schema.taxonomy import Capability

NAME_LIMIT = 48
CROWD = 40
"""With more models than this, pictures that would not stay readable show the foremost only."""
FOREMOST = 20
"""How many these are."""
_SHOWN_NAMES = 4


def name_of(model: object) -> str:
    """A model's name, short enough for a sentence."""
    return plain(model, limit=NAME_LIMIT) or "(no name)"


def names_of(models: Iterable[object], *, most: int = _SHOWN_NAMES) -> str:
    """Several names for a sentence; the rest are counted.

    Example:
        >>> names_of(["a", "b", "c"]), names_of(["a", "b", "c"], most=1)
        ('a, b and c', 'a and 2 more')
    """
    names = [name_of(model) for model in models]
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def count_of(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> count_of(1, "model"), count_of(20000, "question")
        ('1 model', '20,000 questions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float | None) -> str:
    """A share as a percentage; below one in a hundred with a digit more."""
    if share is None or share != share:
        return "unknown"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def bucket_label(capability: str, ood: bool | None) -> str:
    """A bucket in words.

    Example:
        >>> bucket_label("object_recognition", True), bucket_label("my own", None)
        ('Object recognition and instance matching, OOD', 'my own')
    """
    known = Capability.named(capability)
    label = known.label if known is not None else plain(capability, limit=60)
    return label if ood is None else f"{label}, {'OOD' if ood else 'ID'}"


def slice_label(name: str) -> str:
    """A bucket's key, such as `object_recognition_ood`, in words."""
    for ending, ood in (("_id", False), ("_ood", True)):
        if name.endswith(ending) and Capability.named(name.removesuffix(ending)) is not None:
            return bucket_label(name.removesuffix(ending), ood)
    return plain(name, limit=80)


def missing(name: str, title: str, what: str, command: str) -> Section:
    """The section that stands where the folder holds nothing: it says what would fill it."""
    return Section(name, title, (Note(f"{what} To add it, run: {command}", "missing"),))


def is_empty(section: Section) -> bool:
    """Whether a section says nothing but that something is missing."""
    return section.is_missing


def heading_of(result: StoredResult) -> str:
    """The verb of a result and, unless it is the very folder that is reported, where it lies."""
    return result.kind.capitalize() if result.label == "." else f"{result.kind.capitalize()}: {result.label}"


def boards_of(result: StoredResult) -> list[str]:
    """The boards of a ranking, in their order."""
    places = result.frame("places")
    return places["board"].unique(maintain_order=True).to_list() if "board" in places.columns else []


def competitors(result: StoredResult, board: str) -> list[str]:
    """The models that compete on a board, best first; all that have a place where the ranking does not say."""
    ranked, places = on_board(result, "stability", board), on_board(result, "places", board)
    rivals = places.filter(~pl.col("baseline").fill_null(False)).sort("place")["model"].to_list()
    known = set(ranked["model"]) if "model" in ranked.columns else set(rivals)
    return [model for model in rivals if model in known]


def perhaps_best(summary: pl.DataFrame) -> list[str] | None:
    """The models of a board that may be the best over all buckets; None where the ranking does not say.

    Sets of ranks say it at any number of videos; rankings made before there were any have a model confidence set.
    """
    for column, inside in (("rank_low", pl.col("rank_low") == 1), ("in_confidence_set", pl.col("in_confidence_set"))):
        if column in summary.columns and summary[column].null_count() < summary.height:
            return summary.filter(inside.fill_null(False))["model"].to_list()
    return None


def whole_places(stability: pl.DataFrame) -> pl.DataFrame:
    """Ranges of places as whole places, rounded outwards: quantiles between two places are places nobody took."""
    return stability.with_columns(pl.col("place_low").floor(), pl.col("place_high").ceil())


def in_redraws(stability: pl.DataFrame) -> pl.DataFrame:
    """How often a model is first as a number of 100 redraws, which nobody takes for a probability."""
    return stability.with_columns((pl.col(name) * 100).round(0).cast(pl.Int64) for name in ("p_first", "p_top3")
                                  if name in stability.columns)  # fmt: skip


def optional(result: StoredResult, table: str) -> pl.DataFrame | None:
    """A table as charts take it: None where there is none."""
    frame = result.frame(table)
    return None if frame.is_empty() else frame


def on_board(result: StoredResult, table: str, board: str) -> pl.DataFrame:
    """The rows of one board, without the column that names it."""
    frame = result.frame(table)
    return frame.filter(pl.col("board") == board).drop("board") if "board" in frame.columns else frame


def slug(text: str) -> str:
    """Small letters, digits and hyphens, for names of files.

    Example:
        >>> slug("Technical board!"), slug("名")
        ('technical-board', 'x')
    """
    kept = "".join(char if char.isascii() and char.isalnum() else " " for char in text.lower())
    return "-".join(kept.split()) or "x"
