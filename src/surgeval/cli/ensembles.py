"""`surgeval ensembles`: what stored responses of several models could reach together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _tables as t
from surgeval.cli._table_verbs import BY, METHOD, METRIC, TABLE, UNITS, Options, Taken, table_verb

Response = Annotated[str, typer.Option("--response", metavar="COL", help="Column with the response.")]
Kinds = Annotated[str, typer.Option("--kinds", help="Of majority, weighted and oracle.")]
Weights = Annotated[
    Path | None,
    typer.Option("--weights", help="JSON file with a weight for every model. Default: its mean in the other videos."),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "--references",
        metavar="FILE",
        help="Reference answers, whose formats say which responses are equal. Default: equal texts.",
        show_default=False,
    ),
]
_TOGETHER: Options = {
    "response": Taken(Response, "response"),
    **BY,
    "kinds": Taken(Kinds, "majority,weighted,oracle", t.names_in),
    "weights": Taken(Weights, None, t.read_weights),
    "references": Taken(References, None, lambda files: files or None),
    "resample": UNITS["resample"],
}


register = table_verb(
    "ensembles",
    "surgeval.stats.ensembles.ensembles",
    {**TABLE, **_TOGETHER, **METHOD, **METRIC},
    "The value of majority, weighted and oracle ensembles, and their gain over the best single model.",
)
