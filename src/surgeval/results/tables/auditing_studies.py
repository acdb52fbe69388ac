"""Tables of `audit` of a study, of label errors and of data cards."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole, yes_no

CHECKS = Table(
    "checks", "One pitfall, and what its check came to.",
    pitfall=text("code, such as P1.6"), title=text, category=text,
    outcome=text("pass, fail, not assessable or needs an answer"), severity=text("of the failure; empty otherwise"),
    evidence=text("what decided it"), not_seen=text("what could not be looked at"), fix=text,
)  # fmt: skip
EVIDENCE = Table(
    "evidence", "One thing that a check looked at.",
    pitfall=text, about=text, outcome=text, severity=text("of the failure; empty otherwise"),
    needed=yes_no("whether the check cannot pass without it"), sentence=text, picture=text("how its numbers are drawn"),
)  # fmt: skip
NUMBERS = Table(
    "numbers", "One number of the evidence.",
    pitfall=text, about=text, quantity=text, subject=text("model, class, split or column; empty for all"),
    setting=text("under which it holds: a strategy, a threshold; empty for none"), value=number,
    low=number("of the interval, where it is an estimate"), high=number, n=whole("independent units behind it"),
)  # fmt: skip
QUESTIONS = Table(
    "questions", "One question that only a person can answer, and the study does not.",
    key=text("of the answer in the study file"), pitfall=text, question=text, example=text("of an answer, as TOML"),
)  # fmt: skip
ITEMS = Table(
    "guideline_items", "One item of a reporting guideline that the evidence is about.",
    guideline=text, item=text("number"), subject=text("in our words"), pitfall=text, outcome=text, facts=text,
)  # fmt: skip
LABEL_ERRORS = Table(
    "label_errors", "One case whose reference is in doubt, the strongest evidence first.",
    case=text, video=text, reference=text, suggested=text("what the models say instead"),
    probability=number("that the reference is wrong, under the assumptions of the method"),
    evidence=number("log-likelihood ratio of the suggestion over the reference, corrected for shared errors"),
    models=whole("that answered"), agreeing=whole("with the suggestion"), for_reference=whole("with the reference"),
    video_share=number("of the video's cases that are in doubt: a high one hints at the video, not at single labels"),
)  # fmt: skip
STUDY_AUDIT = (CHECKS, EVIDENCE, NUMBERS, QUESTIONS, ITEMS, LABEL_ERRORS)
CARD_COUNTS = Table(
    "card_counts", "One count of a data set folder.",
    task=text, what=text, counted=whole, published=whole("empty where nothing was published"),
)  # fmt: skip
CARD_CLASSES = Table(
    "card_classes", "One label of a data set folder.",
    task=text, column=text, label=text, rows=whole, videos=whole("with the label"), share=number("of the rows"),
)  # fmt: skip
CARD = (CARD_COUNTS, CARD_CLASSES)
