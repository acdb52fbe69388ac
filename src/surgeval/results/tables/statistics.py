"""Tables of the verbs that write a single one: `interval`, `compare`, `strata`, `aggregate` and `agreement`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole

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

INTERVAL = Table(
    "result", "One model, overall or in one slice; the columns of --by come first.", "more",
    model=text, metric=text(needed=False), **_WHAT, value=number, low=number, high=number, **_DF, **_EFFECTIVE,
    **_METHOD,
)  # fmt: skip
COMPARE = Table(
    "result", "One pair of models, overall or in one slice; the columns of --by come first.", "more",
    model_a=text, model_b=text, metric=text(needed=False), **_WHAT, value_a=number(needed=False),
    value_b=number(needed=False), difference=number("first minus second"), low=number, high=number, **_DF,
    favours=text("the model that looks better; empty below six videos", needed=False),
    p_value=number("of the exact sign-flip test over videos, two-sided; empty where there is none", needed=False),
    smallest_p=number("the least that so many differing videos could have given", needed=False),
    p_false_claim=number("half of p_value: the risk that a claim of superiority is false", needed=False),
    min_detectable=number("smallest difference that would show with so many units", needed=False),
    videos_won=whole("by the first", needed=False), videos_lost=whole(needed=False), videos_tied=whole(needed=False),
    **_EFFECTIVE, **_METHOD,
)  # fmt: skip
STRATA = Table(
    "result", "One model in one stratum beside the whole or the rest.",
    column=text, stratum=text, model=text("or the median of all"), **_WHAT, **_EFFECTIVE,
    value=number("in the stratum"), baseline=number("in the whole, or in the rest", needed=False),
    delta=number("value minus baseline"),
    low=number("of the difference"), high=number, **_DF, **_METHOD,
)  # fmt: skip
AGGREGATE = Table(
    "result", "One model under one way to aggregate.",
    strategy=text, model=text, value=number, rank=whole, rank_change=whole("against frame-wise", needed=False),
)  # fmt: skip
AGREEMENT = Table(
    "result", "One coefficient of agreement.",
    coefficient=text, rater_a=text("empty where all raters are meant", needed=False), rater_b=text(needed=False),
    value=number, low=number("of the interval over videos", needed=False), high=number(needed=False), **_SD,
    units=number(needed=False), videos=whole(needed=False), note=text(needed=False),
)  # fmt: skip
