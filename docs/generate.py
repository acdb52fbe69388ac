"""Write every reference page, and the catalogue of metrics, that are made from code: `python -m docs.generate`."""

from __future__ import annotations

from docs import (
    charts_page,
    cli_page,
    datasets_page,
    findings_page,
    house_page,
    metric_catalogue,
    metrics_page,
    python_page,
    rules_page,
    tables_page,
    templates_page,
)
from docs.cli_page import group_pages
from docs.pitfalls_pages import pitfall_pages

PAGES = (
    metric_catalogue, cli_page, python_page, metrics_page, rules_page, templates_page, datasets_page, charts_page,
    tables_page, findings_page, house_page, *pitfall_pages(), *group_pages(),
)  # fmt: skip
"""Each has the path of its page (`PAGE`) and a function that gives its text now (`page`)."""

if __name__ == "__main__":
    for module in PAGES:
        module.PAGE.parent.mkdir(exist_ok=True)
        module.PAGE.write_text(module.page(), encoding="utf-8")
