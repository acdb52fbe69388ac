"""Options of verbs that read score tables, plan, register, monitor and audit; and those that every verb may have."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from surgvalid.cli import _option as t
from surgvalid.cli._option import (
    COUNT,
    FILE,
    FILES,
    NEEDED,
    NUMBER,
    TEXTS,
    Option,
    component,
    names,
    names_in,
    place,
    some,
    switch,
)

_TABLES = (
    "CSV or Parquet files with a row per model and case, folders that 'score' or 'evaluate' wrote, or logs of inspect, "
    "lmms-eval, lm-eval, MLflow, Weights & Biases."
)

OPTIONS: dict[str, Option] = {
    # What every verb may have.
    "out": Option(
        "--out", "Folder to write to, with a manifest; a file where a verb makes one thing: .csv or .parquet of a"
        " table,"
        " .html of a report, .json of answers.", FILE,
    ),
    "json": Option("--json", "Print the result as JSON.", bool, False),
    "force": Option("--force", "Replace an earlier result at --out; files of others are never replaced.", bool, False),
    "seed": Option("--seed", "Seed of everything random; equal seeds give equal results.", int, 42),
    "workers": Option(
        "--workers", "How many at once: processes (0 for every core) or requests.", COUNT, own_default=True
    ),
    "limit": Option(
        "--limit", "At most so many: cases that are asked, jobs that are done, disagreements that are printed.", COUNT,
        own_default=True, limits=(0, None),
    ),
    "port": Option("--port", "Of 127.0.0.1; 0 takes a free one.", COUNT, own_default=True),
    # Score tables.
    "table": place("TABLE...", _TABLES, list[Path]),
    "tables": place("[TABLE...]", _TABLES, FILES, None),
    "ratings": place("TABLE...", "CSV or Parquet files with a row per rater and unit.", list[Path], argument="table"),
    "pilot": place("[PILOT...]", "Score table of a pilot, as for interval.", FILES, None, "table"),
    "any_table": place(
        "[FILE...]", "CSV, Excel or Parquet: a row per model and case, a column per model, or a file per model; without"
        " one a page opens on this machine that takes a table and shows how it is read.", FILES, None, "table",
    ),
    "metric": Option(
        "--metric", "Metric of the table, where it has several; for evaluate one of 'surgvalid tools list metrics', may"
        " be repeated.",
    ),
    "better": Option(
        "--better", "Which values are better, where neither the table nor the metric's name says it; may be repeated.",
        TEXTS, None, t.read_better, metavar="[METRIC=]larger|smaller",
    ),
    "missing": Option(
        "--missing", "Scores that are not there: worst, drop-case, drop-score, error or a number, for all or by status"
        " (not_judged=worst); may be repeated. By default worst for what the model is to blame for, else an error;"
        " in score, error refuses questions without response.", TEXTS, None, some, metavar="[STATUS=]RULE",
    ),
    "unit": Option("--unit", "Column of what is independent: patient or video.", metavar="COLUMN", role="video"),
    "case": Option("--case", "Column of the case: image, question or what was rated.", metavar="COLUMN", role="case"),
    "model_column": Option(
        "--model-column", "Column that names the model, or the rater.", metavar="COLUMN", role="model"
    ),
    "score": Option("--score", "Column of the score.", metavar="COLUMN", role="value"),
    "scores": Option("--score", "Column of the score.", str, "", names_in, "scores", "COLUMN"),
    "condition": Option(
        "--condition", "Column of the condition under which models are compared: phase, or task.", metavar="COLUMN",
        own_default=True,
    ),
    "columns": Option(
        "--columns", "Further columns under other names, such as capability=skill; for evaluate such as"
        " reference=label.", str, "", t.read_columns, metavar="OURS=THEIRS,...",
    ),
    "by": names(
        "--by", "Columns to split results by: every combination of their values, or each by itself in evaluate,"
        " monitor and supplement.", metavar="COL,...",
    ),
    "separator": Option("--separator", "What stands between labels, where a column of text holds several.", str, ";"),
    "preregistration": Option(
        "--preregistration", "Registration that the settings must be those of.", FILE, metavar="FILE"
    ),
    "deviation": Option(
        "--deviation", "Why an option differs from its registration; may be repeated, and is shown in the result.",
        TEXTS, None, t.read_deviations, "deviations", "OPTION=REASON",
    ),
    # Statistics.
    "level": Option("--level", "Coverage of the intervals.", float, 0.95),
    "resamples": Option(
        "--resamples", "Resamples, where a method draws them; by default as many as it needs, mostly 1000.", COUNT,
        argument="replicates", own_default=True,
    ),
    "method": Option(
        "--method", "auto holds with few videos and draws nothing; bootstrap takes percentiles of resampled videos;"
        " marginal odds ratios also have CR0, CR1 and CR2.", str, "auto",
    ),
    "statistic": Option(
        "--statistic", "mean, iqm (interquartile mean), median, min, max, or q05, q95, ...", str, "mean"
    ),
    "resample": Option(
        "--resample", "What belongs together: cluster (videos; the default), naive (rows) or a hierarchy such as"
        " 'center>video'. Methods that draw also take two-stage and 'center>video>rows'.",
    ),
    "estimand": Option(
        "--estimand", "rows (pooled) or videos (mean over videos of the statistic within).", str, "rows"
    ),
    "model_a": place("MODEL_A", "The model whose value comes first.", str),
    "model_b": place("MODEL_B", "The model that is subtracted.", str),
    "models": names("--models", "Which models, or columns that are models; for a contrast the two sides, A+B,C."),
    "margin": Option("--margin", "The smallest difference that matters, in the unit of the metric.", NUMBER),
    "against": Option(
        "--against", "A baseline, named beforehand: each other model is compared with it alone.", metavar="MODEL"
    ),
    "prior": Option("--prior", "half-equal: the chance that a claim is wrong if half of all pairs are equal."),
    "why": Option("--why", "Show the rule, the numbers and the source behind each sentence.", bool, False),
    "baseline": Option(
        "--baseline", "Compare with the whole table, or with the rest: the cases outside.", str, "whole"
    ),
    "drawing": Option(
        "--drawing", "joint, or subset: draw only among the videos that have the property.", str, "joint",
        argument="rule",
    ),
    "bins": Option(
        "--bins", "Edges for columns of numbers.", str, "", t.read_bins, metavar="COL=EDGE:EDGE,..."
    ),
    "low_artifact": switch("low_artifact", "the cases with at most one of the true/false columns set"),
    "combine": Option("--combine", "scores or ranks.", str, "scores"),
    "name_weights": Option(
        "--name-weights", "JSON file with a weight for every phase or model, by name; models are weighed by their"
        " mean in other videos without it.", FILE, None, t.read_weights, "weights",
    ),
    "primary": Option("--primary", "Column with one label per case.", str, "capability", metavar="COL"),
    "secondary": Option("--secondary", "Column with any number of labels per case.", str, "secondary", metavar="COL"),
    "response": Option("--response", "Column with the response.", str, "response", metavar="COL"),
    "kinds": Option("--kinds", "Which ensembles.", str, "majority,weighted,oracle", names_in),
    "thresholds": Option(
        "--thresholds", "Scores to reach; by default spread over the range, or 0.5 for cvs.", str, "",
        partial(t.read_numbers, "--thresholds"), metavar="NUMBER,...",
    ),
    # Raters.
    "label": Option("--label", "Column with what raters said.", str, NEEDED, metavar="COL"),
    "start": component("--segments", "start", "column with the start in s"),
    "end": component("--segments", "end", "column with the end in s"),
    "idle": component("--segments", "idle", "label of the time outside", str, "Idle"),
    "step_s": component("--segments", "step_s", "length of one unit of time", float, 1.0),
    "overlaps": component("--segments", "overlaps", "of one rater: error, first or last wins", str, "error"),
    "scale": Option("--scale", "nominal, ordinal or interval.", str, "nominal"),
    "ordered": names("--ordered", "Labels from low to high.", "order", "LABEL,..."),
    "kappa_weights": Option("--kappa-weights", "none, linear or quadratic.", str, "none"),
    "tolerance": component("--tolerance", "tolerance", "chance, such as 0.95", NUMBER),
    "answer_format": component("--tolerance", "format", "time or percentage", str, "time"),
    # Mixed models.
    "outcome": Option(
        "--outcome", "What fails: a column of a 0/1 or continuous outcome, or SUCCESSES/TRIALS, as tp/reference; with"
        " both, counts step in where the outcome is not normal. For --form symbols with names, as"
        " precision=tp/predicted,recall=tp/reference.", str, "", metavar="[NAME=]COLUMN|SUCCESSES/TRIALS,...",
    ),
    "fixed": names("--fixed", "Properties, separated by commas; a:b for an interaction.", metavar="PROPERTY,..."),
    "random": names(
        "--random", "Random effects, separated by commas, in any order; model (algorithm) and video (patient) by name.",
        metavar="COL,...",
    ),
    "spec": component(
        "--spec", "spec", "default (model:unit for counts) or ross (Roß et al., Beyond rankings)", str, "default"
    ),
    "inference": component(
        "--spec", "inference", "reml-t (t tests that count videos) or wald-z (that of ross)", str, "auto"
    ),
    "slopes": component(
        "--spec", "slopes", "effects that differ between videos: all, none or a:b", str, "all", read=t.read_slopes
    ),
    "separation": component(
        "--spec", "separation", "where the outcome is separated: penalise, drop (that of ross), or firth (without"
        " random"
        " effects)", str, "auto",
    ),
    "role": component("--spec", "role", "of models: random, fixed, removed or aggregated", str, "random"),
    "family": component(
        "--spec", "family", "auto, binomial, poisson, gaussian or ordered-beta (scores in [0, 1])", str, "auto"
    ),
    "transform": component("--spec", "transform", "of a continuous outcome: auto, none, log or logit", str, "auto"),
    "finest": component(
        "--spec", "finest", "the finest unit, where it is not the one with the most levels", argument="unit"
    ),
    "per_model": switch("per_model", "a fit of each model by itself"),
    "models_like_these": switch("models_like_these", "what other models like these would do; four models or more"),
    "strengths": switch("strengths", "a joint test whether properties harm models differently"),
    "symmetric": switch("symmetric", "symbol bins that mirror each other on the log scale"),
    "properties": Option(
        "--properties", "Tables of properties, joined by the columns they share, such as case or video.", FILES, None,
        some,
    ),
    "cluster": names(
        "--cluster", "One or two columns for marginal odds ratios with cluster-robust errors.", metavar="COL,..."
    ),
    "form": Option(
        "--form", "effects of the mixed model; marginal: one logistic regression per model on --fixed instead; symbols:"
        " several outcomes side by side.", str, "effects",
    ),
    "leave_out": names(
        "--leave-out", "Columns of which each level is left out in turn: patient,algorithm.", metavar="COL,..."
    ),
    "before": Option("--before", "Table of the old algorithm, with --after.", FILES, metavar="OLD"),
    "after": Option("--after", "Table of the new algorithm on the same cases.", FILES, metavar="NEW"),
    "target": names(
        "--target", "--after: properties that the new algorithm was built against.", metavar="PROPERTY,..."
    ),
    "recommend": Option(
        "--recommend", "Say what to work on, ranked, with cases to look at, so that a later study finds a mean outcome"
        " that is better by so much, such as 0.1.", NUMBER, metavar="IMPROVEMENT",
    ),
    "image_column": Option(
        "--image-column", "--recommend: column with the path of each case's image.", argument="picture", metavar="COL"
    ),
    "risk": Option("--risk", "Cases with properties, as of a training set: give them risks and weights.", FILES),
    # Ranking.
    "rule": component("--rule", "rule", "one of {rules}, or qNN-then-rank; by default the one that the table fits"),
    "board": component("--rule", "leaderboard", "focus: technical, clinical or both", str, "both", argument="board"),
    "merge": component(
        "--rule", "merge", "focus: pairwise, wins, leader, closure, losses, net or accuracy", str, "pairwise"
    ),
    "consensus": component("--rule", "consensus", "of several tasks: euclidean or case-ranks", str, "euclidean"),
    "test": Option("--test", "The paired test; sign-flip for focus, wilcoxon for test-then-rank."),
    "correction": Option("--correction", "holm, none or bh; holm for focus, none for test-then-rank."),
    "must_beat": Option(
        "--must-beat", "A model outside the competition that others must beat; may be repeated.", TEXTS, None,
        lambda models: models or (), "baselines",
    ),
    "outside": Option(
        "--outside", "Another model outside the competition; may be repeated.", TEXTS, None, lambda models: models or ()
    ),
    "unpaid": Option(
        "--unpaid", "A competitor that gets no prize; may be repeated.", TEXTS, None, lambda models: models or ()
    ),
    "prize_pool": Option("--prize-pool", "focus: money of each leaderboard, shared 50/30/20.", NUMBER),
    "bucket_weight": Option(
        "--bucket-weight", "focus: GROUP=WEIGHT of its buckets; may be repeated.", TEXTS, None,
        partial(t.read_pairs, "--bucket-weight"), "bucket_weights",
    ),
    "task_weight": Option(
        "--task-weight", "Generic rules: TASK=WEIGHT in the consensus; may be repeated.", TEXTS, None,
        partial(t.read_pairs, "--task-weight"), "task_weights",
    ),
    "challenger_compat": switch("challenger_compat", "challengeR's faults in the resamples, to compare"),
    # Studies.
    "since": Option("--since", "From when on videos are new: a date as 2026-03-01, or a number.", str, NEEDED),
    "time_column": Option("--time-column", "The column that says when.", str, "date"),
    "sheet": Option("--sheet", "Sheet of an Excel file that has several.", metavar="NAME"),
    "decimal": Option(
        "--decimal", "What stands before decimals, where 1,234 may be either number.", metavar="comma|point"
    ),
    "width": Option("--width", "Goal: an interval no wider than this.", NUMBER),
    "difference": Option("--difference", "Goal: a true difference of two models is found.", NUMBER),
    "order": Option("--order", "Goal: the FOCUS rule orders the models firmly.", bool, False),
    "share_of_videos": component("--assume", "share", "videos that have the subgroup", NUMBER, argument="share"),
    "sd": component("--assume", "sd", "SD of single scores, or of paired differences", NUMBER),
    "icc": component("--assume", "icc", "share of that variance between videos", NUMBER),
    "value": component("--assume", "value", "expected value of a score between 0 and 1, for --width", NUMBER),
    "entries": component("--assume", "models", "--order: how many models", COUNT, argument="entries"),
    "buckets": component("--assume", "buckets", "--order: how many buckets", int, 10),
    "step": component("--assume", "step", "--order: difference between neighbours", NUMBER),
    "per_video_counts": Option(
        "--per-video", "Questions per video and track; plan looks at several, and plans for the first.", str, "",
        partial(t.whole_numbers, "--per-video"), "questions", "N,...",
    ),
    "video_counts": Option(
        "--video-counts", "Numbers of videos to look at.", str, "", partial(t.whole_numbers, "--video-counts"),
        "videos", "N,...",
    ),
    "power": Option("--power", "Share of studies that must reach the goal.", float, 0.8),
    "tests": Option("--tests", "Comparisons that share the level of the test.", int, 1),
    "certainty": Option("--certainty", "Coverage of the range that the pilot leaves open.", float, 0.8),
    "cost_video": component("--cost", "video", "of one video", NUMBER),
    "cost_question": component("--cost", "question", "of one question", NUMBER),
    "simulations": Option("--simulations", "Studies simulated at the answer.", int, 1000),
    "plan": place("PLAN", "TOML file with the study and its analyses."),
    "registration": place("FILE", "registration.json, or its folder.", argument="path"),
    "new": Option("--new", "Write a commented plan to PLAN to start from, and register nothing.", bool, False),
    "sign_ssh": component("--sign", "ssh", "file of an SSH key, by ssh-keygen", FILE),
    "sign_gpg": component("--sign", "gpg", "a GPG key, by gpg"),
    "ask_now": Option(
        "--ask", "Ask the questions now, one by one; an empty answer skips.", bool, False, argument="ask"
    ),
    "study_folder": place("DIR", "Where the study is, or is going to be.", argument="folder"),
    "study": place(
        "STUDY", "A study file (TOML), a folder that verbs of surgvalid wrote, or a score table (CSV or Parquet)."
    ),
    "pitfall": Option(
        "--pitfall", "Check this pitfall only, such as P1.6; may be repeated.", TEXTS, None,
        lambda codes: codes or (), "pitfalls", "CODE",
    ),
    "data_set_name": place("DATA_SET", "A name of 'surgvalid tools list datasets'.", str, argument="data_set"),
    "folder": place("FOLDER", "The data set as it was downloaded."),
    "printed": place(
        "FILE...", "Printed tables with their captions: CSV, Markdown, LaTeX, PDF, or text with tabs or spaces.",
        list[Path], argument="tables",
    ),
    "headings": Option(
        "--headings", "What headings mean, such as A=accuracy, where their names do not say it; P=other for none.",
        str, "", partial(t.read_named, "--headings", form="HEADING=METRIC", example="A=accuracy,P=other"), "columns",
        "HEADING=METRIC,...",
    ),
    "facts": component(
        "--facts", "facts", "CSV with a row per table (its number or title) and columns table, kind, classes, cases,"
        " prevalence; with column, the cases of that column", FILE,
    ),
    "kind": component("--facts", "kind", "multi-class, multi-label or binary", str, ""),
    "class_count": component("--facts", "classes", "number of classes", COUNT, argument="classes", limits=(1, None)),
    "cases": component("--facts", "cases", "number of cases", COUNT, limits=(1, None)),
}  # fmt: skip
"""By the names that rows of the table of verbs use."""
