"""Tables of `surgeval submission`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole

CHECKS = Table(
    "checks", "One thing that was looked at before a submission is run.",
    about=text("image, weights, description, engine or gpu"), verdict=text("taken or refused"),
    detail=text("what was seen, or why it was refused; never the submission's own words"),
)  # fmt: skip
SHARDS = Table(
    "shards", "One shard of a submission.",
    shard=text("I/N"), stage=text, questions=whole, ok=whole("answers that count"), timeout=whole, invalid=whole,
    crashed=whole, not_asked=whole("questions without a video or frame"), infra_error=whole("failures on our side"),
    restarts=whole("containers started because one was lost"), exchanged=whole("after a late answer"),
    p50_s=number("median latency of the answers that count"), p95_s=number,
    p95_most_s=number("above the 95th percentile at 95 % confidence, for independent answers; empty below 59"),
    first_s=number("slowest first answer of a container"),
    verdict=text("of the canary: ok, slower or unknown"), began=text("UTC"), last=text("UTC, of its last event"),
    codes=text("what an organiser should know"),
)  # fmt: skip
HISTORY = Table(
    "history", "One stage that a submission reached.",
    stage=text, at=text("UTC"), shard=text("where the stage is that of one"), code=text,
    reason=text("of a decision of the organisers"),
)  # fmt: skip
SUBMISSION = (CHECKS, SHARDS, HISTORY)
