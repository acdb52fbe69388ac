"""The phase file: every limit that organisers publish and participants rehearse under, checked in one place.

It is TOML. `phase_of` takes the same content as a mapping, so a challenge file can hold several phases as tables. What
is left out has the default of the class that the section stands for; `as_dict` gives everything that then holds.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.asking.plan import AskedTask, AskingRules
from surgvalid.errors import InputInvalid, Misuse, nearest
from surgvalid.sandbox import ENGINES, ImageLimits, Limits
from surgvalid.schema.documents import read_toml
from surgvalid.schema.legacy import former, same_schema
from surgvalid.schema.questions.questions import TRACK_LIMITS_S, Request
from surgvalid.submissions.uploads import UploadLimits

SCHEMA = "surgvalid/phase/1"
PROTOCOLS = ("server", "gc-invoke")
"""Those in which the host measures each answer."""
_MEMORY_PLACES = ("tmp_mb", "shm_mb", "output_mb")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRule:
    """The GPU that a container gets."""

    count: int = 0
    """One, or none."""
    kind: str = ""
    """What the driver must call it, as a part of its name; empty: any."""
    memory_mb: int = 0
    """The least that it must have, as the driver reports it; 0: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightLimits:
    """Weights that come apart from the image; none unless a size is given."""

    size_mb: int = 0
    files: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """When a machine was too busy for its latencies to count."""

    canary_percent: float = 20.0
    """How much slower a fixed computation may be after a shard than before it."""


class _Section(NamedTuple):
    kind: type
    names: Mapping[str, str]
    """The names in the file, and the fields they mean."""
    may_be_zero: frozenset[str] = frozenset()


def _same(names: str, **renamed: str) -> dict[str, str]:
    return {name: name for name in names.split()} | renamed


