"""Seed 001 Table 2 in symbols: how much a property helps or harms, where that is significant.

`+` 1 < OR <= 1.25, `++` up to 1.5, `+++` above; `-` 0.75 <= OR < 1, `--` down to 0.5, `---` below; blank where
not significant at 0.05, `x` where the effect cannot be assessed. (The caption prints 0 < OR for `+`; 1 is meant.)
These bins are not mirror images on the log scale; `symmetric` takes 1/1.25 and 1/1.5 for harm instead.

The odds are those of what is good: where smaller values are better, those of a smaller one. Continuous outcomes have no
bins, so a single sign says help or harm; where nobody said which values are better, a word says which way they go.
"""

from __future__ import annotations

import math

NOT_ASSESSABLE = "x"
LARGER, SMALLER = "larger", "smaller"
"""Where values go, if nobody said which are better."""
ALPHA = 0.05
_HELP = (1.25, 1.5)
_HARM = {False: (0.75, 0.5), True: (1 / 1.25, 1 / 1.5)}


def symbol(odds_ratio: float, p_value: float, *, symmetric: bool = False, alpha: float = ALPHA) -> str:
    """The symbol of an effect.

    Example:
        >>> symbol(1.3, 0.01), symbol(0.4, 0.01), symbol(0.78, 0.01), symbol(0.78, 0.01, symmetric=True)
        ('++', '---', '-', '--')
        >>> symbol(3.0, 0.2), symbol(float("nan"), float("nan"))
        ('', 'x')
    """
    if math.isnan(odds_ratio) or math.isnan(p_value):
        return NOT_ASSESSABLE
    if p_value > alpha or odds_ratio == 1:
        return ""
    if odds_ratio > 1:
        return "+" * (1 + sum(odds_ratio > bound for bound in _HELP))
    return "-" * (1 + sum(odds_ratio < bound for bound in _HARM[symmetric]))


def effect_symbol(
    estimate: float, p_value: float, *, ratio: bool, better: str | None, symmetric: bool = False, alpha: float = ALPHA
) -> str:
    """The symbol of a coefficient: a plus always helps and a minus always hurts, whatever the outcome.

    Args:
        estimate: On the scale of the linear predictor.
        p_value: NaN where there is no test.
        ratio: Whether the estimate is the logarithm of a ratio, which has bins.
        better: `larger` or `smaller` values of the outcome; None where nobody said.
        symmetric: As for `symbol`.
        alpha: Level of significance.

    Example:
        >>> [effect_symbol(0.3, 0.01, ratio=False, better=better) for better in ("larger", "smaller", None)]
        ['+', '-', 'larger']
        >>> effect_symbol(1.0, 0.01, ratio=True, better="smaller")
        '---'
    """
    good = -estimate if better == "smaller" else estimate
    if ratio and better is not None:
        return symbol(math.exp(min(good, 700.0)), p_value, symmetric=symmetric, alpha=alpha)
    if math.isnan(estimate) or math.isnan(p_value):
        return NOT_ASSESSABLE
    if p_value > alpha or estimate == 0:
        return ""
    if better is None:
        return LARGER if estimate > 0 else SMALLER
    return "+" if good > 0 else "-"


def stars(p_value: float) -> str:
    """Asterisks at 0.05, 0.01 and 0.001, as in seed 001 Fig. 7.

    Example:
        >>> stars(0.03), stars(0.0005), stars(0.4)
        ('*', '***', '')
    """
    return "" if math.isnan(p_value) else "*" * sum(p_value <= bound for bound in (0.05, 0.01, 0.001))
