"""Tables of `surgvalid analyse failures`: effects of properties, and what the mixed model behind them looks like."""

from __future__ import annotations

from surgvalid.results.tables.table import declared

_TABLES = declared(__name__)
EFFECTS = _TABLES["effects"]
VARIANCE = _TABLES["variance"]
PER_MODEL = _TABLES["per_model"]
MARGINAL = _TABLES["marginal"]
INFLUENCE = _TABLES["influence"]
JOINT = _TABLES["joint"]
PAIRS = _TABLES["pairs"]
SCORE_DIFFERENCES = _TABLES["score_differences"]
PARTS = _TABLES["parts"]
RANDOM_EFFECTS = _TABLES["random_effects"]
QUANTILES = _TABLES["quantiles"]
MARGINAL_MEANS = _TABLES["marginal_means"]
RESIDUALS = _TABLES["residuals"]
RESIDUAL_TESTS = _TABLES["residual_tests"]
RECOMMENDATIONS = _TABLES["recommendations"]
RECOMMENDED_CASES = _TABLES["recommended_cases"]
HIDDEN_HARMS = _TABLES["hidden_harms"]
PROPERTY_CURVES = _TABLES["property_curves"]
EFFECT_CHANGES = _TABLES["effect_changes"]
GAINS = _TABLES["gains"]
FAILURE_CHANGE = (EFFECT_CHANGES, GAINS)
RISK = _TABLES["risk"]
CALIBRATION = _TABLES["calibration"]
CALIBRATION_BINS = _TABLES["calibration_bins"]
STRENGTH_TESTS = _TABLES["strength_tests"]
STRENGTHS = _TABLES["strengths"]
FAILURE_TABLE = _TABLES["failure_table"]

FAILURES = (
    EFFECTS,
    VARIANCE,
    PER_MODEL,
    MARGINAL,
    INFLUENCE,
    JOINT,
    PAIRS,
    SCORE_DIFFERENCES,
    PARTS,
    RANDOM_EFFECTS,
    QUANTILES,
    MARGINAL_MEANS,
    RESIDUALS,
    RESIDUAL_TESTS,
    RECOMMENDATIONS,
    RECOMMENDED_CASES,
    HIDDEN_HARMS,
    PROPERTY_CURVES,
    RISK,
    CALIBRATION,
    CALIBRATION_BINS,
    STRENGTHS,
    STRENGTH_TESTS,
)
