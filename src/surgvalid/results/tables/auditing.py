"""Tables of `audit`: of a study, of label errors, of data cards and of printed tables."""

from __future__ import annotations

from surgvalid.results.tables.table import Table, number, text, whole, yes_no

CHECKS = Table(
    "checks",
    "One pitfall, and what its check came to.",
    pitfall=text("code, such as P1.6"),
    title=text,
    category=text,
    outcome=text("pass, fail, not assessable or needs an answer"),
    severity=text("of the failure; empty otherwise"),
    evidence=text("what decided it"),
    not_seen=text("what could not be looked at"),
    fix=text,
)
EVIDENCE = Table(
    "evidence",
    "One thing that a check looked at.",
    pitfall=text,
    about=text,
    outcome=text,
    severity=text("of the failure; empty otherwise"),
    needed=yes_no("whether the check cannot pass without it"),
    sentence=text,
    picture=text("how its numbers are drawn"),
)
NUMBERS = Table(
    "numbers",
    "One number of the evidence.",
    pitfall=text,
    about=text,
    quantity=text,
    subject=text("model, class, split or column; empty for all"),
    setting=text("under which it holds: a strategy, a threshold; empty for none"),
    value=number,
    low=number("of the interval, where it is an estimate"),
    high=number,
    n=whole("independent units behind it"),
)
QUESTIONS = Table(
    "questions",
    "One question that only a person can answer, and the study does not.",
    key=text("of the answer in the study file"),
    pitfall=text,
    question=text,
    example=text("of an answer, as TOML"),
)
ITEMS = Table(
    "guideline_items",
    "One item of a reporting guideline that the evidence is about.",
    guideline=text,
    item=text("number"),
    subject=text("in our words"),
    pitfall=text,
    outcome=text,
    facts=text,
)
LABEL_ERRORS = Table(
    "label_errors",
    "One case whose reference may be wrong, the strongest evidence first.",
    case=text,
    video=text,
    reference=text,
    suggested=text("what the models say instead"),
    probability=number("that the reference is wrong, under the assumptions of the method"),
    evidence=number("log-likelihood ratio of the suggestion over the reference, corrected for shared errors"),
    models=whole("that answered"),
    agreeing=whole("with the suggestion"),
    for_reference=whole("with the reference"),
    video_share=number("of the video's cases that are suspect: a high one hints at the video, not at single labels"),
)
STUDY_AUDIT = (CHECKS, EVIDENCE, NUMBERS, QUESTIONS, ITEMS, LABEL_ERRORS)
CARD_COUNTS = Table(
    "card_counts",
    "One count of a data set folder.",
    task=text,
    what=text,
    counted=whole,
    published=whole("empty where nothing was published"),
)
CARD_CLASSES = Table(
    "card_classes",
    "One label of a data set folder.",
    task=text,
    column=text,
    label=text,
    rows=whole,
    videos=whole("with the label"),
    share=number("of the rows"),
)
CARD = (CARD_COUNTS, CARD_CLASSES)
FINDINGS = Table(
    "findings",
    "One thing noticed about a printed table, the worst first.",
    severity=text("impossible, inconsistent, suspicious or note"),
    rule=text,
    table=text,
    row=text("empty where no single row is meant"),
    column=text("headings; empty where no column is meant"),
    printed=text("what stands there"),
    arithmetic=text("what does not hold, with its numbers"),
    meaning=text("what follows"),
)
COLUMNS = Table(
    "columns",
    "What one column of a printed table was interpreted as.",
    table=text,
    column=text("headings, the outermost first"),
    metric=text("empty where it is none that is known"),
    percent=yes_no("whether it is out of 100"),
    kind=text("of classification, as it was said"),
    classes=whole("as it was said"),
    cases=whole("as it was said"),
)
CELLS = Table(
    "cells",
    "One cell of a printed table, as it was read; the file can be audited again.",
    "unread",
    table=text,
    row=text,
    column=text,
    value=text("as printed"),
    bold=yes_no,
)
AUDIT = (FINDINGS, COLUMNS, CELLS)
