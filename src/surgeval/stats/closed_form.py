"""Standard deviations of bootstrapped means in closed form: no replicates, no seed.

With rows `x` of videos `v` (sizes `n_v`, sums `S_v`, means `m_v`, variances `s2_v` with divisor `n_v`),
`N` rows, `V` videos and `m` the mean of the estimand, the variance of the resampled mean is

| resample | estimand | variance |
|---|---|---|
| naive | rows | `sum (x - m)**2 / N**2` |
| cluster | videos | `sum_v (m_v - m)**2 / V**2` |
| two-stage | videos | `sum_v [(m_v - m)**2 + s2_v / n_v] / V**2` |
| cluster | rows | `sum_v (S_v - m n_v)**2 / N**2` |
| two-stage | rows | `sum_v [(S_v - m n_v)**2 + n_v s2_v] / N**2` |

The last two are ratios of random totals, so the form is the linearised one (Cochran 1977, section 6.3),
exact when all videos are equally long.
"""

from __future__ import annotations

import numpy as np

from surgeval.errors import Misuse
from surgeval.stats.nesting import label_of
from surgeval.stats.replicates import Sample, unit_sums
from surgeval.stats.statistic import divided


def mean_sd(sample: Sample) -> np.ndarray:
    """The SD of the resampled mean of each model.

    Raises:
        Misuse: For another statistic, or a resample without a closed form.
    """
    kind = (label_of(sample.nest.levels), sample.estimand)
    if not sample.statistic.is_mean or kind not in _VARIANCES:
        raise Misuse(
            f"no closed form for statistic {sample.statistic.name!r}, resample {kind[0]!r}, estimand {kind[1]!r}"
        )
    return np.asarray(np.sqrt(_VARIANCES[kind](sample)))


def _naive_rows(sample: Sample) -> np.ndarray:
    scored = np.isfinite(sample.values)
    gaps = np.where(scored, sample.values - sample.point(), 0.0)
    return divided((gaps**2).sum(axis=0), scored.sum(axis=0) ** 2)


def _cluster_videos(sample: Sample) -> np.ndarray:
    within = sample.within_units()
    known = np.isfinite(within)
    gaps = np.where(known, within - sample.point(), 0.0)
    return divided((gaps**2).sum(axis=0), known.sum(axis=0) ** 2)


def _two_stage_videos(sample: Sample) -> np.ndarray:
    spread, number = _within_variance(sample)
    known = number > 0
    inner = np.divide(spread, number, out=np.zeros_like(spread), where=known)
    return np.asarray(_cluster_videos(sample) + divided(inner.sum(axis=0), known.sum(axis=0) ** 2))


def _cluster_rows(sample: Sample) -> np.ndarray:
    totals, number = unit_sums(sample.values, sample.nest.row_starts)
    gaps = totals - sample.point() * number
    return divided((gaps**2).sum(axis=0), number.sum(axis=0) ** 2)


def _two_stage_rows(sample: Sample) -> np.ndarray:
    spread, number = _within_variance(sample)
    return np.asarray(_cluster_rows(sample) + divided((spread * number).sum(axis=0), number.sum(axis=0) ** 2))


def _within_variance(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Variance (divisor `n_v`) and number of the scored rows of each video."""
    starts = sample.nest.row_starts
    totals, number = unit_sums(sample.values, starts)
    squares, _ = unit_sums(sample.values**2, starts)
    filled = np.maximum(number, 1)
    return np.maximum(squares / filled - (totals / filled) ** 2, 0.0), number


_VARIANCES = {
    ("naive", "rows"): _naive_rows,
    ("cluster", "videos"): _cluster_videos,
    ("two-stage", "videos"): _two_stage_videos,
    ("cluster", "rows"): _cluster_rows,
    ("two-stage", "rows"): _two_stage_rows,
}
