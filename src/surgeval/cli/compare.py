"""`surgeval compare`: the difference of two models on the same cases."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli._table_verbs import INTERVALS, METRIC, REGISTERED, TABLE, Options, Taken, table_verb

ModelA = Annotated[str, typer.Argument(metavar="MODEL_A", help="The model whose value comes first.")]
ModelB = Annotated[str, typer.Argument(metavar="MODEL_B", help="The model that is subtracted.")]
_MODELS: Options = {"model_a": Taken(ModelA), "model_b": Taken(ModelB)}


register = table_verb(
    "compare",
    "surgeval.stats.comparison.compare",
    {**TABLE, **_MODELS, **INTERVALS, **METRIC, **REGISTERED},
    "The difference of two models with its interval, and the risk that a claim of superiority is false.",
)
