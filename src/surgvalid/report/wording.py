"""Words and tables that several sections share."""

from __future__ import annotations

import polars as pl

from surgvalid.report.inputs import StoredResult
from surgvalid.report.section import Note, Section
from surgvalid.report.words import plain
from surgvalid.schema.questions.taxonomy import Capability


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


def leaderboards_of(result: StoredResult) -> list[str]:
    """The leaderboards of a ranking, in their order."""
    places = result.frame("places")
    return places["board"].unique(maintain_order=True).to_list() if "board" in places.columns else []


def competitors(result: StoredResult, board: str) -> list[str]:
    """The models that compete on a leaderboard, best first; all that have a final rank where the ranking does
    not say.
    """
    ranked, places = on_leaderboard(result, "stability", board), on_leaderboard(result, "places", board)
    rivals = places.filter(~pl.col("baseline").fill_null(False)).sort("place")["model"].to_list()
    known = set(ranked["model"]) if "model" in ranked.columns else set(rivals)
    return [model for model in rivals if model in known]


def perhaps_best(summary: pl.DataFrame) -> list[str] | None:
    """The models of a leaderboard that may be the best over all buckets; None where the ranking does not say.

    Sets of ranks say it at any number of videos; rankings made before there were any have a model confidence set.
    """
    for column, inside in (("rank_low", pl.col("rank_low") == 1), ("in_confidence_set", pl.col("in_confidence_set"))):
        if column in summary.columns and summary[column].null_count() < summary.height:
            return summary.filter(inside.fill_null(False))["model"].to_list()
    return None


def optional(result: StoredResult, table: str) -> pl.DataFrame | None:
    """A table as charts take it: None where there is none."""
    frame = result.frame(table)
    return None if frame.is_empty() else frame


def on_leaderboard(result: StoredResult, table: str, board: str) -> pl.DataFrame:
    """The rows of one leaderboard, without the column that names it."""
    frame = result.frame(table)
    return frame.filter(pl.col("board") == board).drop("board") if "board" in frame.columns else frame
