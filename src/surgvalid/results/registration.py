"""A registration: the analysis to come, written down before the data are seen, and held against what is then run.

The file is one JSON document with the SHA-256 of its content in canonical form (keys sorted, no spaces), so that a
changed file is noticed by whoever reads it. When it was written it cannot prove: that takes a signature or a public
place. A run under a registration (`preregistration=`) is compared option by option with every registered analysis of
its verb; the one with the fewest differences counts. Each difference needs a reason (`deviations=`), and becomes a
warning in the result; without one nothing runs.

The decision a reader would question: what only names things (the model, the files, their columns) is compared where
the author stated it, and else free, because a registration is written before there are files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable, InputInvalid
from surgvalid.results.registered_data import (
    METRIC,
    OF_DATA,
    PLANNED,
    UNIT,
    AddedRun,
    SeenData,
    add_run,
    data_differences,
    read_looks,
)
from surgvalid.results.signatures import signature_of
from surgvalid.schema.documents import read_json
from surgvalid.schema.findings import Finding
from surgvalid.schema.legacy import with_new_keys
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.units import called

VERSION = 1
FILE = "registration.json"
NAMES = ("columns", "model", "model_a", "model_b", "shard", "share")
"""Options that name things or places; compared only where they were registered by name."""
CODES = ("deviation", "preregistered", "registered-version")
"""Codes of what is said about a registration; a result that derives its other findings keeps these."""
BINDS = "binds_data"
"""The entry of registrations whose number of videos and exclusions are held against what is run."""
UNREGISTERED = "analysis"
"""What to give a reason for where the registration has no analysis of a verb."""


@dataclass(frozen=True)
class Registration:
    """A registration that was read, its hash checked."""

    content: Mapping[str, Any]
    sha256: str
    signature: str = ""
    """What is known about a signature beside the file, in words; empty where there is none."""

    @property
    def title(self) -> str:
        """Of the study."""
        return str(self.content.get("title", ""))

    @property
    def binds_data(self) -> bool:
        """Whether it was written since registrations bind data as well as settings."""
        return bool(self.content.get(BINDS))

    @property
    def analyses(self) -> list[Mapping[str, Any]]:
        """Each with `verb`, `options` (all of them), `stated` (the names that the author gave) and `usual` (what
        options of a kind of evaluation are where a run does not give them)."""
        return list(self.content.get("analyses", []))


def document_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The document of some content, with its hash."""
    return {"version": VERSION, "sha256": content_hash(content), "content": dict(content)}


