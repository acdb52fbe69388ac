"""`surgeval list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit_json, emit_table
from surgeval.errors import UnknownName


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list", help=f"Print what there is to choose from: {', '.join(KINDS)}.")(list_kind)


def list_kind(
    kind: str = typer.Argument(..., help="What to list."),
    as_json: o.Json = False,
) -> None:
    """Print what there is of one kind."""
    if kind not in KINDS:
        raise UnknownName("kind of thing", kind, KINDS)
    frame = KINDS[kind]()
    if as_json:
        emit_json(frame.to_dicts())
    else:
        emit_table(frame)


def _data_sets() -> pl.DataFrame:
    from surgeval.datasets import data_set_names, open_data_set

    found = [open_data_set(name) for name in data_set_names()]
    return pl.DataFrame(
        {
            "data set": [one.name for one in found],
            "title": [one.title for one in found],
            "tasks": [", ".join(one.tasks) for one in found],
            "evaluate": [
                ", ".join(dict.fromkeys(t.compared.kind for t in one.tasks.values() if t.compared)) for one in found
            ],
            "licence": [one.licence or f"not confirmed ({one.licence_note})" for one in found],
        }
    )


def _judges() -> pl.DataFrame:
    from surgeval.judges import judge_kinds

    return pl.DataFrame({"judge": list(judge_kinds())})


def _metrics() -> pl.DataFrame:
    from surgeval.metrics import METRICS

    options = ["; ".join(f"{name}={value}" for name, value in f.options.items()) for f in METRICS.values()]
    families = [f.home.rpartition(".")[0] for f in METRICS.values()]
    return pl.DataFrame({"metric": list(METRICS), "family": families, "options": options})


def _scores() -> pl.DataFrame:
    from surgeval.schema.metric_facts import KNOWN_METRICS

    facts = KNOWN_METRICS.values()
    return pl.DataFrame(
        {
            "score": [f.name for f in facts],
            "low": [f.low for f in facts],
            "high": [f.high for f in facts],
            "better": ["larger" if f.larger_is_better else "smaller" for f in facts],
            "conventions": ["; ".join(f"{k}: {v}" for k, v in f.conventions.items()) for f in facts],
        }
    )


def _rules() -> pl.DataFrame:
    from surgeval.stats.ranking import RULES

    return pl.DataFrame({"rule": list(RULES), "what it does": [rule.summary for rule in RULES.values()]})


def _profiles() -> pl.DataFrame:
    from surgeval.scoring.profiles import PROFILES

    return pl.DataFrame({"profile": list(PROFILES), "what it is": [p.summary for p in PROFILES.values()]})


def _formats() -> pl.DataFrame:
    from surgeval.schema.formats import FORMATS, parameters_of

    return pl.DataFrame(
        {
            "format": list(FORMATS),
            "judged": [kind.judged for kind in FORMATS.values()],
            "parameters": [", ".join(parameters_of(name)) for name in FORMATS],
        }
    )


def _capabilities() -> pl.DataFrame:
    from surgeval.schema.taxonomy import Capability

    return pl.DataFrame({"code": [c.code for c in Capability], "capability": [c.value for c in Capability]})


KINDS: dict[str, Callable[[], pl.DataFrame]] = {
    "datasets": _data_sets,
    "judges": _judges,
    "metrics": _metrics,
    "rules": _rules,
    "scores": _scores,
    "profiles": _profiles,
    "formats": _formats,
    "capabilities": _capabilities,
}
"""Each kind of thing with the function that lists it."""
