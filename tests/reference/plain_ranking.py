"""Plain twins of the ranking rules: loops and dictionaries, written from the specification alone."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import stats


def sign_flip(differences: list[int]) -> Fraction:
    """The exact two-sided p-value by counting sums."""
    ways = {0: 1}
    for step in differences:
        moved: dict[int, int] = {}
        for total, count in ways.items():
            for sign in (abs(step), -abs(step)):
                moved[total + sign] = moved.get(total + sign, 0) + count
        ways = moved
    return Fraction(sum(n for t, n in ways.items() if abs(t) >= abs(sum(differences))), 2 ** len(differences))


def holm(p: dict[tuple[str, str], Fraction]) -> dict[tuple[str, str], Fraction]:
    """Holm's adjusted p-values."""
    out, highest = {}, Fraction(0)
    for step, key in enumerate(sorted(p, key=lambda k: p[k])):
        highest = max(highest, min(Fraction(1), p[key] * (len(p) - step)))
        out[key] = highest
    return out


def focus_technical(frame: pd.DataFrame, alpha: float = 0.05) -> tuple[pd.DataFrame, dict]:
    """Copeland final ranks (ties not broken) and adjusted p-values of the technical leaderboard,
    merge rule `pairwise`.
    """
    models = sorted(frame["model"].unique())
    ahead = dict.fromkeys(itertools.permutations(models, 2), 0)
    adjusted_p = {}
    for (group, ood), rows in frame.groupby(["capability", "ood"]):
        wide = rows.pivot(index=["video", "case"], columns="model", values="value")
        sums = wide.groupby("video").sum()
        raw = {(a, b): sign_flip([int(x) for x in sums[a] - sums[b]]) for a, b in itertools.combinations(models, 2)}
        for (a, b), p in holm(raw).items():
            adjusted_p[group, bool(ood), a, b] = float(p)
            if p <= alpha and wide[a].sum() != wide[b].sum():
                ahead[(a, b) if wide[a].sum() > wide[b].sum() else (b, a)] += 1
    rows_out = []
    for a in models:
        wins = sum(ahead[a, b] > ahead[b, a] for b in models if b != a)
        losses = sum(ahead[a, b] < ahead[b, a] for b in models if b != a)
        macro = np.mean([rows[rows["model"] == a]["value"].mean() for _, rows in frame.groupby(["capability", "ood"])])
        rows_out.append({"model": a, "copeland": wins - losses, "macro_accuracy": macro})
    result = pd.DataFrame(rows_out)
    result["place"] = result["copeland"].rank(ascending=False, method="min").astype(int)
    return result, adjusted_p


def challenger_ranks(frame: pd.DataFrame, method: str, *, smaller: bool = False, holm_it: bool = False) -> pd.DataFrame:
    """One row per task and model with the rank under challengeR's rule `method`."""
    parts = []
    for task, rows in frame.groupby("task"):
        wide = rows.pivot(index="case", columns="model", values="value")
        if method in ("mean", "median"):
            value, ascending = wide.agg(method), smaller
        elif method.startswith("q"):
            value, ascending = wide.quantile(int(method[1:]) / 100), smaller
        elif method.startswith("rank-then-"):
            ranks = wide.rank(axis=1, ascending=smaller, method="min")
            value, ascending = ranks.agg(method.removeprefix("rank-then-")), True
        else:
            value, ascending = _wins(wide, smaller, holm_it), False
        rank = value.rank(ascending=ascending, method="min").astype(int)
        parts.append(pd.DataFrame({"task": task, "model": value.index, "value": value.values, "rank": rank.values}))
    return pd.concat(parts, ignore_index=True)


def _wins(wide: pd.DataFrame, smaller: bool, holm_it: bool) -> pd.Series:
    p = {}
    for a, b in itertools.permutations(wide.columns, 2):
        difference = (wide[a] - wide[b]).dropna()
        if (difference == 0).all():
            continue
        side = "less" if smaller else "greater"
        p[a, b] = stats.wilcoxon(difference, correction=True, method="asymptotic", alternative=side).pvalue
    if holm_it:
        p = holm(p)
    wins = pd.Series(0.0, index=wide.columns)
    for (a, _), value in p.items():
        if value <= 0.05:
            wins[a] += 1
    return wins / (len(wide.columns) - 1)


def euclidean_consensus(ranks: pd.DataFrame) -> pd.Series:
    """Mean over tasks of ranks with average ties."""
    wide = ranks.pivot(index="model", columns="task", values="rank")
    return wide.rank(method="average").mean(axis=1)