def content_hash(content: Mapping[str, Any]) -> str:
    """The SHA-256 of the content in canonical form.

    Example:
        >>> content_hash({"b": 1, "a": 2}) == content_hash({"a": 2, "b": 1})
        True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_registration(path: str | Path) -> Registration:
    """The registration in a file, or in the folder that holds one.

    Raises:
        FileUnreadable: It is none, of a later version, or was changed after it was written.
    """
    file = registration_file(path)
    stored = read_json(file)
    content = stored.get("content") if isinstance(stored, dict) else None
    if not isinstance(stored, dict) or not isinstance(content, dict) or "sha256" not in stored:
        raise FileUnreadable(str(file), ["no registration; surgvalid plan register writes them"])
    if stored.get("version") != VERSION:
        raise FileUnreadable(str(file), [f"version {stored.get('version')}; this version of surgvalid reads {VERSION}"])
    if content_hash(content) != stored["sha256"]:
        raise FileUnreadable(str(file), ["its content does not have the hash it states: it was changed afterwards"])
    return Registration(content, str(stored["sha256"]), signature_of(file))


def registration_file(path: str | Path) -> Path:
    """The file of a registration, where its folder may be named."""
    return Path(path) / FILE if Path(path).is_dir() else Path(path)


class Kept(dict[str, Any]):
    """What a run under a registration records: hash, title, deviations; `findings` are what must be said."""

    findings: tuple[Finding, ...] = ()


def held_to(
    path: str | Path,
    verb: str,
    options: Mapping[str, Any],
    reasons: Mapping[str, str] | None,
    versions: Mapping[str, str],
    defaults: Mapping[str, Any],
) -> RegisteredRun:
    """A run whose settings are those registered, or differ with a reason; its data are held against it by `kept`.

    Args:
        path: Of the registration.
        verb: In words, as `evaluate phases`.
        options: Every option of the run, as plain data.
        reasons: Why options differ, by name.
        versions: Of the software that runs.
        defaults: What options are where nobody gives them.

    Raises:
        InputInvalid: With every difference that has no reason, and every reason without a difference.
    """
    registration, reasons = read_registration(path), dict(reasons or {})
    differences = _nearest(registration, verb, options, defaults)
    of_settings = {name: why for name, why in reasons.items() if name in differences or name in options}
    deviations = _explained(f"{path} (registered settings of {verb})", differences, of_settings)
    of_data = {name: why for name, why in reasons.items() if name not in of_settings}
    return RegisteredRun(registration, Path(path), verb, deviations, of_data, versions)


@dataclass(frozen=True)
class RegisteredRun:
    """A run whose settings are as registered, or deviate with reasons; its data are still to be seen."""

    registration: Registration
    path: Path
    verb: str
    deviations: dict[str, dict[str, str]]
    reasons: Mapping[str, str]
    """For what differs in the data."""
    versions: Mapping[str, str]

    def kept(self, seen: SeenData, below: Sequence[str] = (), word: str = "video") -> Kept:
        """What is recorded of the run on these videos and cases, which are kept beside the registration.

        Args:
            seen: What was analysed.
            below: Sentences on patients who have several of what was stated to be independent.
            word: What is independent.

        Raises:
            InputInvalid: With every difference of the data that has no reason.
        """
        registration, file = self.registration, registration_file(self.path)
        if not registration.binds_data:
            _explained(str(self.path), {}, self.reasons)
            return self._recorded({}, frozenset(), "Which data enter it does not bind.", word)
        looks = read_looks(file, registration.sha256)
        named = set(self.reasons).difference(OF_DATA)
        differences, problems = data_differences(registration.content, looks, seen, named)
        if below and not any("columns" in one.get("stated", ()) for one in registration.analyses):
            differences[UNIT] = f"{UNIT} was not registered, and {'; '.join(below)}"
        free = seen.metrics if not self._names_metric else set[str]()
        earlier = {name for one in looks["runs"] if one["verb"] == self.verb for name in one.get("metrics", ())}
        if free and earlier and not free <= earlier:
            now, before = (", ".join(sorted(some)) for some in (free, earlier))
            differences[METRIC] = f"{METRIC} is {now}, at the first look it was {before}"
        where = f"{self.path} (registered data of {self.verb})"
        differences = {name: called(text, word) for name, text in differences.items()}
        of_data = _explained(where, differences, self.reasons, [called(text, word) for text in problems])
        criteria = registration.content.get("exclusions", ())
        foreseen = {name for name in named if of_data[name]["reason"] in criteria}
        run = add_run(file, looks, self.verb, seen, {**self.deviations, **of_data})
        verified = _verified(registration.content, run, seen)
        if free:
            verified = f"It names no metric; this is of {', '.join(sorted(free))}. {verified}"
        kept = self._recorded(of_data, foreseen, verified, word)
        kept["first_look"], kept["look"] = run.first_look, run.look
        return kept

    @property
    def _names_metric(self) -> bool:
        """Whether the registration says which metric is analysed, or a deviation does."""
        named = [one["options"] for one in self.registration.analyses if one.get("verb") == self.verb]
        return "metric" in self.deviations or any(one.get("metric") or one.get("metrics") for one in named)

    def _recorded(
        self, of_data: Mapping[str, dict[str, str]], foreseen: Collection[str], verified: str, word: str
    ) -> Kept:
        registration = self.registration
        kept = Kept(sha256=registration.sha256, title=registration.title)
        kept["deviations"] = {**self.deviations, **of_data}
        findings = _findings(registration, kept["deviations"], foreseen, self.versions, verified)
        kept.findings = tuple(replace(one, message=called(one.message, word)) for one in findings)
        return kept


def _verified(content: Mapping[str, Any], run: AddedRun, seen: SeenData) -> str:
    """What of the data was held against something, and what nobody can know."""
    if run.earlier:
        models = {model for table in seen.tables for model in table["model"].drop_nulls().unique()}
        what = "videos, cases and scores" if len(models) > len(run.unheld) else "videos and cases (not their scores)"
        since = f"Its {what} were held against the first look that is kept beside it, of {run.earlier[0]['date']}."
        lacking = f" There are no earlier scores of {', '.join(run.unheld)} to hold against." if run.unheld else ""
        looks = "; ".join(map(_look_words, run.earlier))
        return f"{since}{lacking} This is look {len(run.earlier) + 1} under it; earlier: {looks}."
    of = "are those that it lists" if content.get(PLANNED) else "were counted; it lists none by name"
    text = f"The videos {of}. This is the first look kept beside it, by which cases and scores of later runs are known"
    return f"{text}: an earlier look, or one at other patients that was thrown away, would not show."


def _look_words(run: Mapping[str, Any]) -> str:
    """An earlier run in a few words."""
    reasons = [f"{name} ({one['reason']})" for name, one in run["deviations"].items()]
    return ", ".join([str(run["date"]), str(run["verb"]), f"{run['videos']} videos", *reasons])


def _explained(
    where: str, differences: Mapping[str, str], reasons: Mapping[str, str], problems: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """Each difference with its reason; refused where one lacks it, or a reason has no difference."""
    problems = [
        *problems,
        *(
            f"{text}; state --deviation {name}=REASON, or run as registered"
            for name, text in differences.items()
            if not reasons.get(name, "").strip()
        ),
        *(f"--deviation {name}: nothing differs there" for name in reasons if name not in differences),
    ]
    if problems:
        raise InputInvalid(where, problems)
    return {name: {"difference": text, "reason": reasons[name]} for name, text in differences.items()}


def _findings(
    registration: Registration,
    deviations: Mapping[str, Mapping[str, str]],
    foreseen: Collection[str],
    versions: Mapping[str, str],
    verified: str,
) -> list[Finding]:
    listed = [
        remark(
            "deviation", f"{one['difference']}. Reason given: {one['reason']}", subject="Deviation from registration"
        )
        for name, one in deviations.items()
        if name not in foreseen
    ]
    kept = "as registered" + (f" but for {len(listed)} deviation{'s' * (len(listed) > 1)}" if listed else "")
    signed = f"; {registration.signature}" if registration.signature else "; not signed"
    if foreseen:
        left = "; ".join(f"{name}: {deviations[name]['reason']}" for name in sorted(foreseen))
        kept += f", with {len(foreseen)} excluded by registered criteria ({left}),"
    bound = "Settings and number of videos are" if registration.binds_data else "Settings are"
    text = f"{bound} {kept} in {registration.title!r} (sha256 {registration.sha256[:16]}{signed}). {verified}"
    listed.append(remark("preregistered", text))
    before = with_new_keys(registration.content.get("software", {}))
    other = [f"{name} {before[name]} (now {now})" for name, now in versions.items() if before.get(name, now) != now]
    if other:
        listed.append(remark("registered-version", f"Registered under other versions: {', '.join(other)}."))
    return listed


def _nearest(
    registration: Registration, verb: str, options: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, str]:
    """The differences to the registered analysis of the verb that has the fewest, in words by option."""
    fitting = [one for one in registration.analyses if one.get("verb") == verb]
    if not fitting:
        known = ", ".join(dict.fromkeys(str(one.get("verb")) for one in registration.analyses)) or "none"
        return {UNREGISTERED: f"{verb} is not registered (registered: {known})"}
    return min((_differences(one, options, defaults) for one in fitting), key=len)


def _differences(
    analysis: Mapping[str, Any], options: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, str]:
    """Every option that differs; one that did not exist when the analysis was registered differs where it is used."""
    registered: Mapping[str, Any] = analysis.get("options", {})
    stated: Sequence[str] = analysis.get("stated", ())
    usual: Mapping[str, Any] = analysis.get("usual", {})
    given = {**options, **{name: usual[name] for name in usual if _plainest(options.get(name)) is None}}
    names = [name for name in dict.fromkeys((*registered, *given)) if name not in NAMES or name in stated]
    meant = {**defaults, **registered}
    return {
        name: f"{name} is {_shown(given.get(name))}, "
        + (f"registered was {_shown(registered[name])}" if name in registered else "which was not registered")
        for name in names
        if _plainest(given.get(name)) != _plainest(meant.get(name))
    }


def _plainest(value: Any) -> Any:
    """A value without what the command line and Python write differently: nothing, lists of one, whole floats."""
    if isinstance(value, list | tuple):
        members = [_plainest(member) for member in value]
        return members[0] if len(members) == 1 else members or None
    if isinstance(value, Mapping):
        return {key: _plainest(member) for key, member in value.items()} or None
    return None if value == "" else value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
