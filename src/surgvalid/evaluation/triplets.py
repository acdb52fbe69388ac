"""Action triplets: scores and references of the 100 classes of CholecT45 and CholecT50 in every frame.

A table with `video`, `frame` and columns `reference:0` to `reference:99` and `score:0` to `score:99` (one table or two
that are joined), or an NPZ file with arrays `video`, `frame`, `reference` and `scores`. Arrays that would need
unpickling are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid
from surgvalid.evaluation.classification import LabelledRows, checks_of, read_labelled, rows_of_shards
from surgvalid.evaluation.measure import ClassJob, EvaluationMaterial, jobs_on, material_of, open_chosen
from surgvalid.evaluation.shards import Cut, Gathered
from surgvalid.metrics import TRIPLETS
from surgvalid.metrics.triplets import CHOLECT50_TRIPLETS, GlobalTripletMap, TripletCases

CLASSES = tuple(str(place) for place in range(len(CHOLECT50_TRIPLETS.triplets)))
COMPONENTS = ("i", "v", "t", "iv", "it", "ivt")
DEFAULT = (*(f"triplet_map_{component}_videos" for component in COMPONENTS), "triplet_map_ivt")


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    by: Sequence[str] = (),
    null: str = "keep",
    columns: Mapping[str, str] | None = None,
    cut: Cut | None = None,
) -> EvaluationMaterial:
    """What scores of triplets offer for measuring.

    Raises:
        InputInvalid: With every problem.
    """
    rows = read_labelled(predictions, references, classes=CLASSES, columns=columns, cut=cut)
    if rows.single or not rows.has_scores:
        raise InputInvalid("triplets", ["expected columns 'reference:0' to 'reference:99' and 'score:0' to 'score:99'"])
    return replace(_material(rows, metrics, by, null), gathered=rows.gathered(cut, null=null))


def rejoined(parts: Sequence[Gathered], metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    """The same of all shards."""
    return _material(rows_of_shards(parts), metrics, by, parts[0].facts["null"])


def _material(rows: LabelledRows, metrics: Sequence[str], by: Sequence[str], null: str) -> EvaluationMaterial:
    opened = open_chosen(metrics, DEFAULT, TRIPLETS, ("triplet scores",), null=null)
    made = material_of(rows.frame, by, lambda rows_here: jobs_on(opened, _cases(rows, rows_here)))
    notes = (rows.form,) if rows.form else ()
    return replace(made, class_jobs=_per_class(made.jobs[0].cases), notes=notes, looked=checks_of(rows))


def _cases(rows: LabelledRows, rows_here: pl.DataFrame) -> TripletCases:
    cases = rows.cases(rows_here, scores=True)
    return TripletCases(cases.reference.astype(np.int8), cases.scores, rows_here["video"].to_list())


def _per_class(cases: TripletCases) -> tuple[ClassJob, ...]:
    counts = np.asarray(cases.reference).sum(axis=0).tolist()
    return (ClassJob("ap", GlobalTripletMap(), cases, CLASSES, counts),)
