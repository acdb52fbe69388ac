"""The three criteria of the critical view of safety, always by name.

Endoscapes numbers them C1 two structures, C2 hepatocystic triangle, C3 cystic plate; Cholec80-CVS stores the
plate before the triangle. A criterion named only by its place is therefore refused where the place is not fixed.
"""

from __future__ import annotations

from collections.abc import Iterable

from surgeval.errors import InputInvalid

CRITERIA = ("two_structures", "hepatocystic_triangle", "cystic_plate")
_NUMBERED = dict(zip(("C1", "C2", "C3"), CRITERIA, strict=True))


def criteria_columns(data_set: str, columns: Iterable[str]) -> dict[str, str]:
    """The column of each criterion among `columns`, by its name, or in Endoscapes also by C1, C2, C3.

    Raises:
        InputInvalid: A criterion is missing, or is named by a place that means another one elsewhere.

    Example:
        >>> criteria_columns("endoscapes2023", ["case", "C1", "C2", "C3"])["cystic_plate"]
        'C3'
    """
    given = list(columns)
    chosen = {name: name for name in CRITERIA if name in given}
    numbered = {name: code for code, name in _NUMBERED.items() if code in given and name not in chosen}
    if numbered and data_set != "endoscapes2023":
        problem = (
            f"columns {', '.join(numbered.values())} name criteria by their place, and {data_set} orders them "
            f"differently from Endoscapes; name them {', '.join(CRITERIA)}"
        )
        raise InputInvalid(data_set, [problem])
    chosen |= numbered
    if lacking := [name for name in CRITERIA if name not in chosen]:
        raise InputInvalid(data_set, [f"no column for the criterion {name!r}" for name in lacking])
    return {name: chosen[name] for name in CRITERIA}
