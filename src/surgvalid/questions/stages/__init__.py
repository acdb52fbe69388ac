"""The five annotation stages: from what several people saw to instances and questions that can be trusted."""

__all__ = [
    "appearance",
    "box_tables",
    "ceiling",
    "consistency",
    "corrections",
    "cross_check",
    "expert_questions",
    "history",
    "linking",
    "localization",
    "moments",
    "screening",
    "tolerance",
]
