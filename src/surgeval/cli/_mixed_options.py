"""The options of verbs that fit mixed models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli._tables import names_in

Fixed = Annotated[str, typer.Option("--fixed", help="Properties, separated by commas; a:b for an interaction.")]
Random = Annotated[
    str,
    typer.Option(
        "--random",
        help="Random effects, separated by commas, in any order; model (algorithm) and video (patient) by name.",
    ),
]
Unit = Annotated[
    str | None, typer.Option("--unit", help="The finest unit, where it is not the one with the most levels.")
]
Spec = Annotated[str, typer.Option("--spec", help="default adds model:unit for counts; paper is exactly seed 001.")]
Inference = Annotated[
    str, typer.Option("--inference", help="reml-t (t tests that count videos) or wald-z (that of paper).")
]
Slopes = Annotated[
    str, typer.Option("--slopes", help="Effects that may differ between videos: all, none, or properties.")
]
Separation = Annotated[
    str,
    typer.Option(
        "--separation",
        help="What separates the outcome: penalise, drop (that of paper), or firth (without random effects).",
    ),
]
Family = Annotated[
    str, typer.Option("--family", help="auto, binomial, poisson, gaussian or ordered-beta (scores in [0, 1]).")
]
Properties = Annotated[
    list[Path] | None,
    typer.Option("--properties", help="Tables of properties, joined by the columns they share.", show_default=False),
]
Symmetric = Annotated[bool, typer.Option("--symmetric", help="Symbol bins that mirror each other on the log scale.")]
OptionalTables = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[TABLE...]",
        help="CSV or Parquet files with a row per model and case, or folders that 'score' or 'evaluate' wrote.",
        show_default=False,
    ),
]
Before = Annotated[
    list[Path] | None,
    typer.Option("--before", metavar="OLD", help="Table of the old algorithm, with --after.", show_default=False),
]
After = Annotated[
    list[Path] | None,
    typer.Option("--after", metavar="NEW", help="Table of the new algorithm on the same cases.", show_default=False),
]


def read_slopes(text: str) -> bool | list[str]:
    """What `--slopes` says: all, none, or the properties named.

    Example:
        >>> read_slopes("all"), read_slopes("none"), read_slopes("smoke, blood")
        (True, False, ['smoke', 'blood'])
    """
    return {"all": True, "none": False}.get(text.strip(), names_in(text))
