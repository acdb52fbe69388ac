"""Who takes part in the demo, and what is wrong with them: the truth that the analyses have to find."""

from __future__ import annotations

from dataclasses import replace

from surgvalid.simulation.models import SimulatedModel

SMOKE, SMOKE_EFFECT = "background_smoke", -5.0
LATE_S = 4.2
"""Typical seconds per answer of the slow model; the FRAME track allows 5."""


def _model(name: str, skill: float, flaw: SimulatedModel | None = None) -> SimulatedModel:
    """A model on the same questions as the others: some videos and questions are hard for everybody, and every
    model has bad days of its own."""
    return replace(flaw or _FLAWLESS, name=name, skill=skill, video_sd=0.5, own_video_sd=0.4, case_sd=0.8)


_FLAWLESS = SimulatedModel("")
COMPETITORS = (
    _model("all-rounder", 0.88),
    _model("smoke-blind", 0.78, SimulatedModel("", sensitivity={SMOKE: SMOKE_EFFECT})),
    _model("stay-at-home", 0.78, SimulatedModel("", ood_shift=-1.6)),
    _model("cannot-count", 0.78, SimulatedModel("", skills={"aggregation": 0.25})),
    _model("slow-thinker", 0.80, SimulatedModel("", latency_s=LATE_S)),
)
"""Models of known skill, each with one flaw except the first, the best: some leaderboards show it, some cannot."""

BASELINES = (
    _model("tuned-example", 0.45, SimulatedModel("", refuses=0.03, drawn_as="baseline-small")),
    _model("frontier-example", 0.60, SimulatedModel("", drawn_as="baseline-large")),
)
"""The organisers' own: competitors must beat them. They stand where a fine-tuned model and a frontier model behind an
API would (how-to "Set the organisers' baselines"): their answers are simulated examples, as their names say."""

BLIND = "blind-prior"
"""Answers from the wording alone, learned on the training questions."""
RULE_BASED = "clock-and-colours"
"""The rule-based participant in examples/; it sees images only."""
TRAINED = "sees"
"""The small model in examples/ that was trained on other simulated procedures."""

HELD_OUT_CENTERS = ("Center E", "Center F")
"""Only the test set shows them, so their questions are out of distribution; one alone has too few videos."""

WHO = f"""\
Answers are drawn by chance from known skills, for the organisers' baselines too: {BASELINES[0].name} and
{BASELINES[1].name} stand where a fine-tuned and a frontier model would, and are neither. Only {BLIND} (from the
wording alone) and, unless --quick, {RULE_BASED} (rules) and {TRAINED} (a small model trained on other simulated
procedures; it needs the extra "onnx") answer by themselves."""
"""What stands behind the names on the leaderboards."""
