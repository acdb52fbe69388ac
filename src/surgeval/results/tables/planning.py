"""Tables of `plan`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole

_CHANCE = number("of a study to reach the goal")
SIZES = Table(
    "sizes", "How large a study has to be, for one number of questions per video; the first row is the answer.",
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
)  # fmt: skip
CURVE = Table(
    "curve", "What one number of videos can do.",
    goal=text, videos=whole, questions=number("per video", needed=False), chance=_CHANCE,
    low=number("of the range that the pilot leaves open", needed=False), high=number(needed=False),
    simulated=number("share of simulated studies that reach the goal", needed=False),
)  # fmt: skip
TRADE = Table(
    "trade", "What more questions per video buy beside more videos.",
    videos=whole, questions=number("per video"), total_questions=number,
    reach=number("expected width of the interval, or smallest difference found with the chance asked for"),
    reach_of=text("width or difference"),
)  # fmt: skip
COMPONENTS = Table(
    "components", "What the plan rests on.",
    source=text("pilot or stated"), models=text("empty where the spread was stated"), metric=text(needed=False),
    value=number("that is planned for: the true value, or the true difference", needed=False),
    between_sd=number("of videos with endlessly many questions", needed=False),
    within_sd=number("of one question in its video; empty where the pilot cannot tell", needed=False),
    icc=number("share of the variance of one question between videos", needed=False),
    questions=number("per video", needed=False), videos=whole("of the pilot", needed=False),
    df=number("of its standard error", needed=False),
    share=number("of videos that hold the subgroup", needed=False),
)  # fmt: skip
PLAN = (SIZES, CURVE, TRADE, COMPONENTS)
