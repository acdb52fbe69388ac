"""Tables of `preregister`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, text, whole, yes_no

REGISTERED_SETTINGS = Table(
    "settings", "One option of one registered analysis.",
    analysis=whole("its number"), verb=text, option=text("by its name in Python"), value=text,
    stated=yes_no("by the author; else it is the default"),
)  # fmt: skip
REGISTRATION = (REGISTERED_SETTINGS,)
