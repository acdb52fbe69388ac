"""Tables of what is said before and after a study: `plan`, `preregister`, `monitor`."""

from __future__ import annotations

from surgvalid.results.tables.table import Table, number, text, whole, yes_no

_CHANCE = number("of a study to reach the goal")
SIZES = Table(
    "sizes",
    "How large a study has to be, for one number of questions per video; the first row is the answer.",
    goal=text("width, difference; first, podium or order for the FOCUS rule"),
    questions=number("per video", needed=False),
    videos=whole("the fewest that reach the goal with the chance asked for; empty where no number does", needed=False),
    low=whole("of the range that the pilot leaves open; empty where the spread was stated", needed=False),
    high=whole("empty where no number of videos would do", needed=False),
    subgroup_videos=whole("that must hold the subgroup", needed=False),
    total_questions=number(needed=False),
    design_effect=number("variance over that of as many independent questions", needed=False),
    cost=number(needed=False),
    simulated=number("share of simulated studies that reach the goal", needed=False),
    simulated_error=number("its standard error", needed=False),
)
CURVE = Table(
    "curve",
    "What one number of videos can do.",
    goal=text,
    videos=whole,
    questions=number("per video", needed=False),
    chance=_CHANCE,
    low=number("of the range that the pilot leaves open", needed=False),
    high=number(needed=False),
    simulated=number("share of simulated studies that reach the goal", needed=False),
)
TRADE = Table(
    "trade",
    "What more questions per video buy beside more videos.",
    videos=whole,
    questions=number("per video"),
    total_questions=number,
    reach=number("expected width of the interval, or smallest difference found with the chance asked for"),
    reach_of=text("width or difference"),
)
COMPONENTS = Table(
    "components",
    "What the plan rests on.",
    source=text("pilot or stated"),
    models=text("empty where the spread was stated"),
    metric=text(needed=False),
    value=number("that is planned for: the true value, or the true difference", needed=False),
    between_sd=number("of videos with endlessly many questions", needed=False),
    within_sd=number("of one question in its video; empty where the pilot cannot tell", needed=False),
    icc=number("share of the variance of one question between videos", needed=False),
    questions=number("per video", needed=False),
    videos=whole("of the pilot", needed=False),
    df=number("of its standard error", needed=False),
    share=number("of videos that hold the subgroup", needed=False),
)
PLAN = (SIZES, CURVE, TRADE, COMPONENTS)
CHANGES = Table(
    "changes",
    "One thing that is watched, alarms first.",
    kind=text("value, stratum (value in a stratum), mix (share of cases) or property (mean of a number)"),
    column=text("empty for a value over all cases"),
    level=text("of the column; empty where it is a number"),
    model=text("empty where no model plays a part"),
    validation=number("before"),
    new=number("since"),
    change=number("new minus validation"),
    low=number("of the interval of the change, for this check alone", needed=False),
    high=number(needed=False),
    p_value=number("of this check alone, valid whenever one looks"),
    p_adjusted=number("for all checks together"),
    alarm=yes_no("whether it is at most alpha"),
    verdict=text("worse, better, more or less; empty without an alarm"),
    min_detectable=number("change that would have raised an alarm four times in five", needed=False),
    videos_validation=whole,
    videos_new=whole,
)
WATCHED = Table(
    "videos",
    "One video of one model, in the order of time.",
    model=text,
    video=text,
    time=text,
    period=text("validation or new"),
    value=number(needed=False),
    cases=whole,
)
MONITOR = (CHANGES, WATCHED)
REGISTERED_SETTINGS = Table(
    "settings",
    "One option of one registered analysis.",
    analysis=whole("its number"),
    verb=text,
    option=text("by its name in Python"),
    value=text,
    stated=yes_no("by the author; else it is the default"),
)
REGISTRATION = (REGISTERED_SETTINGS,)
