"""Judges of free text: one file per kind, found by its name; verdicts are data.

A kind is a public file here whose name is the kind; `open_judge` finds it without importing the
others. What the kinds share (prompt, verdict parser, store, panel) lives in the private files.
"""

from surgeval.judges._agreement import Agreement as Agreement
from surgeval.judges._agreement import agreement_of as agreement_of
from surgeval.judges._calibration import CalibrationReport as CalibrationReport
from surgeval.judges._calibration import calibrate as calibrate
from surgeval.judges._case import VERDICT_STATES as VERDICT_STATES
from surgeval.judges._case import Decision as Decision
from surgeval.judges._case import Judge as Judge
from surgeval.judges._case import JudgeCase as JudgeCase
from surgeval.judges._case import ReportingJudge as ReportingJudge
from surgeval.judges._case import Verdict as Verdict
from surgeval.judges._case import Vote as Vote
from surgeval.judges._check import CheckInterrupted as CheckInterrupted
from surgeval.judges._check import CheckReport as CheckReport
from surgeval.judges._check import check_judge as check_judge
from surgeval.judges._check import check_size as check_size
from surgeval.judges._check import side_by_side as side_by_side
from surgeval.judges._official import in_official_protocol as in_official_protocol
from surgeval.judges._open import JUDGES as JUDGES
from surgeval.judges._open import open_judge as open_judge
from surgeval.judges._open import open_judges as open_judges
from surgeval.judges._panel import Panel as Panel
from surgeval.judges._store import VerdictStore as VerdictStore
from surgeval.judges._verdict_file import verdict_row as verdict_row

__all__ = [
    "JUDGES",
    "VERDICT_STATES",
    "Agreement",
    "CalibrationReport",
    "CheckInterrupted",
    "CheckReport",
    "Decision",
    "Judge",
    "JudgeCase",
    "Panel",
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
