"""`surgeval rank`: order the models of a score table by a published rule."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import new_folder
from surgeval.cli._deliver import deliver
from surgeval.cli._tables import read_better, read_columns, read_deviations
from surgeval.errors import Misuse


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="rank", help="Rank the models of a score table, with tests, stability and sensitivity.")(rank)


def rank(
    tables: o.TableArgument,
    rule: str | None = typer.Option(
        None,
        help="One of {rules}, or qNN-then-rank for any percentage; by default the one that the table fits.",
    ),
    board: str = typer.Option("both", help="focus: technical, clinical or both."),
    merge: str = typer.Option("pairwise", help="focus: pairwise, wins, leader, closure, losses, net or accuracy."),
    test: str | None = typer.Option(None, help="The paired test; sign-flip for focus, wilcoxon for test-then-rank."),
    alpha: float = typer.Option(0.05, help="The level of every test."),
    correction: str | None = typer.Option(None, help="holm, none or bh; holm for focus, none for test-then-rank."),
    boot: int | None = typer.Option(None, help="Resamples: 10000 for focus, 1000 otherwise; 0 for none."),
    seed: o.Seed = 42,
    baseline: list[str] = typer.Option([], help="A model outside the competition that others must beat; repeatable."),
    outside: list[str] = typer.Option([], help="Another model outside the competition; repeatable."),
    unpaid: list[str] = typer.Option([], help="A competitor that gets no prize; repeatable."),
    prize_pool: float | None = typer.Option(None, help="focus: money of each board, shared 50/30/20."),
    bucket_weight: list[str] = typer.Option([], help="focus: GROUP=WEIGHT of its buckets; repeatable."),
    task_column: str | None = typer.Option(None, help="Generic rules: the column that names tasks, or `metric`."),
    task_weight: list[str] = typer.Option([], help="Generic rules: TASK=WEIGHT in the consensus; repeatable."),
    consensus: str = typer.Option("euclidean", help="Generic rules: euclidean or case-ranks."),
    better: o.Better = None,
    missing: o.Missing = None,
    challenger_compat: bool = typer.Option(
        False, "--challenger-compat", help="Resample with challengeR's faults, to compare."
    ),
    metric: o.Metric = None,
    columns: o.Columns = "",
    preregistration: o.Preregistration = None,
    deviation: o.Deviation = None,
    json: o.Json = False,
    out: o.Out = None,
    force: o.Force = False,
) -> None:
    """Rank models and say how firm the order is."""
    from surgeval.stats.ranking import rank as rank_models

    new_folder(out, force=force)
    result = rank_models(
        tables, rule, columns=read_columns(columns), board=board, merge=merge, test=test, alpha=alpha,
        correction=correction, replicates=boot, seed=seed, baselines=baseline, outside=outside, unpaid=unpaid,
        prize_pool=prize_pool, task_column=task_column, bucket_weights=_weights(bucket_weight, "--bucket-weight"),
        task_weights=_weights(task_weight, "--task-weight"), consensus=consensus, better=read_better(better),
        missing=missing or None, challenger_compat=challenger_compat, metric=metric,
        preregistration=preregistration, deviations=read_deviations(deviation),
    )  # fmt: skip
    deliver(result, out=out, as_json=json, force=force)


def _mapping(pairs: Sequence[str], option: str) -> dict[str, str]:
    split = [tuple(side.strip() for side in pair.split("=", 1)) for pair in pairs]
    if bad := [pair for pair, parts in zip(pairs, split, strict=True) if len(parts) != 2 or not all(parts)]:
        raise Misuse(f"{option} expects name=value, got {', '.join(map(repr, bad))}")
    names = [parts[0] for parts in split]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise Misuse(f"{option}: {', '.join(map(repr, repeated))} is given twice")
    return {parts[0]: parts[1] for parts in split}


def _weights(pairs: Sequence[str], option: str) -> dict[str, float] | None:
    given = _mapping(pairs, option)
    bad = [name for name, value in given.items() if _number(value) is None]
    if bad:
        raise Misuse(f"{option} expects a number, got {', '.join(f'{name}={given[name]}' for name in bad)}")
    return {name: float(value) for name, value in given.items()} or None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
