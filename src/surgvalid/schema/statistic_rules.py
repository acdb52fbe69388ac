"""Every code that statistics of score tables can give: how much it matters, and what it means.

One table, because the same thing must weigh the same in every verb: a report lists warnings among its limitations and
leaves notes at the end, so a finding that is a note here and a warning there is believed by nobody. A warning is what
can make a reader conclude something that the data do not carry; a note is worth knowing and changes no conclusion.
"""

from __future__ import annotations

from typing import NamedTuple

from surgvalid.schema.findings import Finding, Severity


class StatisticRule(NamedTuple):
    """One kind of finding."""

    severity: Severity
    meaning: str


_W, _N = Severity.WARNING, Severity.NOTE

STATISTIC_RULES: dict[str, StatisticRule] = {
    code: StatisticRule(severity, meaning)
    for code, severity, meaning in (
        # scores
        ("facts-by-name", _N, "Range and direction of a metric were taken from a registered one of another name."),
        ("scores-not-there", _N, "Scores are not there, and what they count as."),
        ("other-tracks", _W, "A model took part in some tracks only; cases of the others are left out for it."),
        ("status-with-score", _N, "Rows have a score beside a status that says why there is none; no rule applies."),
        ("score-without-answer", _W, "Rows whose status says that nothing was answered have a score above the worst."),
        ("rows-left-out", _W, "Rows were left out because something about them is not known."),
        ("rows-absent", _W, "Models have no row of units that other models have; those are left out."),
        ("rows-selected", _W, "Models lost different numbers of rows, so effects rest on selected ones."),
        ("not-pooled", _W, "Values per video stand for a metric whose value of all videos is not their mean."),
        ("no-videos", _W, "No column names videos or patients, so each case counts as independent."),
        ("no-unit", _W, "Nothing says which rows belong together: no interval, p-value or rank set is given."),
        (
            "numbers-in-thirds",
            _N,
            "A column of amounts, whose values are no conditions, was cut into thirds of the units.",
        ),
        ("percent-points", _N, "Scores were written as percentages, so the goal of a plan is read in percent points."),
        ("labels-split", _N, "A column holds several labels per case and was split into strata that overlap."),
        # few videos
        ("few-videos", _W, "So few videos that an interval, a test or a spread is hardly known or not given."),
        ("percentile-too-narrow", _W, "The bootstrap was asked for below a hundred equal videos' worth."),
        ("long-videos-differ", _W, "The length of a video goes with its score: pooled and per-video values differ."),
        ("skewed-differences", _W, "The differences of videos are skewed."),
        ("one-unit-carries", _W, "One video makes up more than 40 % of a mean."),
        ("unseen-failures", _N, "How many outright failures a mean without an upper bound may not have seen."),
        ("thin-quantile", _W, "Few videos' worth of cases lie beyond a quantile."),
        ("no-variation", _W, "All videos give the same value, so there is no interval."),
        ("open-interval", _W, "The data do not bound a value on one side or both."),
        ("no-method", _W, "No interval that holds is known for what was asked."),
        ("resample-unused", _N, "A resample was asked for that the method does not draw."),
        ("refits-left-aside", _W, "Refits on resamples failed and were left aside."),
        ("design-effect-below-one", _N, "Videos are more alike than chance makes them."),
        # classes
        ("single-video-classes", _W, "Classes occur in one video only and may be anything on the scale."),
        ("repeated-classes", _N, "The value over the classes in two or more videos."),
        ("classes-without-reference", _N, "Classes that no reference has count by the metric's rule."),
        ("quantity-in-thirds", _N, "An amount was asked for in categories and enters in thirds."),
        ("few-models", _W, "So few models that they hardly stand, or cannot stand, for others like them."),
        ("depends-on-model", _W, "A property harms models differently, so its average effect is not the answer."),
        # ranking
        ("rule-taken", _N, "No rule was named, and which one was taken."),
        ("option-unused", _W, "An option was given that the rule has no use for."),
        ("tasks-taken", _W, "A column was taken to name tasks."),
        ("order-open", _W, "No two models can be told apart, so their order is open."),
        ("first-open", _N, "Several models can be first by these data."),
        ("correction-unreachable", _W, "Not even a model that wins every video would pass the correction."),
        ("bucket-too-small", _W, "A bucket has few videos."),
        ("empty-buckets", _W, "Buckets without questions are skipped."),
        ("board-left-out", _W, "A leaderboard is left out because no question belongs to it."),
        (
            "nothing-significant",
            _W,
            "No difference is significant in any bucket, so final ranks rest on the tie-break.",
        ),
        ("places-by-tie-break", _W, "Final ranks rest on the tie-break."),
        ("order-against-accuracy", _W, "Final ranks and macro accuracies disagree."),
        ("order-depends-on-others", _W, "The order changes when entries outside the competition compete too."),
        ("cycle", _W, "Models dominate each other in a circle."),
        ("tie-unresolved", _W, "Models stay tied after the tie-break."),
        ("tie-by-macro-accuracy", _W, "Macro accuracy, not the win rate, separates tied models."),
        ("test", _W, "A test was asked for that does not hold its level here."),
        ("cases-tested-alone", _W, "A test takes cases as independent though several come from one video."),
        ("challenger-compat", _W, "Resampling repeats known faults, for comparison only."),
        ("no-stability", _W, "A rule cannot be resampled with the test that was asked for."),
        ("pool-left", _W, "Part of the prize pool is not given away."),
        ("strategies-left-out", _N, "Ways of averaging that the table cannot give are not shown."),
        # agreement
        ("few-raters", _W, "Two raters do not show how far a third would lie."),
        ("coefficient-left-out", _N, "A coefficient is not defined for these ratings."),
        # regression and mixed models
        ("decision", _N, "A decision of the workflow that led to the model."),
        ("not-assessable", _W, "A property whose effect cannot be assessed, and why."),
        ("random-effect-dropped", _W, "A random effect cannot carry a variance and is left out."),
        ("spec-paper", _W, "The specification of the paper has no effect of model and unit."),
        ("decisive-level", _W, "Without one level an effect moves by more than its standard error."),
        ("rejected-model", _W, "Residuals reject the linear model, and its p values are withheld."),
        ("no-model", _W, "No random effect is called model."),
        ("video-not-modelled", _W, "A column of videos is no random effect, so its rows count as independent."),
        ("not-fitted", _W, "A cell of a failure table could not be fitted."),
        ("parts-opposed", _W, "A property acts on hits and on their scores in opposite directions."),
        ("collinear", _W, "A property says nearly or exactly what others say."),
        ("ill-conditioned", _W, "The design matrix is nearly singular."),
        ("sparse", _W, "Few units have a property."),
        ("separation", _W, "Properties separate the outcome."),
        ("separated", _W, "Effects that decide the outcome have no finite odds ratio."),
        ("penalised", _W, "Estimates of what separates the outcome are held near zero."),
        ("not-converged", _W, "A fit did not converge; its numbers must not be used."),
        ("singular", _N, "A variance is estimated as zero."),
        ("few-levels", _N, "A random effect has few levels, so its variance is hardly known."),
        ("crossed", _N, "Levels of one random effect recur in several levels of another."),
        ("lone-interaction", _W, "An interaction enters without the properties it is made of."),
        ("not-normal", _N, "Predictions of random effects depart from a normal curve."),
        ("independent-rows", _W, "No random effect groups the rows."),
        ("z-test-few-videos", _W, "A z test was asked for with few videos."),
        ("seen-in-few-videos", _W, "An effect is seen in few videos."),
        ("differs-in-few-videos", _W, "A property differs in one or two videos only."),
        ("no-random-slope", _W, "Effects are assumed to be equal in all videos."),
        # what to work on
        ("nothing-to-recommend", _W, "No property is established as a weakness on enough videos."),
        ("pair-established", _W, "Two properties harm where they meet, which shares of single ones do not show."),
        ("recommended-on-few-videos", _W, "A recommendation rests on few videos, whose effect it may be."),
        ("recommendation-refused", _W, "A property could not be tested, so nothing is recommended about it."),
        ("planned-for-independent-models", _N, "Videos needed were counted for models that fail independently."),
        ("risk-of-tested-cases", _W, "Cases that an analysis rests on are weighed for training."),
        ("risk-not-informative", _W, "Held-out predictions of risk are no better than chance."),
        ("models-alike", _N, "No property is shown to harm models differently."),
        ("rows-unpaired", _W, "Rows of one round have no partner in the other and are left out."),
        ("no-gain-shown", _W, "No gain of a remedy is shown anywhere."),
        ("worse-somewhere", _W, "A remedy made some cases worse."),
        # plans
        ("spread-stated", _N, "A plan rests on a spread that was stated and not measured."),
        ("pilot-small", _W, "A pilot has few videos, so its spread and the plan are hardly known."),
        ("widest-model", _N, "Which of several models a plan is made for."),
        ("pilot-varies", _W, "The verdict on a pilot depends on a condition, or on what missing scores mean."),
        ("pilot-lacks-scores", _W, "Units of a pilot lack scores of a model, and were left out of the plan."),
        ("questions-unplanned", _W, "A pilot does not show what more questions per video would buy."),
        ("closed-form-alone", _N, "A plan was not simulated, because no mean over videos is judged."),
        ("raised-by-simulation", _N, "Simulated studies reach the goal less often than the closed form says."),
        ("out-of-reach", _W, "No number of videos reaches the goal."),
        # registrations
        ("registered-when", _N, "A hash does not show when a registration was written."),
        ("preregistered", _N, "The settings are those of a registration, which is named."),
        ("deviation", _W, "A setting differs from the registered one; the reason that was given."),
        ("registered-version", _N, "The registration was written under other versions of the software."),
        # sites
        ("metric-not-shared", _W, "A metric cannot be shared as sums per video, so sites cannot be pooled under it."),
        ("videos-not-shared", _W, "Sites left out videos with few cases, so pooled values are not of all videos."),
        ("videos-together", _N, "Videos whose counts were small left a site as sums of several."),
        ("sites-not-compared", _W, "Two models share no videos with equal numbers of scores."),
        # monitoring
        ("alarm", _W, "New videos differ from those of the validation more than chance would have it."),
        ("alarm-unreachable", _W, "So few new videos cannot raise an alarm, whatever they show."),
        ("checks-not-made", _N, "Checks rest on fewer than two videos in one of the periods."),
        # studies
        ("condition-not-compared", _W, "A column that describes cases could not be compared, and why."),
        ("hard-cases-tied", _N, "More cases are as hard as the last one that is listed."),
    )
}
"""Every code, in the order of the documentation."""


def remark(
    code: str, message: str, case: str | None = None, *, where: str | None = None, subject: str | None = None
) -> Finding:
    """A finding with the severity of its rule.

    Example:
        >>> remark("no-videos", "The table names no video.").severity.value
        'warning'
    """
    return Finding(code, STATISTIC_RULES[code].severity, message, case, where, subject=subject)
