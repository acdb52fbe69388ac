"""The sign-flip distribution by force: every pattern, or a grid that brackets the answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def enumerated_p(differences: np.ndarray) -> float:
    """The share of all sign patterns at least as extreme as the data."""
    videos = len(differences)
    reached, block = 0, 2**15
    observed = abs(differences.sum()) - 1e-9 * np.abs(differences).sum()
    for start in range(0, 2 ** (videos - 1), block):
        numbers = np.arange(start, min(start + block, 2 ** (videos - 1)))
        signs = 1.0 - 2.0 * ((numbers[:, None] >> np.arange(videos)) & 1)
        reached += int((np.abs(signs @ differences) >= observed).sum())
    return reached / 2 ** (videos - 1)


def bracketed_p(differences: np.ndarray, points: int = 300_000) -> tuple[float, float]:
    """Bounds between which the p-value must lie: all differences rounded up, and all rounded down."""
    size = np.sort(np.abs(differences[differences != 0]))
    room = (size.sum() - abs(differences.sum())) / 2
    step = size.sum() / 2 / points
    edge = int(room / step + 1e-9)
    return _share(np.ceil(size / step), edge), _share(np.floor(size / step), edge)


def differences_at(p: float, size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Signs for these sizes that make the p-value come near `p`."""
    from scipy.special import ndtri

    target = -ndtri(p / 2) * np.sqrt((size**2).sum())
    signs, current = np.ones(len(size)), size.sum()
    for video in rng.permutation(len(size)):
        if current - 2 * size[video] >= target:
            signs[video], current = -1.0, current - 2 * size[video]
    return np.asarray(signs * size)


def sizes_of(kind: str) -> Callable[[int, np.random.Generator], np.ndarray]:
    """Absolute differences of videos: `normal`, `lognormal`, or `near zero` for most of them."""
    return {
        "normal": lambda videos, rng: np.abs(rng.normal(size=videos)),
        "lognormal": lambda videos, rng: np.exp(1.2 * rng.normal(size=videos)),
        "near zero": lambda videos, rng: np.abs(rng.normal(size=videos)) * np.where(rng.random(videos) < 0.6, 0.01, 1),
    }[kind]


def _share(steps: np.ndarray, edge: int) -> float:
    share = np.zeros(edge + 1)
    share[0] = 1.0
    for step in steps.astype(np.int64).tolist():
        moved = share[: max(0, edge + 1 - step)].copy()
        share *= 0.5
        if step <= edge:
            share[step:] += 0.5 * moved
    return float(2.0 * share.sum())
