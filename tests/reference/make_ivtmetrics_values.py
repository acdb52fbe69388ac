"""Writes ivtmetrics_values.json. Needs ivtmetrics with the scikit-learn it was written for, so on its own:

python -m venv peer && peer/bin/pip install ivtmetrics==0.1.5 scikit-learn==1.2.2 'numpy<2'
peer/bin/python tests/reference/make_ivtmetrics_values.py
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

VALUES = Path(__file__).with_name("ivtmetrics_values.json")
COMPONENTS = ("ivt", "i", "v", "t", "iv", "it")


def videos_of(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(references, scores) of a few short videos in which a third of the triplets never occurs."""
    rng = np.random.default_rng(seed)
    share = np.where(rng.permutation(100) < 36, 0.0, 0.04)
    videos = []
    for _ in range(3):
        reference = (rng.random((40, 100)) < share).astype(int)
        videos.append((reference, (rng.random((40, 100)) + 0.3 * reference).round(3)))
    return videos


def values_of(seed: int, components: tuple[str, ...] = COMPONENTS) -> dict[str, float]:
    """What ivtmetrics makes of them, with whatever scikit-learn is there."""
    import ivtmetrics

    found = {}
    for component in components:
        for null in (False, True):
            recorder = ivtmetrics.Recognition(num_class=100)
            recorder.reset_global()
            for reference, scores in videos_of(seed):
                recorder.update(reference, scores)
                recorder.video_end()
            key = f"{component}{' without null' if null else ''}"
            found[f"{key}, global"] = float(recorder.compute_global_AP(component, ignore_null=null)["mAP"])
            found[f"{key}, videos"] = float(recorder.compute_video_AP(component, ignore_null=null)["mAP"])
    return found


if __name__ == "__main__":
    import sklearn

    warnings.simplefilter("ignore")
    stored = {"scikit-learn": sklearn.__version__, "values": {str(seed): values_of(seed) for seed in range(4)}}
    VALUES.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
