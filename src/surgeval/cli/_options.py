"""The options that verbs share: one type, one text and one default per name.

A verb that means something else by a name keeps its own text; `LOCAL` lists these names with the reason, and a contract
test holds every other name to one text and one default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_SEVERAL = "FILE, or NAME=FILE to keep the identifiers of several data sets apart; may be repeated."

TableArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLE...",
        help="CSV or Parquet files with a row per model and case, or folders that 'score' or 'evaluate' wrote.",
        show_default=False,
    ),
]

# What every verb may have.
_OUT = "Folder for everything, with a manifest; verbs that make a single table take a .csv or .parquet too."
Out = Annotated[Path | None, typer.Option("--out", help=_OUT)]
OutNeeded = Annotated[Path, typer.Option("--out", help=_OUT)]
Force = Annotated[
    bool, typer.Option("--force", help="Replace an earlier result at --out; files of others are never replaced.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random; equal seeds give equal results.")]

# Score tables.
Columns = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="Your column names, such as model=algorithm,video=patient,value=dice.",
        show_default=False,
    ),
]
Metric = Annotated[
    str | None, typer.Option("--metric", help="Metric of the table; may be left out if there is one, or 'correct'.")
]
Better = Annotated[
    list[str] | None,
    typer.Option(
        "--better",
        metavar="[METRIC=]larger|smaller",
        help="Which values are better, where neither the table nor the metric's name says it; may be repeated.",
        show_default=False,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[STATUS=]RULE",
        help="Scores that are not there: worst, drop-case, drop-score, error or a number, for all or by status; may be"
        " repeated. By default worst for what the model is to blame for, else an error.",
        show_default=False,
    ),
]
By = Annotated[str, typer.Option("--by", metavar="COL,...", help="Report every combination of these columns.")]

Preregistration = Annotated[
    Path | None,
    typer.Option("--preregistration", metavar="FILE", help="Registration that the settings must be those of."),
]
Deviation = Annotated[
    list[str] | None,
    typer.Option(
        "--deviation",
        metavar="OPTION=REASON",
        help="Why an option differs from its registration; may be repeated, and is shown in the result.",
        show_default=False,
    ),
]

# Statistics.
Level = Annotated[float, typer.Option("--level", help="Coverage of the intervals.")]
Boot = Annotated[int, typer.Option("--boot", help="Number of resamples, where a method resamples.")]
Statistic = Annotated[
    str, typer.Option("--statistic", help="mean, iqm (interquartile mean), median, min, max, or q05, q95, ...")
]
Resample = Annotated[
    str | None,
    typer.Option(
        "--resample",
        help="What belongs together: cluster (videos; the default), naive (rows) or a hierarchy such as 'center>video'."
        " Methods that draw also take two-stage and 'center>video>rows'.",
        show_default=False,
    ),
]
Estimand = Annotated[
    str, typer.Option("--estimand", help="rows (pooled) or videos (mean over videos of the statistic within).")
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        help="auto holds with few videos and draws nothing; by name: percentile, basic, bca, deterministic.",
    ),
]

Separator = Annotated[
    str, typer.Option("--separator", help="What stands between labels, where a column of text holds several.")
]

# Questions and answers.
Requests = Annotated[list[str], typer.Option("--requests", metavar="FILE", help=f"The questions. {_SEVERAL}")]
References = Annotated[
    list[str], typer.Option("--references", metavar="FILE", help=f"The reference answers. {_SEVERAL}")
]
Responses = Annotated[list[str], typer.Option("--responses", metavar="FILE", help=f"The model's answers. {_SEVERAL}")]
TrainRequests = Annotated[
    list[str], typer.Option("--train-requests", metavar="FILE", help=f"Questions of the training set. {_SEVERAL}")
]
TrainReferences = Annotated[
    list[str], typer.Option("--train-references", metavar="FILE", help=f"Their reference answers. {_SEVERAL}")
]
ReviewHistory = Annotated[
    Path | None, typer.Option("--history", help="History of the review: unconfirmed and disputed items are left out.")
]
Definitions = Annotated[
    Path | None,
    typer.Option("--definitions", help="Foreign-object definitions (text or JSON); its classes become the legal ones."),
]
Context = Annotated[
    str,
    typer.Option("--context", metavar="S,...", help="Lengths in s that tell short, medium and long contexts apart."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="What the model is called in tables. Default: the name of the file of answers or predictions.",
        show_default=False,
    ),
]

# Asking models.
ModelSpec = Annotated[str, typer.Option("--model", help="One of {models}.")]
ModelOption = Annotated[
    list[str],
    typer.Option(
        "--model-option",
        metavar="NAME=VALUE",
        help="How the model is opened, such as concurrency=4, per_minute=60, price=2.5/10 (money per million tokens in"
        " and out), video=yes, dtype=bfloat16; may be repeated.",
        show_default=False,
    ),
]
SendMediaTo = Annotated[
    list[str],
    typer.Option(
        "--send-media-to",
        metavar="HOST",
        help="Agree that images and video go to this host, which is not this machine; may be repeated.",
        show_default=False,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", min=0, help="Money that all runs together must not exceed; needs the price."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked, and what it would take; send nothing.")
]

# Annotations.
Fps = Annotated[
    float | None,
    typer.Option(
        "--fps", help="Frames per second of frame numbers, 1 where they are seconds; needed where no file says it."
    ),
]
ProcedureType = Annotated[
    str | None, typer.Option("--procedure-type", help="Of the videos, where files of annotation tools do not say.")
]
Center = Annotated[
    str | None, typer.Option("--center", help="Of the videos, where files of annotation tools do not say.")
]
Size = Annotated[
    str | None, typer.Option("--size", metavar="WIDTHxHEIGHT", help="Of the frames in px, where files do not say.")
]
Film = Annotated[
    list[str] | None,
    typer.Option(
        "--video",
        metavar="[NAME=]FILE",
        help="Film of a video: its size, frame rate and duration count where files tell none; may be repeated.",
    ),
]
VideoName = Annotated[
    str | None, typer.Option("--video-name", help="Of the video of every file, such as of the jobs of one CVAT task.")
]
Stills = Annotated[bool, typer.Option("--stills", help="Every image is a video of its own, of one second.")]
WhatAnnotated = Annotated[
    list[str] | None,
    typer.Option(
        "--annotated",
        help="What was annotated where no file says: all, classes, events, phases, attributes, an event, class:NAME,"
        " seconds:0-600, by:NAME; may be repeated.",
    ),
]
At = Annotated[str, typer.Option("--at", help="When, for the history (ISO 8601). Default: now.")]

STORE = Path(".surgeval")
"""The folder of what was asked once, in the working folder, where nobody chose another."""
Store = Annotated[
    Path, typer.Option("--store", help="Folder that keeps verdicts between runs; nothing is asked twice.")
]

AnswerStore = Annotated[
    Path, typer.Option("--store", help="Folder that keeps answers between runs; nothing is asked twice.")
]

JudgeTokens = Annotated[
    int | None,
    typer.Option("--judge-tokens", min=1, help="Room for a judge's reply; more for models that reason unseen."),
]
JudgeTimeout = Annotated[
    float | None, typer.Option("--judge-timeout", help="Seconds for one reply of a judge's server. Default: 120.")
]

# Sandboxes.
Image = Annotated[Path | None, typer.Option("--image", help="Archive from docker save, or an OCI archive.")]
Command = Annotated[str | None, typer.Option("--command", help="Instead of an image: a command of this machine.")]
Code = Annotated[
    Path | None, typer.Option("--code", help="Folder that the command needs; read-only at /app in bubblewrap.")
]
Weights = Annotated[
    Path | None,
    typer.Option("--weights", help="Folder with the model's weights, apart from the image; read-only inside."),
]
Engine = Annotated[str | None, typer.Option("--engine", help="One of {engines}.")]
Gpu = Annotated[str | None, typer.Option("--gpu", help="One GPU by index or UUID.")]
Runtime = Annotated[
    str | None, typer.Option("--runtime", help="Of podman and docker, instead of the usual one: runc or crun.")
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Write the report as PDF too, without a browser or LaTeX.")]

Url = Annotated[str, typer.Option("--url", help="Address of the hosted challenge.", show_default=False)]
Token = Annotated[
    str,
    typer.Option(
        "--token", help="Shown once by the service; better in the environment than here.", envvar="SURGEVAL_TOKEN",
        show_default=False,
    ),
]  # fmt: skip
HostFolder = Annotated[
    Path, typer.Option("--folder", help="Folder of the hosted challenge, with challenge.toml.", envvar="SURGEVAL_HOST")
]
Port = Annotated[int, typer.Option("--port", help="Of 127.0.0.1; 0 takes a free one.", show_default=False)]

LOCAL: dict[str, str] = {
    "--after": "failures: the table of the new algorithm; annotate verify: the new value",
    "--alpha": "rank: of every test; monitor: of all looks together",
    "--annotations": "annotate experts cannot do without; annotate serve looks in its folder first",
    "--baseline": "rank: models that others must beat; strata: what a stratum is compared with",
    "--before": "failures: the table of the old algorithm; annotate verify: the old value",
    "--boot": "rank: its default depends on the rule, and 0 leaves the resamples out; monitor: splits of videos",
    "--by": "strata: required, may overlap; annotate: who proposes; evaluate, monitor, supplement: each by itself",
    "--center": "simulate: centres to draw from",
    "--cluster": "adjusted: always, by default videos; failures: marginal odds ratios beside the mixed model",
    "--classes": "evaluate: their names; audit tables: how many",
    "--clock": "simulate writes the clock, rehearse shows it",
    "--columns": "evaluate: columns of predictions, not of a score table; audit tables: headings of printed tables",
    "--definitions": "ask: shown before every question; others read the classes in it",
    "--engine": "doctor looks at several, others run in one",
    "--fps": "simulate: of the videos to paint; evaluate phases, annotate reviewed: of frame numbers, no file to ask",
    "--images": "annotate: a COCO file that lists them; report: the folder of the pictures",
    "--judge": "judge check asks one",
    "--kind": "submission new: of starter pack; audit tables: of classification",
    "--limit": "judge agreement: rows that are printed; task run: cases that are asked",
    "--missing": "score: what a question without response is",
    "--missing-keys": "task parse: that of the run when left out",
    "--model": "ask: who is asked; others: what a model is called",
    "--metric": "evaluate: metrics to compute, repeatable",
    "--models": "study: columns of a table; plan: models of a pilot",
    "--order": "agreement: labels; plan: a goal",
    "--out": "demo, rehearse, report and supplement always write, and name where",
    "--overlap": "annotate: thresholds of two stages; evaluate detection: box or mask",
    "--port": "host serve: one that a proxy knows; elsewhere a free one",
    "--predictions": "each kind of evaluation takes other files",
    "--prompts": "ask: words that are published; task run: mended or faithful",
    "--properties": "failures joins several tables, evaluate takes one keyed by case or video",
    "--questions": "submission run: a folder; plan: how many per video",
    "--rater": "agreement: a column; annotate serve: a person",
    "--ratings": "annotate moments: forms; annotate experts: times",
    "--references": "each kind of evaluation takes other files; lint, ensembles and supplement can do without",
    "--rule": "rank: of ranking; strata: of drawing",
    "--shard": "submission run: of the questions, by default all; evaluate: of the predictions",
    "--store": "judge check measures now, and keeps nothing unless asked to",
    "--split": "evaluate cvs: of Endoscapes; failure-table: groups of rows",
    "--step": "agreement: of time; plan: between neighbouring models",
    "--task": "check: repeatable",
    "--tolerance": "agreement: a chance; annotate moments: seconds",
    "--title": "report: the folder's name when left out",
    "--track": "questions makes several; rehearse and score take one",
    "--phase": "rehearse can do without one",
    "--weights": "aggregate: of phases; ensembles: of models; rehearse and submission: files of a model",
    "--unit": "agreement: what was rated; failures: the finest unit",
    "--video": "agreement: a column; simulate: a switch; annotate instances: also for appearance",
    "--videos": "ask: a folder of films; evaluate: which of the videos; plan: how many",
    "--video-column": "evaluate detection: a key of images",
}
"""Names that several verbs use for different things, and the reason."""
