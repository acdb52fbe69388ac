"""Known effects come back from simulated data of the paper's structure; intervals cover as they should."""

import numpy as np
import pytest
from examples.simulated_instruments import EFFECTS, Simulation, Spreads

from surgvalid.stats.mixed.failures import failures

UNITS = ["algorithm", "patient", "image", "instance"]
COUNTS = {"successes": "tp", "trials": "reference", "fixed": list(EFFECTS), "random": UNITS}
TRUTH = np.array(list(EFFECTS.values()))


@pytest.mark.long
def test_effects_and_deviations_come_back_under_overdispersion() -> None:
    result = failures(Simulation().frame(0), **COUNTS)
    error = (result.fit.beta[1:] - TRUTH) / result.fit.standard_errors[1:]
    assert np.abs(error).max() < 4
    assert np.sqrt(np.mean(error**2)) < 1.6
    sd, true = result.fit.sd, Spreads()
    assert sd["instance"] == pytest.approx(true.instance, rel=0.1)
    assert sd["image"] == pytest.approx(true.image, rel=0.2)
    assert sd["algorithm:instance"] == pytest.approx(true.cell, rel=0.05)


@pytest.mark.long
def test_the_paper_specification_understates_errors_of_overdispersed_counts() -> None:
    frame = Simulation().frame(0)
    default, paper = (failures(frame, **COUNTS, spec=spec, role="fixed") for spec in ("default", "ross"))
    models = [name.startswith("algorithm[") for name in default.fit.names]
    assert (default.fit.standard_errors[models] / paper.fit.standard_errors[models]).min() > 10


@pytest.mark.long
def test_binary_answers_with_video_template_and_model_effects_come_back() -> None:
    frame = Simulation(outcome="binary", spreads=Spreads(cell=0.0)).frame(1)
    result = failures(frame, outcome="correct", fixed=list(EFFECTS), random=UNITS, cluster=["patient"])
    error = (result.fit.beta[1:] - TRUTH) / result.fit.standard_errors[1:]
    assert np.sqrt(np.mean(error**2)) < 1.6
    assert result.marginal is not None
    shrunk = np.abs(result.marginal["estimate"].to_numpy()[1:]).sum()
    assert shrunk < np.abs(result.fit.beta[1:]).sum()


@pytest.mark.long
def test_a_continuous_score_comes_back() -> None:
    result = failures(Simulation(outcome="score").frame(2), outcome="score", fixed=list(EFFECTS), random=UNITS)
    error = (result.fit.beta[1:] - TRUTH) / result.fit.standard_errors[1:]
    assert result.fit.family == "gaussian"
    assert np.sqrt(np.mean(error**2)) < 1.6
