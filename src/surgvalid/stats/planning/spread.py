"""How far videos lie apart, and questions within them: measured on a pilot, or stated.

The variance of a pilot's value or difference is the one that `interval` or `compare` gives (jackknife), times its
number of videos; so a plan and a verdict on the same table rest on one number. The part of it that more questions per
video would take away is the variance within videos (one-way analysis of variance) over the questions per video.

The pilot is a sample too. Its two variances are drawn from their chi-square pivots, `s^2 df / chi2[df]` (Weerahandi
1993, generalised intervals), and a plan is made for each draw; with few videos that is wide, and rightly so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from surgvalid.errors import Misuse

DRAWS = 1000


@dataclass(frozen=True)
class Spread:
    """Variances of one value, or of one difference of two models on the same questions."""

    between: np.ndarray
    """Of a video with endlessly many questions; one entry, or one per draw."""
    within: np.ndarray
    """Of one question in its video; 0 where the pilot cannot tell it from the variance between videos."""
    questions: float
    """Per video, of the pilot or as stated."""
    freedom: float = 1.0
    """Degrees of freedom per video; 1 for equal videos, less where a few long ones carry the value."""
    mix: tuple[float, ...] = (1.0,)
    """Lengths of videos over their mean."""
    df: float | None = None
    """Of the pilot's standard error; None where the spread was stated."""
    df_within: float = 0.0
    divisible: bool = True
    """Whether what more questions per video buy is known."""

    @classmethod
    def stated(cls, sd: float, icc: float, questions: float) -> Spread:
        """The spread of single questions with that SD, of whose variance the share `icc` lies between videos."""
        return cls(np.array([icc * sd**2]), np.array([(1 - icc) * sd**2]), questions)

    @classmethod
    def measured(
        cls, sd: float, df: float, videos: int, *, within: float, questions: float, sizes: np.ndarray | None = None
    ) -> Spread:
        """The spread of a pilot.

        Args:
            sd: Standard error of its value.
            df: Its degrees of freedom.
            videos: How many it has.
            within: Variance of one question in its video; NaN where that is not known.
            questions: Per video, as they count in the value.
            sizes: Questions of each video, where the value weighs long videos more.

        Raises:
            Misuse: The pilot shows no spread that could be planned with.
        """
        if not (math.isfinite(sd) and sd > 0):
            raise Misuse(
                "the pilot shows no variation between videos, so nothing can be planned from it; state --assume sd=..."
            )
        variance, mix = videos * sd**2, (1.0,) if sizes is None else tuple((sizes / sizes.mean()).tolist())
        rows = 0.0 if sizes is None else float(sizes.sum())
        known = math.isfinite(within)
        between = max(variance - within / questions, 0.0) if known else variance
        return cls(
            np.array([between]),
            np.array([(variance - between) * questions]),
            questions,
            (df + 1) / videos,
            mix,
            df,
            max(rows - videos, 1.0) if known else 0.0,
            known,
        )

    def variance(self, questions: float | None = None) -> np.ndarray:
        """Of one video's share in the value, with so many questions per video."""
        return np.asarray(self.between + self.within / (questions or self.questions))

    def design_effect(self, questions: float | None = None) -> float:
        """The variance over that of as many independent questions."""
        n = questions or self.questions
        total = float(self.between[0] + self.within[0])
        return n * float(self.variance(n)[0]) / total if total > 0 else math.nan

    @property
    def icc(self) -> float:
        """The share of the variance of one question that lies between videos."""
        total = float(self.between[0] + self.within[0])
        return float(self.between[0]) / total if self.divisible and total > 0 else math.nan

    @property
    def between_cases(self) -> float:
        """The variance between videos without what unequal lengths add to it."""
        return float(self.between[0]) / float(np.mean(np.square(self.mix)))

    def drawn(self, rng: np.random.Generator, draws: int = DRAWS) -> Spread | None:
        """What the true variances may be given the pilot; None where the spread was stated."""
        if self.df is None:
            return None
        whole = self.variance() * self.df / rng.chisquare(self.df, draws)
        if not self.divisible:
            return replace(self, between=whole, within=np.zeros(draws))
        within = self.within * self.df_within / rng.chisquare(self.df_within, draws)
        between = np.maximum(whole - within / self.questions, 0.0)
        return replace(self, between=between, within=(whole - between) * self.questions)
