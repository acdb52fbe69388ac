"""Tables of `surgeval failures`: effects of properties, and what the mixed model behind them looks like."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole

_ESTIMATE = {
    "term": text("property, or (Intercept)"),
    "estimate": number("log odds ratio, or the effect itself for a continuous outcome"),
    "std_error": number,
}
_SIZE = {
    "odds_ratio": number("of cases with equal random effects; empty for a continuous outcome"),
    "low": number("of the odds ratio, or of the estimate where there is none"),
    "high": number,
    "symbol": text(
        "of what is significant: a plus helps, a minus hurts; larger or smaller where nobody said which is better; "
        "x: not assessable"
    ),
}

_TEST = {
    "df": number("degrees of freedom; empty for z tests and where there is no test", needed=False),
    "varies": text("between videos, within every video, or mixed: within some", needed=False),
    "videos": whole("that carry the effect", needed=False),
    "videos_with": whole("that have the property", needed=False),
    "videos_without": whole("that lack it somewhere", needed=False),
    "slope_sd": number("how much the effect differs between videos; empty where it may not", needed=False),
    "method": text("of the test", needed=False),
}

EFFECTS = Table(
    "effects", "One coefficient.", **_ESTIMATE, z=number("t where df are given"), p_value=number,
    p_holm=number("corrected by Holm"), **_SIZE, **_TEST,
)  # fmt: skip
VARIANCE = Table(
    "variance", "One random effect.",
    group=text, variance=number, sd=number, icc=number("share of the variance on the scale of the linear predictor"),
)  # fmt: skip
PER_MODEL = Table(
    "per_model", "One coefficient of the fit of one model by itself.", model=text, **_ESTIMATE,
    z=number(needed=False), p_value=number, p_holm=number(needed=False), **_SIZE, **_TEST,
    note=text("why it was not fitted", needed=False),
)  # fmt: skip
MARGINAL = Table(
    "marginal", "One coefficient of a logistic regression with cluster-robust errors.",
    term=text, estimate=number(needed=False), std_error=number(needed=False), t=number(needed=False),
    p_value=number(needed=False), marginal_odds_ratio=number("averaged over random effects", needed=False),
    low=number("of the odds ratio", needed=False), high=number(needed=False),
    covariance=text("kind of standard error", needed=False), clusters=whole("the fewest of a column", needed=False),
)  # fmt: skip
INFLUENCE = Table(
    "influence", "One coefficient without one level of a column.", "unread",
    column=text, left_out=text, term=text, estimate=number, shift=number("in standard errors"),
)  # fmt: skip
JOINT = Table(
    "joint", "The test of one factor of three and more categories as a whole.", "unread",
    term=text, df1=whole, df2=number("empty: infinite"), f=number, p_value=number,
)  # fmt: skip
PAIRS = Table(
    "pairs", "Two categories of a factor compared, corrected by Tukey within the factor.", "unread",
    term=text, contrast=text("first less second"), estimate=number("difference on the scale of the linear predictor"),
    std_error=number, df=number("empty: infinite"), t=number, p_value=number, low=number, high=number,
)  # fmt: skip
SCORE_DIFFERENCES = Table(
    "score_differences", "What a property does to the expected score, averaged over the rows and random effects.",
    "unread", term=text, change=text("values of the property, before and after"),
    difference=number("in points of the score"), std_error=number, low=number, high=number,
    df=number("empty: infinite, or no test"),
)  # fmt: skip
PARTS = Table(
    "parts", "One coefficient of a model of hits, or of the scores of hits, by itself.", "unread",
    part=text("hit: a score above 0; overlap: the scores above 0"), **_ESTIMATE,
    df=number("empty: infinite, or no test"), p_value=number, low=number("of the estimate"), high=number,
)  # fmt: skip
RANDOM_EFFECTS = Table(
    "random_effects", "One level of one random effect.", group=text, level=text, mean=number("conditional"),
    sd=number("conditional"),
)  # fmt: skip
QUANTILES = Table(
    "quantiles", "One point of a Q-Q plot.", group=text("random effect, or residuals"),
    expected=number("normal quantile"), observed=number("standardised"), n=whole("points before thinning"),
)  # fmt: skip
MARGINAL_MEANS = Table(
    "marginal_means", "The expected outcome at one value of a property.",
    term=text, value=number, scale=text("conditional: random effects at zero; population: averaged over them"),
    mean=number, low=number, high=number,
)  # fmt: skip
RESIDUALS = Table("residuals", "One simulated residual.", residual=number("uniform on 0 to 1 where the model holds"))
RESIDUAL_TESTS = Table("residual_tests", "One test of the simulated residuals.", test=text, value=number)
FAILURE_TABLE = Table(
    "result", "One coefficient of the failure analysis of one outcome in one group of rows.",
    outcome=text, group=text("of rows; empty where they are not split", needed=False), **_ESTIMATE,
    z=number("t where df are given"), p_value=number, p_holm=number("corrected by Holm within the fit"), **_SIZE,
    **_TEST, rows=whole("that the fit is made of"), note=text("why there are no numbers", needed=False),
)  # fmt: skip

FAILURES = (
    EFFECTS, VARIANCE, PER_MODEL, MARGINAL, INFLUENCE, JOINT, PAIRS, SCORE_DIFFERENCES, PARTS, RANDOM_EFFECTS,
    QUANTILES, MARGINAL_MEANS, RESIDUALS, RESIDUAL_TESTS,
)  # fmt: skip
