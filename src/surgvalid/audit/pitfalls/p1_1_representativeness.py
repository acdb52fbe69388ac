"""P1.1: the data are not those of the patients, places and devices that the system is for."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NotThere,
    Weight,
    declared,
    failed,
    judged,
    passed,
    quoted,
)
from surgvalid.audit.measures import ALPHA, coded, estimate, listed, means
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.splits import is_test
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.draws import stream

ABOUT = Pitfall(
    "P1.1",
    "Data that do not represent their use",
    Category.DATA,
    "The test data differ from the patients, centres, devices and conditions that the system is meant for: one "
    "country, one scope, hard cases left out, frames from outside the body left in.",
    ("bias", "undetected"),
    (
        Seldom(54.4, "did not test on data from elsewhere", 46),
        Seldom(2.2, "left out data without clear criteria", 46),
    ),
    "Shares of videos by centre, procedure, device or country are tested against the declared target (exact by "
    "simulation, patients as units where they are named, else videos); fails where they differ by more than chance, "
    "where more than 5 % of the cases are marked as out of the body, where exclusions have no criteria, where five "
    "scores of a model and more than 2 % are missing without a rule for them, and where test cases or videos have no "
    "score though nothing is said to be left out.",
    "Collect the missing groups, weight or stratify by them, or narrow the claim to the population that was tested.",
)
DRAWS = 20_000
OUTSIDE = "out_of_body"
MOST_OUTSIDE = 0.05
MOST_LOST, FEWEST_LOST = 0.02, 5
"""Scores of a model that may be missing without a word: this share of them, and fewer than so many."""
_NOTHING = re.compile(r"\W*(none|no|nothing|nobody|keine|nichts)\b(?!.*\b(but|except|only)\b)[^.;,]*\W*", re.IGNORECASE)


def against_target(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Shares of videos against the declared ones."""
    target = study.answer("target")
    if target is False:
        yield failed("By the study's own word nobody said which population the system is for.")
        return
    cases = study.properties
    known = {
        name: shares
        for name, shares in target.items()
        if name in cases.columns and cases[name].null_count() < cases.height
    }
    if not known:
        raise NotThere(f"the columns {listed(list(target))} for every case, which the target is declared for")
    p_values, rows = [], []
    for name, shares in known.items():
        counts = _unit_counts(cases.with_columns(unit=study.units(cases["video"])), name)
        p_values.append(_multinomial_p(counts, shares, name))
        rows.append((name, shares, counts))
    corrected = adjusted(np.array(p_values), "holm")
    for (name, shares, counts), p_value in zip(rows, corrected, strict=True):
        word = "patients" if study.patients else "videos"
        yield _compared(name, shares, counts, float(p_value), word)
    if absent := [name for name in target if name not in known]:
        raise NotThere(f"the columns {listed(absent)}, which the target is declared for")


def _unit_counts(cases: pl.DataFrame, name: str) -> dict[str, float]:
    """How many patients, or videos, have each value; one with several counts by shares."""
    held = cases.select("unit", pl.col(name).cast(pl.String)).drop_nulls()
    weighed = held.with_columns(weight=1 / pl.len().over("unit"))
    return dict(weighed.group_by(name).agg(pl.col("weight").sum()).rows())


def _multinomial_p(counts: dict[str, float], shares: dict[str, float], name: str) -> float:
    """How often samples of the target are at least as far from it (chi-square); values beyond the target count."""
    names = [*shares, *(value for value in counts if value not in shares)]
    observed = np.array([counts.get(value, 0.0) for value in names])
    wanted = np.array([shares.get(value, 0.0) for value in names])
    wanted = wanted / wanted.sum()
    if (observed[wanted == 0] > 0).any():
        return 0.0
    held = wanted > 0
    observed, wanted = observed[held], wanted[held]
    total = round(observed.sum())

    def far(sample: np.ndarray) -> np.ndarray:
        return np.asarray(((sample - total * wanted) ** 2 / (total * wanted)).sum(axis=-1))

    drawn = far(stream(0, "audit", "target", name).multinomial(total, wanted, DRAWS))
    return float((1 + (drawn >= far(observed) - 1e-9).sum()) / (DRAWS + 1))


