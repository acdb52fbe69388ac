"""`surgeval profiles`: how often models reach a score, and how often one does better than another."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from surgeval.cli import _tables as t
from surgeval.cli._table_verbs import BY, INTERVALS, LEVEL, METRIC, TABLE, Options, Taken, table_verb

Thresholds = Annotated[
    str, typer.Option("--thresholds", metavar="NUMBER,...", help="Scores to reach. Default: spread over the range.")
]
_MARKS: Options = {
    "thresholds": Taken(Thresholds, "", partial(t.read_numbers, "--thresholds")),
    "estimand": INTERVALS["estimand"],
}


register = table_verb(
    "profiles",
    "surgeval.stats.profiles.profiles",
    {**TABLE, **_MARKS, **BY, **LEVEL, **METRIC},
    "Shares of cases at least as good as each threshold, and the probability that one model beats another.",
)
