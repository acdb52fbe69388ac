"""The catalogue of metrics that the schema reads tables with, from the metrics' own facts."""

from __future__ import annotations

from docs.metrics_page import example
from surgvalid.schema.documents import json_text
from surgvalid.schema.metric_facts import CATALOGUE as PAGE

__all__ = ["PAGE", "page"]
_BY_NAME = ("low", "high", "better", "unit")
"""What the name of a metric says about numbers that somebody else computed."""


def page() -> str:
    """The catalogue as the metrics describe themselves now."""
    from surgvalid.metrics import METRICS

    facts = {name: example(factory).facts.as_dict() for name, factory in METRICS.ours.items()}
    lines = [f"  {json_text(name)}: {json_text({key: facts[name][key] for key in _BY_NAME})}" for name in sorted(facts)]
    return "{\n" + ",\n".join(lines) + "\n}\n"
