"""Tables of the verbs that take a score table and answer with one or two tables."""

from __future__ import annotations

from surgvalid.results.tables.table import Table, number, text, whole

_HOW = {
    "resample": text(
        "what belongs together (cluster: rows of a video), and is drawn where a method draws", needed=False
    ),
    "level": number("of the interval", needed=False),
    "replicates": whole("empty where nothing was drawn", needed=False),
    "seed": whole("empty where nothing was drawn", needed=False),
    "note": text("what is odd about the row", needed=False),
}
_METHOD = {
    "resample": _HOW["resample"],
    "method": text("that gave the interval; none where the data carry none", needed=False),
    **_HOW,
}
_WHAT = {"statistic": text(needed=False), "estimand": text("rows or videos", needed=False)}
_SD = {"sd": number("of the value: standard error by the jackknife, or over resamples", needed=False)}
_DF = {**_SD, "df": number("degrees of freedom of the interval; empty where a method draws", needed=False)}
_SIZE = {"cases": whole(needed=False), "videos": whole(needed=False)}
_EFFECTIVE = {**_SIZE, "effective_videos": number("videos of equal size that would carry as much", needed=False)}
_BESIDE = {"baseline_videos": whole("of what it is compared with", needed=False)}

INTERVAL = Table(
    "result",
    "One model, overall or in one slice; the columns of --by come first.",
    "more",
    model=text,
    metric=text(needed=False),
    **_WHAT,
    value=number,
    low=number,
    high=number,
    **_DF,
    **_EFFECTIVE,
    **_METHOD,
    median=number("over videos, of metrics without an upper bound", needed=False),
    median_low=number("of the median: exact, from order statistics; empty below six videos", needed=False),
    median_high=number(needed=False),
)
COMPARE = Table(
    "result",
    "One pair of models, overall or in one slice; the columns of --by come first.",
    "more",
    model_a=text,
    model_b=text,
    metric=text(needed=False),
    **_WHAT,
    value_a=number(needed=False),
    value_b=number(needed=False),
    difference=number("first minus second"),
    low=number,
    high=number,
    **_DF,
    favours=text("the model that is shown to be better; empty where none is", needed=False),
    p_value=number(
        "of the sign-flip test over videos, two-sided; of the jackknife's t where the metric is no mean", needed=False
    ),
    smallest_p=number("the least that so many differing videos could have given; of the sign-flip test", needed=False),
    min_detectable=number("smallest difference that would show with so many units", needed=False),
    videos_won=whole("by the first", needed=False),
    videos_lost=whole(needed=False),
    videos_tied=whole(needed=False),
    **_EFFECTIVE,
    **_METHOD,
)
STRATA = Table(
    "result",
    "One model in one stratum beside the whole or the rest.",
    column=text,
    stratum=text,
    model=text("or the median of all"),
    **_WHAT,
    **_EFFECTIVE,
    **_BESIDE,
    value=number("in the stratum"),
    baseline=number("in the whole, or in the rest", needed=False),
    delta=number("value minus baseline"),
    low=number("of the difference"),
    high=number,
    **_DF,
    **_METHOD,
)
AGGREGATE = Table(
    "result",
    "One model under one way to aggregate.",
    strategy=text,
    model=text,
    value=number,
    rank=whole,
    rank_change=whole("against frame-wise", needed=False),
)
AGREEMENT = Table(
    "result",
    "One coefficient of agreement.",
    coefficient=text,
    rater_a=text("empty where all raters are meant", needed=False),
    rater_b=text(needed=False),
    value=number,
    low=number("of the interval over videos", needed=False),
    high=number(needed=False),
    **_SD,
    units=number(needed=False),
    videos=whole(needed=False),
    note=text(needed=False),
)
TOLERANCE = Table(
    "tolerance",
    "How far apart the numbers of two raters of one unit lie.",
    chance=number("that two raters lie within the tolerance"),
    tolerance=number("in the unit of the labels; times in s"),
    low=number("of the interval over videos"),
    high=number,
    rater_sd=number("of one rater around the mean of a unit"),
    largest=number("difference that occurs"),
    units=whole("rated by two raters or more"),
    pairs=whole("of raters"),
    raters=whole,
    videos=whole,
)
PROFILES = Table(
    "result",
    "One model and one threshold, overall or in one slice; the columns of --by come first.",
    "more",
    model=text,
    metric=text,
    estimand=_WHAT["estimand"],
    threshold=number,
    value=number("share of cases at least as good as the threshold"),
    low=number,
    high=number,
    sd=number("over videos", needed=False),
    **_SIZE,
    level=_HOW["level"],
    note=_HOW["note"],
)
IMPROVEMENT = Table(
    "improvement",
    "One pair of models, overall or in one slice; the columns of --by come first.",
    "more",
    model_a=text,
    model_b=text,
    metric=text,
    estimand=_WHAT["estimand"],
    value=number("probability that the first does better on a case, a tie counting half"),
    low=number,
    high=number,
    sd=number("over videos", needed=False),
    tied=whole("cases on which both are equal"),
    **_SIZE,
    level=_HOW["level"],
    note=_HOW["note"],
)
ADJUSTED = Table(
    "result",
    "One term of one model's logistic regression; numbers are empty for a term without a finite estimate.",
    model=text,
    term=text,
    estimate=number("log odds ratio"),
    std_error=number,
    t=number,
    p_value=number,
    odds_ratio=number,
    low=number("of the odds ratio"),
    high=number,
    covariance=text("of the standard errors"),
    clusters=whole,
    cases=whole,
    note=_HOW["note"],
)
COOCCURRENCE = Table(
    "result",
    "One model on the cases with one label, or with one label given another.",
    kind=text("marginal, primary or conditional"),
    label=text,
    given=text("the secondary label", needed=False),
    model=text("or the median of all"),
    **_WHAT,
    **_EFFECTIVE,
    **_BESIDE,
    value=number,
    baseline=number("that it is compared with"),
    delta=number("value minus baseline"),
    low=number("of the difference"),
    high=number,
    **_DF,
    **_METHOD,
)
VARIABILITY = Table(
    "variability",
    "How the videos of one model are spread, overall or in one slice.",
    "more",
    model=text,
    cases=whole,
    videos=whole,
    mean=number("over videos of their means"),
    sd=number("over videos; empty below three"),
    lowest=number("video"),
    whisker_low=number("lowest video within 1.5 boxes of the quartile"),
    q25=number,
    median=number,
    q75=number,
    whisker_high=number("highest video within 1.5 boxes of the quartile"),
    highest=number("video"),
)
DEPENDENCE = Table(
    "result",
    "How strongly the scores of one model hang together within videos.",
    model=text,
    metric=text,
    **_SIZE,
    icc=number("share of the variance between videos"),
    design_effect=number("variance of the mean over that of independent cases"),
    effective_cases=number("independent cases that the table is worth"),
)
WIDTH_RATIO = Table(
    "width_ratio",
    "One model, overall or in one slice; the columns of --by come first.",
    "more",
    model=text,
    metric=text,
    **_WHAT,
    value=number,
    width=number("of the interval clustered by video"),
    naive_width=number("of the one that does not"),
    width_ratio=number,
)
WIDTH_SUMMARIES = Table(
    "summaries",
    "One way to summarise the ratios of all models; the columns of --by come first.",
    "more",
    operator=text("median of ratios, or ratio of medians"),
    width_ratio=number,
)
ENSEMBLES = Table(
    "result",
    "One ensemble, overall or in one bucket; the columns of --by come first.",
    "more",
    ensemble=text,
    value=number,
    low=number,
    high=number,
    **_SD,
    best_model=text("of the bucket"),
    best_value=number,
    gain=number("over the best model; positive is better"),
    gain_low=number,
    gain_high=number,
    gain_p=number("of the sign-flip test over videos, two-sided; empty for the oracle", needed=False),
    **_SIZE,
    method=_METHOD["method"],
    gain_method=text("that gave the interval of the gain", needed=False),
    note=_HOW["note"],
)
INFLUENCE = Table(
    "influence",
    "One video and one model, the most influential first.",
    video=text,
    model=text,
    **_WHAT,
    value=number("on all videos"),
    value_without=number("without this one"),
    influence=number("the first minus the second"),
)
