"""Verbs that give a table to one function of `surgeval` and hand over its result: their options, said once.

A verb lists its options in the order of its help; how the text of an option becomes an argument is a property of the
option, so no verb can forget to read one. The function is imported when the verb runs: building the command line stays
quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver

NEEDED = inspect.Parameter.empty
"""In place of a default: the option must be given."""


def as_given(value: Any) -> Any:
    """The value of an option that the function takes as it is."""
    return value


class Taken(NamedTuple):
    """An option of a verb."""

    kind: Any
    """Its annotated type, with the help text."""
    default: Any = NEEDED
    read: Callable[[Any], Any] = as_given
    """What the function is given for it."""
    argument: str = ""
    """What the function calls it, where that is another name."""


Options = Mapping[str, Taken]

TABLE: Options = {"table": Taken(o.TableArgument)}
METRIC: Options = {
    "metric": Taken(o.Metric, None),
    "better": Taken(o.Better, None, t.read_better),
    "missing": Taken(o.Missing, None, lambda rules: rules or None),
    "columns": Taken(o.Columns, "", t.read_columns),
}
BY: Options = {"by": Taken(o.By, "", t.names_in), "separator": Taken(o.Separator, ";")}
LEVEL: Options = {"level": Taken(o.Level, 0.95)}
DRAWS: Options = {**LEVEL, "boot": Taken(o.Boot, 1000, argument="replicates")}
METHOD: Options = {**DRAWS, "method": Taken(o.Method, "auto"), "seed": Taken(o.Seed, 42)}
UNITS: Options = {"statistic": Taken(o.Statistic, "mean"), "resample": Taken(o.Resample, None)}
INTERVALS: Options = {**UNITS, "estimand": Taken(o.Estimand, "rows"), **BY, **METHOD}
REGISTERED: Options = {
    "preregistration": Taken(o.Preregistration, None),
    "deviation": Taken(o.Deviation, None, t.read_deviations, "deviations"),
}
_DELIVERY: Options = {"out": Taken(o.Out, None), "as_json": Taken(o.Json, False), "force": Taken(o.Force, False)}


def table_verb(verb: str, function: str, options: Options, text: str) -> Callable[[typer.Typer], None]:
    """What adds a verb that calls a function with a table to a command line.

    Args:
        verb: Its name there.
        function: Module and name of the function, as `surgeval.stats.interval.interval`; its first argument is `table`.
        options: In the order of the help, `table` first.
        text: What the verb does, in a sentence.
    """

    def run(**given: Any) -> None:
        out, as_json, force = (given.pop(name) for name in _DELIVERY)
        table = given.pop("table")
        check_out(out, force=force, inputs=table)
        module, _, name = function.rpartition(".")
        arguments = {options[key].argument or key: options[key].read(value) for key, value in given.items()}
        result = getattr(import_module(module), name)(table, **arguments)
        deliver(result, out=out, as_json=as_json, force=force)

    asked = {name: (one.kind, one.default) for name, one in {**options, **_DELIVERY}.items()}

    def register(app: typer.Typer) -> None:
        app.command(verb)(with_options(run, asked, verb, text))

    return register


def with_options(
    run: Callable[..., None], options: Mapping[str, tuple[Any, Any]], name: str, text: str | None
) -> Callable[..., None]:
    """The function with a signature that Typer reads: type and default of every option."""
    parameters = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for option, (kind, default) in options.items()
    ]
    run.__name__, run.__doc__ = name, text
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
