"""What version 0.1.0 wrote under the project's former name, so that its files and folders can still be read.

The name stands in keys of documents, in the lines that name a schema, in metadata of Parquet files, in the namespace of
signatures and in the name of the folder that keeps answers. Only reading knows it: what is written has the new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME, FORMER = "surgvalid", "surgeval"


def former(text: str) -> str:
    """A key, a schema line or a folder as 0.1.0 wrote it.

    Example:
        >>> former("surgvalid/challenge/1") == f"{FORMER}/challenge/1"
        True
    """
    return text.replace(NAME, FORMER)


def with_new_keys(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document whose keys at the top have today's names; where both names stand, today's is right.

    Example:
        >>> with_new_keys({FORMER: 1, f"{FORMER}_flags": [], "video": "v1"})
        {'surgvalid': 1, 'surgvalid_flags': [], 'video': 'v1'}
    """
    renamed = {
        key.replace(FORMER, NAME, 1) if isinstance(key, str) and key.startswith(FORMER) else key: value
        for key, value in document.items()
    }
    return {**renamed, **{key: value for key, value in document.items() if key in renamed}}


def same_schema(line: object, schema: str) -> bool:
    """Whether a schema line names that schema, under either name."""
    return line in (schema, former(schema))


def where_it_is(path: str | Path) -> Path:
    """A folder of answers or a key, under the name of 0.1.0 where that alone is there.

    A store that is not found would be asked anew at cost, a key would be made anew and give patients other pseudonyms.
    """
    now = Path(path)
    if NAME not in now.name:
        return now
    before = now.with_name(former(now.name))
    return before if not now.exists() and before.exists() else now


PART_OF_FAILURES: Mapping[str, Mapping[str, Any]] = {
    "adjusted": {"marginal": True},
    "failure-table": {"form": "symbols"},
}
"""Verbs of 0.1.0 that are an option of `failures` now."""


def today_options(options: Mapping[str, Any], verb: str = "") -> dict[str, Any]:
    """Options of a recorded call as they are today: `bootstrap` intervals were once `percentile`.

    Example:
        >>> today_options({"method": "percentile", "spec": "paper", "level": 0.95})
        {'method': 'bootstrap', 'spec': 'ross', 'level': 0.95}
        >>> today_options({"effects": ["smoke"]}, "adjusted")
        {'fixed': ['smoke'], 'marginal': True}
    """
    renamed = {("method", "percentile"): "bootstrap", ("spec", "paper"): "ross"}
    today = {
        name: renamed.get((name, value), value) if isinstance(value, str) else value for name, value in options.items()
    }
    if verb == "adjusted":
        today["fixed"] = today.pop("effects")
    if verb == "monitor":  # its test holds at any time and draws nothing
        today = {name: value for name, value in today.items() if name not in ("looks", "replicates", "seed")}
    if verb == "questions":  # questions that match things are not asked any more
        today.pop("matching", None)
    return {**today, **PART_OF_FAILURES.get(verb, {})}


def task_options(stored: dict[str, Any]) -> dict[str, Any]:
    """The options of a run of a task, where 0.1.0 said `lenient` and policies of reading have names today."""
    lenient = stored.pop("lenient", None)
    return stored if lenient is None else {"policy": "lenient" if lenient else "careful", **stored}
