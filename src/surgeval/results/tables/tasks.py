"""Tables of `surgeval task`."""

from __future__ import annotations

from surgeval.results.tables.evaluation import METRICS, PER_CLASS, PER_STRATUM, PER_VIDEO, SANITY
from surgeval.results.tables.table import Table, number, text, whole, yes_no

POLICIES = Table(
    "policies", "One metric under one rule for answers that could not be read.",
    policy=text("what becomes of a case without an answer: wrong, excluded, or the study's default"),
    labels=text("which classes count in an average over classes; empty where there are none"), metric=text,
    value=number, low=number("of the interval over videos"), high=number, cases=whole("that the value rests on"),
    videos=whole,
)  # fmt: skip
READINGS = Table(
    "readings", "How the answers of one stratum could be read.",
    stratum=text("column; `all` for all cases"), stratum_value=text, cases=whole, ok=whole, repaired=whole,
    failed=whole("an answer that could not be read"), refused=whole, no_answer=whole("nothing came back"),
    share_lost=number("of the cases that have no answer"),
)  # fmt: skip
ANSWERS = Table(
    "answers", "One case and what became of it.",
    case=text, video=text, outcome=text("status of the request"), reading=text("how its answer was come by"),
    answer=text("as it was read, as JSON"), problem=text("why there is none"), notes=text("what was passed over"),
    seconds=number("that the model took"), tokens_in=whole, tokens_out=whole, reused=yes_no("from the store"),
)  # fmt: skip
COSTS = Table(
    "costs", "What a run took.",
    model=text, requests=whole("that were sent"), reused=whole("answers from the store"), failed=whole,
    refused=whole, not_asked=whole("since the money was spent"), tokens_in=whole, tokens_out=whole,
    cost=number("empty where the price is not known"), median_s=number("per request"),
    slowest_s=number("95 of 100 requests are quicker"),
)  # fmt: skip
TASKS = Table(
    "tasks", "One task instance.",
    task=text, title=text, study=text, level=text, demands=text("recognition or reasoning"), form=text("of an answer"),
    data=text("data set, or layout of a folder of one's own"), access=text("public, by form, or private"),
    classes=whole, samples=whole("cases that the study printed"), metric=text("the headline"),
    published=whole("rows that the study printed"), runnable=yes_no, summary=text,
)  # fmt: skip
BOARD = Table(
    "board", "One model on one task: this run, or a published row.",
    task=text, model=text, source=text("run, or where the row was printed"), metric=text, value=number,
    low=number("of the interval over videos"), high=number,
    floor=number("best value of a predictor that does not look"), cases=whole, videos=whole,
    share_lost=number("of the cases that have no answer and count as wrong"), shots=whole,
    prompts=text("family, version and hash"), labels=text("which classes count"), doubt=text("what speaks against it"),
)  # fmt: skip
CONTRASTS = Table(
    "contrasts", "One difference that a statement rests on.",
    statement=text, task=text("all for the mean over tasks"), first=text, second=text, metric=text,
    first_value=number, second_value=number, difference=number("first minus second"),
    low=number("of the difference"), high=number, tasks=whole("that it rests on"), note=text,
)  # fmt: skip
MATRIX = Table("matrix", "One model; a column per task with its headline value.", "more", "unread", model=text)
TASK = (
    METRICS, SANITY, PER_VIDEO, PER_CLASS, PER_STRATUM, POLICIES, READINGS, ANSWERS, COSTS, BOARD, MATRIX, CONTRASTS,
)  # fmt: skip
