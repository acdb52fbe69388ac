"""The official FOCUS toolkit, reproduced: rows, decisions, files and its random stream.

What aborts there raises `OfficialAborts` here, with every cause listed instead of the first. Two
consequences of its design are kept on purpose: identifiers are compared as JSON values (1 and "1"
differ), and one odd answer stops the whole run. The native profile does neither.
"""

from surgvalid.scoring.official.decisions import OfficialResults, decide
from surgvalid.scoring.official.files import load_answers, load_rows, official_row, results_csv, summary_csv
from surgvalid.scoring.official.summary import SummaryRow, pre_evaluation, summarise

__all__ = [
    "OfficialResults",
    "SummaryRow",
    "decide",
    "load_answers",
    "load_rows",
    "official_row",
    "pre_evaluation",
    "results_csv",
    "summarise",
    "summary_csv",
]
