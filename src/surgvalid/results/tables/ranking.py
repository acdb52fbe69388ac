"""Tables of `surgvalid rank`: the FOCUS leaderboards, and the rules in the tradition of challengeR."""

from __future__ import annotations

from surgvalid.results.tables.table import Table, number, text, whole, yes_no

BUCKET_TOO_SMALL = "bucket-too-small"
"""Code of the findings about buckets with few videos, of which there may be many."""
UNREACHABLE = "correction-unreachable"
"""Code of the findings about buckets in which nothing can be significant, of which there may be many."""
NOTHING_SIGNIFICANT = "nothing-significant"
"""Code of the finding that no pair of models differs significantly in any bucket of a leaderboard."""
_BUCKET = {"board": text, "capability": text, "ood": yes_no("out of distribution")}
_PAIR = {"model_a": text, "model_b": text}
_TESTS = {
    "p_value": number,
    "p_adjusted": number("corrected for the number of tests"),
    "significant": yes_no("at the level asked for"),
}

PLACES = Table(
    "places",
    "One model on one leaderboard.",
    board=text,
    model=text,
    place=whole("final rank, 1 is best"),
    copeland=whole("models dominated minus models dominated by"),
    dominated=whole("models it dominates"),
    dominated_by=whole("models that dominate it"),
    macro_accuracy=number("mean over buckets"),
    win_rate=number("share of resamples won, where a tie was broken"),
    baseline=yes_no("outside the competition; the final rank is the one it would have"),
)
BUCKETS = Table(
    "buckets",
    "One model in one bucket of a leaderboard.",
    **_BUCKET,
    model=text,
    accuracy=number,
    low=number("of the 95 % interval over videos"),
    high=number,
    questions=whole,
    videos=whole,
    rank=whole("1 plus the number of models that beat it significantly"),
    letters=text("models that share a letter are not told apart"),
)
PAIRS = Table(
    "pairs",
    "One pair of models in one bucket.",
    **_BUCKET,
    **_PAIR,
    difference=number("accuracy of the first minus that of the second"),
    **_TESTS,
)
STABILITY = Table(
    "stability",
    "The final rank of one model over resampled videos.",
    board=text,
    model=text,
    mean_place=number,
    sd_place=number,
    place_low=number("2.5 % quantile"),
    place_high=number("97.5 % quantile"),
    p_first=number("share of resamples in which it is first, a shared final rank split; sums to 1 over models"),
    p_top3=number("the same for the first three final ranks; sums to 3, or to the number of models"),
)
PLACE_FREQUENCIES = Table(
    "place_frequencies",
    "One final rank that one model had in resamples.",
    board=text,
    model=text,
    place=whole,
    share=number("of the resamples; a shared final rank counts for each who has it"),
)
TAU_FREQUENCIES = Table(
    "tau_frequencies",
    "One agreement of resampled final ranks with the published ones.",
    board=text,
    tau_b=number("Kendall's tau-b; empty where an order was constant"),
    share=number("of the resamples"),
)
SUMMARY = Table(
    "summary",
    "One model over all buckets of a leaderboard together.",
    board=text,
    model=text,
    place=whole,
    macro_accuracy=number("mean over buckets"),
    macro_low=number("of the 95 % interval over videos", needed=False),
    macro_high=number(needed=False),
    rank_low=whole("smallest rank by macro accuracy it can have; all models' sets hold together", needed=False),
    rank_high=whole("largest rank it can have", needed=False),
    mean_rank=number("over buckets"),
    letters=text("models that share a letter are not told apart"),
    confidence_set_p=number("that it is as good as the best; empty below 100 videos", needed=False),
    in_confidence_set=yes_no("not told apart from the best; empty below 100 videos"),
    rank_width=number("of the 95 % interval of its final rank; empty without resamples"),
)
DOMINANCE = Table(
    "dominance",
    "One ordered pair of competitors on a leaderboard.",
    board=text,
    **_PAIR,
    buckets_a_ahead=number("weight of the buckets in which the first is ahead"),
    buckets_b_ahead=number,
    a_dominates_b=yes_no,
)
DIFFERENCES = Table(
    "differences",
    "One pair of models in one bucket, with an interval.",
    **_BUCKET,
    **_PAIR,
    difference=number("accuracy of the first minus that of the second"),
    low=number("of the 95 % interval over videos"),
    high=number,
    method=text("of the interval; `none` where the data carry none", needed=False),
)
SENSITIVITY = Table(
    "sensitivity",
    "The final rank of one model under every way to merge buckets, one column each.",
    "more",
    board=text,
    model=text,
)
INFLUENCE = Table(
    "influence",
    "What changes on a leaderboard when one thing is left out.",
    board=text,
    left_out=text("video, bucket or model"),
    name=text,
    tau_b=number("with the final ranks before"),
    models_moved=whole,
    first_changes=yes_no,
    order_swapped=yes_no("some pair changed sides"),
)
GATE_EVIDENCE = Table(
    "gate_evidence",
    "One competitor against one baseline on a leaderboard.",
    board=text,
    model=text,
    baseline=text,
    macro_accuracy=number("mean over buckets"),
    baseline_macro_accuracy=number,
    gap=number("of the two"),
    low=number("of the 95 % interval of the gap"),
    high=number,
    above=yes_no("the gap is above 0"),
)
LEADS = Table(
    "leads",
    "The first of a leaderboard against one other competitor; the first of several that share the final rank.",
    board=text,
    model=text,
    other=text,
    gap=number("macro accuracy of the first minus that of the other"),
    low=number("of the 95 % interval of the gap, as if the first had been named before"),
    high=number,
)
PRIZES = Table(
    "prizes",
    "What one model is paid on a leaderboard.",
    board=text,
    model=text,
    place=whole(needed=False),
    award_place=whole("among those who may be paid", needed=False),
    amount=number(needed=False),
    reason=text(needed=False),
)
CHALLENGER = Table(
    "challenger",
    "The mean of one model in one video and bucket, as challengeR reads it.",
    "unread",
    task=text("bucket"),
    case=text("video"),
    algorithm=text("model"),
    value=number,
)

