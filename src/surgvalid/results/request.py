"""What was asked of a verb: its options as given, the files that were named, and the files that were read.

A function that makes a result is marked with `@requested("verb")`. Its arguments are then recorded in one place, so
no verb can forget an option, Python and the command line record the same, and a run is repeated by calling the
function again with `given` and `options`.
"""

from __future__ import annotations

import inspect
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from surgvalid.catalogue import packages_named
from surgvalid.errors import Misuse
from surgvalid.results.registered_data import seen_cases
from surgvalid.results.registration import RegisteredRun, held_to
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.question_files import split_source
from surgvalid.schema.shown_text import without_secrets
from surgvalid.schema.tables.read_rows import MARKS
from surgvalid.schema.tables.statistics_table import STATISTICS_FILE
from surgvalid.schema.tables.table_facts import facts_files
from surgvalid.schema.tables.table_files import split_sheet
from surgvalid.schema.tables.table_reading import noted_readings
from surgvalid.schema.tables.units import BELOW, Interpreted, called, unit_word

if TYPE_CHECKING:
    from surgvalid.results.result import Result

SCORES = "scores.parquet"
REGISTERED = "preregistration"
"""The parameter of functions whose settings may be registered; `deviations` goes with it."""
_Arguments = ParamSpec("_Arguments")
_Made = TypeVar("_Made", bound="Result")
_NO_OPTION = ("progress", "engine", "executor", "where")
"""Arguments that change nothing in the result."""


@dataclass(frozen=True)
class VerbRequest:
    """What was asked of a verb."""

    verb: str = ""
    """In words, as on the command line: `rank`, `evaluate detection`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Every option as it was given, by its name in Python, as plain data."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The files and folders named, by parameter, as they were written; `{"in memory": KIND}` for other data."""
    inputs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """The files that were read, by parameter; those of a folder one by one."""
    settled: Mapping[str, Any] = field(default_factory=dict)
    """What options came to where that is not what was given: the time limit of a track, the names of judges."""
    interpreted: tuple[Interpreted, ...] = ()
    """What the columns of tables of scores were interpreted as."""

    @property
    def seeds(self) -> dict[str, int]:
        """The seed, where there is one."""
        seed = {**self.options, **self.settled}.get("seed")
        return {"seed": seed} if isinstance(seed, int) else {}

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Parameter and path of every file read."""
        return [(name, Path(path)) for name, paths in self.inputs.items() for path in paths]


def requested(
    verb: str, *, files: Sequence[str] = ("table",)
) -> Callable[[Callable[_Arguments, _Made]], Callable[_Arguments, _Made]]:
    """A mark for functions that make results: the result carries what the function was called with.

    Args:
        verb: In words; names of options in braces are filled in.
        files: The parameters that may name files.
    """

    def mark(function: Callable[_Arguments, _Made]) -> Callable[_Arguments, _Made]:
        signature = inspect.signature(function)

        @wraps(function)
        def recording(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Made:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            flat = dict(_flat(signature, bound))
            registered = _registered(verb, signature, files, flat)
            request = _request(verb, flat, files)  # before the work, which nothing wrong here may cost
            for name, value in bound.arguments.items():
                bound.arguments[name] = _at_home(value) if name in files or isinstance(value, Path) else value
            with packages_named(), noted_readings() as noted, seen_cases() as seen:
                result = function(*bound.args, **bound.kwargs)
            request, findings = _completed(request, result.request), result.findings
            if flat.get("missing") or verb == "failures":  # no comparison, or one that leaves nothing out
                noted = [line for line in noted if line.code not in ("missing", "shared")]
            request = replace(request, interpreted=tuple(noted))
            # What tables say of themselves and no verb leaves out; once, where a verb inside has said it too.
            marking = [line for line in noted if line.code in MARKS]
            marks = [Finding(f"run-{line.code}", Severity.WARNING, line.sentence) for line in marking]
            findings = tuple(dict.fromkeys([*marks, *(_about(one, noted) for one in findings)]))
            if registered is not None:
                kept = registered.kept(seen, [line.sentence for line in noted if line.code == BELOW], unit_word(noted))
                request = replace(request, settled={**request.settled, REGISTERED: dict(kept)})
                findings = (*kept.findings, *findings)
            prose = called(result.prose, unit_word(noted))
            return replace(result, request=request, prose=prose, findings=findings)

        return recording

    return mark


def _about(finding: Finding, lines: Sequence[Interpreted]) -> Finding:
    """A finding that calls what is independent as the tables do, but where it may be about videos that are videos."""
    message = called(finding.message, unit_word(lines))
    return finding if finding.code in ("no-videos", "pitfall") else replace(finding, message=message)


def _registered(
    verb: str, signature: inspect.Signature, files: Sequence[str], flat: Mapping[str, Any]
) -> RegisteredRun | None:
    """A run under a registration, its settings held against it; None without one.

    Raises:
        InputInvalid: Settings differ from the registered ones without a reason.
    """
    path, reasons = flat.get(REGISTERED), flat.get("deviations")
    if path is None:
        if reasons:
            raise Misuse("deviations are from a registration; name it with --preregistration")
        return None
    defaults = settings_of({name: one.default for name, one in signature.parameters.items()}, files)
    return held_to(path, verb.format(**flat), settings_of(flat, files), reasons, software(), defaults)


def settings_of(arguments: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """The options among the arguments of a call, as plain data; what names files is none."""
    return {
        name: plain_value(value)
        for name, value in arguments.items()
        if name not in (*files, *_NO_OPTION, REGISTERED, "deviations", "kind") and not isinstance(value, Path)
    }


def software() -> dict[str, str]:
    """The versions that results depend on."""
    names = ("surgvalid", "numpy", "scipy", "polars")
    return {"python": platform.python_version(), **{name: version_of(name) for name in names}}


def version_of(package: str) -> str:
    """The installed version of a package, or `unknown`."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def _flat(signature: inspect.Signature, bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
    """Every argument by name, those of `**options` among the others."""
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            yield from value.items()
        elif name not in _NO_OPTION:
            yield name, value


