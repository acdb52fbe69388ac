"""The slices of the questions that a native summary reports: level and name to the questions in each.

| level | slices |
|---|---|
| `overall` | all questions |
| `bucket`, `clinical_bucket` | capability group, in or out of distribution; of all and of the clinical questions |
| `group`, `leaf`, `answer_format`, `clinical` | what a question is, once each |
| `secondary` | further capabilities; a question with two of them lies in both, one without any in `(none)` |
| `context` | how long the stretch is that a question is about |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from surgeval.errors import Misuse
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.taxonomy import Capability
from surgeval.scoring.slices import bucket_name, rows_of
from surgeval.scoring.summary import Slice
from surgeval.stats.labels import labels_of

CONTEXT_S = (30.0, 300.0)
"""Lengths between which a context is medium: the design names short, medium and long, and no lengths."""
NO_SECONDARY = "(none)"


def question_slices(frame: pl.DataFrame, context_s: Sequence[float] = CONTEXT_S) -> dict[Slice, np.ndarray]:
    """Every slice of the questions of `results`, in the order of the summary."""
    slices: dict[Slice, np.ndarray] = {("overall", "all questions"): np.arange(frame.height)}
    buckets, clinical = bucket_rows(frame), frame["clinical"].fill_null(False).to_numpy()
    slices |= {("bucket", name): rows for name, rows in buckets.items()}
    slices |= {("clinical_bucket", n): rows[clinical[rows]] for n, rows in buckets.items() if clinical[rows].any()}
    whose = pl.when("clinical").then(pl.lit("clinical")).otherwise(pl.lit("technical only"))
    keys = frame.select("group", "answer_format", leaf="primary", clinical=whose)
    for level in ("group", "leaf", "answer_format", "clinical"):
        slices |= {(level, name): rows for name, rows in rows_of(keys[level]).items()}
    slices |= {("secondary", name): rows for name, rows in _secondary(frame).items()}
    slices |= {("context", name): rows for name, rows in _context(frame, context_s).items()}
    return slices


def bucket_rows(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """The questions of every bucket."""
    ood = frame["ood"].fill_null(False).to_numpy()
    rows: dict[str, list[np.ndarray]] = {}
    for leaf, members in rows_of(frame["primary"]).items():
        for side in (False, True):
            rows.setdefault(bucket_name(Capability(leaf), side), []).append(members[ood[members] == side])
    joined = {name: np.sort(np.concatenate(rows[name])) for name in sorted(rows)}
    return {name: members for name, members in joined.items() if len(members)}


def context_names(edges: Sequence[float]) -> list[str]:
    """What the stretches between these lengths are called.

    Example:
        >>> context_names([30, 300])
        ['short (below 30 s)', 'medium (30 s to below 300 s)', 'long (300 s and more)']
    """
    ends = [
        f"below {edges[0]:g} s",
        *(f"{low:g} s to below {high:g} s" for low, high in pairwise(edges)),
        f"{edges[-1]:g} s and more",
    ]
    words = ("short", "medium", "long")
    return [f"{word} ({end})" for word, end in zip(words, ends, strict=True)] if len(ends) == len(words) else ends


def contexts_of(windows_s: pl.Series, edges: Sequence[float]) -> list[str]:
    """The name of the context of each question, from the length of its stretch."""
    names = np.array(context_names(edges), dtype=object)
    named: list[str] = names[np.searchsorted(edges, windows_s.to_numpy(), side="right")].tolist()
    return named


def check_context(edges: Sequence[float]) -> None:
    """Refuse lengths that cut nothing.

    Raises:
        Misuse: No length, or lengths that do not rise.
    """
    if not len(edges) or not all(np.isfinite(edges)) or sorted(set(edges)) != list(edges) or edges[0] <= 0:
        raise Misuse(f"context_s must be rising lengths in seconds above 0, such as 30,300; got {list(edges)}")


def slice_findings(slices: Mapping[Slice, np.ndarray], expected: Sequence[str]) -> list[Finding]:
    """What must be known about the questions behind the clinical headline and the slices that overlap."""
    clinical = [name for level, name in slices if level == "clinical_bucket"]
    findings = []
    if not clinical:
        text = "No question is clinical, so there is no clinical headline."
        findings.append(Finding("no-clinical", Severity.NOTE, text))
    elif len(clinical) < len([name for level, name in slices if level == "bucket"]):
        text = (
            f"The clinical headline is a mean over {len(clinical)} of {len(expected)} buckets; the clinical questions "
            f"fill {', '.join(clinical)}."
        )
        findings.append(Finding("clinical-buckets", Severity.NOTE, text))
    labelled = [rows for (level, name), rows in slices.items() if level == "secondary" and name != NO_SECONDARY]
    if labelled and (several := int((np.bincount(np.concatenate(labelled)) > 1).sum())):
        text = f"Slices by secondary capability overlap: {several} questions carry several and count in each."
        findings.append(Finding("secondary-overlap", Severity.NOTE, text))
    return findings


def _secondary(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    by_text = rows_of(frame["secondaries"])
    rows: dict[str, list[np.ndarray]] = {}
    for members, labels in zip(by_text.values(), labels_of(pl.Series(list(by_text))), strict=True):
        for label in set(labels) or {NO_SECONDARY}:
            rows.setdefault(label, []).append(members)
    order = [*sorted(rows.keys() - {NO_SECONDARY}), *([NO_SECONDARY] if NO_SECONDARY in rows else [])]
    return {} if order == [NO_SECONDARY] else {label: np.sort(np.concatenate(rows[label])) for label in order}


def _context(frame: pl.DataFrame, edges: Sequence[float]) -> dict[str, np.ndarray]:
    places = np.searchsorted(edges, frame["window_s"].to_numpy(), side="right")
    rows = {name: np.flatnonzero(places == place) for place, name in enumerate(context_names(edges))}
    return {name: members for name, members in rows.items() if len(members)}
