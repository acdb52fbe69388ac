"""`surgeval plan`: how many videos and questions a study needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._console import talk
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("plan")(plan)


def plan(
    table: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PILOT...]", help="Score table of a pilot, as for interval.", show_default=False),
    ] = None,
    width: Annotated[float | None, typer.Option("--width", help="Goal: an interval no wider than this.")] = None,
    difference: Annotated[
        float | None, typer.Option("--difference", help="Goal: a true difference of two models is found.")
    ] = None,
    order: Annotated[bool, typer.Option("--order", help="Goal: the FOCUS rule orders the models firmly.")] = False,
    models: Annotated[
        str, typer.Option("--models", metavar="A,B", help="Models of the pilot.", show_default=False)
    ] = "",
    subgroup: Annotated[
        str | None, typer.Option("--subgroup", metavar="COLUMN=VALUE", help="The goal is about these cases alone.")
    ] = None,
    share: Annotated[
        float | None, typer.Option("--share-of-videos", help="Without a pilot: videos that hold the subgroup.")
    ] = None,
    sd: Annotated[
        float | None, typer.Option("--sd", help="Without a pilot: SD of single scores, or of paired differences.")
    ] = None,
    icc: Annotated[
        float | None, typer.Option("--icc", help="Without a pilot: share of that variance between videos.")
    ] = None,
    value: Annotated[
        float | None, typer.Option("--value", help="Expected value of a score between 0 and 1, for --width.")
    ] = None,
    entries: Annotated[int | None, typer.Option("--entries", help="--order without a pilot: how many models.")] = None,
    buckets: Annotated[int, typer.Option("--buckets", help="--order without a pilot: how many buckets.")] = 10,
    step: Annotated[
        float | None, typer.Option("--step", help="--order without a pilot: difference between neighbours.")
    ] = None,
    questions: Annotated[
        str,
        typer.Option("--questions", metavar="N,...", help="Per video; the first is planned for.", show_default=False),
    ] = "",
    videos: Annotated[
        str, typer.Option("--videos", metavar="N,...", help="Numbers of videos to look at.", show_default=False)
    ] = "",
    power: Annotated[float, typer.Option("--power", help="Share of studies that must reach the goal.")] = 0.8,
    tests: Annotated[int, typer.Option("--tests", help="Comparisons that share the level of the test.")] = 1,
    certainty: Annotated[
        float, typer.Option("--certainty", help="Coverage of the range that the pilot leaves open.")
    ] = 0.8,
    cost_video: Annotated[float | None, typer.Option("--cost-video", help="Cost of one video.")] = None,
    cost_question: Annotated[float | None, typer.Option("--cost-question", help="Cost of one question.")] = None,
    simulations: Annotated[int, typer.Option("--simulations", help="Studies simulated at the answer.")] = 1000,
    seed: o.Seed = 42,
    level: o.Level = 0.95,
    estimand: o.Estimand = "rows",
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """How many videos, and questions per video, a study needs: for an interval, a difference, an order, a subgroup."""
    from surgeval.report.plan import PAGE
    from surgeval.report.plan import plan as work

    pilot = list(table or [])
    check_out(out, force=force, inputs=pilot)
    result = work(
        pilot or None, width=width, difference=difference, order=order, models=t.names_in(models), subgroup=subgroup,
        share=share, sd=sd, icc=icc, value=value, entries=entries, buckets=buckets, step=step,
        questions=t.whole_numbers("--questions", questions), videos=t.whole_numbers("--videos", videos), power=power,
        level=level, tests=tests, certainty=certainty, cost_video=cost_video, cost_question=cost_question,
        simulations=simulations, seed=seed, estimand=estimand, metric=metric, better=t.read_better(better),
        missing=missing or None, columns=t.read_columns(columns),
    )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
    if out is not None and (out / PAGE).is_file():
        talk(f"the page: {out / PAGE}")
