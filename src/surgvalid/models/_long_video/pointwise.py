"""Small steps between matrix products: norm, rotation, gate, softmax; each in float32 inside, as the reference does.

Plainly written they read and write memory many times over, which on a GPU costs as much as the products; compiled, each
is one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._torch import torch


def normed(x: Any, weight: Any, eps: float) -> Any:
    """`x` divided by its root mean square over the last axis, times a weight."""
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


def rotated(x: Any, cos: Any, sin: Any) -> Any:
    """Pairs of the first and second half of the last axis, turned by their angles."""
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


def gated(x: Any) -> Any:
    """The second half of the last axis, let through by the first."""
    gate, up = x.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up


def weighed(scores: Any, mask: Any, scale: float) -> tuple[Any, Any]:
    """The softmax of scores `(rows, queries, keys)`, and the logarithms of its sums."""
    wide = scores.float() * scale + mask
    sums = torch.logsumexp(wide, dim=-1, keepdim=True)
    return (wide - sums).exp().to(scores.dtype), sums


def merged(seen: Any, sums: Any, other: Any, other_sums: Any) -> Any:
    """One softmax over two sets of keys, from what rows saw of each and the logarithms of their sums."""
    share = torch.sigmoid(sums - other_sums)
    return (seen * share + other * (1 - share)).to(seen.dtype)


class Pointwise(NamedTuple):
    """The steps, plain or compiled."""

    normed: Callable[..., Any] = normed
    rotated: Callable[..., Any] = rotated
    gated: Callable[..., Any] = gated
    weighed: Callable[..., Any] = weighed
    merged: Callable[..., Any] = merged


PLAIN = Pointwise()


def compiled() -> Pointwise:
    """The steps as single kernels; the first call of each takes seconds.

    Only the number of rows, and of keys that are weighed, may vary from call to call: kernels that know the other sizes
    are several times faster.
    """
    torch._dynamo.config.recompile_limit = 64  # one for every model's sizes, and one for a single row
    return Pointwise(*(_by_rows(torch.compile(step, dynamic=False), step is weighed) for step in PLAIN))


def _by_rows(step: Callable[..., Any], has_keys: bool) -> Callable[..., Any]:
    axes = [0, 2] if has_keys else 0

    def stepped(x: Any, *others: Any) -> Any:
        for tensor in (x, *others):
            # A weight has as many axes as it has columns' axes: one. Whatever has more has rows.
            if isinstance(tensor, torch.Tensor) and tensor.dim() > 1:
                torch._dynamo.maybe_mark_dynamic(tensor, axes)
        return step(x, *others)

    return stepped
