"""Tables of `surgvalid score`, `floors`, `diff` and `rehearse`."""

from __future__ import annotations

from surgvalid.results.tables.table import Table, number, text, whole, yes_no

SUMMARY = Table(
    "summary",
    "One slice of the questions; official profiles write six of the columns, as the toolkit does.",
    level=text(
        "kind of slice: headline, bound, overall, bucket, clinical_bucket, group, leaf, answer_format, clinical, "
        "secondary or context"
    ),
    name=text("of the slice; secondary capabilities overlap, and the clinical primary result is named so"),
    estimand=text("rows: mean over questions; videos: mean over videos of their means", needed=False),
    accuracy=number,
    low=number("of the interval over videos; official files say ci_low"),
    high=number("official files say ci_high"),
    df=number("degrees of freedom of the interval", needed=False),
    count=whole("scored questions"),
    videos=whole(needed=False),
    effective_videos=number("videos of equal size that would carry as much", needed=False),
    not_scored=whole("questions without a verdict that do not count as wrong", needed=False),
    method=text("that gave the interval; none where the data carry none", needed=False),
)
TARGETED = Table(
    "targeted",
    "One targeted metric of one answer format.",
    format=text,
    metric=text,
    estimand=text("rows or videos, as in summary"),
    value=number,
    n=whole("questions"),
    n_missing=whole("without a usable response"),
    videos=whole,
    better=text("larger or smaller", needed=False),
    worst=text("what a missing response counts as", needed=False),
    low=number("of the interval over videos", needed=False),
    high=number(needed=False),
    df=number("degrees of freedom of the interval", needed=False),
    effective_videos=number("videos of equal size that would carry as much", needed=False),
    method=text("that gave the interval; none where the data carry none", needed=False),
)
OOD_GAP = Table(
    "ood_gap",
    "Accuracy out of distribution against in distribution: means over capabilities, then each capability.",
    capability=text("a group of capabilities, or in brackets the mean over some"),
    id_accuracy=number("in distribution"),
    ood_accuracy=number("out of distribution"),
    gap=number("ood minus id"),
    low=number("of the interval of the gap over videos"),
    high=number,
    df=number("degrees of freedom of the interval"),
    questions_id=whole,
    videos_id=whole,
    questions_ood=whole,
    videos_ood=whole,
    method=text("that gave the interval; none where the data carry none"),
    note=text("why a number or an interval is not there"),
)
COUNTS = Table(
    "counts",
    "One counting question.",
    case=text,
    video=text,
    reference=whole,
    response=whole("empty where unusable"),
)
LEVERAGE_QUESTIONS = Table(
    "leverage_questions",
    "The weight of one bucket in the primary result.",
    bucket=text,
    questions=whole,
    weight_of_bucket=number,
    weight_of_question=number("of each of its questions"),
)
LEVERAGE_VIDEOS = Table(
    "leverage_videos",
    "What one video does to the primary result.",
    video=text,
    questions=whole,
    headline_without=number("primary result without the video"),
    change=number,
)
JUDGES = Table(
    "judges",
    "What one judge of free text did.",
    "unread",
    judge=text,
    cases=whole,
    asked=whole("questions put to it"),
    reused=whole("verdicts known already"),
    failed=whole("cases without an answer"),
    abstained=whole("cases with an answer and no verdict"),
    tokens=whole,
    seconds=number("sum over questions asked"),
    prompt=text("version of prompt and parser"),
    money=number("tokens times the price that was named", needed=False),
)
JUDGE_AGREEMENT = Table(
    "judge_agreement",
    "One coefficient of agreement between judges, over answers with an opinion.",
    "unread",
    coefficient=text,
    rater_a=text("empty where all judges are meant"),
    rater_b=text,
    value=number,
    low=number("of the interval over videos"),
    high=number,
    sd=number,
    units=number("answers"),
    videos=whole,
    note=text,
)
RESULTS = Table(
    "results",
    "One question; official profiles write the first nine columns. Strata follow.",
    "more",
    "unread",
    qID=text,
    video=text,
    ood=yes_no("as used"),
    clinical=yes_no,
    primary=text("capability"),
    answer_format=text,
    latency=number("in s"),
    timed_out=yes_no,
    correctness=yes_no("as it counts; empty where nothing was decided"),
    reason=text("why it is right or wrong", needed=False),
    status=text("what became of the response", needed=False),
    flags=text(needed=False),
    group=text("of capabilities", needed=False),
    ood_stated=yes_no("as the file says", needed=False),
    procedure=text(needed=False),
    window_s=number("length of the stretch asked about", needed=False),
    secondaries=text("further capabilities", needed=False),
    template=text("wording without its particulars", needed=False),
)

FLOORS = Table(
    "floors",
    "What one trivial system reaches on one slice.",
    floor=text("predictor that ignores the video; oracle ones are fitted in hindsight"),
    level=text,
    name=text,
    accuracy=number("mean over questions"),
    accuracy_videos=number("mean over videos", needed=False),
    right=whole,
    questions=whole,
    videos=whole,
)
TEMPLATES = Table(
    "templates",
    "One question template of one answer format.",
    format=text,
    template=text,
    questions=whole,
    videos=whole,
    answers=whole("different ones"),
    single_answer=yes_no,
    commonest=text("answer", needed=False),
    commonest_share=number(needed=False),
    unseen=yes_no("not in the training set; empty without one", needed=False),
)
UNSEEN_TEMPLATES = Table(
    "unseen_templates",
    "Questions of one slice whose template the training set never shows.",
    "unread",
    level=text,
    name=text,
    questions=whole,
    unseen=whole,
    share=number,
)
MARGINS = Table(
    "margins",
    "One model on one slice beside the best trivial baseline.",
    model=text,
    level=text,
    name=text,
    accuracy=number,
    best_floor=text,
    floor_accuracy=number,
    margin=number("accuracy minus that of the trivial baseline"),
    oracle_accuracy=number("of the best constant in hindsight"),
    questions=whole,
    videos=whole,
    missing=whole("without a response; they count as wrong"),
    not_scored=whole,
)

MOVED = Table(
    "moved",
    "What moved one number from scoring A to scoring B.",
    "unread",
    level=text("kind of slice"),
    name=text,
    estimand=text("rows or videos, as in summary"),
    a=number,
    b=number,
    difference=number("b minus a; the next three add up to it"),
    verdicts=number("by verdicts that changed"),
    regrouping=number("by questions that count elsewhere"),
    questions=number("by questions that one of them lacks"),
    questions_a=whole,
    questions_b=whole,
)
CHANGES = Table(
    "changes",
    "One difference of one question.",
    "unread",
    case=text,
    kind=text("flipped, reason, regrouped, timed-out, latency, only-in-a or only-in-b"),
    column=text("of results.csv"),
    a=text,
    b=text,
    reason_a=text("why it is right or wrong"),
    reason_b=text,
)
SETTINGS = Table("settings", "One setting of the manifests that differs.", "unread", setting=text, a=text, b=text)
REHEARSE = Table(
    "outcomes",
    "What became of the questions of a rehearsal.",
    outcome=text("ok, timeout, crashed, invalid, ..."),
    questions=whole,
)

SCORE = (
    SUMMARY,
    OOD_GAP,
    TARGETED,
    COUNTS,
    LEVERAGE_QUESTIONS,
    LEVERAGE_VIDEOS,
    JUDGES,
    JUDGE_AGREEMENT,
    RESULTS,
)
FLOOR = (FLOORS, TEMPLATES, MARGINS, UNSEEN_TEMPLATES)
DIFF = (MOVED, CHANGES, SETTINGS)
