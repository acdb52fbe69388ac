"""How rules speak: each yields a sentence for every way in which it is not kept, and nothing otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from surgvalid.errors import ContractBroken

Broken = Iterator[str]
"""What a rule gives: sentences that say what was expected and what was got."""


def refuse(kind: str, name: str, rules: Iterable[Iterable[str]]) -> None:
    """Raise an error with every sentence of every rule, if there is one.

    Raises:
        ContractBroken: Some rule is not kept.
    """
    problems = [problem for rule in rules for problem in rule]
    if problems:
        raise ContractBroken(f"{kind} {name!r}", problems)
