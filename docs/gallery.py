"""The gallery of charts, drawn while the site is built (a hook of mkdocs): each on its example, with its call."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGE = "gallery.md"
_HEAD = """# Gallery

Every chart that reports are made of, drawn on invented numbers of four models. Each is a function from tables that
verbs write to an image; click a name for its parameters.
"""
_EXAMPLES = Path(__file__).parents[1] / "tests" / "support"


def on_files(files: Files, config: Any) -> Files:
    """The site's files, with the gallery and its images among them."""
    from surgvalid.report.charts import CHARTS
    from surgvalid.testing._charts import plain_names

    sys.path.append(str(_EXAMPLES))
    from chart_examples import EXAMPLES  # type: ignore[import-not-found]

    page = [_HEAD]
    for name in sorted(CHARTS):
        chart = EXAMPLES[name](plain_names(4))
        files.append(File.generated(config, f"gallery/{name}.svg", content=chart.svg()))
        page.append(entry(name, CHARTS[name], chart.alt))
    files.append(File.generated(config, PAGE, content="\n".join(page)))
    return files


def entry(name: str, function: Any, alt: str) -> str:
    """One chart of the page: its name, its call and its image."""
    spoken = alt.replace("[", "(").replace("]", ")").replace("\n", " ")
    return (
        f"## [{name}](reference/charts.md#{name})\n\n"
        f"```python\nfrom surgvalid.report.charts import {name}\n\n"
        f'{name}({", ".join(_tables(function))}).save("{name}.svg")\n```\n\n'
        f"![{spoken}](gallery/{name}.svg)\n"
    )


def _tables(function: Any) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(function).parameters.values()
    return [one.name for one in given if one.kind in kinds and one.default is inspect.Parameter.empty]
