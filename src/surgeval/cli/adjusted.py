"""`surgeval adjusted`: what each property does to the odds of being right, the others held fixed."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._table_verbs import DRAWS, METHOD, METRIC, TABLE, Options, Taken, table_verb

Effects = Annotated[
    str, typer.Option("--effects", metavar="COL,...", help="Properties of cases; columns of labels are split.")
]
Cluster = Annotated[
    str, typer.Option("--cluster", metavar="COL[,COL]", help="One or two columns that say which rows hang together.")
]
Covariance = Annotated[str, typer.Option("--covariance", help="auto, CR0, CR1, CR2 or bootstrap.")]
_EFFECTS: Options = {
    "effects": Taken(Effects, read=t.names_in),
    "cluster": Taken(Cluster, "video", t.names_in),
    "covariance": Taken(Covariance, "auto"),
    "separator": Taken(o.Separator, ";"),
}


register = table_verb(
    "adjusted",
    "surgeval.stats.adjusted.adjusted_effects",
    {**TABLE, **_EFFECTS, **DRAWS, "seed": METHOD["seed"], **METRIC},
    "Odds ratios of several properties at once, per model, with standard errors that respect videos.",
)
