"""What a chart's specification draws: layers with their data, the order of rows, marks of a kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surgeval.report.chart import Chart


def layers(chart: Chart) -> list[dict[str, Any]]:
    """All single pictures of a chart, in the order in which they are drawn, with their data beside them."""
    spec = dict(chart.spec)
    return list(_walk(spec, [], spec.get("datasets", {})))


def _walk(spec: dict[str, Any], values: list[Any], shared: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    data = spec.get("data", {})
    values = data.get("values", shared.get(data.get("name", ""), values))
    for key in ("layer", "hconcat", "vconcat"):
        for part in spec.get(key, ()):
            yield from _walk(part, values, shared)
    if "mark" in spec:
        yield {**spec, "values": values}


def drawn_as(chart: Chart, mark: str) -> list[dict[str, Any]]:
    """The layers of one kind of mark."""
    return [layer for layer in layers(chart) if layer["mark"]["type"] == mark]


def rows_of(chart: Chart, mark: str, field: str) -> list[dict[str, Any]]:
    """The data rows behind the first layer of that mark which encodes `field` across."""
    for layer in drawn_as(chart, mark):
        if layer["encoding"].get("x", {}).get("field") == field:
            return list(layer["values"])
    raise AssertionError(f"no {mark} over {field}")


def row_order(chart: Chart) -> list[str]:
    """The labels of the vertical axis from top to bottom."""
    for layer in layers(chart):
        domain = layer.get("encoding", {}).get("y", {}).get("scale", {}).get("domain")
        if domain and isinstance(domain[0], str):
            return list(domain)
    raise AssertionError("no vertical axis with named rows")
