"""How a row of the table of verbs becomes a verb: its options as Typer reads them, and the call with what was given.

A flag means one thing wherever it stands. `LOCAL` lists the few that do not, with the reason, and a contract test holds
every other to one text and one default. Options that hardly anybody sets, and that belong together, are parts of one
option (`--assume`, `--spec`, ...); what has a good default and needs a programmer stays an argument in Python.

The function is imported after its options and files were looked at, so a wrong call is answered at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from surgvalid.cli import _option as t
from surgvalid.cli._console import check_out, deliver, talk
from surgvalid.cli._option import NEEDED, TEXTS, Option, read_parts, tidied
from surgvalid.cli._options_studies import OPTIONS as STUDIES
from surgvalid.cli._options_work import OPTIONS as WORK
from surgvalid.cli._verbs import Verb
from surgvalid.errors import Misuse

_FIRST = {option.flag: option for option in reversed([*STUDIES.values(), *WORK.values()])}


def _also(flag: str, argument: str, **other: Any) -> Option:
    """An option under the name that another function has for it."""
    other_name: Option = _FIRST[flag]._replace(argument=argument, role="", **other)
    return other_name


OPTIONS: dict[str, Option] = {
    **STUDIES,
    **{name: option._replace(text=option.text or _FIRST[option.flag].text) for name, option in WORK.items()},
    "operator": _also("--statistic", "operator"),
    "phase_column": _also("--condition", "phase"),
    "task_column": _also("--condition", "task_column"),
    "covariance": _also("--method", "covariance"),
    "groups": _also("--by", "split", read=t.one_or_none),
    "subgroup": _also("--by", "subgroup", read=t.one_or_none),
    "rater": _also("--model-column", "rater", kind=str, default=NEEDED),
    "rated": _also("--case", "unit"),
    "rated_video": _also("--unit", "video"),
    "video_column": _also("--unit", "video_column"),
    "threshold": _also("--thresholds", "threshold", read=partial(t.one_number, "--thresholds")),
    "metrics": _also("--metric", "metrics", kind=TEXTS, read=lambda names: names or []),
    "null": _also("--ignore", "null", read=t.read_null),
    "ignored_label": _also("--ignore", "ignore", read=t.read_label),
    "tasks": _also("--task", "tasks", kind=TEXTS, default=None, read=lambda names: names or ()),
    "asked_models": WORK["asked_model"]._replace(kind=list[str]),
    "phase_file": _also("--phase", "phase", kind=Path, default=NEEDED),
    "data_folder": _also("--data", "root", kind=Path, default=NEEDED),
    "own_input": _also("--input", "input_folder"),
    "known_right": _also("--gold", "gold", kind=Path, default=NEEDED),
    "judges": _also("--judge", "judge", kind=list[str], default=NEEDED),
    "program": _also("--command", "program"),
    "out_folder": _also("--out", "out", kind=Path, default=NEEDED),
    "about_track": _also("--track", "track", kind=str, default=NEEDED),
}
"""By the names that rows of the table of verbs use."""

PARTED: dict[str, str] = {
    "--assume": "What is assumed without a pilot",
    "--cost": "What is paid for",
    "--engine": "What submissions run in",
    "--entry": "verify: add an entry to the history; once for each part",
    "--facts": "What is known of all tables, or a file with what is known of each",
    "--format": "How predictions were written, where files do not say",
    "--judge-option": "How judges are asked",
    "--max": "The largest that is accepted",
    "--media": "What is shown of a video",
    "--min": "The least that is accepted",
    "--ood": "What is out of distribution",
    "--prompts": "What models are told",
    "--reading": "How answers are asked for and read",
    "--review-tool": "The review task",
    "--rule": "How models are ranked",
    "--rules": "Of the run, where no --phase states them",
    "--segments": "Ratings are segments of time",
    "--sign": "Sign the registration",
    "--spec": "The mixed model",
    "--tolerance": "Also say within what two raters lie, and write it into --references",
    "--with": "What is added",
    "--without": "What is left out",
}
"""Options with parts: NAME=VALUE, separated by commas or repeated; switches by name alone."""

LOCAL: dict[str, str] = {
    "--challenge": "host worker: for scoring alone, and never by the environment; elsewhere always",
    "--model": "task run and ask: who is asked; others: what a model is called",
    "--predictions": "each kind of evaluation takes other files",
    "--references": "each kind of evaluation takes other files; questions have reference answers",
}
"""Flags that verbs use for different things, and the reason."""

ROLES = {option.role: option.flag for option in OPTIONS.values() if option.role}
"""The columns of score tables that have an option of their own."""


def options_of(verb: Verb) -> dict[str, Option]:
    """The options that a row lists; one with `!` must be given."""
    listed = {}
    for name in verb.options.split():
        option = OPTIONS[name.rstrip("!")]
        listed[name.rstrip("!")] = option._replace(default=NEEDED) if name.endswith("!") else option
    return listed


def parameters(verb: Verb) -> list[inspect.Parameter]:
    """The signature of a verb as Typer reads it; the parts of one option are one parameter."""
    listed, seen = [], set()
    for name, option in options_of(verb).items():
        if option.component and option.flag in seen:
            continue
        seen.add(option.flag)
        called, kind = (_parted(option.flag), _whole(option.flag)) if option.component else (name, _declared(option))
        default = None if option.component else option.default
        listed.append(inspect.Parameter(called, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    return listed


def _whole(flag: str) -> Any:
    declared = typer.Option(flag, help=f"{PARTED[flag]}.", metavar="PART,...", show_default=False)
    return Annotated[list[str] | None, declared]


def _parted(flag: str) -> str:
    return "parts_" + flag.lstrip("-").replace("-", "_")


def _declared(option: Option) -> Any:
    if not option.flag:
        return Annotated[option.kind, typer.Argument(metavar=option.metavar, help=option.text, show_default=False)]
    least, most = option.limits
    shown = option.default not in (None, "", False, NEEDED)
    more: dict[str, Any] = {"min": least, "max": most, "metavar": option.metavar, "show_default": shown}
    return Annotated[option.kind, typer.Option(option.flag, help=option.text, envvar=option.env or None, **more)]


def parts_text(verb: Verb) -> dict[str, str]:
    """What the help of each option with parts adds: the parts that this verb has."""
    texts: dict[str, list[str]] = {}
    for option in options_of(verb).values():
        if option.component:
            default = "" if option.default in (None, "", True, False) else f" [{option.default}]"
            equals = "" if option.kind is bool else "="
            texts.setdefault(_parted(option.flag), []).append(f"{option.component}{equals} {option.text}{default}")
    return {name: "; ".join(parts) for name, parts in texts.items()}


def values(verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given for each option of a verb, the parts by themselves, and paths as verbs take them.

    Raises:
        Misuse: A part that cannot be read.
    """
    listed = options_of(verb)
    by_part: dict[str, Any] = {}
    for flag in {option.flag for option in listed.values() if option.component}:
        parts = {name: option for name, option in listed.items() if option.component and option.flag == flag}
        stated = read_parts(flag, given[_parted(flag)] or (), parts)
        by_part |= {name: stated.get(name, option.default) for name, option in parts.items()}
    return {
        name: tidied(by_part[name] if option.component else given[name], source=option.source)
        for name, option in listed.items()
    }


