"""The options of every ranking rule in one place, checked together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.tables.missing import Missing, missing_rules
from surgvalid.stats.comparing.paired_tests import CORRECTIONS, TESTS
from surgvalid.stats.draws import MOST_REPLICATES

BOARDS = ("technical", "clinical", "both")
MERGES: dict[str, str] = {
    "pairwise": "significant differences enter Copeland pair by pair, without ranks in between",
    "wins": "rank in a bucket by the number of significant wins, as challengeR does",
    "leader": "walk down by accuracy; share the rank of the group's leader until significantly worse than it",
    "closure": "models linked by a chain of non-significant differences share a rank",
    "losses": "rank in a bucket is one plus the number of models significantly better",
    "net": "rank in a bucket by significant wins minus significant losses",
    "accuracy": "rank in a bucket by accuracy alone, without tests",
}
"""How the relation in a bucket is handed to Copeland."""
CONSENSUS = ("euclidean", "case-ranks")


@dataclass(frozen=True)
class RankOptions:
    """What was asked of a ranking. Options that a rule does not use are ignored by it, with a warning."""

    metric: str | None = None
    board: str = "both"
    merge: str = "pairwise"
    test: str | None = None
    alpha: float = 0.05
    correction: str | None = None
    replicates: int | None = None
    seed: int = 42
    baselines: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    unpaid: tuple[str, ...] = ()
    prize_pool: float | None = None
    bucket_weights: Mapping[str, float] | None = None
    task_column: str | None = None
    task_weights: Mapping[str, float] | None = None
    better: str | Mapping[str, str] | None = None
    missing: Missing = None
    consensus: str = "euclidean"
    aggregate: Callable[[np.ndarray], float] | None = None
    challenger_compat: bool = False
    margin: float | None = None
    against: str | None = None
    prior: str | None = None
    why: bool = False

    def __post_init__(self) -> None:
        _check_name("leaderboard", self.board, BOARDS)
        _check_name("merge rule", self.merge, MERGES)
        _check_name("consensus", self.consensus, CONSENSUS)
        if self.test is not None:
            _check_name("test", self.test, TESTS)
        if self.correction is not None:
            _check_name("correction", self.correction, CORRECTIONS)
        if problems := _problems(self):
            raise Misuse("; ".join(problems))
        missing_rules(self.missing)

    @property
    def level(self) -> float:
        """Of intervals and sets of ranks; rounded, since 1 - 0.05 is not 0.95."""
        return round(1 - self.alpha, 12)

    def chosen(self) -> dict[str, Any]:
        """The options that differ from their defaults, as plain data for the manifest."""
        out = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                out[field.name] = getattr(value, "__name__", "function") if callable(value) else _plain(value)
        return out


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _check_name(kind: str, name: str, known: Any) -> None:
    if name not in known:
        raise UnknownName(kind, name, known)


def _problems(options: RankOptions) -> list[str]:
    problems = []
    if not 0 < options.alpha < 1:
        problems.append(f"alpha must lie between 0 and 1, got {options.alpha}")
    replicates = options.replicates
    if replicates is not None and not 0 <= replicates <= MOST_REPLICATES:
        problems.append(
            f"replicates (--resamples) must be 0 (no resampling) or at most {MOST_REPLICATES:,}, got {replicates}"
        )
    if not 0 <= options.seed < 2**63:
        problems.append(f"seed must lie between 0 and 2**63 - 1, got {options.seed}")
    if options.prize_pool is not None and not (math.isfinite(options.prize_pool) and options.prize_pool >= 0):
        problems.append(f"the prize pool must be an amount of money, got {options.prize_pool}")
    for kind, weights in (("bucket", options.bucket_weights), ("task", options.task_weights)):
        problems += [
            f"the weight of {kind} {name!r} must be 0 or more, got {weight}"
            for name, weight in (weights or {}).items()
            if not (math.isfinite(weight) and weight >= 0)
        ]
    return problems
