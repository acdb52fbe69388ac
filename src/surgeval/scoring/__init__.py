"""From questions, answers and verdicts to the score table: profiles, lint, floors, differences."""

__all__ = [
    "counted",
    "diff",
    "evaluate",
    "floors",
    "leverage",
    "lint",
    "lint_report",
    "margins",
    "official",
    "ood_gap",
    "predictions",
    "profiles",
    "question_slices",
    "result",
    "run",
    "sanity",
    "stored_scores",
    "study",
    "summary",
    "verdict",
]
