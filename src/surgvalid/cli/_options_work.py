"""Options of verbs that evaluate predictions, ask models, score answers, run submissions, make data and host."""

from __future__ import annotations

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
    place,
    some,
    switch,
)

STORE = Path(".surgvalid")
"""The folder of what was asked once, in the working folder, where nobody chose another."""

_SHARE = (0.0, 1.0)
_KINDS = "CSV, TSV, Parquet, JSON or JSON Lines"
_FOLDER = "or the folder of a --data-set"
_SEVERAL = "FILE, or NAME=FILE to keep the identifiers of several data sets apart; may be repeated."
SOURCE_HELP = (
    "Boxes: a CSV or Parquet table (video, second, class_name, x, y, width, height), a file or folder of CVAT, COCO, "
    "MOT, Label Studio, VIA, LabelMe, VOC, YOLO or Datumaro, or a procedure file; for the stage boxes also "
    "NAME=BOXES, NAME being the annotator. screen reads a table of answers (video, clip, class_name, worker, present), "
    "reviewed the exports of the review, verify a history, experts a form (CSV)."
)


def _several(names: list[str] | None) -> list[str]:
    return names or []


OPTIONS: dict[str, Option] = {
    # Evaluations.
    "model": Option(
        "--model", "What the model is called in tables. Default: the name of the file of answers or predictions."
    ),
    "shard": Option("--shard", "Only the videos of part I of N, such as 1/4.", metavar="I/N"),
    "share": Option(
        "--share", "Write sums per video (.parquet) that may leave, for evaluate combine.", FILE, metavar="FILE"
    ),
    "site": Option("--site", "With --share: what this hospital is called there.", str, ""),
    "min_cases": component("--min", "cases", "of a video that is shared", int, 10),
    "min_cell": component("--min", "cell", "smallest count but 0 that is shared", int, 5),
    "executor": Option(
        "--executor", "local, or ray: the workers of a Ray cluster read files or have models open.", str, "local"
    ),
    "data_set": Option(
        "--data-set", "A name of 'surgvalid tools list datasets'; --references, or what is given, is then its folder.",
        str, ""
    ),
    "task": Option(
        "--task", "Only this task of a data set or study; may be repeated where several can be looked at.", str, ""
    ),
    "split": Option(
        "--split", "Which part of the data set, such as test; by default that of the task, or all.", own_default=True,
        metavar="[SCHEME:]PART",
    ),
    "only": names("--only", "Which of its videos, by name.", "videos"),
    "classes": names("--classes", "The declared classes; those of the data if left out."),
    "patient_pattern": Option(
        "--patient-pattern", "Pattern whose first group in a file name is the patient or video, as '^([0-9]+)_';"
        " without a group it is the name itself.", str, "", argument="video_pattern",
    ),
    "predictions": Option(
        "--predictions", f"Table ({_KINDS}), NPZ, or folder with a text or array file per video.", Path, NEEDED
    ),
    "criteria": Option(
        "--predictions", f"Scores of C1, C2 and C3 per frame ({_KINDS}).", FILE, argument="predictions"
    ),
    "detections": Option(
        "--predictions", "COCO results, or boxes as a framework wrote them: file or folder.", Path, NEEDED,
        argument="predictions",
    ),
    "label_maps": Option(
        "--predictions", "Folder of PNG, NPY or NIfTI label maps, NPZ, or JSON with RLE or polygons.", Path, NEEDED,
        argument="predictions",
    ),
    "triplets": Option(
        "--predictions", f"{_KINDS}, or NPZ, with scores of 100 classes.", Path, NEEDED, argument="predictions"
    ),
    "tracks": Option(
        "--predictions", "Folder of VIDEO.txt in MOT form, or one file.", Path, NEEDED, argument="predictions"
    ),
    "detector": Option(
        "--predictions", "cross-check: COCO results (JSON, with --images) or a table with a score.", FILE,
        argument="predictions",
    ),
    "references": Option(
        "--references", f"Table of references, {_FOLDER}; left out where one table holds both.", FILE
    ),
    "endoscapes": Option(
        "--references", "Folder of Endoscapes2023, or a table of rated frames.", FILE, argument="references"
    ),
    "coco": Option("--references", f"COCO data set (JSON), {_FOLDER}.", Path, NEEDED, argument="references"),
    "reference_maps": Option(
        "--references", f"The same, with the same names, {_FOLDER}.", Path, NEEDED, argument="references"
    ),
    "reference_tracks": Option(
        "--references", f"Folder of VIDEO.txt or VIDEO/gt/gt.txt, {_FOLDER}.", Path, NEEDED, argument="references"
    ),
    "labels": Option(
        "--labels", "Which classes averages count: supported, union or declared.", str, "supported"
    ),
    "prediction_labels": names("--prediction-labels", "Names of the numbers 0, 1, ... in the predictions."),
    "rate_hz": Option("--rate-hz", "Thin the references of a --data-set to so many per second.", NUMBER),
    "boxes": Option("--boxes", "COCO list of results for BBox201.", FILE),
    "masks": Option("--masks", "COCO list of results for Seg50.", FILE),
    "box_references": Option("--box-references", "COCO data set of the boxes, if not in the folder.", FILE),
    "mask_references": Option("--mask-references", "COCO data set of the masks, if not in the folder.", FILE),
    "compare_by": Option("--overlap", "Compare box or mask.", str, "box", argument="overlap"),
    "box_format": component(
        "--format", "boxes", "xyxy, xywh or cxcywh; with n for shares of the image, as xyxyn", str, ""
    ),
    "class_numbers": component("--format", "classes", "what numbers of classes are: ids, from-0 or from-1", str, ""),
    "join": component("--format", "join", "what images are called by: id, name, number or video-frame", str, ""),
    "boxes_from": component(
        "--format", "boxes_from", "undo mirror:x, swap, letterbox:640, stretch:640, offset:DX:DY or scale:SX:SY", str,
        "",
    ),
    "renamed": component("--format", "renamed", "what predictions call A is B: A:B+B:A", str, ""),
    "lag": component("--format", "lag", "move predictions by so many frames: -1, or VIDEO:-1+VIDEO:2", str, ""),
    "lag_s": component("--format", "lag_s", "move predictions by so many seconds: -9, or VIDEO:-9", str, ""),
    "no_predictions": component(
        "--format", "no_predictions", "videos in which nothing was predicted, as is meant: VIDEO+VIDEO", str, ""
    ),
    "as_read": component("--format", "as_read", "numbers although a check finds predictions misread", bool, False),
    "nifti_axes": component("--format", "nifti_axes", "xy or rows: what the first axis of square files is", str, ""),
    "mm_per_px": component("--format", "mm_per_px", "side of a square pixel, for distances in mm", NUMBER),
    "instances": Option("--instances", "Labels are numbers of objects and not of classes.", bool | None),
    "colours": Option("--colours", "What colours of PNG files stand for: labelmap.txt, JSON or CSV.", FILE),
    "ignore": Option("--ignore", "A reference label whose pixels do not count; null: the null triplets."),
    "tolerance_px": Option("--tolerance-px", "For NSD: how far is near.", NUMBER),
    "empty": Option("--empty", "Rule for empty masks, such as default or robust-mis.", str, ""),
    "use_classes": Option(
        "--use-classes", "Boxes of different classes (eighth column) never match.", bool, False
    ),
    "perspective": Option("--perspective", "What an identity means, where a --data-set has several.", str, ""),
    "evaluations": place(
        "FOLDER...", "What evaluate --shard wrote, in any order; or the .parquet files of evaluate --share.",
        list[Path], argument="folders",
    ),
    # Tasks.
    "task_name": place(
        "[NAME]", "One of them, or a TOML file of a task: everything that it states.", str | None, None, "name"
    ),
    "one_task": place("NAME", "A name of `surgvalid task list`, or a TOML file of a task.", str, argument="name"),
    "some_tasks": place(
        "NAMES...", "Names of `surgvalid task list`, or TOML files of tasks.", list[str], argument="names"
    ),
    "run_folder": place("RUN", "Folder of one task and one model.", argument="folder"),
    "runs": place("[RUNS...]", "Folders of runs; those below them count too.", FILES, None),
    "of_study": Option("--study", "Only the tasks of this study.", argument="study"),
    "data": Option("--data", "Folder of the data set, or your own with cases.csv.", FILE, argument="root"),
    "asked_model": Option(
        "--model", "Who is asked: one of {models}; may be repeated in task run.", str, NEEDED, argument="model"
    ),
    "shots": Option(
        "--shots", "Examples of every class before each question; several, such as 0,4, are run and compared.", str,
        "0", lambda text: t.whole_numbers("--shots", text), metavar="N,...",
    ),
    "prompts": component(
        "--prompts", "prompts", "mended, faithful or a version of your own in task run, with + between those that are"
        " run and compared; in task ask published ones by name (frontier-1), or a .toml"
    ),
    "prompt_family": component(
        "--prompts", "family", "of prompts; by what the model can do if left out", argument="family"
    ),
    "structured": component("--reading", "structured", "hold the model to the JSON schema of the answer", bool, False),
    "re_ask": component("--reading", "re_ask", "ask once more where an answer could not be read", bool, False),
    "missing_keys": component(
        "--reading", "missing", "a class that an answer does not mention: abstain, negative or fail", str | None,
        argument="missing_keys"
    ),
    "policy": Option(
        "--policy", "Which readings of replies count: strict, careful or lenient; careful in a new run, as before"
        " in task parse.", str | None, None,
    ),
    "model_option": Option(
        "--model-option", "How the model is opened, such as concurrency=4, per_minute=60, price=2.5/10 (money per"
        " million tokens in and out), video=yes, dtype=bfloat16; may be repeated.", TEXTS, None, _several,
        metavar="NAME=VALUE",
    ),
    "send_media_to": Option(
        "--send-media-to", "Agree that images and video go to this host, which is not this machine; may be repeated.",
        TEXTS, None, _several, metavar="HOST",
    ),
    "accept_blind": Option(
        "--accept-blind", "Ask a model that does not see its images all the same; every value is marked.", bool, False
    ),
    "max_cost": Option(
        "--max-cost", "Money that all runs together must not exceed; needs the price.", NUMBER, limits=(0, None)
    ),
    "dry_run": Option(
        "--dry-run", "Say what would be asked, and what it would take; send nothing.", bool, False
    ),
    "store": Option(
        "--store", "Folder that keeps answers and verdicts between runs, so that nothing is asked twice. Default:"
        " .surgvalid; none for judge check.", FILE, None, lambda path: path or STORE,
    ),
    "check_store": Option("--store", "", FILE, argument="store"),
    "published": switch("published", "published rows beside the runs", flag="--without"),
    "contrast": Option(
        "--contrast", "shots (examples against none), ways (prompts and examples against the first), demands"
        " (recognition against reasoning) or models."
    ),
    "video_folder": Option(
        "--videos", "Video files, images of still images, or folders of them, called as their videos; for task ask"
        " also of images called as the questions.", Path, NEEDED, argument="videos",
    ),
    "media": component("--media", "media", "frames, video, or auto: video for models that take a span", str, "auto"),
    "frames": component("--media", "count", "frames per question; by track 1, 16 or 32", COUNT, limits=(1, None)),
    "max_tokens": component("--max", "tokens", "room for an answer", int, 256, limits=(1, None)),
    # Answers and judges.
    "requests": Option("--requests", f"The questions. {_SEVERAL}", list[str], NEEDED, metavar="FILE", source=True),
    "answer_references": Option(
        "--references", f"The reference answers. {_SEVERAL}", list[str], NEEDED, argument="references",
        metavar="FILE", source=True,
    ),
    "known_references": Option(
        "--references", f"The reference answers. {_SEVERAL}", TEXTS, None, some, "references", "FILE", source=True,
    ),
    "into": Option(
        "--references", f"The reference answers. {_SEVERAL}", TEXTS, None, some, "into", "FILE", source=True,
    ),
    "responses": Option(
        "--responses", f"Answers of a model. {_SEVERAL}", list[str], NEEDED, metavar="FILE", source=True
    ),
    "answers": Option(
        "--responses", f"Answers of a model. {_SEVERAL}", TEXTS, None, _several, "answers", "FILE", source=True
    ),
    "train_requests": Option(
        "--train-requests", f"Questions of the training set. {_SEVERAL}", TEXTS, None, some, metavar="FILE",
        source=True,
    ),
    "train_references": Option(
        "--train-references", f"Their reference answers. {_SEVERAL}", TEXTS, None, some, metavar="FILE", source=True,
    ),
    "definitions": Option(
        "--definitions", "Foreign-object definitions (text or JSON): their classes are the legal ones; task ask shows"
        " the text before every question.", FILE,
    ),
    "context": Option(
        "--context", "Lengths in s that tell short, medium and long contexts apart.", str, "30,300",
        lambda text: t.read_numbers("--context", text), "context_s", "S,...",
    ),
    "profile": Option("--profile", "native, orena-focus-0.4.0 or orena-focus-6302fca.", str, "native"),
    "track": Option(
        "--track", "frame, segment or procedure: what is shown, and the time limit (5, 15 or 30 s). data questions"
        " makes"
        " all, or those that are named; may be repeated there.",
    ),
    "max_latency": component(
        "--max", "latency_s", "time limit instead of the track's", NUMBER, argument="max_latency_s"
    ),
    "max_judge_failures": component(
        "--max", "judge_failures", "share of a judge's failures, above which exit is 1", float, 0.05, limits=_SHARE
    ),
    "judge": Option(
        "--judge", "Judge of free text: one of {judges}; may be repeated, up to three.", TEXTS, None, _several
    ),
    "quorum": component(
        "--judge-option", "quorum", "opinions that a decision needs; by default more than half", COUNT, limits=(1, None)
    ),
    "price": component(
        "--judge-option", "price", "per million tokens, one for each --judge in order; judges.csv says the cost",
        list[float] | None, read=lambda prices: prices or [], argument="prices"
    ),
    "judge_tokens": component(
        "--judge-option", "tokens", "room for a reply; more for models that reason unseen", COUNT, limits=(1, None)
    ),
    "judge_timeout": component(
        "--judge-option", "timeout_s", "of one reply of a server; 120 if left out", NUMBER, argument="judge_timeout_s"
    ),
    "ood": component("--ood", "ood", "how it is decided: stated, procedure, template, either or center", str, "stated"),
    "scored": Option(
        "--results", "Output of `surgvalid score`: print margins. May be repeated.", FILES, None, some, "results"
    ),
    "results_a": place("RESULTS_A", "results.csv, or a folder that holds one."),
    "results_b": place("RESULTS_B", "The same for the other scoring."),
    "verdicts": place(
        "FILES...", "Verdict files (JSON Lines) or stores (folders) of judges.", list[Path], argument="files"
    ),
    "min_accuracy": component("--min", "accuracy", "on the gold pairs", float, 0.9, limits=_SHARE),
    "gold": Option("--gold", "What is known to be right: boxes, to score annotators by; or verdicts of people.", FILE),
    # Submissions.
    "pack": place("DIR", "Where to write the pack.", argument="folder"),
    "pack_kind": Option("--kind", "python (standard library only) or pytorch.", str, "python", argument="kind"),
    "phase": Option("--phase", "Phase file (TOML) of the organisers: every limit, budget and rule.", FILE),
    "to": Option("--to", "The phase, as the challenge calls it.", str, NEEDED),
    "as_baseline": Option("--as-baseline", "Organisers: which baseline it is.", str, "", argument="baseline"),
    "team": Option("--team", "Whose unfinished uploads are counted; the name of --run without one."),
    "run": Option(
        "--run", "Folder of the submission: shards, stages and scores.", Path, Path("submission"), argument="folder"
    ),
    "stage_mark": place("STAGE", "published, cancelled, disqualified or reinstated.", str, argument="stage"),
    "reason": Option("--reason", "Why; it stays in the history.", str, NEEDED),
    "description": Option("--description", "Method description: a PDF, text, image, or a zip archive of some.", FILE),
    "container": Option("--container", "Archive from docker save, or an OCI archive.", FILE, argument="image"),
    "command": Option("--command", "Instead of a container: a command of this machine."),
    "code": Option("--code", "Folder that the command needs; read-only at /app in bubblewrap.", FILE),
    "weights": Option(
        "--weights", "Folder with the model's weights, apart from the container; read-only inside.", FILE
    ),
    "engine": component("--engine", "engine", "one of {engines}"),
    "runtime": component("--engine", "runtime", "of podman and docker, instead of the usual one: runc or crun"),
    "gpu": Option("--gpu", "One GPU by index or UUID."),
    "input": Option(
        "--input", "Folder with request.json and media (folders or archives); references in it are for scores alone.",
        Path, NEEDED, argument="questions",
    ),
    "compliance": Option(
        "--compliance", "Instead: ask so many questions twice under other names, and compare.", int, 0, limits=(0, None)
    ),
    "protocol": component(
        "--rules", "protocol", "server, server-tcp, batch (where layout or a pooled budget is given) or gc-invoke"
    ),
    "layout": component("--rules", "layout", "of a batch: folder, zip or nested-zip"),
    "budget": component("--rules", "budget", "per-question, or pooled over a batch", str, "per-question"),
    "budget_s": component("--rules", "budget_s", "seconds per question instead of the track's", NUMBER),
    "state": component(
        "--rules", "state", "what may be remembered: per_question, per_video (a new container each) or free", str,
        "per_video"
    ),
    "memory_mb": component("--rules", "memory_mb", "memory", int, 8192, limits=(16, None)),
    "start_up_s": component("--rules", "start_up_s", "until the container must report ready", float, 600.0),
    "batch_size": component("--rules", "batch_size", "questions per batch; all without it", COUNT, limits=(1, None)),
    "show_clock": switch("clock", "videos with a burned-in clock, where there are both", "clock"),
    # Data.
    "procedure_files": place(
        "[ANNOTATIONS...]", "Procedure files (JSON), folders of them, files of annotation tools, or a data set.",
        list[Path] | None, None, argument="annotations"
    ),
    "keep": Option(
        "--keep", "Folder of questions: its next version, in which they stay but for what --history says.", FILE
    ),
    "confirmed": component("--min", "confirmed", "people who approved a question that is kept", int, 0),
    "replacements": switch("replacements", "as many new questions as --keep loses, of the same kinds"),
    "shown_at_once": switch("references", "what is right, from the start: nobody answers blind", "shown_at_once"),
    "public": switch("references", "what is right: for a release to the public", "references", "--without"),
    "tracks_made": Option("--track", "", TEXTS, None, some, "track"),
    "per_video": Option("--per-video", "", COUNT, own_default=True),
    "test_share": Option("--test-share", "Share of the patients that are for testing.", float, 0.3),
    "ood_procedure": component("--ood", "procedure", "type of procedure for testing only", TEXTS, read=_several),
    "ood_center": component("--ood", "center", "centre for testing only", TEXTS, read=_several),
    "ood_template": component("--ood", "template", "template for testing only", TEXTS, read=_several),
    "most_common": component("--max", "answer", "share of one answer within a template or wording", float, 0.5),
    "duplicates": component("--max", "duplicates", "share of near-duplicates", float, 0.02),
    "blind": component("--max", "blind", "share of times that are right without looking", float, 0.25),
    "unverified": switch("unverified", "instances that nobody confirmed, marked"),
    "new_folder": place("[DIR]", "The folder of --out, by position.", FILE, None, "folder"),
    "procedures": Option("--procedures", "How many procedures.", int, 4),
    "painted": switch("video", "videos: annotations only", "video", "--without"),
    "minutes": Option("--minutes", "Duration: 20, or a range such as 10-45; else usual for the type."),
    "height": Option("--height", "Height of the image in pixels; its width follows from 16:9.", int, 270),
    "clock": switch("clock", "the videos with a burned-in clock as well"),
    "object_masks": switch("masks", "every object's pixels at every second (COCO)"),
    "passes": switch("passes", "every tenth second with instances, depth, flow and relations"),
    "pairs": switch("pairs", "a moment of every object with it and without it"),
    # Annotations.
    "stage": place("STAGE", "screen, boxes, cross-check, reviewed, instances, verify, moments or experts.", str),
    "files": place("FILE...", SOURCE_HELP, list[str], source=True),
    "certain": component("--min", "certainty", "screen: clips less certain are queued", float, 0.95),
    "min_votes": component("--min", "votes", "screen: clips with fewer answers are queued", int, 2),
    "pass_mark": component("--min", "f1", "boxes: on gold boxes, that annotators need", float, 0.8),
    "least_overlap": component(
        "--min", "overlap", "of boxes that mean the same (boxes, 0.5) or agree (cross-check, 0.45)", NUMBER,
        argument="overlap"
    ),
    "min_score": component(
        "--min", "score", "cross-check: detections below it never accuse", float, 0.5, argument="score"
    ),
    "shown": Option("--shown", "boxes: table of who was shown what: video, second, annotator.", FILE),
    "images": Option(
        "--images", "Folder of the images that predictions are about, or the COCO file that lists them.", FILE
    ),
    "review_tool": component(
        "--review-tool", "review_tool", "cross-check: whom the task is for, cvat or label_studio", str, "cvat"
    ),
    "review_fps": component("--review-tool", "fps", "frame rate of the CVAT task", float, 1.0),
    "apply": Option(
        "--apply", "reviewed: write these boxes with the corrections; may be repeated.", TEXTS, metavar="BOXES",
        source=True,
    ),
    "check": Option(
        "--check", "evaluate: look whether predictions lie beside their references, no numbers; instances: only check"
        " those that the boxes have, propose none.", bool, False,
    ),
    "longest_gap_s": Option("--longest-gap-s", "instances: after which an object is a new one.", int, 60),
    "who": Option("--who", "Who did, proposes or rates it; may be repeated where several rate.", str, ""),
    "raters": Option("--who", "", list[str], NEEDED, argument="rater"),
    "adjudicator": Option("--adjudicator", "Who decides what raters dispute.", str, ""),
    "at": Option("--at", "When, for the history (ISO 8601). Default: now.", str, ""),
    "item": component("--entry", "item", "what it is about"),
    "action": component("--entry", "action", "approved, objected, changed or upheld", str, "approved"),
    "field": component("--entry", "field", "what was changed", str, ""),
    "old_value": component("--entry", "before", "the old value", str, "", argument="before"),
    "new_value": component("--entry", "after", "the new value", str, "", argument="after"),
    "note": component("--entry", "note", "anything worth saying", str, ""),
    "rating_files": Option(
        "--ratings", "moments: forms (CSV) that raters filled in; experts: times of raters. May be repeated.",
        FILES, argument="ratings",
    ),
    "tolerance_s": Option("--tolerance-s", "moments: how far apart the times of raters may lie.", int, 5),
    "annotations": Option(
        "--annotations", "Procedure files, folders of them, or files of annotation tools; may be repeated.", FILES
    ),
    "history": Option("--history", "History of the review: unconfirmed and disputed items are left out.", FILE),
    "fps": Option(
        "--fps", "Frames per second: of frame numbers, 1 where they are seconds, where no file says it; of videos that"
        " are painted, 5 if left out.", NUMBER,
    ),
    "size": Option("--size", "Of the frames in px, where files do not say.", metavar="WIDTHxHEIGHT"),
    "video_file": Option(
        "--video", "File of a video: its size, frame rate and duration count where files tell none; may be repeated.",
        TEXTS, argument="video", metavar="[NAME=]FILE", source=True,
    ),
    "video_name": Option("--patient-pattern", "", str, "", some, "video_name"),
    "stills": Option("--stills", "Every image is a video of its own, of one second.", bool, False),
    "annotated": Option(
        "--annotated", "What was annotated where no file says: all, classes, events, phases, attributes, an event,"
        " class:NAME, seconds:0-600, by:NAME, and instrument:LABEL; may be repeated.", TEXTS,
    ),
    "procedure_type": Option(
        "--procedure-type", "Of the videos, where files do not say; those to draw from, in data simulate."
    ),
    "center": Option("--center", "Of the videos, where files do not say; those to draw from, in data simulate."),
    "types": Option("--procedure-type", "", TEXTS, None, some, "types"),
    "centers": Option("--center", "", TEXTS, None, some, "centers"),
    "reviewed_folder": place(
        "FOLDER", "Folder that 'surgvalid data questions' or 'surgvalid data annotate run instances' wrote.",
        argument="folder"
    ),
    "video_files": Option("--videos", "", FILES, argument="video_files"),
    # Hosting.
    "new_challenge": place("DIR", "Where to write the challenge.", argument="folder"),
    "bridge_step": place(
        "STEP", "new, rehearse, leaderboard, codabench, design, osf, checklists or r.", str, argument="step"
    ),
    "bridge_places": place(
        "PLACE...", "new DIR (a pack for grand-challenge); rehearse PACK INPUT OUTPUT IMAGE; leaderboard EVALUATIONS "
        "SCORES (what the platform's API told, and the CSV to write); codabench PACK SUBMISSIONS SCORES; design "
        "CHALLENGE; osf REGISTRATION DIR; checklists TABLE DIR; r TABLE DIR (recomputed by R).", list[str],
        argument="places"
    ),
    "challenge_file": place("CHALLENGE.TOML", "The challenge file.", argument="challenge"),
    "challenge": Option(
        "--challenge", "Folder of the hosted challenge, with challenge.toml.", Path, Path(), argument="folder",
        env="SURGVALID_HOST",
    ),
    "scored_challenge": Option(
        "--challenge", "Folder of the challenge with its references: for scoring alone.", FILE, argument="challenge"
    ),
    "everywhere": Option(
        "--everywhere", "Listen on every address of this machine: behind a proxy that has TLS.", bool, False
    ),
    "url": Option("--url", "Address of the hosted challenge.", str, NEEDED),
    "token": Option(
        "--token", "Shown once by the service; better in the environment than here.", str, NEEDED, env="SURGVALID_TOKEN"
    ),
    "scratch": Option(
        "--scratch", "Folder for images and whatever is under way; on a large disk.", Path, Path("worker")
    ),
    "demo_folder": place("DIR", "Folder of the demo; kept, and used again.", Path, Path("host-demo"), "folder"),
    "days": Option("--days", "How long ago its first phase opened.", int, 20, limits=(0, None)),
    "teams": Option("--teams", "How many take part.", int, 50, limits=(1, None)),
    "witness": Option(
        "--witness", "An entry as a leaderboard or an export printed it; may be repeated.", TEXTS, None, _several,
        metavar="NUMBER:DIGEST"
    ),
    "keep_backups": Option(
        "--newest", "Remove older backups beside it, but for so many of the newest.", int, None, limits=(1, None),
        argument="keep",
    ),
    "images_too": Option(
        "--every-byte", "Read every byte of what teams handed in, too.", bool, False, argument="images"
    ),
    "replay": Option(
        "--replay", "Make every published leaderboard again from the archived answers, and compare.", bool, False
    ),
    "public_note": place("NOTE", "What was changed and why; everybody reads it.", str, argument="note"),
    "email": place("E-MAIL", "Of somebody who has registered.", str),
    "person_role": place("ROLE", "owner, editor, judge or viewer.", str, "owner", "role"),
    "worker_name": place("NAME", "Of the worker, as the log shows it.", str, argument="name"),
    "duties": place("DUTY...", "inference; or some of intake, scoring, board.", TEXTS, None),
    "revoke": Option("--revoke", "Take the token of that worker back.", bool, False),
    "target_folder": place("DIR", "Where to; must not exist.", argument="target"),
    "backup": place("DIR", "A backup.", argument="source"),
    "with_hidden": switch(
        "hidden", "what is not published, and the score of every question: not to give away", "with_hidden"
    ),
    # Pages and tools.
    "source": place("DIR", "Folder with what score, rank, failures, ... wrote; or a score table (CSV, Parquet)."),
    "pdf": Option("--pdf", "Print the report as PDF too, by an installed Chromium, Chrome or Edge.", bool, False),
    "short": Option(
        "--short/--full", "What is left out: --short keeps to verdict, main figures, limitations and methods on the"
        " page"
        " too; --full prints everything. By default the page has all and the PDF is short.", bool | None,
    ),
    "wrong_frames": switch("frames", "frames of wrong answers, in a folder beside the page: patient images!", "frames"),
    "template": Option("--template", "challenge, single or study; chosen by what DIR holds when left out."),
    "section": Option(
        "--section", "A further section at the end, such as one that an installed package brings; may be repeated.",
        TEXTS, None, _several, "sections"
    ),
    "title": Option("--title", "The heading; by default one that says what it is."),
    "score_folders": place(
        "FOLDER...", "What 'score' wrote, one folder for each model.", list[Path], argument="folders"
    ),
    "quick": Option("--quick", "Fewer procedures, no images, and no participants that look at them.", bool, False),
    "list_of": place("KIND", "What to list.", str, argument="kind"),
    "engines": component(
        "--engine", "engine", "only one of {engines}; may be repeated", TEXTS, read=_several, argument="engine"
    ),
    "trial": switch("trial", "starting, checking and ending a harmless run in each", flag="--without"),
    "place": place("PLACE", "Folder of the store, or a file of an earlier version.", Path, STORE),
    "set_aside": Option(
        "--set-aside", "Keep damaged lines under NAME.damaged, so that nobody names them again.", bool, False,
        argument="aside"
    ),
    "stores": place(
        "SOURCES...", "Stores to read: folders, or files of an earlier version.", list[Path], argument="sources"
    ),
    "manifest": place("MANIFEST", "manifest.json of a run, or its folder."),
    "started_in": Option(
        "--from", "The folder in which the run was started; paths in the manifest begin there.", Path, Path(),
        argument="start"
    ),
}  # fmt: skip
"""By the names that rows of the table of verbs use; one without a text has that of the first with its flag."""
