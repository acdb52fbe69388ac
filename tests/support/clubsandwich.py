"""CR2 with the square root that clubSandwich takes, so that differences to ours have no other cause.

CR2 corrects the residuals of a cluster by a matrix A with `A (V - X M X') A' = V` on the scale of the outcome (V: their
variances under the working model). Many A fulfil that. With R = V^1/2 clubSandwich takes `R (R (V - X M X') R)^-1/2 R`,
which is symmetric on that scale; ours is symmetric where residuals are divided by their deviations.
"""

from __future__ import annotations

import numpy as np

from surgvalid.stats.mixed.fit.logistic import LogisticFit


def their_cr2(fit: LogisticFit, codes: np.ndarray) -> np.ndarray:
    """The CR2 covariance of clubSandwich, by dense algebra."""
    variance = fit.weights * fit.fitted * (1 - fit.fitted)
    design, residual = fit.design * variance[:, None], fit.weights * (fit.outcome - fit.fitted)
    meat = np.zeros_like(fit.bread)
    for cluster in np.unique(codes):
        rows = codes == cluster
        part, root = design[rows], np.sqrt(variance[rows])
        inner = root[:, None] * (np.diag(variance[rows]) - part @ fit.bread @ part.T) * root
        values, vectors = np.linalg.eigh(inner)
        halved = (vectors / np.sqrt(values)) @ vectors.T
        score = part.T @ ((root[:, None] * halved * root) @ residual[rows] / variance[rows])
        meat += np.outer(score, score)
    return np.asarray(fit.bread @ meat @ fit.bread)
