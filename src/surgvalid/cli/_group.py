"""Groups of verbs that load a verb when it is called, know where old verbs went, and name catalogues in help."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from surgvalid.catalogue import Catalogue
from surgvalid.cli._console import talk
from surgvalid.cli._verbs import USUAL, USUAL_OF_ENDING, VERBS, Verb, below, group_help, overview
from surgvalid.errors import Misuse, PluginBroken, UnknownName, nearest

_HOMES = {verb.name: verb for verb in VERBS}


class VerbGroup(TyperGroup):
    """The verbs below some words, from the table."""

    path: tuple[str, ...] = ()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as Typer calls it
        """Names in the order of the table."""
        return list(below(self.path))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as Typer calls it
        """The verb or group of that name; its module is imported now."""
        if cmd_name not in below(self.path):
            return None
        if cmd_name not in self.commands:
            words = (*self.path, cmd_name)
            verb = _HOMES.get(" ".join(words))
            self.commands[cmd_name] = _group(words) if verb is None else _leaf(verb)
        return self.commands[cmd_name]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual verb of the group before words that do not begin with a verb of it."""
        if args[:1] in (["--help"], ["-h"]):
            typer.echo(self.get_help(ctx))
            raise typer.Exit()
        if args == ["--version"] and not self.path:
            from surgvalid import __version__

            typer.echo(f"surgvalid {__version__}")
            raise typer.Exit()
        usual = USUAL.get(" ".join(self.path))
        if usual and args:
            args = self._with_usual(usual, args)
        if self.path == ("evaluate",) and args and args[0] not in below(self.path) and Path(args[0]).exists():
            from surgvalid.cli.evaluate import meant

            args = meant(args, _takes)
        return super().parse_args(ctx, args)

    def _with_usual(self, usual: str, args: list[str]) -> list[str]:
        names, word = below(self.path), args[0]
        usual = USUAL_OF_ENDING.get((usual, Path(word).suffix.lower()), usual)
        if word in names:
            if Path(word).exists():
                talk(f"note: {word!r} is interpreted as the verb; write ./{word} for the path")
            return args
        near = nearest(word, names)
        if word.startswith("-") or near is None or Path(word).exists():
            return [usual, *args]
        self._refuse_moved(args)
        return [usual, *args] if Path(word).suffix else args

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is meant.

        Raises:
            Misuse: There is none of that name; says where it went, or which is near.
        """
        if not ctx.resilient_parsing:
            self._check_words(args)
        command = self.get_command(ctx, args[0])
        return (args[0] if command else None), command, args[1:]

    def _check_words(self, args: list[str]) -> None:
        if args[0] not in below(self.path):
            self._refuse_moved(args)
            raise UnknownName("verb", args[0], below(self.path))
        if verb := _HOMES.get(" ".join((*self.path, args[0]))):
            _check_options(verb, args[1:])

    def _refuse_moved(self, args: list[str]) -> None:
        if went := moved([*self.path, *args]):
            raise Misuse(f"`{went[0]}` is now `{went[1]}`")

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as Typer calls it
        """The lines of the table."""
        formatter.write(group_help(self.path) if self.path else overview())

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Names of verbs, and the options of the usual one."""
        usual = USUAL.get(" ".join(self.path))
        more = self.get_command(ctx, usual).shell_complete(ctx, incomplete) if usual and incomplete[:1] == "-" else []
        return [*super().shell_complete(ctx, incomplete), *more]

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; who stops it reads one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            talk("stopped")
            raise typer.Exit(130) from None


def _group(path: tuple[str, ...]) -> VerbGroup:
    group = VerbGroup(name=path[-1], help=below(path[:-1])[path[-1]], no_args_is_help=True, add_help_option=False)
    group.path = path
    return group


