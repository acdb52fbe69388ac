"""Tables for a paper, in LaTeX that needs no package."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from surgvalid.schema.tables.shown_tables import shown_column

_SIGNS = str.maketrans(
    {**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
)


def latex_table(frame: pl.DataFrame, heads: Sequence[str]) -> str:
    r"""The rows of a table of models, numbers to three digits; names are nothing but text.

    Args:
        frame: The model first, then numbers.
        heads: What the numbers are called.

    Example:
        >>> print(latex_table(pl.DataFrame({"model": ["a_1"], "dsc": [0.5]}), ["DSC"]))
        \begin{tabular}{lr}
        \hline
        Model & DSC \\
        \hline
        a\_1 & 0.500 \\
        \hline
        \end{tabular}
    """
    columns = [shown_column(frame[name]) for name in frame.columns]
    rows = [["Model", *heads], *zip(*columns, strict=True)]
    lines = [" & ".join(cell.translate(_SIGNS) for cell in row) + r" \\" for row in rows]
    begin = rf"\begin{{tabular}}{{l{'r' * len(heads)}}}"
    return "\n".join([begin, r"\hline", lines[0], r"\hline", *lines[1:], r"\hline", r"\end{tabular}"])
