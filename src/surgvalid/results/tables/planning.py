"""Tables of what is said before and after a study: `plan`, `preregister`, `monitor`."""

from __future__ import annotations

from surgvalid.results.tables.table import declared

_TABLES = declared(__name__)
SIZES = _TABLES["sizes"]
CURVE = _TABLES["curve"]
TRADE = _TABLES["trade"]
COMPONENTS = _TABLES["components"]
PLAN = (SIZES, CURVE, TRADE, COMPONENTS)
CHANGES = _TABLES["changes"]
WATCHED = _TABLES["watched"]
MONITOR = (CHANGES, WATCHED)
REGISTERED_SETTINGS = _TABLES["registered_settings"]
REGISTRATION = (REGISTERED_SETTINGS,)
