"""Who is better and how sure: the statements that a table of scores supports."""

__all__ = [
    "contradictions",
    "grounds",
    "joint_flips",
    "judged_result",
    "reach",
    "sentences",
    "study",
    "unit_differences",
    "who_is_better",
]
