"""What a failure analysis can be asked for beside its effects: further tables, what to know, how to show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from surgeval.schema.findings import Finding


@dataclass(frozen=True)
class Addition:
    """Tables by name, findings, a paragraph, and which of the tables a terminal shows under which line."""

    tables: Mapping[str, pl.DataFrame]
    findings: tuple[Finding, ...] = ()
    prose: str = ""
    screen: Mapping[str, str] = field(default_factory=dict)
