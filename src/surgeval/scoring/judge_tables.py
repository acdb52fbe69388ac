"""What the judges of a scoring did, what that cost, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from surgeval.errors import Misuse
from surgeval.judges import Panel
from surgeval.results.tables import scoring as tables
from surgeval.schema.findings import Finding, Severity
from surgeval.scoring.result import ScoreResult
from surgeval.stats.agreement.report import agreement

_MILLION = 1_000_000


def check_prices(prices: Sequence[float], judges: int) -> None:
    """Refuse prices that are no amounts, or not one per judge."""
    if prices and len(prices) != judges:
        raise Misuse(f"{len(prices)} prices for {judges} judges; name one price per million tokens for each, in order")
    if any(not math.isfinite(price) or price < 0 for price in prices):
        raise Misuse(f"a price is an amount per million tokens, got {', '.join(map(str, prices))}")


def check_share(most_failures: float) -> None:
    """Refuse a share of failures that is none."""
    if not 0 <= most_failures <= 1:
        raise Misuse(f"max_judge_failures is a share of cases between 0 and 1, got {most_failures}")


def with_judges(
    result: ScoreResult, panel: Panel, *, prices: Sequence[float], most_failures: float, replicates: int, seed: int
) -> ScoreResult:
    """The result with what its judges did and, in the native profile, how far they agree."""
    added, findings = {}, list(panel.warnings())
    if panel.judges:
        judges = panel.table()
        if prices:
            judges = judges.with_columns(money=pl.col("tokens") * pl.Series(prices, dtype=pl.Float64) / _MILLION)
        added["judges"] = tables.JUDGES.frame(judges)
        findings += _too_many_failures(judges, most_failures)
    shared = _opinions(result) if result.profile == "native" and replicates else None
    if shared is not None:
        table = agreement(
            shared, rater="judge", label="verdict", unit="qID", video="video", replicates=replicates, seed=seed
        ).table
        added["judge_agreement"] = tables.JUDGE_AGREEMENT.frame(table)
    return replace(result, findings=(*result.findings, *findings), tables={**result.tables, **added})


def _too_many_failures(judges: pl.DataFrame, most: float) -> list[Finding]:
    """The judges that failed on more than a share of their cases, as an error."""
    failing = judges.filter(pl.col("failed") > most * pl.col("cases"))["judge"].to_list()
    text = f"above --max-judge-failures {most:g}: {', '.join(failing)}; run again to ask what failed"
    return [Finding("judge-failures", Severity.ERROR, text)] if failing else []


def _opinions(result: ScoreResult) -> pl.DataFrame | None:
    """Who said what about which answer of which video; None unless two judges have an opinion on one answer.

    Official profiles stop asking once the majority stands, so agreement there would be that of chosen answers.
    """
    rows = [
        {"qID": row["qID"], "judge": row["judge"], "verdict": str(row["verdict"])}
        for row in result.verdicts
        if row["verdict"] is not None
    ]
    if not rows:
        return None
    frame = pl.DataFrame(rows)
    if not frame.group_by("qID").len()["len"].max() > 1:  # type: ignore[operator]
        return None
    return frame.join(result.results.select("qID", "video"), on="qID", how="left", maintain_order="left")
