"""Small steps between matrix products: norm, rotation, gate; each in float32 inside, as the reference does.

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


class Pointwise(NamedTuple):
    """The three steps, plain or compiled."""

    normed: Callable[..., Any] = normed
    rotated: Callable[..., Any] = rotated
    gated: Callable[..., Any] = gated


PLAIN = Pointwise()


def compiled() -> Pointwise:
    """The steps as single kernels; the first call of each takes seconds.

    Only the number of rows may vary from call to call: kernels that know the other sizes are several times faster.
    """
    torch._dynamo.config.recompile_limit = 64  # one for every model's sizes, and one for a single row
    return Pointwise(*(_by_rows(torch.compile(step, dynamic=False)) for step in PLAIN))


def _by_rows(step: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(x: Any, *others: Any) -> Any:
        for tensor in (x, *others):
            # A weight has as many axes as it has columns' axes: one. Whatever has more has rows.
            if isinstance(tensor, torch.Tensor) and tensor.dim() > 1:
                torch._dynamo.maybe_mark_dynamic(tensor, 0)
        return step(x, *others)

    return stepped
