"""Tables of `surgvalid analyse failures`: effects of properties, and what the mixed model behind them looks like."""

from __future__ import annotations

from surgvalid.results.tables.table import Table, number, text, whole

_ESTIMATE = {
    "term": text("property, or (Intercept)"),
    "estimate": number("log odds ratio, or the effect itself for a continuous outcome"),
    "std_error": number,
}
_ESTIMATE_OF_MODEL = {name: _ESTIMATE[name] for name in ("estimate", "std_error")}
_SIZE = {
    "odds_ratio": number("of cases with equal random effects; empty for a continuous outcome"),
    "low": number("of the odds ratio, or of the estimate where there is none"),
    "high": number,
    "symbol": text(
        "of what p_holm calls significant, on six videos or more: a plus helps, a minus hurts; larger or smaller where "
        "nobody said which is better; x: not assessable"
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
    "effects",
    "One coefficient.",
    **_ESTIMATE,
    t=number("z where no df are given"),
    p_value=number,
    p_holm=number("corrected by Holm"),
    **_SIZE,
    **_TEST,
)
VARIANCE = Table(
    "variance",
    "One random effect.",
    group=text,
    variance=number,
    sd=number,
    icc=number("share of the variance on the scale of the linear predictor"),
)
PER_MODEL = Table(
    "per_model",
    "One coefficient of the fit of one model by itself.",
    model=text,
    **_ESTIMATE,
    t=number(needed=False),
    p_value=number,
    p_holm=number(needed=False),
    **_SIZE,
    **_TEST,
    note=text("why it was not fitted", needed=False),
)
MARGINAL = Table(
    "marginal",
    "One coefficient of a logistic regression with cluster-robust errors.",
    term=text,
    estimate=number(needed=False),
    std_error=number(needed=False),
    t=number(needed=False),
    p_value=number(needed=False),
    marginal_odds_ratio=number("averaged over random effects", needed=False),
    low=number("of the odds ratio", needed=False),
    high=number(needed=False),
    covariance=text("kind of standard error", needed=False),
    clusters=whole("the fewest of a column", needed=False),
)
INFLUENCE = Table(
    "influence",
    "One coefficient without one level of a column.",
    "unread",
    column=text,
    left_out=text,
    term=text,
    estimate=number,
    shift=number("in standard errors"),
)
JOINT = Table(
    "joint",
    "The test of one factor of three and more categories as a whole.",
    "unread",
    term=text,
    df1=whole,
    df2=number("empty: infinite"),
    f=number,
    p_value=number,
)
PAIRS = Table(
    "pairs",
    "Two categories of a factor compared, corrected by Tukey within the factor.",
    "unread",
    term=text,
    contrast=text("first less second"),
    estimate=number("difference on the scale of the linear predictor"),
    std_error=number,
    df=number("empty: infinite"),
    t=number,
    p_value=number,
    low=number,
    high=number,
)
SCORE_DIFFERENCES = Table(
    "score_differences",
    "What a property does to the expected score, averaged over the rows and random effects.",
    "unread",
    term=text,
    change=text("values of the property, before and after"),
    difference=number("in points of the score"),
    std_error=number,
    low=number,
    high=number,
    df=number("empty: infinite, or no test"),
)
PARTS = Table(
    "parts",
    "One coefficient of a model of hits, or of the scores of hits, by itself.",
    "unread",
    part=text("hit: a score above 0; overlap: the scores above 0"),
    **_ESTIMATE,
    df=number("empty: infinite, or no test"),
    p_value=number,
    low=number("of the estimate"),
    high=number,
)
RANDOM_EFFECTS = Table(
    "random_effects",
    "One level of one random effect.",
    group=text,
    level=text,
    mean=number("conditional"),
    sd=number("conditional"),
)
QUANTILES = Table(
    "quantiles",
    "One point of a Q-Q plot.",
    group=text("random effect, or residuals"),
    expected=number("normal quantile"),
    observed=number("standardised"),
    n=whole("points before thinning"),
)
MARGINAL_MEANS = Table(
    "marginal_means",
    "The expected outcome at one value of a property.",
    term=text,
    value=number,
    scale=text("conditional: random effects at zero; population: averaged over them"),
    mean=number,
    low=number,
    high=number,
)
RESIDUALS = Table("residuals", "One simulated residual.", residual=number("uniform on 0 to 1 where the model holds"))
RESIDUAL_TESTS = Table("residual_tests", "One test of the simulated residuals.", test=text, value=number)
RECOMMENDATIONS = Table(
    "recommendations",
    "One thing to work on, the most worthwhile first.",
    place=whole,
    term=text("the row of effects.csv that says so"),
    subgroup=text("the cases that suffer"),
    verdict=text("established, few videos, not established, or refused"),
    share=number("of all that is lost, that goes with it; empty where refused"),
    low=number,
    high=number,
    points=number("lost per row, in the unit of the outcome"),
    frequency=number("share of rows"),
    estimate=number("as in effects.csv"),
    odds_ratio=number("as in effects.csv"),
    p_holm=number("as in effects.csv"),
    df=number("as in effects.csv"),
    cases=whole("annotated, that have it"),
    videos=whole("that have it"),
    videos_needed=whole("with it, to find the improvement four times in five; empty: not known"),
    videos_total=whole("to be collected so that enough have it"),
    total_low=whole,
    total_high=whole("empty: not bounded"),
    advice=text("in words"),
)
RECOMMENDED_CASES = Table(
    "recommended_cases",
    "One case to look at: those that lost most, few of each video.",
    place=whole("of the recommendation"),
    term=text,
    case=text,
    video=text,
    rows=whole("models that were scored on it"),
    loss=number("mean, in the unit of the outcome"),
    picture=text("where it is, where a column says so", needed=False),
)
EFFECT_CHANGES = Table(
    "effect_changes",
    "The effect of one property before and after, and its paired change.",
    term=text("property"),
    before=number("log odds ratio, or the effect itself for a continuous outcome"),
    before_low=number,
    before_high=number,
    after=number,
    after_low=number,
    after_high=number,
    change=number("after less before"),
    std_error=number,
    df=number("empty: not tested"),
    p_value=number,
    p_holm=number("corrected by Holm over the properties"),
    low=number("of the change"),
    high=number,
    odds_ratio_before=number("empty for a continuous outcome"),
    odds_ratio_after=number("empty likewise"),
    videos=whole("that carry the change"),
    method=text("of the test"),
    verdict=text("less harmful, more harmful, no change shown, or not tested"),
)
GAINS = Table(
    "gains",
    "How much better the outcome became on some of the cases, paired.",
    term=text("property, or (all cases)"),
    side=text("with, without, or all"),
    subgroup=text("in words"),
    cases=whole,
    videos=whole,
    before=number("mean outcome"),
    after=number,
    gain=number("positive is better"),
    low=number,
    high=number,
    p_value=number("exact sign-flip test over videos"),
    p_holm=number("corrected by Holm over all rows"),
    verdict=text("better, worse, no gain shown, or too few videos"),
)
FAILURE_CHANGE = (EFFECT_CHANGES, GAINS)
RISK = Table(
    "risk",
    "One case with its risk and its weight for sampling.",
    case=text,
    video=text(needed=False),
    risk=number("expected loss, calibrated"),
    raw=number("before calibration"),
    source=text("held out: a case of the analysis, predicted without its video; new: by the model of all videos"),
    weight=number("risk over the mean risk"),
)
CALIBRATION = Table(
    "calibration",
    "How held-out predictions of risk compare with what was observed.",
    stage=text("as predicted, or calibrated"),
    cases=whole,
    videos=whole,
    folds=whole("parts that were held out"),
    observed=number("mean loss"),
    predicted=number("mean risk"),
    difference=number("predicted less observed"),
    low=number,
    high=number,
    slope=number("of observed on predicted log odds; 1 is right"),
    slope_low=number,
    slope_high=number,
    brier=number("mean squared error"),
    brier_constant=number("of one risk for all cases"),
    skill=number("share of the latter that is saved"),
)
CALIBRATION_BINS = Table(
    "calibration_bins",
    "A tenth of the cases, by calibrated risk.",
    predicted=number,
    observed=number,
    low=number,
    high=number,
    cases=whole,
    videos=whole,
)
STRENGTH_TESTS = Table(
    "strength_tests",
    "Whether one property harms models differently.",
    term=text("property"),
    models=whole,
    df1=whole,
    df2=number,
    f=number,
    p_value=number,
    p_holm=number("corrected by Holm over the properties"),
    videos=whole("that carry it"),
    note=text("why there is no test", needed=False),
)
STRENGTHS = Table(
    "strengths",
    "The effect of one property on one model, from one fit of all models.",
    term=text("property"),
    model=text,
    **_ESTIMATE_OF_MODEL,
    low=number("of the estimate"),
    high=number,
    odds_ratio=number("empty for a continuous outcome"),
    difference=number("from the mean over models"),
    difference_low=number,
    difference_high=number,
    df=number,
    p_value=number("of the difference"),
    p_holm=number("corrected by Holm over the models"),
    verdict=text("strength or weakness, where the joint test allows it", needed=False),
)
FAILURE_TABLE = Table(
    "result",
    "One coefficient of the failure analysis of one outcome in one group of rows.",
    outcome=text,
    group=text("of rows; empty where they are not split", needed=False),
    **_ESTIMATE,
    t=number("z where no df are given"),
    p_value=number,
    p_holm=number("corrected by Holm within the fit"),
    **_SIZE,
    **_TEST,
    rows=whole("that the fit is made of"),
    note=text("why there are no numbers", needed=False),
)

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
    RISK,
    CALIBRATION,
    CALIBRATION_BINS,
    STRENGTHS,
    STRENGTH_TESTS,
)
