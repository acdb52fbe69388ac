"""`surgeval cooccurrence`: how models do per label, and per label given another."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli._table_verbs import METHOD, METRIC, TABLE, UNITS, Options, Taken, table_verb

Primary = Annotated[str, typer.Option("--primary", metavar="COL", help="Column with one label per case.")]
Secondary = Annotated[
    str, typer.Option("--secondary", metavar="COL", help="Column with any number of labels per case.")
]
_LABELS: Options = {
    "primary": Taken(Primary, "capability"),
    "secondary": Taken(Secondary, "secondary"),
    "separator": Taken(o.Separator, ";"),
}


register = table_verb(
    "cooccurrence",
    "surgeval.stats.cooccurrence.cooccurrence",
    {**TABLE, **_LABELS, **UNITS, **METHOD, **METRIC},
    "The value of every model per primary and secondary label, alone and together, with intervals.",
)
