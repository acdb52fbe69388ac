"""`surgeval aggregate`: how the order of models depends on what is averaged first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _tables as t
from surgeval.cli._table_verbs import METRIC, TABLE, Options, Taken, table_verb

Operator = Annotated[
    str, typer.Option("--operator", help="mean, iqm (interquartile mean), median, min, max, or q05, ...")
]
Phase = Annotated[str, typer.Option("--phase-column", help="Column with the phase.")]
Combine = Annotated[str, typer.Option("--combine", help="scores or ranks.")]
Weights = Annotated[
    Path | None, typer.Option("--weights", help="JSON file with a weight for every phase, by its name.")
]
_WAYS: Options = {
    "operator": Taken(Operator, "mean"),
    "phase": Taken(Phase, "phase"),
    "combine": Taken(Combine, "scores"),
    "weights": Taken(Weights, None, t.read_weights),
}


register = table_verb(
    "aggregate",
    "surgeval.stats.aggregation.aggregate",
    {**TABLE, **_WAYS, **METRIC},
    "Ranks of all models under six ways of aggregating, and how well these agree.",
)
