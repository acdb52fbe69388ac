"""A challenge file as forms change it: every setting under its name; comments and layout stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

from surgvalid.errors import FileUnreadable, InputInvalid, UnknownName
from surgvalid.host.challenge.reading import leaves

_FILE = "challenge.toml"


class Setting(NamedTuple):
    """A value of the file as a form shows it."""

    name: str
    value: str
    kind: str


def settings_of(text: str) -> list[Setting]:
    """Every value that a form can change, in the order of the file.

    Example:
        >>> settings_of('name = "Sponges"  # what else\\n[[phases]]\\nslug = "final"\\nquota = 3\\n')[-1]
        Setting(name='phases.final.quota', value='3', kind='whole')
    """
    values = ((name, holder[key]) for name, holder, key in leaves(_parsed(text)))
    return [Setting(name, _shown(value), _kind(value)) for name, value in values if _kind(value)]


def changed(text: str, values: Mapping[str, str]) -> str:
    """The file with these values, by the names of its settings; others stay, and names that it lacks are nothing.

    Raises:
        InputInvalid: Some are of another kind, a sentence for each.

    Example:
        >>> changed("quota = 3  # of a team\\n", {"quota": "5"})
        'quota = 5  # of a team\\n'
    """
    content, problems = _parsed(text), []
    for name, holder, key in list(leaves(content)):
        old, given = holder[key], values.get(name, "").replace("\r\n", "\n")
        if name not in values or given == _shown(old) or not _kind(old):
            continue
        try:
            holder[key] = _READERS[_kind(old)](given.strip())
        except (ValueError, KeyError):
            problems.append(f"{name} must stay of its kind, as {_shown(old)!r} is; got {given[:60]!r}")
    if problems:
        raise InputInvalid(_FILE, problems)
    return tomlkit.dumps(content)


def with_item(text: str, kind: str, slug: str, new: str | None) -> str:
    """The file with another phase or baseline, like the one of this short name but for its own; without it for None.

    Raises:
        UnknownName: There is none of this short name.
    """
    content = _parsed(text)
    rows = content.get(kind, [])
    known = [one.get("slug") for one in rows]
    if slug not in known:
        raise UnknownName(kind.removesuffix("s"), slug, known)
    if new is None:
        del rows[known.index(slug)]
    else:
        made = copy.deepcopy(rows[known.index(slug)])
        made["slug"] = new
        rows.append(made)
    return tomlkit.dumps(content)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise FileUnreadable(_FILE, [f"it is no TOML ({error})"]) from None


_READERS: dict[str, Any] = {
    "yes_no": {"true": True, "false": False}.__getitem__,
    "whole": int,
    "number": float,
    "instant": datetime.fromisoformat,
    "list": lambda text: [one.strip() for one in text.split(",") if one.strip()],
    "text": str,
}


def _kind(value: Any) -> str:
    """One of the readers; empty for what a form does not change."""
    kinds = {"yes_no": bool, "whole": int, "number": float, "instant": datetime, "list": list, "text": str}
    kind = next((name for name, one in kinds.items() if isinstance(value, one)), "")
    return "" if kind == "list" and not all(isinstance(one, str) for one in value) else kind


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value.isoformat() if isinstance(value, datetime) else str(value)
