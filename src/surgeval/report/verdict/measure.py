"""How the values of a metric are said in a sentence: accuracies in per cent, everything else as it is."""

from __future__ import annotations

from typing import NamedTuple

from surgeval.report.inputs import Inputs
from surgeval.report.words import plain
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.verdict import amount

ACCURACY = "correct"


class Measure(NamedTuple):
    """A metric in words.

    Example:
        >>> accuracy = Measure(MetricFacts("correct"))
        >>> accuracy.reaches(0.729, 0.6, 0.83)
        'answers 72.9 % of the questions rightly (95 % interval 60.0 to 83.0 %)'
        >>> Measure(MetricFacts("dsc")).reaches(0.8123, None, None)
        'reaches dsc 0.812'
    """

    facts: MetricFacts

    @property
    def is_accuracy(self) -> bool:
        """Whether values are shares of right answers."""
        return self.facts.name == ACCURACY

    def value(self, value: float) -> str:
        """A value."""
        return f"{100 * value:.1f} %" if self.is_accuracy else amount(value, self.facts)

    def gap(self, gap: float) -> str:
        """A difference of two values."""
        return f"{100 * gap:.1f} points" if self.is_accuracy else amount(gap, self.facts)

    def gap_ends(self, low: float, high: float) -> str:
        """The ends of the interval of a difference."""
        if self.is_accuracy:
            return f"{100 * low:.1f} to {100 * high:.1f}"
        return f"{amount(low, self.facts)} to {amount(high, self.facts)}"

    def reaches(self, value: float, low: float | None, high: float | None) -> str:
        """What a model reaches, with the interval where there is one."""
        name = plain(self.facts.name, limit=40)
        text = f"answers {self.value(value)} of the questions rightly" if self.is_accuracy else ""
        text = text or f"reaches {name} {self.value(value)}"
        if low is None or high is None:
            return text
        return f"{text} (95 % interval {self.ends(low, high)})"

    def ends(self, low: float, high: float) -> str:
        """The ends of the interval of a value."""
        start = f"{100 * low:.1f}" if self.is_accuracy else self.value(low)
        return f"{start} to {self.value(high)}"


def measure_of(inputs: Inputs) -> Measure:
    """The metric that the report is about."""
    return Measure(MetricFacts(ACCURACY) if inputs.scores is None else inputs.scores.facts_of(inputs.metric))