RANKS = Table(
    "ranks",
    "One model on one task.",
    task=text,
    model=text,
    value=number("under the rule asked for"),
    rank=whole("1 is best; equal values share the better rank"),
    rank_low=whole("smallest rank it can have; all models' sets hold together at 95 %; of means only", needed=False),
    rank_high=whole("largest rank it can have", needed=False),
)
CONSENSUS = Table(
    "consensus",
    "One model over all tasks.",
    model=text,
    mean_rank=number,
    rank=whole,
    rank_low=whole("smallest rank it can have; all models' sets hold together at 95 %", needed=False),
    rank_high=whole("largest rank it can have", needed=False),
)
KENDALL = Table("kendall", "Agreement of the ranks of two tasks.", task_a=text, task_b=text, tau_b=number)
FOOTRULE = Table(
    "footrule",
    "Distance of the ranks of two tasks.",
    task_a=text,
    task_b=text,
    footrule=whole("Spearman's: sum of absolute differences of ranks"),
)
TASK_PAIRS = Table(
    "pairs",
    "One ordered pair of models on a task; the test is whether the first is better.",
    task=text,
    **_PAIR,
    **_TESTS,
)
TASK_STABILITY = Table(
    "stability",
    "The rank of one model on a task over resampled videos.",
    task=text,
    model=text,
    mean_rank=number,
    sd_rank=number,
    median_rank=number(needed=False),
    rank_low=number("2.5 % quantile"),
    rank_high=number("97.5 % quantile"),
    p_first=number("share of resamples in which it is first, a shared rank split; sums to 1 over models"),
    p_top3=number("the same for the first three ranks; sums to 3, or to the number of models"),
)
FREQUENCIES = Table(
    "frequencies",
    "One rank that one model took on a task in resamples.",
    task=text,
    model=text,
    rank=whole,
    share=number("of the resamples; a shared rank counts for each who has it"),
)
TAU = Table(
    "tau",
    "Agreement (Kendall's tau-b) of resampled ranks with those of all cases.",
    task=text,
    mean=number,
    q25=number,
    median=number,
    q75=number,
    replicates=whole,
    undefined=whole("resamples in which all ranks were equal", needed=False),
)
TASK_TAU_FREQUENCIES = Table(
    "tau_frequencies",
    "One agreement of resampled ranks with those of all cases.",
    task=text,
    tau_b=number("Kendall's tau-b; empty where an order was constant"),
    share=number("of the resamples"),
)

FOCUS = (
    PLACES,
    BUCKETS,
    PAIRS,
    STABILITY,
    PLACE_FREQUENCIES,
    TAU_FREQUENCIES,
    SUMMARY,
    DOMINANCE,
    DIFFERENCES,
    SENSITIVITY,
    INFLUENCE,
    GATE_EVIDENCE,
    LEADS,
    PRIZES,
    CHALLENGER,
)
TASKS = (
    RANKS,
    CONSENSUS,
    KENDALL,
    FOOTRULE,
    TASK_PAIRS,
    TASK_STABILITY,
    FREQUENCIES,
    TAU,
    TASK_TAU_FREQUENCIES,
)