def _compared(
    name: str, shares: dict[str, float], counts: dict[str, float], p_value: float, word: str
) -> AuditEvidence:
    total = sum(counts.values())
    numbers = tuple(
        AuditNumber(
            f"share of {word} by {name}",
            counts.get(value, 0.0) / total,
            subject=value,
            setting=f"target {shares.get(value, 0.0):.2f}",
            n=round(counts.get(value, 0.0)),
        )
        for value in (*shares, *(value for value in counts if value not in shares))
    )
    absent = [value for value, share in shares.items() if share > 0 and not counts.get(value)]
    foreign = [value for value in counts if value not in shares]
    text = f"{name} of {total:.0f} {word} against the declared target"
    text += "" if foreign else f": p = {p_value:.2g} (Holm)"
    text += f"; no video of {listed(absent)}" if absent else ""
    text += f"; not in the target: {listed(foreign)}" if foreign else ""
    if p_value < ALPHA:
        return failed(f"{text}. The {word} are not a sample of the target.", *numbers, weight=Weight.HIGH)
    return passed(f"{text}. The {word} can be a sample of the target.", *numbers)


def outside_frames(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The share of cases from outside the body."""
    cases = study.properties
    if OUTSIDE not in cases.columns:
        raise NotThere(f"a column {OUTSIDE!r} that marks frames from outside the body")
    marked = cases[OUTSIDE].cast(pl.String).str.to_lowercase().is_in(["true", "1", "yes"]).to_numpy()
    names, codes = coded(study.units(cases["video"]))
    share = means(marked.astype(float), codes)
    number = estimate("share of cases from outside the body", share, 0, names)
    text = f"{share.value[0]:.1%} of {len(marked):,} cases are marked as outside the body."
    yield judged(share.value[0] > MOST_OUTSIDE, text, text, number, weight=Weight.LOW)


def left_out(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Scores of single models that count as nothing."""
    matrix = study.matrix
    cases = len(matrix.values) + matrix.absent.cases_dropped
    lost = {name: sum(some.values()) for name, some in matrix.absent.left_out.counts.items()}
    much = [f"{name} {few}" for name, few in lost.items() if few > MOST_LOST * cases and few >= FEWEST_LOST]
    if much and study.missing is None:
        text = f"Scores that are missing count as nothing, and nobody says why: {listed(much)} of {cases:,} cases."
        yield failed(text, weight=Weight.HIGH)
    else:
        yield passed(f"No model lacks {FEWEST_LOST} of {cases:,} scores and more than {MOST_LOST:.0%} without a rule.")


def not_scored(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Test cases and test videos that no model has a score of."""
    names = study.scored.frame.drop_nulls("value").select("case", "video").unique()
    scored = {*names["video"], *names["case"], *(piece for case in names["case"] for piece in case.split("/"))}
    named, gone = 0, []
    for name, column in (("cases", "case"), ("splits", "video")):
        rows = study.tables.get(name, pl.DataFrame({column: []}))
        test = rows.filter(pl.col("split").map_elements(is_test, pl.Boolean)) if "split" in rows.columns else rows
        known = set(test[column])
        if not known & scored:
            continue
        named += len(known)
        if bare := sorted(known - scored):
            gone.append(f"{len(bare)} of {len(known)} test {column}s have no score ({listed(bare)})")
    if not named:
        raise NotThere("names of test cases or videos as the scores have them")
    if not gone:
        yield passed(f"All {named} test cases and videos that are named have scores.")
        return
    answer = study.answer("exclusions")
    denied = answer is False or _NOTHING.fullmatch(str(answer))
    yield judged(
        denied, f"{'; '.join(gone)}, though the study names no exclusion.", f"{'; '.join(gone)}. {quoted(answer)}"
    )


LOOKS = (
    Look("shares of the target population", against_target),
    declared("exclusions", "criteria of what was left out", weight=Weight.MEDIUM),
    Look("scores that count as nothing", left_out, needed=False, scored=True),
    Look("test data without scores", not_scored, needed=False),
    Look("frames from outside the body", outside_frames, needed=False),
)
