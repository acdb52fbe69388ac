"""Metrics of masks, phases, triplets and tracks against the libraries that have them.

TrackEval and surface-distance run in this process. MONAI needs torch and runs in an environment that the bench makes
(`bench.peer_environment`); where that cannot be made, the ratio that was measured once is quoted as stored.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Row, cpu_seconds, peak_memory_mb
from bench.peer_environment import peer_python
from surgvalid.metrics.phases.frames import PhaseAccuracy, PhaseMeasure
from surgvalid.metrics.phases.segmental import SegmentF1
from surgvalid.metrics.phases.transitions import TransitionDetection
from surgvalid.metrics.phases.videos import PhaseVideo
from surgvalid.metrics.segmentation.surfaces import nsd
from surgvalid.metrics.tracking.measures import Hota
from surgvalid.metrics.tracking.sequences import TrackSequence, overlaps
from surgvalid.metrics.triplets import GlobalTripletMap, TripletCases

TOLERANCE_PX = 5.0
STORED_MONAI = "stored, not of this run: 16x MONAI 1.6.1 (torch 2.13 CPU, one thread, 8.05 ms a pair against 0.49 ms)"


def rows() -> list[Row]:
    return [*_surfaces(), _triplets(), _hota(), _labels()]


def _mask_pairs(count: int) -> np.ndarray:
    """Wobbly blobs of 960 x 540 and what a decent model makes of them."""
    rng, (rows_px, columns_px) = np.random.default_rng(0), np.ogrid[:540, :960]
    pairs = np.zeros((count, 2, 540, 960), dtype=bool)
    for pair in pairs:
        middle, radius = rng.uniform((150, 200), (400, 760)), rng.uniform(40, (150, 200))
        for mask in pair:
            y, x = (rows_px - middle[0]) / radius[0], (columns_px - middle[1]) / radius[1]
            angle, phase = np.arctan2(y, x), rng.uniform(0, 6)
            wobble = 1 + 0.1 * np.sin(5 * angle + phase) + 0.05 * np.sin(11 * angle + 2 * phase)
            mask[:] = y**2 + x**2 < wobble**2
            middle, radius = middle + rng.normal(0, 5, 2), radius * rng.uniform(0.9, 1.1, 2)
    return pairs


def _surfaces() -> list[Row]:
    pairs = _mask_pairs(40)
    work = "NSD of a 960x540 pair, tolerance 5 px"
    times, values = {}, {}
    for outline in ("contour", "border"):
        values[outline] = [nsd(*pair, tolerance_px=TOLERANCE_PX, outline=outline) for pair in pairs]

        def ours(outline: str = outline) -> None:
            for pair in pairs:
                nsd(*pair, tolerance_px=TOLERANCE_PX, outline=outline)

        times[outline] = cpu_seconds(ours) / len(pairs)
    deepmind = cpu_seconds(lambda: [_deepmind(*pair) for pair in pairs], repeat=2) / len(pairs)
    off = max(abs(a - _deepmind(*pair)) for a, pair in zip(values["contour"], pairs, strict=True))
    note = f"largest difference {off:.0e}"
    found = [Row(f"{work}, contour", times["contour"], "surface-distance 0.1", deepmind, 4, note)]
    monai = _monai(pairs)
    if monai is None:
        return [*found, Row(f"{work}, border", times["border"], "MONAI", None, 5, STORED_MONAI)]
    off = float(np.abs(np.subtract(values["border"], monai["values"])).max())
    peer, note = f"MONAI {monai['version']}, own environment", f"largest difference {off:.0e} (single precision)"
    return [*found, Row(f"{work}, border", times["border"], peer, monai["seconds"], 5, note)]


def _deepmind(reference: np.ndarray, prediction: np.ndarray) -> float:
    import surface_distance

    if not hasattr(np, "Inf"):  # the release predates NumPy 2
        setattr(np, "Inf", np.inf)  # noqa: B010
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = surface_distance.compute_surface_distances(reference, prediction, (1.0, 1.0))
    return float(surface_distance.compute_surface_dice_at_tolerance(found, TOLERANCE_PX))


def _monai(pairs: np.ndarray) -> dict[str, Any] | None:
    python = peer_python("monai", "torch==2.13.0", "monai==1.6.1", "scipy")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.npz")
        np.savez(path, pairs=pairs)
        script = Path(__file__).with_name("peer_monai.py")
        done = subprocess.run([python, script, path, str(TOLERANCE_PX)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _triplets(replicates: int = 200, rerun: int = 3) -> Row:
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(1)
    video = np.repeat(np.arange(9), 2000)
    reference = rng.random((video.size, 100)) < 0.02
    scores = rng.random(reference.shape) + 0.3 * reference
    draws = rng.integers(0, 9, size=(replicates, 9))
    weights = np.stack([np.bincount(draw, minlength=9) for draw in draws])
    metric, cases = GlobalTripletMap(), TripletCases(reference, scores, video)

    def ours() -> np.ndarray:
        return metric.combine(metric.prepare(cases), weights)

    def theirs() -> list[float]:
        frames = [np.concatenate([np.flatnonzero(video == v) for v in draw]) for draw in draws[:rerun]]
        return [float(average_precision_score(reference[f], scores[f], average="macro")) for f in frames]

    off = np.abs(ours()[:rerun] - theirs()).max()
    spent = cpu_seconds(theirs, repeat=1, warm_up=False) * replicates / rerun
    note = f"9 videos x 2,000 frames x 100 triplets; peer measured on {rerun}, scaled; largest difference {off:.0e}"
    return Row(f"bootstrap of triplet mAP, {replicates} replicates", cpu_seconds(ours), "scikit-learn", spent, 25, note)


def _hour() -> TrackSequence:
    """One hour at 1 fps: 60 reference identities, 150 predicted ones, five boxes a frame."""
    rng = np.random.default_rng(2)
    ours: dict[tuple[int, int], tuple[float, ...]] = {}
    theirs: dict[tuple[int, int], tuple[float, ...]] = {}
    places = rng.uniform(0, 1000, size=(60, 2))
    for frame in range(3600):
        shown = (frame // 330 * 5 + np.arange(6)) % 60
        places[shown] += rng.normal(0, 15, size=(6, 2))
        for one in shown.tolist():
            if rng.random() < 0.9:
                ours[frame, one] = (*places[one], 120.0, 90.0)
            if rng.random() < 0.85:
                theirs[frame, one * 2 + frame // 500 % 3] = (*(places[one] + rng.normal(0, 12, 2)), 120.0, 90.0)
    left, right = ([*zip(*side, strict=True), list(side.values())] for side in (ours, theirs))
    return TrackSequence(left[0], left[1], left[2], right[0], right[1], right[2])


def _hota() -> Row:
    sequence = _hour()
    work = "HOTA of one hour at 1 fps, boxes in, value out"

    def ours() -> float:
        return float(Hota().combine(Hota().prepare([sequence]), [1.0]))

    spent = cpu_seconds(ours)
    if importlib.util.find_spec("trackeval") is None:
        return Row(work, spent, "TrackEval", None, 5, "TrackEval is not installed (pip install --no-deps trackeval)")
    from trackeval.metrics import HOTA

    data, peer = _trackeval_data(sequence), HOTA()
    off = abs(ours() - float(np.mean(peer.eval_sequence(data)["HOTA"])))
    boxes = f"{data['num_gt_dets']:,} and {data['num_tracker_dets']:,} boxes"
    note = f"{boxes}; the peer is given the IoU; largest difference {off:.0e}"
    return Row(work, spent, "TrackEval 1.3.0", cpu_seconds(lambda: peer.eval_sequence(data), repeat=2), 5, note)


def _trackeval_data(sequence: TrackSequence) -> dict[str, Any]:
    found = overlaps(sequence)
    ours, theirs = found.reference, found.prediction
    frames = range(len(found.starts) - 1)
    ids = [[side.identity[side.starts[f] : side.starts[f + 1]] for f in frames] for side in (ours, theirs)]
    blocks = [found.similarity[found.starts[f] : found.starts[f + 1]] for f in frames]
    return {
        "gt_ids": ids[0],
        "tracker_ids": ids[1],
        "similarity_scores": [block.reshape(len(ids[0][f]), len(ids[1][f])) for f, block in enumerate(blocks)],
        "num_timesteps": len(blocks),
        "num_gt_ids": ours.identities,
        "num_tracker_ids": theirs.identities,
        "num_gt_dets": ours.identity.size,
        "num_tracker_dets": theirs.identity.size,
    }


def million_frames() -> float:
    """Peak memory in MB after one million frames of phase labels went through the metrics of time."""
    rng = np.random.default_rng(3)
    videos = []
    for _ in range(100):
        reference = np.repeat(np.arange(7), rng.multinomial(10_000, np.ones(7) / 7))
        prediction = np.where(rng.random(10_000) < 0.05, rng.integers(0, 7, 10_000), np.roll(reference, 5))
        videos.append(PhaseVideo(reference, prediction))
    for metric in (
        PhaseAccuracy(phases=range(7)),
        PhaseMeasure(phases=range(7), rule="ad"),
        SegmentF1(overlap=0.1),
        TransitionDetection(),
    ):
        metric.combine(metric.prepare(videos), np.ones((1, 100)))
    return peak_memory_mb()


def _labels() -> Row:
    """In a process of its own, so that the peak is that of the labels alone."""
    code = "import time; from bench.bench_metrics_b import million_frames as m; print(m(), time.process_time())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    memory, seconds = (float(part) for part in done.stdout.split())
    note = f"accuracy, Jaccard, F1@10, transitions; peak memory {memory:.0f} MB (promised: below 1,000)"
    return Row("1,000,000 frames of phase labels, 100 videos", seconds, "-", None, note=note)
