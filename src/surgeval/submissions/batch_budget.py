"""The pooled time budget of a batch, and which questions an overrun forfeits.

A batch of B questions may take `setup + B x share` seconds (120 s and the track's 5, 15 or 30 s). What
participants reported of the platform: an overrun forfeits a share of the questions, chosen by the platform,
the same ones each time, spread over the buckets and not the slow ones; from 20 % overrun on the whole batch
is forfeited. The exact selection was never published. Here the share grows linearly, from nothing at the
allowance to everything at 20 % beyond it; buckets lose in proportion to their size (largest remainder), and
within a bucket the order of a hash of the identifier decides.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

SETUP_S = 120.0
SATURATION = 0.20


def allowance_s(questions: int, share_s: float, *, setup_s: float = SETUP_S) -> float:
    """The seconds that a batch may take.

    Example:
        >>> allowance_s(20, 5.0)
        220.0
    """
    return setup_s + questions * share_s


def forfeited_count(questions: int, used_s: float, allowed_s: float, *, saturation: float = SATURATION) -> int:
    """How many questions of a batch an overrun forfeits.

    Example:
        >>> [forfeited_count(20, used, 220.0) for used in (220.0, 231.0, 242.0, 264.0)]
        [0, 5, 10, 20]
    """
    over = used_s - allowed_s
    if over <= 0:
        return 0
    share = over / (saturation * allowed_s)
    return questions if share >= 1 else math.ceil(questions * share - 1e-9)


def forfeited(
    buckets: Mapping[str, str], used_s: float, allowed_s: float, *, saturation: float = SATURATION
) -> frozenset[str]:
    """The cases of a batch that an overrun forfeits.

    Args:
        buckets: The bucket of each case.
        used_s: Seconds that the batch took.
        allowed_s: Seconds that it was allowed.
        saturation: The overrun, as a share of the allowance, that forfeits everything.
    """
    count = forfeited_count(len(buckets), used_s, allowed_s, saturation=saturation)
    members: dict[str, list[str]] = {}
    for case in sorted(buckets, key=_lot):
        members.setdefault(buckets[case], []).append(case)
    quotas = _largest_remainder({bucket: len(cases) for bucket, cases in members.items()}, count)
    return frozenset(case for bucket, cases in members.items() for case in cases[: quotas[bucket]])


def _lot(case: str) -> str:
    return hashlib.sha256(f"forfeit\x1f{case}".encode("utf-8", "surrogatepass")).hexdigest()


def _largest_remainder(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """`count` seats over the buckets in proportion to their sizes; ties go to the first name."""
    total = sum(sizes.values())
    quotas = {bucket: count * size // total for bucket, size in sizes.items()}
    left = count - sum(quotas.values())
    by_remainder = sorted(sizes, key=lambda bucket: (-(count * sizes[bucket] % total), bucket))
    for bucket in by_remainder[:left]:
        quotas[bucket] += 1
    return quotas
