"""Classification: one label per case, several labels per case, scores and probabilities.

`cases` says what goes in; the other files hold the metrics, listed in `surgeval.metrics.METRICS`.
"""

__all__ = ["averages", "calibration", "cases", "f1_max", "ranking"]
