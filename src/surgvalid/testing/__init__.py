"""The rules that every judge, model, metric, data set, ranking rule, chart and engine keeps, for parts from anywhere.

Each `check_*` returns None or raises `ContractBroken` with every rule that is not kept; what a part itself raises
passes through with its traceback. Our own contract tests call the same rules. Nothing here needs a test framework:

    from surgvalid.testing import check_judge

    def test_our_judge_keeps_the_rules() -> None:
        check_judge("coin")
"""

from surgvalid.testing._charts import check_chart
from surgvalid.testing._data_sets import check_data_set
from surgvalid.testing._engines import check_engine
from surgvalid.testing._judges import check_judge
from surgvalid.testing._metrics import MetricExample, check_metric
from surgvalid.testing._models import check_model
from surgvalid.testing._rules import check_rule

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
