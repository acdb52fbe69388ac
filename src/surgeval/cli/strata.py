"""`surgeval strata`: how each model does under each condition."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._table_verbs import INTERVALS, METHOD, METRIC, TABLE, Options, Taken, table_verb
from surgeval.errors import Misuse

By = Annotated[str, typer.Option("--by", metavar="COL,...", help="Columns that describe cases; they may overlap.")]
Baseline = Annotated[
    str, typer.Option("--baseline", help="Compare with the whole table, or with the rest: the cases outside.")
]
Rule = Annotated[
    str, typer.Option("--rule", help="joint, or subset: draw only among the videos that have the property.")
]
Bins = Annotated[str, typer.Option("--bins", metavar="COL=EDGE:EDGE,...", help="Edges for columns of numbers.")]
LowArtifact = Annotated[
    bool, typer.Option("--low-artifact", help="Add the cases with at most one of the true/false columns set.")
]


def read_bins(text: str) -> dict[str, list[float]]:
    """The bins in a text such as `window_s=30:300`.

    Example:
        >>> read_bins("window_s=30:300")
        {'window_s': [30.0, 300.0]}

    Raises:
        Misuse: A part that cannot be read.
    """
    bins: dict[str, list[float]] = {}
    for pair in t.names_in(text):
        name, equals, edges = pair.partition("=")
        try:
            bins[name.strip()] = [float(edge) for edge in edges.split(":")]
        except ValueError:
            equals = ""
        if not equals:
            raise Misuse(f"--bins: {pair!r} is not COL=EDGE:EDGE; write for example window_s=30:300")
    return bins


_OPTIONS: Options = {
    "by": Taken(By, read=t.names_in),
    "statistic": INTERVALS["statistic"],
    "resample": INTERVALS["resample"],
    "estimand": INTERVALS["estimand"],
    "baseline": Taken(Baseline, "whole"),
    "rule": Taken(Rule, "joint"),
    "bins": Taken(Bins, "", read_bins),
    "low_artifact": Taken(LowArtifact, False),
    "separator": Taken(o.Separator, ";"),
}

register = table_verb(
    "strata",
    "surgeval.stats.strata.strata",
    {**TABLE, **_OPTIONS, **METHOD, **METRIC},
    "The value of every model in every stratum and its difference to the whole, with intervals.",
)
