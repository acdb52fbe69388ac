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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable, InputInvalid
from surgeval.results.signatures import signature_of
from surgeval.schema.documents import read_json
from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark

VERSION = 1
FILE = "registration.json"
NAMES = ("columns", "model", "model_a", "model_b", "shard", "share")
"""Options that name things or places; compared only where they were registered by name."""
CODES = ("deviation", "preregistered", "registered-version")
"""Codes of what is said about a registration; a result that derives its other findings keeps these."""
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
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    stored = read_json(file)
    content = stored.get("content") if isinstance(stored, dict) else None
    if not isinstance(stored, dict) or not isinstance(content, dict) or "sha256" not in stored:
        raise FileUnreadable(str(file), ["no registration; surgeval preregister writes them"])
    if stored.get("version") != VERSION:
        raise FileUnreadable(str(file), [f"version {stored.get('version')}; this version of surgeval reads {VERSION}"])
    if content_hash(content) != stored["sha256"]:
        raise FileUnreadable(str(file), ["its content does not have the hash it states: it was changed afterwards"])
    return Registration(content, str(stored["sha256"]), signature_of(file))


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
) -> Kept:
    """What is recorded of a run whose settings are those registered, or differ with a reason.

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
    problems = [f"{text}; state --deviation {name}=REASON, or run as registered" for name, text in differences.items()
                if not reasons.get(name, "").strip()]  # fmt: skip
    problems += [f"--deviation {name}: nothing differs there" for name in reasons if name not in differences]
    if problems:
        raise InputInvalid(f"{path} (registered settings of {verb})", problems)
    kept = Kept(sha256=registration.sha256, title=registration.title)
    kept["deviations"] = {name: {"difference": text, "reason": reasons[name]} for name, text in differences.items()}
    kept.findings = tuple(_findings(registration, kept["deviations"], versions))
    return kept


def _findings(
    registration: Registration, deviations: Mapping[str, Mapping[str, str]], versions: Mapping[str, str]
) -> list[Finding]:
    listed = [
        remark(
            "deviation", f"{one['difference']}. Reason given: {one['reason']}", subject="Deviation from registration"
        )
        for one in deviations.values()
    ]
    kept = "as registered" if not deviations else f"as registered but for {len(deviations)} deviations"
    signed = f"; {registration.signature}" if registration.signature else "; not signed"
    text = f"Settings are {kept} in {registration.title!r} (sha256 {registration.sha256[:16]}{signed})."
    listed.append(remark("preregistered", text))
    before: Mapping[str, Any] = registration.content.get("software", {})
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
        name: f"{name} is {_shown(given.get(name))}, " + (
            f"registered was {_shown(registered[name])}" if name in registered else "which was not registered")
        for name in names if _plainest(given.get(name)) != _plainest(meant.get(name))
    }  # fmt: skip


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
