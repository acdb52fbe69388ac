"""`surgeval list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import typer

from surgeval.cli._console import emit_json, emit_table
from surgeval.errors import UnknownName


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list", help=f"Print what there is to choose from: {', '.join(KINDS)}.")(list_kind)


def list_kind(
    kind: str = typer.Argument(..., help="What to list."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Print the known judges, metrics, profiles, formats or capabilities."""
    if kind not in KINDS:
        raise UnknownName("kind of thing", kind, KINDS)
    frame = KINDS[kind]()
    if as_json:
        emit_json(frame.to_dicts())
    else:
        emit_table(frame)


def _judges() -> pl.DataFrame:
    from surgeval.judges import judge_kinds

    return pl.DataFrame({"judge": list(judge_kinds())})


def _metrics() -> pl.DataFrame:
    from surgeval.schema.metric_facts import KNOWN_METRICS

    facts = KNOWN_METRICS.values()
    return pl.DataFrame(
        {
            "metric": [f.name for f in facts],
            "low": [f.low for f in facts],
            "high": [f.high for f in facts],
            "better": ["larger" if f.larger_is_better else "smaller" for f in facts],
            "conventions": ["; ".join(f"{k}: {v}" for k, v in f.conventions.items()) for f in facts],
        }
    )


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
    "judges": _judges,
    "metrics": _metrics,
    "profiles": _profiles,
    "formats": _formats,
    "capabilities": _capabilities,
}
"""Each kind of thing with the function that lists it."""
