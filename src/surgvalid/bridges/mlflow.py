"""A study in a run of MLflow: numbers, the table of scores, the page, and tags that say what is independent."""

from __future__ import annotations

from typing import Any

from surgvalid.bridges.measured import measured, numbers
from surgvalid.schema.tables.units import UNSAID
from surgvalid.studies.study import StudyResult


def write(result: StudyResult, client: Any, run_id: str) -> dict[str, float]:
    """Log a study; gives the numbers that were logged.

    MLflow has no field for an interval: its ends are metrics of their own, `_low` and `_high`, and the tag
    `surgvalid.interval` says what they are.

    Args:
        result: What `surgvalid.study` gave.
        client: An `MlflowClient`, or whatever has its methods.
        run_id: The run.
    """
    logged = numbers(result)
    for name, value in logged.items():
        client.log_metric(run_id, name, value)
    first = measured(result)[0]
    client.set_tag(run_id, "surgvalid.unit", first.unit)
    client.set_tag(run_id, "surgvalid.units", str(first.units or UNSAID))
    interval = f"{first.level:.0%}, over {first.unit}s; names end in _low and _high"
    client.set_tag(run_id, "surgvalid.interval", f"{interval}{first.absent}")
    client.set_tag(run_id, "surgvalid.verdict", result.verdict[0])
    client.log_table(run_id, result.counted.to_dict(as_series=False), "surgvalid/scores.json")
    client.log_text(run_id, result.html(), "surgvalid/study.html")
    return logged
