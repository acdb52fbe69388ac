"""The page of metrics, from the metrics' own facts."""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "metrics.md"

_HEAD = """# Metrics

Made by `make docs` from the metrics' own facts; a test keeps it true. These are the default
conventions; options change them, and every output carries the record of what was used. What the conventions do to a
number, and which traps they close, is on the page of each family.

`surgvalid.metrics.open_metric(name)` makes a metric, `surgvalid evaluate KIND --metric NAME` reports it with an
interval
over videos.
"""
_FAMILIES = (
    ("CLASSIFICATION", "Classification", "classification-metrics.md"),
    ("DETECTION", "Detection", "detection-metrics.md"),
    ("SEGMENTATION", "Segmentation", "segmentation-metrics.md"),
    ("TIME", "Time", "phase-metrics.md"),
    ("TRIPLETS", "Triplets", "triplet-metrics.md"),
    ("TRACKING", "Tracking", "tracking-metrics.md"),
)
_EXAMPLES = {"classes": (1, 2), "tolerance_px": 5.0, "tolerance_s": 10.0, "deadline_s": 1.0, "mm_per_px": 0.2}
"""Values for options without a default; the page says which those are."""


def page() -> str:
    """The page as the metrics describe themselves now."""
    import surgvalid.metrics

    parts = [_HEAD]
    for family, title, link in _FAMILIES:
        parts.append(f"## {title}\n\nConventions and traps: [{link.removesuffix('.md')}](../concepts/{link}).\n")
        parts += [_section(name, factory) for name, factory in getattr(surgvalid.metrics, family).items()]
    return "\n".join(parts)


def example(factory):  # type: ignore[no-untyped-def]
    """The metric of a factory, with example values for options without a default."""
    return factory(**{option: _EXAMPLES[option] for option in _needed(factory)})


def _section(name, factory) -> str:  # type: ignore[no-untyped-def]
    needed, facts = _needed(factory), example(factory).facts
    better = f"{facts.better} is better"
    lines = [f"### {name}\n", f"{facts.low:g} to {facts.high:g}, {better}; {facts.estimand}."]
    if needed:
        lines.append(f"Needs {', '.join(f'`{option}` (here {_EXAMPLES[option]})' for option in needed)}.")
    lines += ["", *(f"- {key}: {text}" for key, text in facts.conventions.items())]
    return "\n".join(lines) + "\n"


def _needed(factory) -> list[str]:  # type: ignore[no-untyped-def]
    parameters = signature(factory._chosen()).parameters
    return [n for n, p in parameters.items() if p.default is Parameter.empty and n not in factory.options]
