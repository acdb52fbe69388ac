"""Classification: one label per case, several labels per case, scores and probabilities.

`cases` says what goes in; the other files hold the metrics, listed in `surgvalid.metrics.METRICS`.
"""

__all__ = ["averages", "cases", "f1_max", "probabilities", "ranking"]
