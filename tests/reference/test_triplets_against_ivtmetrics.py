"""Triplet mAP against ivtmetrics 0.1.5: as it is installed here, and stored values of its old scikit-learn."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from compat_gaps import compat_gap
from reference.make_ivtmetrics_values import COMPONENTS, VALUES, values_of, videos_of
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.triplets import CHOLECT50_TRIPLETS, GlobalTripletMap, TripletCases, VideoTripletMap

OLD = json.loads(VALUES.read_text(encoding="utf-8"))["values"]
KINDS = {"global": GlobalTripletMap, "videos": VideoTripletMap}


def cases_of(seed: int) -> TripletCases:
    videos = videos_of(seed)
    video = [index for index, unit in enumerate(videos) for _ in unit[0]]
    return TripletCases(*(np.concatenate([unit[side] for unit in videos]) for side in (0, 1)), video)


def ours(seed: int, compat: str) -> dict[str, float]:
    cases, found = cases_of(seed), {}
    for component in COMPONENTS:
        for null, tail in (("keep", ""), ("drop", " without null")):
            for kind, metric in KINDS.items():
                made = metric(component=component, null=null, compat=compat)
                found[f"{component}{tail}, {kind}"] = value_of(made, cases)
    return found


@pytest.mark.parametrize("seed", sorted(OLD))
def test_the_old_scikit_learn_left_absent_classes_out(seed: str) -> None:
    assert ours(int(seed), "ivtmetrics-0.1.5 on scikit-learn 1.2") == pytest.approx(OLD[seed], abs=1e-12)


def test_on_a_current_scikit_learn_ivtmetrics_counts_absent_classes_as_zero() -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs = values_of(0, ("ivt", "v"))
    found = ours(0, "ivtmetrics-0.1.5")
    assert {key: found[key] for key in theirs} == pytest.approx(theirs, abs=1e-12)
    gap = compat_gap(GlobalTripletMap(compat="ivtmetrics-0.1.5"), cases_of(0))
    assert gap.corrected[0] == pytest.approx(OLD["0"]["ivt, global"], abs=1e-12)
    assert gap.difference[0] == pytest.approx(theirs["ivt, global"] - OLD["0"]["ivt, global"], abs=1e-12)
    assert gap.difference[0] < -0.02


def test_the_map_of_triplets_is_theirs() -> None:
    import ivtmetrics

    bank = np.asarray(ivtmetrics.Disentangle().bank)
    assert [list(triplet) for triplet in CHOLECT50_TRIPLETS.triplets] == bank[:, 1:4].tolist()
    table = np.random.default_rng(0).random((5, 100))
    for component in COMPONENTS:
        theirs = ivtmetrics.Disentangle().extract(table, component)
        assert np.array_equal(CHOLECT50_TRIPLETS.component(table, component), theirs)
