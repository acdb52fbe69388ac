"""The page of charts, from their signatures and docstrings."""

from __future__ import annotations

from pathlib import Path

from docs.python_page import described

PAGE = Path(__file__).parent / "reference" / "charts.md"
_HEAD = """# Charts

Made by `make docs` from the code; a test keeps it true. Each is a function in `surgvalid.report.charts` from tables
with
published columns to a `Chart` with `.svg()`, `.csv()` and `.save(path)`; a notebook shows it. All of them
stand one and a hundred rows, hostile names and empty tables.

```python
import polars as pl

from surgvalid.report.charts import value_intervals

table = pl.DataFrame({"model": ["A", "B"], "value": [0.6, 0.7], "low": [0.5, 0.6], "high": [0.7, 0.8]})
chart = value_intervals(table)
chart.save("intervals.svg")
print(chart.alt)
```
"""


def page() -> str:
    """The page as the charts describe themselves now."""
    from surgvalid.report.charts import CHARTS

    return "\n".join([_HEAD, *(described(name, CHARTS[name], level=2) for name in sorted(CHARTS))])
