"""What somebody means who gives `evaluate` a folder or a file and no kind: which side is which, and of which kind.

Sides are told by the words in their names, kinds by the endings and first lines of the references. What fits several
kinds is a question, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import polars as pl

from surgvalid.errors import Misuse

REFERENCE_WORDS = {"reference", "references", "ref", "refs", "truth", "groundtruth", "gt", "annotations", "labels"}
PREDICTION_WORDS = {"prediction", "predictions", "pred", "preds", "results", "detections", "output", "outputs"}
_MAPS = {".png", ".nii", ".gz", ".tif", ".tiff", ".bmp"}
_TABLES = {".csv", ".tsv", ".parquet"}
_YOLO = {"data.yaml", "obj.names", "obj.data", "classes.txt"}
_LABELS = ("phases", "classification")
_BOX_KEYS = re.compile(r'"(images|items|bbox|segmentation)"\s*:')
_BOX_COLUMNS = re.compile(r"x|x1|x_?min|left|x_?center|bbox|box")
_LOOKED = 2000
"""Files of a folder that are looked at."""


class Meaning(NamedTuple):
    """One reading of what was given."""

    kind: str
    predictions: Path
    references: Path | None


def meanings(path: Path, references: Path | None = None) -> list[Meaning]:
    """Every reading of a folder or file: one per model and kind that it may hold.

    Args:
        path: A folder with both sides, or predictions alone.
        references: Where these are, if the caller says so.

    Raises:
        Misuse: The sides cannot be told.
    """
    models, truth = ([path], references) if references or path.is_file() else _sides(path)
    return [Meaning(kind, model, truth) for model in models for kind in kinds_of(truth or model)]


def _sides(folder: Path) -> tuple[list[Path], Path]:
    entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    words = {one: set(re.split(r"[^a-z]+", one.name.lower())) for one in entries}
    truths = [one for one in entries if words[one] & REFERENCE_WORDS and not words[one] & PREDICTION_WORDS]
    models = [one for one in entries if words[one] & PREDICTION_WORDS]
    models = models or [one for one in entries if one not in truths and (one.is_dir() or one.suffix.lower() != ".md")]
    if len(truths) != 1 or not models:
        seen = ", ".join(one.name for one in entries[:8]) or "nothing"
        raise Misuse(f"{folder} holds {seen}: which are the references? Call them references, or say --references PATH")
    return models, truths[0]


def kinds_of(references: Path) -> tuple[str, ...]:
    """The kinds of evaluation that references of this form may be for."""
    files = list(islice(_files(references), _LOOKED))
    by_ending = {one.suffix.lower(): one for one in reversed(files)}
    if ".xml" in by_ending or any(one.name in _YOLO for one in files):
        return ("detection",)
    if json := by_ending.get(".json"):
        with json.open(encoding="utf-8", errors="replace") as handle:
            return ("detection",) if _BOX_KEYS.search(handle.read(1 << 20)) else _LABELS
    if table := next((by_ending[ending] for ending in _TABLES if ending in by_ending), None):
        names = _columns(table)
        if "reference:99" in names or {"instrument", "verb", "target"} <= names:  # a column for each of 100 triplets
            return ("triplets",)
        return ("detection",) if any(map(_BOX_COLUMNS.fullmatch, names)) else _LABELS
    if _MAPS & set(by_ending):
        return ("segmentation",)
    if text := by_ending.get(".txt"):
        with text.open(encoding="utf-8", errors="replace") as handle:
            numbers = re.findall(r"(?<![^\s,])-?[\d.]+(?![^\s,])", handle.readline())
        return ("tracking",) if len(numbers) >= 6 else _LABELS
    raise Misuse(f"{references}: no annotations of a known form; say the kind: surgvalid evaluate --help lists them")


def _columns(table: Path) -> set[str]:
    if table.suffix == ".parquet":
        return {name.lower() for name in pl.read_parquet_schema(table)}
    with table.open(encoding="utf-8-sig", errors="replace") as handle:
        return {name.strip(' "').lower() for name in re.split(r"[,;\t]", handle.readline().rstrip())}


def _files(path: Path) -> Iterator[Path]:
    return iter([path]) if path.is_file() else (one for one in sorted(path.rglob("*")) if one.is_file())
