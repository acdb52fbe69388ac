"""Cases whose reference may be wrong: many good models agree on another answer.

Definition. Model m is right with probability `a_m` and otherwise gives each of the other labels alike. For a case with
reference r and another label s the evidence is

    L = sum over models of [log P(answer | s) - log P(answer | r)]

with `a_m` from all *other* videos: what is wrong in one video does not vouch for itself. Models share errors, because a
hard case is hard for all. `L` is divided by the factor by which the number of wrong models per case varies more than
with independent models of these accuracies (at least 1), again from the other videos. The probability follows from the
corrected evidence and a prior of 1 % wrong references.

The decision a reader would question: the factor is one number for all cases. It makes ten models that err together
weigh as few, which costs true finds where models are alike; a list of false suspicions costs a surgeon's time.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from surgvalid.audit.measures import coded
from surgvalid.results.tables.auditing import LABEL_ERRORS

PRIOR = 0.01
"""Share of wrong references that is expected before looking."""
DOUBTFUL = 0.5
"""Probability from which on a case is listed."""
FEWEST_MODELS, FEWEST_VIDEOS = 3, 2
_LEAST, _MOST = 0.02, 0.98
"""Accuracies are kept within these, so that no single model decides."""


def suspected_label_errors(responses: pl.DataFrame | None) -> pl.DataFrame:
    """The cases whose reference may be wrong, the strongest evidence first; none without answers of three models.

    Args:
        responses: `model, case, reference, prediction`, and `video` where known; models need not answer every case.
    """
    empty = LABEL_ERRORS.frame([])
    if responses is None or responses["model"].n_unique() < FEWEST_MODELS:
        return empty
    rows = responses if "video" in responses.columns else responses.with_columns(video=pl.col("case"))
    rows = rows.drop_nulls(["reference"]).sort("case", "model")
    cases = rows.group_by("case", maintain_order=True).agg(pl.col("video").first(), pl.col("reference").first())
    videos, video = coded(cases["video"])
    labels, codes = coded(pl.concat([cases["reference"], rows["prediction"].drop_nulls()]))
    if len(videos) < FEWEST_VIDEOS or len(labels) < 2:
        return empty
    reference = codes[: cases.height]
    (models, model), (_, case) = coded(rows["model"]), coded(rows["case"])  # rows and cases are in the order of names
    answers, given = np.full((cases.height, len(models)), -1), rows["prediction"].is_not_null().to_numpy()
    answers[case[given], model[given]] = codes[cases.height :]
    evidence, suggested = _evidence(answers, reference, video, len(videos), len(labels))
    chance = 1 / (1 + np.exp(-np.clip(evidence + np.log(PRIOR / (1 - PRIOR)), -50, 50)))
    doubted = np.flatnonzero(chance >= DOUBTFUL)
    order = doubted[np.argsort(-evidence[doubted], kind="stable")]
    shares = np.bincount(video[doubted], minlength=len(videos)) / np.bincount(video, minlength=len(videos))
    return LABEL_ERRORS.frame(
        [
            {
                "case": cases["case"][int(row)],
                "video": cases["video"][int(row)],
                "reference": labels[reference[row]],
                "suggested": labels[suggested[row]],
                "probability": float(chance[row]),
                "evidence": float(evidence[row]),
                "models": int((answers[row] >= 0).sum()),
                "agreeing": int((answers[row] == suggested[row]).sum()),
                "for_reference": int((answers[row] == reference[row]).sum()),
                "video_share": float(shares[video[row]]),
            }
            for row in order
        ]
    )


def _evidence(
    answers: np.ndarray, reference: np.ndarray, video: np.ndarray, videos: int, labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """The corrected evidence for the best other label of each case, and that label."""
    answered = answers >= 0
    right = answered & (answers == reference[:, None])
    accuracy = _elsewhere(right, answered, video, videos)
    accuracy = np.clip(accuracy, _LEAST, _MOST)[video]
    weight = np.where(answered, np.log(accuracy * (labels - 1) / (1 - accuracy)), 0.0)
    votes = np.zeros((len(answers), labels))
    rows, columns = np.nonzero(answered)
    np.add.at(votes, (rows, answers[rows, columns]), weight[rows, columns])
    everyone = np.arange(len(answers))
    for_reference = votes[everyone, reference]
    votes[everyone, reference] = -np.inf
    suggested = votes.argmax(axis=1)
    raw = votes[everyone, suggested] - for_reference
    return raw / _shared_errors(right, answered, accuracy, video, videos)[video], suggested


def _elsewhere(right: np.ndarray, answered: np.ndarray, video: np.ndarray, videos: int) -> np.ndarray:
    """The share of right answers of every model in all other videos, `[video, model]`, drawn a little to one half."""
    hits, asked = np.zeros((2, videos, right.shape[1]))
    np.add.at(hits, video, right)
    np.add.at(asked, video, answered)
    return np.asarray((hits.sum(axis=0) - hits + 1) / (asked.sum(axis=0) - asked + 2))


def _shared_errors(
    right: np.ndarray, answered: np.ndarray, accuracy: np.ndarray, video: np.ndarray, videos: int
) -> np.ndarray:
    """By how much the number of wrong models varies more than with independent ones, without each video."""
    wrong = (answered & ~right).sum(axis=1)
    expected = np.where(answered, 1 - accuracy, 0.0).sum(axis=1)
    independent = np.where(answered, accuracy * (1 - accuracy), 0.0).sum(axis=1)
    squares, variances = np.zeros((2, videos))
    np.add.at(squares, video, (wrong - expected) ** 2)
    np.add.at(variances, video, independent)
    others = (squares.sum() - squares) / np.maximum(variances.sum() - variances, 1e-12)
    return np.asarray(np.maximum(1.0, others))
