"""Judges of free text: one file per kind, found by its name; verdicts are data.

A kind is a public file here whose name is the kind; `open_judge` finds it without importing the
others. What the kinds share (prompt, verdict parser, store, panel) lives in the private files.
"""

from surgvalid.judges._agreement import Agreement, agreement_of
from surgvalid.judges._calibration import CalibrationReport, calibrate
from surgvalid.judges._case import (
    JUDGES,
    VERDICT_STATES,
    Judge,
    JudgeCase,
    PanelDecision,
    ReportingJudge,
    Verdict,
    Vote,
    open_judge,
    open_judges,
)
from surgvalid.judges._check import CheckInterrupted, CheckReport, check_judge, check_size, side_by_side
from surgvalid.judges._official_server import in_official_protocol
from surgvalid.judges._panel import Panel
from surgvalid.judges._verdict_file import VerdictStore, verdict_row

__all__ = [
    "JUDGES",
    "VERDICT_STATES",
    "Agreement",
    "CalibrationReport",
    "CheckInterrupted",
    "CheckReport",
    "Judge",
    "JudgeCase",
    "Panel",
    "PanelDecision",
    "ReportingJudge",
    "Verdict",
    "VerdictStore",
    "Vote",
    "agreement_of",
    "calibrate",
    "check_judge",
    "check_size",
    "in_official_protocol",
    "open_judge",
    "open_judges",
    "side_by_side",
    "verdict_row",
]