def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function is given for the options of its verb, by its own names.

    Raises:
        Misuse: A column that has an option of its own is named by `--columns`.
    """
    made: dict[str, Any] = {}
    columns = {OPTIONS[name].role: value for name, value in given.items() if OPTIONS[name].role and value}
    for name, value in given.items():
        option = OPTIONS[name]
        if not option.role and not (option.own_default and value is None):
            made[option.argument or name] = option.read(value)
    if "columns" in given and any(OPTIONS[name].role for name in given):
        for ours, theirs in made["columns"].items():
            if ours in ROLES:
                raise Misuse(f"--columns: write {ROLES[ours]} {theirs} for {ours}={theirs}")
    return {**made, "columns": {**columns, **made["columns"]}} if "columns" in made else made


def paths_in(given: Mapping[str, Any]) -> list[Path]:
    """The files and folders among the values, but the one that is written to."""
    listed = [value if isinstance(value, list) else [value] for name, value in given.items() if name != "out"]
    return [one for values in listed for one in values if isinstance(one, Path)]


def run(verb: Verb, words: Mapping[str, Any]) -> None:
    """Do what a verb does with the options that were given."""
    given = values(verb, words)
    if verb.home.startswith("surgvalid."):
        _call(verb, given)
        return
    module, _, name = verb.home.rpartition(".")
    function = getattr(import_module(f"surgvalid.cli.{module}"), name)
    if "given" in inspect.signature(function).parameters:
        function(verb.name, given)
    else:
        function(**arguments(given))


def _call(verb: Verb, given: dict[str, Any]) -> None:
    """Call a function of `surgvalid` and hand over what it gives back; exit code 1 where that is bad news."""
    name = verb.name
    out, as_json, force = (given.pop(option) for option in ("out", "json", "force"))
    check_out(out, force=force, inputs=paths_in(given), table=name not in SEVERAL)
    asked = arguments(given)
    if name == "study" and _served(asked, {"--out": out, "--json": as_json}):
        return
    if name in PREPARED:
        PREPARED[name](asked)
    module, _, function = verb.home.rpartition(".")
    result = getattr(import_module(module), function)(**asked)
    deliver(result, out=out, as_json=as_json, force=force)
    if out is not None and name in PAGES and (out / PAGES[name]).is_file():
        talk(f"the page: {out / PAGES[name]}")
    if name in GOOD and not GOOD[name](result):
        raise typer.Exit(1)


def _alpha(asked: dict[str, Any]) -> None:
    """Tests are held to what the level of intervals leaves; rounded, since 1 - 0.95 is not 0.05."""
    asked["alpha"] = round(1 - asked["level"], 12)


def _rank_alpha(asked: dict[str, Any]) -> None:
    _alpha(asked)
    del asked["level"]


def _served(asked: dict[str, Any], written: Mapping[str, Any]) -> bool:
    """Whether there was no table to study, so that the page that takes one was served instead."""
    port = asked.pop("port", None)
    if asked["table"]:
        if port is not None:
            raise Misuse("--port: a page is served only where no FILE is given")
        return False
    if any(value for name, value in {**asked, **written}.items() if name != "level"):
        raise Misuse("surgvalid study: FILE is missing; the page that opens without it has options of its own")
    from surgvalid.cli.study_files import serve

    serve(port or 0)
    return True


PAGES = {"study": "study.html", "plan size": "plan.html", "audit study": "audit.html", "monitor": "monitor.html"}
"""The page that a verb writes beside its tables."""
SEVERAL = ("rank",)
"""Verbs that never write a single table."""
PREPARED: dict[str, Callable[[dict[str, Any]], None]] = {
    "monitor": _alpha,
    "rank": _rank_alpha,
}
"""What is done to the arguments where options and arguments do not go together one by one."""
GOOD: dict[str, Callable[[Any], bool]] = {
    "monitor": lambda result: not result.alarms.height,
    "audit study": lambda result: bool(result.passes),
    "audit tables": lambda result: bool(result.passes),
    "audit card": lambda result: bool(result.passes),
}
"""When a result is no finding; otherwise the exit code is 1."""
