"""The rules that every judge, model, metric, data set, ranking rule, chart and engine keeps, for parts from anywhere.

Each `check_*` returns None or raises `ContractBroken` with every rule that is not kept; what a part itself raises
passes through with its traceback. Our own contract tests call the same rules. Nothing here needs a test framework:

    from surgeval.testing import check_judge

    def test_our_judge_keeps_the_rules() -> None:
        check_judge("coin")
"""

from surgeval.testing._charts import check_chart as check_chart
from surgeval.testing._data_sets import check_data_set as check_data_set
from surgeval.testing._engines import check_engine as check_engine
from surgeval.testing._judges import check_judge as check_judge
from surgeval.testing._metrics import MetricExample as MetricExample
from surgeval.testing._metrics import check_metric as check_metric
from surgeval.testing._models import check_model as check_model
from surgeval.testing._rules import check_rule as check_rule

__all__ = [
    "MetricExample",
    "check_chart",
    "check_data_set",
    "check_engine",
    "check_judge",
    "check_metric",
    "check_model",
    "check_rule",
]
