"""HOTA, CLEAR and identity metrics against TrackEval and motmetrics, on long and on adversarial sequences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from metric_examples.tracking import random_sequence, sequence_of
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.tracking.measures import Hota, IdentityF1, IdentitySwitches, Mota
from surgvalid.metrics.tracking.sequences import TrackSequence
from tracking_tables import tracking_table


def crowded_sequence(
    seed: int, frames: int = 60, tools: int = 7, seen: float = 0.8, noise: float = 1.5
) -> list[tuple[dict, dict]]:
    """Many overlapping boxes, so that most frames need the assignment solver."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0, 30, size=(tools, 2))
    alias = rng.permutation(tools)
    sequence = []
    for _ in range(frames):
        place += rng.normal(0, 1.5, size=place.shape)
        if rng.random() < 0.2:
            a, b = rng.choice(tools, 2, replace=False)
            alias[[a, b]] = alias[[b, a]]
        shown = [t for t in range(tools) if rng.random() < seen]
        ours = {t: (*place[t], 12.0, 10.0) for t in shown}
        theirs = {
            int(alias[t]): (*(place[t] + rng.normal(0, noise, 2)), 12.0, 10.0) for t in shown if rng.random() < seen
        }
        if rng.random() < 0.3:
            theirs[100 + int(rng.integers(3))] = (*rng.uniform(0, 30, 2), 12.0, 10.0)
        sequence.append((ours, theirs))
    return sequence


def trackeval_data(unit: list) -> dict:
    from surgvalid.metrics.tracking.sequences import overlaps

    found = overlaps(sequence_of(unit))
    data: dict = {"gt_ids": [], "tracker_ids": [], "similarity_scores": [], "num_timesteps": len(found.starts) - 1}
    for frame in range(len(found.starts) - 1):
        ours, theirs = (
            side.identity[side.starts[frame] : side.starts[frame + 1]] for side in (found.reference, found.prediction)
        )
        data["gt_ids"].append(ours)
        data["tracker_ids"].append(theirs)
        block = found.similarity[found.starts[frame] : found.starts[frame + 1]]
        data["similarity_scores"].append(block.reshape(len(ours), len(theirs)))
    data |= {"num_gt_ids": found.reference.identities, "num_tracker_ids": found.prediction.identities}
    data |= {"num_gt_dets": found.reference.identity.size, "num_tracker_dets": found.prediction.identity.size}
    return data


def trackeval_values(units: list) -> dict[str, float]:
    metrics = pytest.importorskip("trackeval.metrics", reason="trackeval is not installed (pip install --no-deps)")
    quiet = {"PRINT_CONFIG": False}
    found = {}
    for metric in (metrics.HOTA(), metrics.CLEAR(quiet), metrics.Identity(quiet)):
        per_sequence = {str(i): metric.eval_sequence(trackeval_data(unit)) for i, unit in enumerate(units)}
        found |= metric.combine_sequences(per_sequence)
    hota = {
        name: float(np.mean(found[label])) for name, label in (("hota", "HOTA"), ("deta", "DetA"), ("assa", "AssA"))
    }
    return hota | {"mota": found["MOTA"], "idf1": found["IDF1"], "id_switches": found["IDSW"]}


UNITS = [
    [crowded_sequence(0), crowded_sequence(1, frames=30)],
    [random_sequence(np.random.default_rng(seed)) for seed in range(12)],
]


@pytest.mark.parametrize("units", UNITS, ids=["crowded", "short, some empty"])
def test_combined_sequences_equal_trackeval(units: list) -> None:
    theirs = trackeval_values(units)
    ours = tracking_table([sequence_of(unit) for unit in units]).row(-1, named=True)
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_single_sequences_equal_trackeval(seed: int) -> None:
    unit = crowded_sequence(seed, frames=40)
    theirs = trackeval_values([unit])
    metrics = (Hota(), Hota(component="deta"), Hota(component="assa"), Mota(), IdentityF1(), IdentitySwitches())
    assert {m.facts.name: value_of(m, [sequence_of(unit)]) for m in metrics} == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_idf1_equals_motmetrics_and_so_does_mota_without_gaps(seed: int) -> None:
    """Over gaps motmetrics continues the last match, we (and TrackEval) that of the frame before."""
    with_gaps = crowded_sequence(seed, frames=40, tools=4)
    without = crowded_sequence(seed, frames=40, tools=4, seen=1.0, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = motmetrics_values(with_gaps), motmetrics_values(without)
    assert value_of(IdentityF1(), [sequence_of(with_gaps)]) == pytest.approx(theirs[0]["idf1"], abs=1e-12)
    assert value_of(IdentityF1(), [sequence_of(without)]) == pytest.approx(theirs[1]["idf1"], abs=1e-12)
    assert value_of(Mota(), [sequence_of(without)]) == pytest.approx(theirs[1]["mota"], abs=1e-12)


def motmetrics_values(unit: list) -> dict[str, float]:
    import motmetrics

    from metric_examples.tracking import iou

    recorder = motmetrics.MOTAccumulator(auto_id=True)
    for ours, theirs in unit:
        table = np.array(
            [[1 - iou(a, b) if iou(a, b) >= 0.5 else np.nan for b in theirs.values()] for a in ours.values()]
        )
        recorder.update(list(ours), list(theirs), table.reshape(len(ours), len(theirs)))
    return motmetrics.metrics.create().compute(recorder, metrics=["mota", "idf1"]).iloc[0].to_dict()


def test_an_empty_side_is_no_crash() -> None:
    only_reference = TrackSequence([0], ["a"], [[0, 0, 2, 2]], [], [], [])
    only_prediction = TrackSequence([], [], [], [0], ["a"], [[0, 0, 2, 2]])
    table = tracking_table([only_reference, only_prediction])
    assert table["hota"].to_list() == [0, 0, 0]
    assert np.isnan(table["mota"][1])