SECTIONS = {
    "image": _Section(ImageLimits, _same("archive_mb unpacked_mb files layers ratio refuse_setuid")),
    "weights": _Section(WeightLimits, _same("size_mb files"), frozenset({"size_mb"})),
    "run": _Section(
        Limits,
        _same("memory_mb cpus cpuset pids shm_mb output_mb log_mb open_files lifetime_s", scratch_mb="tmp_mb"),
    ),
    "gpu": _Section(GpuRule, _same("count memory_mb", **{"class": "kind"}), frozenset({"count", "memory_mb"})),
    "budget": _Section(
        AskingRules,
        _same(
            "start_up_s health_s stop_s state seed",
            seconds="budget_s",
            restarts="most_restarts",
            unready_videos="most_unready",
            repeats="most_repeats",
        ),
        frozenset({"restarts", "repeats", "seed"}),
    ),
    "upload": _Section(UploadLimits, _same("most_bytes most_piece_bytes most_open")),
    "fairness": _Section(Fairness, _same("canary_percent")),
}
"""Every section of a phase file. A name that is missing here cannot be set, and is refused."""
_TOP = {"schema", "name", "track", "hidden", "protocol", "engines", "warm_up"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionPhase:
    """A phase of a challenge, as far as running submissions goes."""

    name: str
    track: str
    hidden: bool = False
    """Nobody but the organisers may see the questions: engines that cannot keep them in are refused."""
    protocol: str = "server"
    engines: tuple[str, ...] = ("podman", "docker")
    warm_up: Path | None = None
    """A video or frame about which a question is asked first in every container."""
    image: ImageLimits = field(default_factory=ImageLimits)
    weights: WeightLimits = field(default_factory=WeightLimits)
    run: Limits = field(default_factory=Limits)
    gpu: GpuRule = field(default_factory=GpuRule)
    budget: AskingRules = field(default_factory=AskingRules)
    upload: UploadLimits = field(default_factory=UploadLimits)
    fairness: Fairness = field(default_factory=Fairness)

    def as_dict(self) -> dict[str, Any]:
        """Everything that holds in this phase, by the names of the file."""
        top = {
            "schema": SCHEMA,
            "name": self.name,
            "track": self.track,
            "hidden": self.hidden,
            "protocol": self.protocol,
            "engines": list(self.engines),
            "warm_up": None if self.warm_up is None else self.warm_up.name,
        }
        held = {
            section: {name: asdict(getattr(self, section))[to] for name, to in kind.names.items()}
            for section, kind in SECTIONS.items()
        }
        return {**top, **held}

    def digest(self) -> str:
        """A hash of everything that holds: runs under other settings are other runs.

        The name of the layout is that of 0.1.0, so that runs of that version still belong to their phase.
        """
        settings = {**self.as_dict(), "schema": former(SCHEMA)}
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    def warm_up_task(self) -> AskedTask | None:
        """The question that is asked first in every container, or None."""
        if self.warm_up is None:
            return None
        return AskedTask(
            Request("warm-up", "warm-up", 0.0, 1.0, "", "This is a warm-up. What is visible?"), self.warm_up
        )


def read_phase(path: str | Path) -> SubmissionPhase:
    """The phase in a TOML file.

    Raises:
        FileUnreadable: It cannot be read, or is no TOML.
        InputInvalid: With a sentence per problem.
    """
    return phase_of(read_toml(path), where=str(path), folder=Path(path).parent)


def phase_of(content: Mapping[str, Any], *, where: str = "phase", folder: Path = Path()) -> SubmissionPhase:
    """The phase that a mapping describes; files that it names lie in `folder`.

    Raises:
        InputInvalid: With a sentence per problem.
    """
    problems: list[str] = [*_unknown(content), *_top_problems(content, folder)]
    held: dict[str, Any] = {}
    track = content.get("track")
    for name, section in SECTIONS.items():
        given = content.get(name, {})
        if not isinstance(given, Mapping):
            problems.append(f"{name} must be a table, as in [{name}]; got {given!r}")
            continue
        wrong = list(_section_problems(name, section, given))
        values = {section.names[key]: value for key, value in given.items() if key in section.names}
        if name == "budget" and isinstance(track, str) and track in TRACK_LIMITS_S:
            values = {"track": track, "budget_s": TRACK_LIMITS_S[track]} | values
        if not wrong:
            try:
                held[name] = _made(section.kind, values)
            except Misuse as error:
                wrong = [f"[{name}] {error}"]
        problems += wrong
    problems += _contradictions(content, held)
    if problems:
        raise InputInvalid(where, problems)
    top = {key: content[key] for key in ("name", "track", "hidden", "protocol") if key in content}
    if "engines" in content:
        top["engines"] = tuple(content["engines"])
    warm_up = folder / content["warm_up"] if "warm_up" in content else None
    return SubmissionPhase(**top, warm_up=warm_up, **held)


def _made(kind: type, values: Mapping[str, Any]) -> Any:
    """An object of the class; whole numbers are taken where it has decimal ones, words where it has names."""
    defaults: dict[str, Any] = {one.name: one.default for one in fields(kind)}
    return kind(
        **{
            name: type(defaults[name])(value) if isinstance(defaults[name], float | StrEnum) else value
            for name, value in values.items()
        }
    )


def _unknown(content: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(content.keys() - _TOP - SECTIONS.keys()):
        yield f"unknown entry {key!r}{_meant(key, _TOP | SECTIONS.keys())}"


def _meant(key: str, known: Any) -> str:
    close = nearest(key, known)
    return f"; did you mean {close!r}?" if close else f"; known are {', '.join(sorted(known))}"


def _top_problems(content: Mapping[str, Any], folder: Path) -> Iterator[str]:
    if not same_schema(content.get("schema", SCHEMA), SCHEMA):
        yield f"schema is {content['schema']!r}; this version reads {SCHEMA!r}"
    if not isinstance(content.get("name"), str) or not content["name"].strip():
        yield "name is missing: what the phase is called"
    if content.get("track") not in tuple(TRACK_LIMITS_S):
        yield f"track must be one of {', '.join(TRACK_LIMITS_S)}; got {content.get('track')!r}"
    if not isinstance(content.get("hidden", False), bool):
        yield f"hidden must be true or false; got {content['hidden']!r}"
    if content.get("protocol", PROTOCOLS[0]) not in PROTOCOLS:
        yield f"protocol must be one of {', '.join(PROTOCOLS)}; got {content['protocol']!r}"
    engines = content.get("engines", list(ENGINES))
    if not isinstance(engines, list) or not engines or not all(one in list(ENGINES) for one in engines):
        yield f"engines must be a list of some of {', '.join(ENGINES)}; got {engines!r}"
    warm_up = content.get("warm_up")
    if warm_up is not None and (not isinstance(warm_up, str) or not (folder / warm_up).is_file()):
        yield f"warm_up must be a video or frame beside the phase file; got {warm_up!r}"


def _section_problems(name: str, section: _Section, given: Mapping[str, Any]) -> Iterator[str]:
    defaults = {one.name: one.default for one in fields(section.kind)}
    for key, value in given.items():
        if key not in section.names:
            yield f"[{name}] unknown entry {key!r}{_meant(key, section.names)}"
            continue
        wanted = _wanted(defaults[section.names[key]], key in section.may_be_zero, value)
        if wanted:
            yield f"[{name}] {key} must be {wanted}; got {value!r}"


def _wanted(default: Any, may_be_zero: bool, value: Any) -> str:
    """What an entry must be, where the value is not that."""
    number = "of at least 0" if may_be_zero else "above 0"
    least_ok = isinstance(value, int | float) and (value > 0 or (may_be_zero and value == 0))
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(default, StrEnum):
        names = [str(one) for one in type(default)]
        return "" if value in names else f"one of {', '.join(names)}"
    if isinstance(default, str):
        return "" if isinstance(value, str) else "text"
    if isinstance(default, float):
        fits = least_ok and not isinstance(value, bool) and math.isfinite(value)
        return "" if fits else f"a number {number}"
    return "" if least_ok and isinstance(value, int) and not isinstance(value, bool) else f"a whole number {number}"


def _contradictions(content: Mapping[str, Any], held: Mapping[str, Any]) -> Iterator[str]:
    engines = content.get("engines")
    if content.get("hidden") is True and isinstance(engines, list) and "process" in engines:
        yield "hidden questions must not be given to the engine 'process', which keeps nothing in"
    if "gpu" in held and held["gpu"].count > 1:
        yield f"[gpu] count must be 0 or 1; got {held['gpu'].count}"
    if "gpu" in held and not held["gpu"].count and (held["gpu"].kind or held["gpu"].memory_mb):
        yield "[gpu] class and memory_mb mean nothing where count is 0"
    if "run" in held:
        for name in _MEMORY_PLACES:
            if getattr(held["run"], name) > held["run"].memory_mb:
                shown = next(key for key, to in SECTIONS["run"].names.items() if to == name)
                yield f"[run] {shown} is above memory_mb, which it counts towards; it could never be filled"
