"""Results that say who is better: the verdict as data, in words above their tables, and why where that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from surgvalid.results.result import Result
from surgvalid.results.tables.studies import WHY
from surgvalid.stats.verdict.grounds import why_of
from surgvalid.stats.verdict.sentences import sentences_of
from surgvalid.stats.verdict.who_is_better import ModelVerdict


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class JudgedResult(Result):
    """A result with a verdict."""

    judged: ModelVerdict | None = None
    """The verdict as data: kind, winner, numbers, statements; None where none was asked for."""
    why: bool = False
    """Whether the rule, the numbers and the source behind each sentence are shown."""

    @property
    def verdict(self) -> tuple[str, ...]:
        """The verdict in words: the finding with its number, then what it rests on and what would overturn it."""
        return () if self.judged is None else sentences_of(self.judged)

    def below(self) -> Mapping[str, pl.DataFrame]:
        """The tables that a terminal shows below the verdict, by the line above each."""
        return {"": self.shown}

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The tables below the verdict, and why where that was asked for."""
        if self.judged is None:
            return self.below()
        (title, first), *more = self.below().items()
        spoken = "\n".join([*self.verdict, *([title] if title else [])])
        return {spoken: first, **dict(more), **({"Why": WHY.frame(why_of(self.judged))} if self.why else {})}

    def facts(self) -> dict[str, Any]:
        """The verdict as plain data."""
        if self.judged is None:
            return {}
        why = {"why": why_of(self.judged)} if self.why else {}
        return {"verdict": list(self.verdict), "kind": self.judged.kind, "winner": self.judged.winner, **why}