def _request(verb: str, arguments: dict[str, Any], files: Sequence[str]) -> VerbRequest:
    """What can be recorded of a call before it is made."""
    files = (*files, REGISTERED)
    named = [name for name, value in arguments.items() if name in files or isinstance(value, Path)]
    sources = {name: arguments[name] for name in named if arguments[name] is not None}
    paths = {name: _paths(source) for name, source in sources.items() if name in files}
    inputs = {name: [file for path in several for file in files_of(path)] for name, several in paths.items()}
    return VerbRequest(
        verb=verb.format(**arguments),
        options={name: plain_value(value) for name, value in arguments.items() if name not in named},
        given={name: plain_value(source) for name, source in sources.items()},
        inputs={name: read for name, read in inputs.items() if read},
    )


def _completed(request: VerbRequest, made: VerbRequest) -> VerbRequest:
    """The request of a call with what the function itself knows better: files read, what options came to."""
    inputs = request.inputs
    if made.inputs:
        inputs = {**{name: read for name, read in inputs.items() if name == REGISTERED}, **made.inputs}
    return replace(request, inputs=inputs, settled=made.settled)


def _paths(source: Any) -> list[Path]:
    """The paths among what was given for files: a path, `NAME=PATH`, several of these, or other data."""
    members = [source] if isinstance(source, str | Path) else source if isinstance(source, list | tuple) else []
    return [split_source(_at_home(member))[1] for member in members if isinstance(member, str | Path)]


def _at_home(source: Any) -> Any:
    """A path, `NAME=PATH`, or several of these, with `~` as the user's own folder; other data as they are."""
    if isinstance(source, list | tuple):
        return type(source)(map(_at_home, source)) if type(source) in (list, tuple) else source
    if isinstance(source, Path):
        return source.expanduser()
    if not isinstance(source, str):
        return source
    name, equals, path = source.rpartition("=")
    return f"{name}{equals}{os.path.expanduser(path)}" if path.startswith("~") else source


def files_of(path: Path) -> list[Path]:
    """The file with the facts beside it, or those that are read where a folder is named: its scores, or all in it."""
    path = path / SCORES if (path / SCORES).is_file() else split_sheet(path)[0]
    beside = [*facts_files(path), *([path.with_name(STATISTICS_FILE)] if path.name == SCORES else [])]
    files = sorted(path.rglob("*")) if path.is_dir() else [path, *beside]
    return [file for file in files if file.is_file()]


def plain_value(value: Any) -> Any:
    """A value as JSON can hold it, addresses without secrets; what it cannot hold is named by its kind.

    Example:
        >>> plain_value({"a": (1, Path("b"))}), plain_value(len)
        ({'a': [1, 'b']}, {'in memory': 'len'})
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | Path):
        return without_secrets(str(value))
    if isinstance(value, list | tuple) and all(isinstance(member, str | Path | bool | int | float) for member in value):
        return [plain_value(member) for member in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain_value(member) for key, member in value.items()}
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    return {"in memory": name if isinstance(name, str) else type(value).__name__}
