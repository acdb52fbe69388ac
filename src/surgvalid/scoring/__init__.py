"""From questions, answers and verdicts to the score table: profiles, lint, trivial baselines, differences."""

__all__ = [
    "blind_questions",
    "diff",
    "lint",
    "lint_report",
    "official",
    "official_score",
    "ood",
    "people",
    "result",
    "run",
    "slices",
    "stored_scores",
    "summary",
    "trivial_baselines",
]
