"""What a failure analysis says to work on, who is strong where, how risks are calibrated, and what a remedy changed."""

from __future__ import annotations

import polars as pl

from surgeval.report.inputs import StoredResult
from surgeval.report.section import Block, Note, Prose, Table
from surgeval.report.sections._pictures import picture
from surgeval.report.words import plain, terms_in_words

MOST_ADVICE = 5
_SHARES = {"share": "share of loss", "p_holm": "p (Holm)", "videos_needed": "videos", "videos_total": "to collect"}


def next_steps(result: StoredResult) -> list[Block]:
    """Recommendations with their cases, strengths and calibration, where the analysis has them."""
    return [*_recommended(result), *_strengths(result), *_calibration(result)]


def _recommended(result: StoredResult) -> list[Block]:
    advice = result.frame("recommendations")
    if advice.is_empty():
        return []
    firm = advice.filter(pl.col("verdict") == "established")
    blocks: list[Block] = [
        Prose(terms_in_words(plain(f"{row['place']}. {row['advice']}", limit=700)))
        for row in firm.head(MOST_ADVICE).iter_rows(named=True)
    ]
    if firm.is_empty():
        blocks.append(
            Note("No property is established as a weakness on enough videos; the table says what looks worst.")
        )
    caption = (
        "Share of all that is lost that goes with a property (effect times frequency), with its interval; shares are "
        "associations and overlap. Only what is established may be acted upon."
    )
    kept = advice.drop("advice", "estimate", "odds_ratio", "points")
    blocks.append(Table("recommendations", "What to work on", kept, caption, labels=_SHARES))
    cases = result.frame("recommended_cases")
    if not cases.is_empty():
        caption = "The cases of each recommendation that lost most, few of each video."
        blocks.append(Table("recommended-cases", "Cases to look at", cases, caption, folded=True))
    return blocks


def _strengths(result: StoredResult) -> list[Block]:
    tests, cells = result.frame("strength_tests"), result.frame("strengths")
    if tests.is_empty():
        return []
    caption = "Joint F test of the property with the models; p (Holm): corrected over the properties."
    blocks: list[Block] = [
        Table("strength-tests", "Do properties harm models differently?", tests, caption, labels={"p_holm": "p (Holm)"})
    ]
    if not cells.is_empty():
        caption = "Effects on single models from one fit, and their difference from the mean over models."
        blocks.append(Table("strengths", "Strengths and weaknesses", cells, caption, folded=True))
    return blocks


def _calibration(result: StoredResult) -> list[Block]:
    figures, bins = result.frame("calibration"), result.frame("calibration_bins")
    if figures.is_empty() or bins.is_empty():
        return []
    curve = bins.select(pl.lit("predicted risk").alias("model"), pl.col("predicted").alias("confidence"), "observed",
                        "cases")  # fmt: skip
    drawn = picture("calibration", curve, name="risk-calibration", title="Predicted risk against observed loss")
    caption = "Predictions for videos that were held out; a slope of 1 is right."
    return [drawn, Table("calibration", "Calibration of predicted risks", figures, caption)]


def changed_blocks(result: StoredResult) -> list[Block]:
    """What a remedy changed, from one comparison of before and after."""
    effects, gains = result.frame("effect_changes"), result.frame("gains")
    if effects.is_empty() or gains.is_empty():
        return []
    blocks: list[Block] = [Prose(terms_in_words(result.prose.split("\n")[0]))] if result.prose else []
    blocks.append(picture("effect_changes", effects, title="Effects of properties before and after a remedy"))
    caption = "Paired differences on the same cases; positive is better. Verdicts are after Holm's correction."
    blocks.append(Table("gains", "Gains of the remedy", gains, caption, labels={"p_holm": "p (Holm)"}))
    blocks.append(Table("effect-changes", "Changes of effects", effects, folded=True))
    return blocks
