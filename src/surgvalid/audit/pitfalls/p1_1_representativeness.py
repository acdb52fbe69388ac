"""P1.1: the data are not those of the patients, places and devices that the system is for."""

from __future__ import annotations

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
)
from surgvalid.audit.measures import ALPHA, coded, estimate, listed, means
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
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
    "simulation, videos as units); fails where they differ by more than chance, where more than 5 % of the cases are "
    "marked as out of the body, and where exclusions have no criteria.",
    "Collect the missing groups, weight or stratify by them, or narrow the claim to the population that was tested.",
)
DRAWS = 20_000
OUTSIDE = "out_of_body"
MOST_OUTSIDE = 0.05


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
        counts = _video_counts(cases, name)
        p_values.append(_multinomial_p(counts, shares, name))
        rows.append((name, shares, counts))
    corrected = adjusted(np.array(p_values), "holm")
    for (name, shares, counts), p_value in zip(rows, corrected, strict=True):
        yield _compared(name, shares, counts, float(p_value))
    if absent := [name for name in target if name not in known]:
        raise NotThere(f"the columns {listed(absent)}, which the target is declared for")


def _video_counts(cases: pl.DataFrame, name: str) -> dict[str, float]:
    """How many videos have each value; a video with several counts by shares."""
    held = cases.select("video", pl.col(name).cast(pl.String)).drop_nulls()
    weighed = held.with_columns(weight=1 / pl.len().over("video"))
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


def _compared(name: str, shares: dict[str, float], counts: dict[str, float], p_value: float) -> AuditEvidence:
    total = sum(counts.values())
    numbers = tuple(
        AuditNumber(
            f"share of videos by {name}",
            counts.get(value, 0.0) / total,
            subject=value,
            setting=f"target {shares.get(value, 0.0):.2f}",
            n=round(counts.get(value, 0.0)),
        )
        for value in (*shares, *(value for value in counts if value not in shares))
    )
    absent = [value for value, share in shares.items() if share > 0 and not counts.get(value)]
    foreign = [value for value in counts if value not in shares]
    text = f"{name} of {total:.0f} videos against the declared target"
    text += "" if foreign else f": p = {p_value:.2g} (Holm)"
    text += f"; no video of {listed(absent)}" if absent else ""
    text += f"; not in the target: {listed(foreign)}" if foreign else ""
    if p_value < ALPHA:
        return failed(f"{text}. The videos are not a sample of the target.", *numbers, weight=Weight.HIGH)
    return passed(f"{text}. The videos can be a sample of the target.", *numbers)


def outside_frames(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The share of cases from outside the body."""
    cases = study.properties
    if OUTSIDE not in cases.columns:
        raise NotThere(f"a column {OUTSIDE!r} that marks frames from outside the body")
    marked = cases[OUTSIDE].cast(pl.String).str.to_lowercase().is_in(["true", "1", "yes"]).to_numpy()
    names, codes = coded(cases["video"])
    share = means(marked.astype(float), codes)
    number = estimate("share of cases from outside the body", share, 0, names)
    text = f"{share.value[0]:.1%} of {len(marked):,} cases are marked as outside the body."
    yield judged(share.value[0] > MOST_OUTSIDE, text, text, number, weight=Weight.LOW)


LOOKS = (
    Look("shares of the target population", against_target),
    declared("exclusions", "criteria of what was left out", weight=Weight.MEDIUM),
    Look("frames from outside the body", outside_frames, needed=False),
)
