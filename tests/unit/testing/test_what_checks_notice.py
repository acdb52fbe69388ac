"""Parts that break a rule are refused, and the message says which; each check is seen failing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from data_set_files import BUILDERS
from metric_examples import all_examples
from surgvalid.datasets import open_data_set
from surgvalid.errors import ContractBroken, HiddenDataRefused
from surgvalid.judges import JudgeCase, Verdict
from surgvalid.metrics import open_metric
from surgvalid.report.chart import Chart
from surgvalid.report.charts import CHARTS
from surgvalid.report.drawing.svg import Svg
from surgvalid.sandbox import ImageFacts, Launch, Running
from surgvalid.sandbox.process import ProcessEngine
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.ranking import RULES, RankOptions, RankResult
from surgvalid.testing import check_chart, check_data_set, check_engine, check_judge, check_metric, check_rule

EXAMPLE = all_examples()["accuracy"]


class Forgetful:
    name = "forgetful"

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        return [Verdict(True, "judged") for _ in cases[1:]]


class Opinionated:
    """Has an opinion without having judged, says too much, and looks at where a case stands."""

    name = "opinionated"

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        return [Verdict(at % 3 == 0, "guessed", "x" * 900, -1.0) for at, _ in enumerate(cases)]


def problems_of(error: pytest.ExceptionInfo[ContractBroken]) -> str:
    return "\n".join(error.value.problems)


def test_a_judge_that_loses_a_case_is_noticed() -> None:
    with pytest.raises(ContractBroken, match=r"gave 0 verdicts for 1 cases; gave 6 verdicts for 7 cases"):
        check_judge(Forgetful())


def test_every_rule_that_a_judge_breaks_is_listed() -> None:
    with pytest.raises(ContractBroken, match="judge 'opinionated': ") as error:
        check_judge(Opinionated())
    for words in ("came in another order", "'guessed' is none of", "an opinion of", "took -1.0 s", "900 letters"):
        assert words in problems_of(error)


class Spoilt:
    """A metric of which one thing is changed."""

    def __init__(self, **changes: object) -> None:
        self._sound, self._changes = open_metric("accuracy", **EXAMPLE.options), changes

    @property
    def facts(self) -> MetricFacts:
        return self._changes.get("facts", self._sound.facts)  # type: ignore[return-value]

    def prepare(self, cases: object) -> np.ndarray:
        return self._sound.prepare(cases)

    def combine(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        values = self._sound.combine(statistics, weights)
        return self._changes.get("combine", lambda values, weights: values)(values, weights)  # type: ignore[operator]


FACTS = open_metric("accuracy", **EXAMPLE.options).facts


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"facts": replace(FACTS, conventions={})}, "no record of its conventions"),
        ({"facts": replace(FACTS, high=0.2)}, "lies outside 0.0 to 0.2"),
        ({"facts": replace(FACTS, estimand="")}, "what it estimates"),
        ({"combine": lambda values, weights: values * 0.9}, "perfect units give 0.9"),
        ({"combine": lambda values, weights: values / np.maximum(weights.max(axis=-1, initial=0), 1)}, "weights ["),
        ({"combine": lambda values, weights: np.nan_to_num(values)}, "no units give 0.0, not NaN"),
    ],
)
def test_a_metric_that_breaks_a_law_is_noticed(changes: dict[str, object], words: str) -> None:
    check_metric(Spoilt(), EXAMPLE)
    with pytest.raises(ContractBroken) as error:
        check_metric(Spoilt(**changes), EXAMPLE)
    assert words in problems_of(error)


def test_a_data_set_without_facts_or_that_invents_references_is_noticed() -> None:
    sound, build = open_data_set("cholec80"), BUILDERS["cholec80"]
    row = {"case": ["c", "c"], "video": ["v", "w"], "frame": [0, 1]}
    invented = replace(sound.tasks["phase"], read=lambda folder: pl.DataFrame(row), one_row_per_case=False)
    with pytest.raises(ContractBroken, match="data set 'cholec80': ") as error:
        check_data_set(replace(sound, citation="", tasks={"phase": invented}, disagreements=("two counts",) * 2), build)
    for words in ("its citation", "nothing to compare", "an empty or absent folder gave", "content gave references"):
        assert words in problems_of(error)


def test_a_rule_that_looks_at_the_order_of_rows_and_hides_its_name_is_noticed() -> None:
    sound = RULES["mean-then-rank"]

    def first_come(table: object, options: RankOptions) -> RankResult:
        result = sound.run(table, options)  # type: ignore[arg-type]
        order = pl.Series(table.frame["model"].unique(maintain_order=True))  # type: ignore[attr-defined]
        came = pl.DataFrame({"model": order, "rank": range(1, len(order) + 1), "case": str(table.frame["case"][0])})  # type: ignore[attr-defined]
        return replace(result, tables={**result.tables, "consensus": came}, main="consensus", prose="Ranked.")

    with pytest.raises(ContractBroken) as error:
        check_rule(replace(sound, name="first-come", run=first_come))
    for words in ("order of the rows", "right on every case is placed", "its exact copy", "names the rule", "3 models"):
        assert words in problems_of(error), words


class _Outside:
    def draw(self, width: float) -> Svg:
        image = Svg(width, 100)
        image.elements.append('<image href="http://x" fill="red"/>')
        return image


def test_a_chart_that_says_nothing_and_loads_its_data_is_noticed() -> None:
    def mute(names: Sequence[str]) -> Chart:
        rows = pl.DataFrame({"model": names or ["one"]}).with_columns(value=0.5, low=0.4, high=0.6, n=9)
        chart = CHARTS["value_intervals"](rows)
        return replace(chart, alt="A chart.", image=_Outside())

    with pytest.raises(ContractBroken, match="chart 'mute': ") as error:
        check_chart("mute", mute)
    for words in (
        "text alternative of 8 letters",
        "without rows",
        "address to load from",
        "element",
        "colour of its own",
    ):
        assert words in problems_of(error), words


class Careless(ProcessEngine):
    name = "careless"

    def start(self, launch: Launch) -> Running:
        return super().start(replace(launch, hidden=False))


def test_an_engine_that_takes_hidden_data_it_cannot_keep_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(HiddenDataRefused):
        ProcessEngine().start(Launch(command=("true",), hidden=True))
    with pytest.raises(ContractBroken, match="takes hidden data"):
        check_engine(Careless())


def test_an_engine_that_tells_of_images_it_never_stored_is_noticed() -> None:
    class Chatty(ProcessEngine):
        def facts(self, image: str) -> ImageFacts | None:
            return ImageFacts(image, image, 1.0, 1.0, 1, 1, "amd64", "1:1", (), (), (), ())

    with pytest.raises(ContractBroken, match="never stored"):
        check_engine(Chatty())
