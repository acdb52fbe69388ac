"""Rows under seal: the entry of an act carries a keyed digest of every row that it wrote.

Whoever changes, adds or drops a row without an act leaves it other than its last entry says. Digests have the key of
the service, so that a log that is given away tells nothing of values that are not. An empty column is left out of
them: a column that a later version adds changes none.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.models import Model

from surgvalid.host.runs.models import LogEntry

FACT = "seals"
TABLES = (
    *(f"runs.{name}" for name in ("ChallengeVersion", "Upload", "Submission", "StageChange", "RunRecord")),
    *(f"runs.{name}" for name in ("QuotaGrant", "BoardSnapshot", "Publication", "GateDecision", "PrizeProposal")),
    *(f"runs.{name}" for name in ("WorkerToken", "Announcement")),
    *(f"people.{name}" for name in ("Team", "Membership", "Eligibility", "OrganiserRole", "TermsAcceptance")),
)
"""What a result depends on."""
_PASSING = frozenset({"seen_at"})
"""Columns that change without an act."""
_EMPTY: tuple[Any, ...] = (None, "", 0, [], {})
_HINT, _NAME = 8, 3
"""Letters about each column behind the digest of a row: of its name, and of its value."""
Row = tuple[str, Any]
"""The name of a table, and the number of a row in it."""


def sealed_tables() -> Iterator[type[Model]]:
    """The tables whose rows are sealed."""
    return map(apps.get_model, TABLES)


@lru_cache(maxsize=2)
def _key(secret: str) -> bytes:
    return hashlib.sha256(f"surgvalid.host.seals {secret}".encode()).digest()


def _keyed(text: str, length: int) -> str:
    return hmac.digest(_key(settings.SECRET_KEY), text.encode(), "sha256").hex()[:length]


def _texts(model: type[Model], values: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a row that say something."""
    known = {field.attname: values[field.attname] for field in model._meta.concrete_fields}
    return {
        name: json.dumps(value, sort_keys=True, default=str)
        for name, value in sorted(known.items())
        if name not in _PASSING and value not in _EMPTY
    }


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:_NAME]


def seal_of(model: type[Model], values: Mapping[str, Any]) -> str:
    """The digest of a row, and after it a hint at each column."""
    texts = _texts(model, values)
    hints = (_mark(name) + _keyed(f"{name} {text}", _HINT - _NAME) for name, text in texts.items())
    return f"{_keyed(json.dumps([model._meta.label, texts]), 32)}.{''.join(hints)}"


def changed_columns(model: type[Model], values: Mapping[str, Any], seal: str) -> list[str]:
    """The columns of a row that are not as they were sealed."""
    old, new = (_hints(one) for one in (seal, seal_of(model, values)))
    names = {_mark(field.attname): field.attname for field in model._meta.concrete_fields}
    return sorted(names.get(mark, "?") for mark in old.keys() | new.keys() if old.get(mark) != new.get(mark))


def _hints(seal: str) -> dict[str, str]:
    text = seal.partition(".")[2]
    return {text[at : at + _NAME]: text[at + _NAME : at + _HINT] for at in range(0, len(text), _HINT)}


def seals_of(rows: Iterable[Row]) -> dict[str, str]:
    """What the entry of an act says about the rows it wrote, as the database now has them; nothing of one dropped."""
    wanted: dict[str, set[Any]] = {}
    for table, number in rows:
        wanted.setdefault(table, set()).add(number)
    seals = {f"{table}-{number}": "" for table, numbers in wanted.items() for number in numbers}
    for model in sealed_tables():
        name = model._meta.model_name or ""
        for values in model._default_manager.filter(pk__in=wanted.get(name, ())).values() if name in wanted else ():
            seals[f"{name}-{values['id']}"] = seal_of(model, values)
    return seals


def every_row() -> list[Row]:
    """All that is there."""
    return [
        (model._meta.model_name or "", number)
        for model in sealed_tables()
        for number in model._default_manager.values_list("pk", flat=True)
    ]


def is_sealing() -> bool:
    """Whether rows are sealed here: not before this version was first started on a service of an older one."""
    return LogEntry.objects.filter(facts__contains=f'"{FACT}":').exists()


def row_problems() -> Iterator[str]:
    """Every row that is not as the last act left it, one sentence each; none before rows are sealed."""
    last: dict[str, tuple[int, str]] = {}
    entries = LogEntry.objects.filter(facts__contains=f'"{FACT}":').order_by("number")
    for number, facts in entries.values_list("number", "facts").iterator():
        for row, seal in json.loads(facts).get(FACT, {}).items():
            last[row] = (number, seal)
    if not last:
        return
    for model in sealed_tables():
        for values in model._default_manager.order_by("pk").values().iterator():
            row = f"{model._meta.model_name}-{values['id']}"
            number, seal = last.pop(row, (0, ""))
            if not seal:
                yield f"{row} is in the tables, and no act of the log made it"
            elif seal != seal_of(model, values):
                names = ", ".join(changed_columns(model, values, seal)) or "it"
                yield f"{row}: {names} changed since entry {number} of the log, by no act"
    yield from (f"{row} is missing; entry {number} of the log wrote it" for row, (number, seal) in last.items() if seal)
