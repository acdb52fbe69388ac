"""P1.3: something that has nothing to do with the task gives the answer away."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, NamedNotThere, NotThere, Weight, judged
from surgvalid.audit.measures import ALPHA, FEWEST_TESTED, coded, differences, end, listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.stats.comparing.corrections import adjusted

ABOUT = Pitfall(
    "P1.3",
    "Spurious correlations",
    Category.DATA,
    "Properties of the recording that have nothing to do with the task (the scope, the hospital, an instrument that is "
    "only used when it bleeds) go along with the right answer, so a model can be right without seeing what it should.",
    ("bias",),
    (Seldom(89.1, "did not consider spurious correlations", 46),),
    "A predictor that knows a recording's property only, fitted on all other videos, is compared with one that knows "
    "nothing (log score per video, exact test over videos, Holm over properties). Fails where it explains 5 % of the "
    "labels' entropy or more, and more than chance. Properties are those named as confounders, and columns called "
    "center, device and the like.",
    "Balance the property over the labels, test on data where it is turned round, or report values within each value "
    "of it.",
)
OF_RECORDINGS = frozenset(
    "center centre hospital site institution country device scope camera recorder manufacturer vendor surgeon operator "
    "team room annotator rater resolution fps year".split()
)
"""Columns that describe a recording and not what happens in it."""
MOST_VALUES = 50
EXPLAINED = 0.05
"""Of the entropy of the labels, from which on a property gives them away."""


def metadata_only(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What a predictor reaches that knows one property and nothing else."""
    cases = study.table("cases", "reference").drop_nulls("reference")
    named = study.answer("confounders") if study.has_answer("confounders") else []
    wanted = [name for name in cases.columns if name in named or name.lower() in OF_RECORDINGS]
    columns = [name for name in wanted if 2 <= cases[name].n_unique() <= MOST_VALUES]
    if not columns:
        raise NotThere(
            "a property of recordings that varies over the cases (center, device, ..., or named confounders)"
        )
    names, videos = coded(study.units(cases["video"]))
    if len(names) < FEWEST_TESTED:
        raise NotThere(f"{FEWEST_TESTED} videos: with {len(names)} nothing can be told from chance")
    labels, reference = coded(cases["reference"])
    if len(labels) < 2:
        raise NotThere("a second class in the references")
    gains = np.column_stack([_gain(cases[name], reference, videos, len(names), len(labels)) for name in columns])
    tested = differences(gains, videos)
    entropy = _entropy(reference)
    p_values = adjusted(tested.p_value, "holm")
    for place, name in enumerate(columns):
        share = tested.value[place] / entropy
        low, high = (end(value / entropy) for value in (tested.low[place], tested.high[place]))
        number = AuditNumber(
            "share of the labels' entropy that the property explains", share, low, high, subject=name, n=len(names)
        )
        much = f"{share:.0%}" if share > 0 else "nothing"
        text = f"{name} alone explains {much} of the entropy of {len(labels)} labels on videos left out"
        chance = "" if share < EXPLAINED else ", no more than chance"
        yield judged(
            share >= EXPLAINED and p_values[place] < ALPHA,
            f"{text} (p = {p_values[place]:.2g}, Holm).",
            f"{text}{chance}.",
            number,
            weight=Weight.HIGH,
            picture="intervals",
        )
    if absent := [name for name in named if name not in cases.columns]:
        raise NamedNotThere(f"the named confounders {listed(absent)} in the table of cases")


def _gain(column: pl.Series, reference: np.ndarray, videos: np.ndarray, number: int, labels: int) -> np.ndarray:
    """Per case, how much better the log score is with the property than without, both fitted on the other videos."""
    values, codes = coded(column)
    counts = np.zeros((number, len(values), labels))
    np.add.at(counts, (videos, codes, reference), 1.0)
    others = counts.sum(axis=0) - counts
    prior = others.sum(axis=1) + 1.0
    prior = prior / prior.sum(axis=1, keepdims=True)
    known = others[videos, codes] + labels * prior[videos]
    known = known / known.sum(axis=1, keepdims=True)
    rows = np.arange(len(reference))
    return np.asarray(np.log(known[rows, reference]) - np.log(prior[videos, reference]))


def _entropy(reference: np.ndarray) -> float:
    shares = np.bincount(reference) / len(reference)
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum())


LOOKS = (Look("what the recording alone gives away", metadata_only),)
