"""What a chart draws: the rows of its data, found by their columns."""

from __future__ import annotations

import json
from typing import Any

from surgeval.report.chart import Chart


def rows_with(chart: Chart, *columns: str) -> list[dict[str, Any]]:
    """The rows of the first data set of the picture that has all these columns."""
    for values in _data(json.loads(json.dumps(dict(chart.spec)))):
        if values and set(columns) <= set(values[0]):
            return values
    raise AssertionError(f"no data with {columns} in {chart.name}")


def _data(spec: Any) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []
    if isinstance(spec, dict):
        found += list(spec.get("datasets", {}).values())
        if isinstance(spec.get("data"), dict) and "values" in spec["data"]:
            found.append(spec["data"]["values"])
        for key, value in spec.items():
            found += [] if key in ("datasets", "data") else _data(value)
    elif isinstance(spec, list):
        for value in spec:
            found += _data(value)
    return found


def row_order(chart: Chart) -> list[str]:
    """The labels of the rows from top to bottom, as the vertical scale has them."""
    stack: list[Any] = [json.loads(json.dumps(dict(chart.spec)))]
    while stack:
        item = stack.pop(0)
        if isinstance(item, dict):
            y = item.get("y")
            if isinstance(y, dict) and isinstance(y.get("scale"), dict) and y.get("type") == "nominal":
                return list(y["scale"]["domain"])
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    raise AssertionError(f"{chart.name} has no vertical scale of names")
