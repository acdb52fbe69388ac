"""Shares with exact intervals, and a share corrected for the errors of whoever counted it.

Definitions. The interval of a share is that of C. J. Clopper and E. S. Pearson (Biometrika 1934): it covers at least
at its level, for every share and size. A rater with sensitivity Se and specificity Sp that accepts a share p of the
answers has seen about (p + Sp - 1) / (Se + Sp - 1) right ones (W. J. Rogan, B. Gladen, Am J Epidemiol 1978); its
interval, with the uncertainty of p, Se and Sp, is that of Z. Lang and J. Reiczigel (Prev Vet Med 2014), read as
`prevSeSp` of the R package asht reads it. All take answers as independent: ten answers of one video say less than ten
of ten, and then the intervals are too narrow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import betaincinv, ndtri

from surgvalid.errors import Misuse
from surgvalid.stats.intervals.interval_settings import check_level


class Share(NamedTuple):
    """A share with its interval; NaN without a case."""

    value: float
    low: float
    high: float


def share(count: int, cases: int, *, level: float = 0.95) -> Share:
    """The share of `count` among `cases` with its exact interval.

    Example:
        >>> [round(end, 3) for end in share(0, 41)]
        [0.0, 0.0, 0.086]
    """
    check_level(level)
    if not 0 <= count <= cases:
        raise Misuse(f"a share needs a count between 0 and its cases, got {count} of {cases}")
    if not cases:
        return Share(math.nan, math.nan, math.nan)
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, cases - count + 1, tail))
    high = 1.0 if count == cases else float(betaincinv(count + 1, cases - count, 1 - tail))
    return Share(count / cases, low, high)


class Hits(NamedTuple):
    """How often a rater was right about answers of one kind."""

    right: int
    cases: int


def corrected_share(accepted: int, cases: int, *, right: Hits, wrong: Hits, level: float = 0.95) -> Share | None:
    """The share of right answers behind a rater's acceptances; None where the rater does no better than chance.

    Args:
        accepted: Answers that the rater accepted.
        cases: Answers that it rated.
        right: Of the answers known to be right, how many it accepted.
        wrong: Of the answers known to be wrong, how many it refused.
        level: Of the interval.

    Example:
        >>> round(corrected_share(60, 100, right=Hits(90, 100), wrong=Hits(80, 100)).value, 4)
        0.5714
    """
    if not (cases and right.cases and wrong.cases):
        return None
    plain = right.right / right.cases + wrong.right / wrong.cases - 1
    if plain <= 0:
        return None
    value = (accepted / cases + wrong.right / wrong.cases - 1) / plain
    z = float(ndtri((1 + level) / 2))
    n, p = cases + z**2, (accepted + z**2 / 2) / (cases + z**2)
    n_right, se = right.cases + 2, (right.right + 1) / (right.cases + 2)
    n_wrong, sp = wrong.cases + 2, (wrong.right + 1) / (wrong.cases + 2)
    if se + sp <= 1:
        return None
    middle = (p + sp - 1) / (se + sp - 1)
    of_right, of_wrong = se * (1 - se) / n_right, sp * (1 - sp) / n_wrong
    shift = 2 * z**2 * (middle * of_right - (1 - middle) * of_wrong)
    spread = math.sqrt(p * (1 - p) / n + middle**2 * of_right + (1 - middle) ** 2 * of_wrong)
    half = z * spread / (se + sp - 1)
    return Share(*(min(1.0, max(0.0, end)) for end in (value, middle + shift - half, middle + shift + half)))
