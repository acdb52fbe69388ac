"""What a ranking gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from surgvalid.errors import UnknownName
from surgvalid.stats.verdict.judged_result import JudgedResult

_SHOWN = ("places", "summary", "sensitivity", "prizes")
_SHOWN_GENERIC = ("ranks", "consensus", "kendall")
_TOO_LONG_FOR_JSON = ("challenger",)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class RankResult(JudgedResult):
    """A ranking, with a verdict where it goes by the mean of one task.

    Each table is also an attribute: `result.places`, `result.pairs`, ...
    """

    rule: str

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name.startswith("_") or name == "tables":
            raise AttributeError(name)
        if name not in self.tables:
            raise AttributeError(str(UnknownName(f"table of a {self.rule} ranking", name, self.tables)))
        return self.tables[name]

    @property
    def title(self) -> str:
        """The rule."""
        return f"Ranking by {self.rule!r}"

    def below(self) -> Mapping[str, pl.DataFrame]:
        """The tables that most readers want."""
        names = _SHOWN if self.rule == "focus" else _SHOWN_GENERIC
        shown = {f"{name}:": self.tables[name] for name in names if name in self.tables}
        return {title: frame for title, frame in shown.items() if not frame.is_empty()}

    def facts(self) -> dict[str, Any]:
        """The rule and the verdict."""
        return {"rule": self.rule, **super().facts()}

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, without the table that only another program reads."""
        return {name: value for name, value in super().as_dict().items() if name not in _TOO_LONG_FOR_JSON}