def _leaf(verb: Verb) -> Any:
    """A verb with the options that its row lists; what it runs is imported when it runs."""
    from surgvalid.cli._listed import parameters, parts_text, run

    def called(**given: Any) -> None:
        run(verb, given)

    listed = parameters(verb)
    called.__annotations__ = {one.name: one.annotation for one in listed} | {"return": None}
    called.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    info = CommandInfo(
        name=verb.name.split()[-1],
        callback=called,
        cls=CatalogueHelp,
        help=f"{verb.line}.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    command: Any = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode="rich")
    command.path, command.home, command.parts = verb.name, verb.home, parts_text(verb)
    return command


def build_app() -> typer.Typer:
    """The command-line application with every verb."""
    app = typer.Typer(
        name="surgvalid",
        cls=VerbGroup,
        no_args_is_help=True,
        # Any option of a group makes Typer load all that it checks types with: ours are read by `parse_args`.
        add_help_option=False,
        add_completion="_SURGVALID_COMPLETE" in os.environ or any("-completion" in word for word in sys.argv[1:2]),
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def _root() -> None:
    """All verbs; without it Typer would make no group."""


HOMES = {
    "charts": "surgvalid.report.charts.CHARTS",
    "datasets": "surgvalid.datasets.DATA_SETS",
    "engines": "surgvalid.sandbox.ENGINES",
    "judges": "surgvalid.judges.JUDGES",
    "metrics": "surgvalid.metrics.METRICS",
    "models": "surgvalid.models.MODELS",
    "pitfalls": "surgvalid.audit.pitfalls.PITFALLS",
    "rules": "surgvalid.stats.ranking.RULES",
    "sections": "surgvalid.report.templates.SECTIONS",
    "tasks": "surgvalid.tasks.TASKS",
}
"""Where each catalogue lives; none is imported before it is asked for."""


def catalogue(group: str) -> Catalogue[Any]:
    """The catalogue of that name."""
    module, _, name = HOMES[group].rpartition(".")
    things: Catalogue[Any] = getattr(import_module(module), name)
    return things


def filled(text: str) -> str:
    """The text with the names of what there is in place of `{judges}`, `{rules}`, ...

    Example:
        >>> filled("one of {engines}")
        'one of bubblewrap, docker, podman, process'
    """
    return re.sub(rf"\{{({'|'.join(HOMES)})\}}", lambda match: ", ".join(_written(catalogue(match[1]))), text)


USAGE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
"""What Typer raises where words do not fit; which module has it depends on the version."""


def _called(parameter: Any) -> str:
    """How a parameter is named in messages: its flag, or what stands in its place."""
    flag = str(parameter.opts[0])
    return flag if flag.startswith("-") else parameter.metavar or flag.upper()


def _is_lacking(parameter: Any, written: set[str]) -> bool:
    return str(parameter.opts[0]).startswith("-") and not written & set(parameter.opts)


def _check_options(verb: Verb, words: Sequence[str]) -> None:
    """Refuse options that a verb does not have; before Typer builds it, which takes longer than all before.

    Raises:
        Misuse: There is one; says what it is called now, or which is near.
    """
    from surgvalid.cli._listed import options_of

    listed = options_of(verb).values()
    takes = {flag: str if one.component else one.kind for one in listed for flag in one.flag.split("/") if flag}
    left = iter(words)
    for word in left:
        name, equals, _ = word.partition("=")
        if word == "--":
            return
        if name.startswith("--") and name not in (*takes, "--help"):
            raise Misuse(_unknown(name, f"surgvalid {verb.name}", list(takes)))
        if name in takes and not equals and takes[name] not in (bool, bool | None):
            next(left, None)


def _takes(kind: str, words: list[str]) -> bool:
    """Whether `evaluate KIND` has every option among some words."""
    try:
        _check_options(_HOMES[f"evaluate {kind}"], words)
    except Misuse:
        return False
    return True


def _unknown(option: str, verb: str, listed: Sequence[str]) -> str:
    """The answer to an option that a verb does not have: what it is called now, or which is near."""
    from surgvalid.cli._listed import OPTIONS

    parts = {
        f"--{one.component.replace('_', '-')}": one for one in OPTIONS.values() if one.component and one.flag in listed
    }
    if (now_part := parts.get(option)) is not None:
        value = "" if now_part.kind is bool else "=..."
        return f"{verb}: {option} is now {now_part.flag} {now_part.component}{value}"
    if (now := RENAMED.get(option)) is not None and any(word in listed for word in now.replace(",", " ").split()):
        return f"{verb}: {option} is now {now}"
    near = nearest(option, listed)
    return f"{verb} has no option {option}; {f'did you mean {near}?' if near else '--help lists those it has'}"


class CatalogueHelp(TyperCommand):
    """A verb whose help says what its function tells, which parts options have, and what the catalogues hold."""

    path: str = ""
    home: str = ""
    parts: Mapping[str, str] = MappingProxyType({})

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the words of a call.

        Raises:
            Misuse: They do not fit the options; in a sentence of ours, with every option that is missing.
        """
        given = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except USAGE as error:
            raise Misuse(self._refusal(error, given)) from None

    def _refusal(self, error: Any, given: list[str]) -> str:
        """What is wrong with a call, from what Typer found: classes are told by name, each version has its own."""
        kind, verb = type(error).__name__, f"surgvalid {self.path}"
        if kind == "MissingParameter":
            written = {name.partition("=")[0] for name in given}
            lacking = [one for one in self.params if one is error.param or (one.required and _is_lacking(one, written))]
            return f"{verb}: {', '.join(map(_called, lacking))} {'is' if len(lacking) == 1 else 'are'} missing"
        if kind == "BadParameter" and error.param is not None:
            whole = "a whole number is needed" if "integer" in error.message else None
            number = "a number is needed" if "number" in error.message or "float" in error.message else None
            return f"{_called(error.param)}: {whole or number or error.message.rstrip('.')}"
        return f"{verb}: {error.message[:1].lower()}{error.message[1:].rstrip('.')}"

    def full_help(self) -> str:
        """The line of the table and what the function here says beyond its first line."""
        module, _, name = self.home.rpartition(".")
        if module.startswith("surgvalid."):
            return self.help or ""
        text = getattr(import_module(f"surgvalid.cli.{module}"), name).__doc__ or ""
        return f"{self.help}\n\n{inspect.cleandoc(text).partition(chr(10) * 2)[2]}".strip()

    def text_of(self, parameter: Any) -> str:
        """What the help says about an option."""
        text, parts = getattr(parameter, "help", None) or "", self.parts.get(parameter.name, "")
        return filled(f"{text.rstrip('.')}: {parts}." if parts else text)

    def format_help(self, *args: Any, **options: Any) -> None:
        """Show the help as always, with full texts."""
        shown: list[Any] = [parameter for parameter in self.params if getattr(parameter, "help", None)]
        texts = [(parameter, parameter.help) for parameter in shown]
        line, self.help = self.help, self.full_help()
        for parameter, _ in texts:
            parameter.help = self.text_of(parameter)
        try:
            super().format_help(*args, **options)
        finally:
            self.help = line
            for parameter, text in texts:
                parameter.help = text


def _written(things: Catalogue[Any]) -> list[str]:
    """How each is written on the command line: its name, with what it needs after it where it says so."""
    return [_usage(things, name) for name in things]


def _usage(things: Catalogue[Any], name: str) -> str:
    try:
        return str(getattr(things[name], "USAGE", name)) if things.group in ("judges", "models") else name
    except PluginBroken:
        return name


MOVED: dict[str, str] = {
    **{name: f"analyse {name}" for name in (
        "interval", "compare", "strata", "failures", "dependence", "aggregate", "agreement", "cooccurrence",
        "ensembles", "profiles",
    )},
    "adjusted": "analyse failures --form marginal",
    "failure-table": "analyse failures --form symbols",
    "influence": "analyse dependence",
    "width-ratio": "analyse dependence",
    "failure-change": "analyse failures --before OLD --after NEW",
    "combine": "evaluate combine",
    "task board": "task leaderboard",
    "task show": "task list",
    "ask": "task ask",
    "preregister": "plan register",
    "preregister new": "plan register --new",
    "preregister write": "plan register",
    "preregister check": "plan verify",
    "lint": "score lint",
    "floors": "score baselines",
    "diff": "score diff",
    **{f"judge{name}": f"score judge{name}" for name in ("", " agreement", " calibrate", " check")},
    "rehearse": "submission rehearse",
    **{f"submission {name}": f"host phase {name}" for name in ("hand-in", "run", "score", "status", "mark")},
    "questions": "data questions",
    "simulate": "data simulate",
    "check": "data check",
    "annotate": "data annotate run",
    "annotate serve": "data annotate serve",
    **{f"annotate {stage}": f"data annotate run {stage}" for stage in (
        "boxes", "cross-check", "experts", "instances", "moments", "reviewed", "screen", "verify",
    )},
    "host admin revoke": "host admin token --revoke",
    "host cost": "host admin cost",
    "host verify-log": "host admin verify-log",
    "supplement": "report supplement",
    "list": "tools list",
    "doctor": "tools doctor",
    "rerun": "tools rerun",
    **{f"store{name}": f"tools store{name}" for name in ("", " show", " merge", " verify")},
}  # fmt: skip
"""Where verbs of 0.1.0 are now; manifests keep their old names. Goes with 0.3."""


RENAMED: dict[str, str] = {
    "--alpha": "--level (0.95 for tests at 0.05)",
    "--answers": "--responses MODEL=FILE",
    "--boot": "--resamples",
    "--bootstrap": "--resamples",
    "--box-format": "--format boxes=...",
    "--budget-s": "--rules budget_s=...",
    "--cases": "--facts cases=...",
    "--certain": "--min certainty=...",
    "--class-count": "--facts classes=...",
    "--class-numbers": "--format classes=...",
    "--cost-question": "--cost question=...",
    "--cost-video": "--cost video=...",
    "--covariance": "--method",
    "--entries": "--assume models=...",
    "--films": "--videos",
    "--finest": "--spec finest=...",
    "--first": "--models FIRST,SECOND",
    "--frames": "--media count=...",
    "--groups": "--by",
    "--image": "--container",
    "--improvement": "--recommend IMPROVEMENT",
    "--into": "--references",
    "--jobs": "--limit",
    "--judge-timeout-s": "--judge-option timeout_s=...",
    "--judge-tokens": "--judge-option tokens=...",
    "--leaderboard": "--rule RULE,leaderboard=...",
    "--least-votes": "--min votes=...",
    "--marginal": "--form marginal",
    "--max-judge-failures": "--max judge_failures=...",
    "--max-latency-s": "--max latency_s=...",
    "--max-tokens": "--max tokens=...",
    "--min-accuracy": "--min accuracy=...",
    "--min-cases": "--min cases=...",
    "--min-overlap": "--min overlap=...",
    "--min-score": "--min score=...",
    "--min-votes": "--min votes=...",
    "--minimum-cases": "--min cases=...",
    "--missing-keys": "--reading missing=...",
    "--most-common": "--max answer=...",
    "--no-published": "--without published",
    "--no-trial": "--without trial",
    "--no-video": "--without video",
    "--null": "--ignore null",
    "--object-masks": "--with masks",
    "--ood-center": "--ood center=...",
    "--ood-procedure": "--ood procedure=...",
    "--ood-template": "--ood template=...",
    "--operator": "--statistic",
    "--outcomes": "--outcome",
    "--pass-mark": "--min f1=...",
    "--people": "--gold",
    "--phase-column": "--condition",
    "--price": "--judge-option price=...",
    "--program": "--command",
    "--prompt-family": "--prompts family=...",
    "--questions": "--per-video (plan), --input (host phase run)",
    "--rater": "--model-column (agreement), --who (annotate serve)",
    "--review-fps": "--review-tool fps=...",
    "--root": "--data",
    "--scores": "--score",
    "--second": "--models FIRST,SECOND",
    "--share-of-videos": "--assume share=...",
    "--sign-gpg": "--sign gpg=KEY",
    "--sign-ssh": "--sign ssh=KEY",
    "--strict": "--policy strict",
    "--subgroup": "--by COLUMN=VALUE",
    "--successes": "--outcome SUCCESSES/TRIALS",
    "--task-column": "--condition",
    "--threads": "--workers",
    "--threshold": "--thresholds",
    "--trials": "--outcome SUCCESSES/TRIALS",
    "--type": "--procedure-type",
    "--video-column": "--unit",
    "--video-name": "--patient-pattern",
    "--video-pattern": "--patient-pattern",
    "--with-frames": "--with frames",
    "--with-hidden": "--with hidden",
}
"""What options of earlier versions are written as now, beside those that are parts under their old name."""


def moved(words: list[str]) -> tuple[str, str] | None:
    """The old verb that the words begin with, and where it is now; None where they are none.

    Example:
        >>> moved(["lint", "--requests", "r.json"])
        ('lint', 'score lint')
    """
    known = (" ".join(words[:count]) for count in (3, 2, 1))
    return next(((old, MOVED[old]) for old in known if old in MOVED), None)
