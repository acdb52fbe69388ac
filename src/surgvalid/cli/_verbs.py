"""The table of verbs: what each is called, where its function is, and its one line in `--help`.

Nothing is imported for it, so `--help` is quick; a verb's module is loaded when the verb is called.
"""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """A leaf of the command line."""

    name: str
    """In words, such as `analyse interval`."""
    home: str
    """Module here and function, as `task.run`; or module and function of `surgvalid`."""
    line: str
    """What it does, in a sentence."""
    options: str
    """The names of its options in the order of its help; `!` marks those that must be given."""


PANELS: dict[str, dict[str, str]] = {
    "Start here": {
        "study": "Who is better and how sure: a page from any table of scores",
        "demo": "A small challenge on simulated procedures, from annotations to the report",
    },
    "Researchers": {
        "analyse": "One question about a table: interval, compare, strata, failures, dependence, ...",
        "evaluate": "Predictions against references: detection, segmentation, phases, ...",
        "task": "Run models on surgical tasks",
    },
    "Before and after a study": {
        "plan": "How many patients; register the analysis",
        "audit": "Check a study, printed tables, a data card",
        "monitor": "Compare new videos with those of the validation",
    },
    "Participants": {
        "score": "Score an answer file as the organisers will; lint it; trivial baselines",
        "submission": "Make, check, rehearse and upload a submission",
    },
    "Organisers": {
        "data": "Questions, annotations, simulated procedures, checks of data sets",
        "rank": "Rank the models of a table, with tests and ranges of ranks",
        "host": "A challenge as a web service, or a phase without one",
    },
    "Pages and records": {
        "report": "One page of a folder of results; supplement of a paper",
        "tools": "list, doctor, rerun, store",
    },
}
"""The visible verbs, by who reads."""

GROUPS: dict[str, str] = {
    "data annotate": "Go through the annotation stages, from crowd answers to instances",
    "host admin": "Look after a service: organisers, tokens, versions, backups, exports, costs, the log",
    "host phase": "A phase without the web service: hand-in, run, score, status, mark",
    "score judge": "Measure judges of free text",
    "tools store": "Look after the replies that are kept between runs",
}
"""Groups below others."""

USUAL: dict[str, str] = {"plan": "size", "audit": "study", "score": "answers", "report": "make"}
"""The verb of a group that may be left out."""
USUAL_OF_ENDING = {("study", ending): "tables" for ending in (".pdf", ".tex", ".md")}
"""What stands in its place before a file of this ending."""

_ROLES, _HANDED = "unit case model_column score columns", "out json force"
_TABLE = f"metric better missing {_ROLES}"
_DRAWN = "level resamples method seed"
_UNITS = "statistic resample estimand"
_VERDICT = "margin prior why"
_HELD = "preregistration deviation"
_RUN = "container command code weights"
_ABOUT = "fps size video_file video_name stills"
_EVALUATED = f"check as_read metrics model {_DRAWN} shard share site min_cases min_cell executor {_HELD} {_HANDED}"
_SET = "data_set task split only"

VERBS: tuple[Verb, ...] = (
    Verb(
        "study",
        "surgvalid.studies.study.study",
        PANELS["Start here"]["study"],
        "any_table models scores metric better missing unit case model_column columns sheet decimal level "
        f"{_VERDICT} against port {_HANDED}",
    ),
    Verb("demo", "demo.demo", PANELS["Start here"]["demo"], "out seed quick pdf force"),
    Verb(
        "analyse interval",
        "surgvalid.stats.intervals.interval.interval",
        "Values of all models with intervals clustered by video",
        f"table {_UNITS} by separator {_DRAWN} {_TABLE} {_HANDED}",
    ),
    Verb(
        "analyse compare",
        "surgvalid.stats.comparing.comparison.compare",
        "The difference of two models on the same cases, and how sure it is",
        f"table model_a model_b {_UNITS} by separator {_DRAWN} {_VERDICT} {_TABLE} {_HELD} {_HANDED}",
    ),
    Verb(
        "analyse strata",
        "surgvalid.stats.comparing.strata.strata",
        "The value of every model under each condition, and its difference to all",
        f"table by! {_UNITS} baseline drawing bins low_artifact separator {_DRAWN} {_TABLE} {_HANDED}",
    ),
    Verb(
        "analyse failures",
        "failures.failures",
        "Which properties make models fail: odds ratios, or symbols",
        "tables outcome fixed random spec inference slopes separation role family transform finest models per_model "
        "models_like_these strengths symmetric properties cluster form covariance groups leave_out before after target "
        f"recommend image_column risk separator resamples seed level {_TABLE} {_HELD} {_HANDED}",
    ),
    Verb(
        "analyse dependence",
        "surgvalid.stats.intervals.dependence.dependence",
        "Design effects, values without each video, widths of intervals",
        f"table {_UNITS} by separator {_DRAWN} {_TABLE} {_HANDED}",
    ),
    Verb(
        "analyse aggregate",
        "surgvalid.stats.comparing.aggregation.aggregate",
        "How the order of models depends on what is averaged first",
        f"table operator phase_column combine name_weights {_TABLE} {_HANDED}",
    ),
    Verb(
        "analyse agreement",
        "surgvalid.stats.agreement.report.agreement",
        "How well raters agree, from units or segments; tolerances too",
        "ratings rater label rated rated_video start end idle step_s overlaps scale ordered kappa_weights tolerance "
        f"answer_format into level resamples seed columns {_HANDED}",
    ),
    Verb(
        "analyse cooccurrence",
        "surgvalid.stats.comparing.strata.cooccurrence",
        "Values per label, and per label given another",
        f"table primary secondary separator statistic resample {_DRAWN} {_TABLE} {_HANDED}",
    ),
    Verb(
        "analyse ensembles",
        "surgvalid.stats.comparing.ensembles.ensembles",
        "What stored responses of several models could reach together",
        f"table response by separator kinds name_weights known_references resample {_DRAWN} {_TABLE} {_HANDED}",
    ),
    Verb(
        "analyse profiles",
        "surgvalid.stats.comparing.profiles.profiles",
        "How often models reach a score, and how often one beats another",
        f"table thresholds estimand by separator level {_TABLE} {_HANDED}",
    ),
    Verb(
        "evaluate classification",
        "evaluate.evaluated",
        "One label, several labels or scores per frame",
        f"predictions references classes labels renamed prediction_labels columns video_column rate_hz by {_SET} "
        f"{_EVALUATED}",
    ),
    Verb(
        "evaluate cvs",
        "evaluate.evaluated",
        "The benchmark of Endoscapes2023, beside its published rows",
        "criteria endoscapes split threshold boxes masks box_references mask_references columns "
        f"video_column by {_EVALUATED}",
    ),
    Verb(
        "evaluate detection",
        "evaluate.evaluated",
        "Boxes or masks of objects in images, in any usual form",
        "detections coco compare_by box_format class_numbers join boxes_from renamed lag no_predictions "
        f"prediction_labels columns video_column patient_pattern by {_SET} {_EVALUATED}",
    ),
    Verb(
        "evaluate phases",
        "evaluate.evaluated",
        "A label sequence per video: frames, segments, transitions, stability",
        f"predictions references fps renamed lag_s classes prediction_labels columns video_column rate_hz by {_SET} "
        f"{_EVALUATED}",
    ),
    Verb(
        "evaluate segmentation",
        "evaluate.evaluated",
        "Masks or label maps per image",
        "label_maps reference_maps classes instances colours nifti_axes mm_per_px renamed lag no_predictions "
        f"ignored_label tolerance_px empty patient_pattern properties by {_SET} {_EVALUATED}",
    ),
    Verb(
        "evaluate tracking",
        "evaluate.evaluated",
        "Boxes with identities over time, in MOT form",
        f"tracks reference_tracks lag no_predictions use_classes perspective properties by {_SET} {_EVALUATED}",
    ),
    Verb(
        "evaluate triplets",
        "evaluate.evaluated",
        "Instrument, verb and target triplets of CholecT45 and CholecT50",
        f"triplets references null columns video_column by {_SET} {_EVALUATED}",
    ),
    Verb(
        "evaluate combine",
        "evaluate.combine",
        "One evaluation from its shards, or from what sites shared",
        f"evaluations {_HANDED}",
    ),
    Verb(
        "task list",
        "task.list_tasks",
        "Every task and how it is measured; or everything that one states",
        "task_name of_study json",
    ),
    Verb(
        "task check",
        "task.check",
        "Whether a folder holds what a task needs; exit 1 where it does not",
        "one_task data_folder split only json",
    ),
    Verb(
        "task run",
        "task.run",
        "Run models on tasks; exit 1 where a run has no value",
        "some_tasks asked_models data_folder shots prompts prompt_family split only limit shard structured re_ask "
        "missing_keys policy judge executor model_option send_media_to accept_blind max_cost dry_run store seed level "
        f"{_HANDED}",
    ),
    Verb(
        "task parse",
        "task.parse",
        "Read the stored answers of a run again and score them; nobody is asked",
        f"run_folder data missing_keys policy {_HANDED}",
    ),
    Verb(
        "task cases",
        "task.cases",
        "One page of every case: what was shown, said, how it was read, and the reference",
        "runs data limit out force",
    ),
    Verb(
        "task leaderboard",
        "task.board",
        "Set runs beside each other and beside published rows",
        f"runs tasks published contrast models {_HANDED}",
    ),
    Verb(
        "task ask",
        "task.ask",
        "Ask a model questions about videos and write its answers",
        "asked_model requests video_folder about_track definitions media frames prompts max_tokens "
        f"policy model_option send_media_to accept_blind max_cost dry_run store {_HANDED}",
    ),
    Verb(
        "plan size",
        "surgvalid.studies.plan.plan",
        "How many videos, and questions per video, a study needs",
        "pilot width difference margin why order models subgroup share_of_videos sd icc value entries buckets step "
        "per_video_counts video_counts power tests certainty cost_video cost_question simulations seed level "
        f"estimand {_TABLE} {_HANDED}",
    ),
    Verb(
        "plan register",
        "study_files.register",
        "Turn an analysis plan into one hashed file, signed where wanted",
        f"plan new sign_ssh sign_gpg {_HANDED}",
    ),
    Verb("plan verify", "study_files.check", "Check hash and signature of a registration", "registration json"),
    Verb(
        "audit study",
        "surgvalid.studies.study_audit.audit_study",
        "Hold a study against the 18 pitfalls of validation, with evidence",
        f"study pitfall better missing {_ROLES} {_HANDED}",
    ),
    Verb(
        "audit tables",
        "surgvalid.audit.tables.audit.audit_tables",
        "What cannot be, contradicts itself or is odd in printed tables",
        f"printed headings facts kind class_count cases {_HANDED}",
    ),
    Verb(
        "audit card",
        "surgvalid.audit.data_card.data_set_card",
        "Describe a data set folder: counts, imbalance, duplicates, leakage",
        f"data_set_name folder tasks {_HANDED}",
    ),
    Verb("audit new", "study_files.new", "Write a study file to fill in", "study_folder ask_now force"),
    Verb(
        "monitor",
        "surgvalid.studies.monitor.monitor",
        PANELS["Before and after a study"]["monitor"],
        f"table since time_column by level {_TABLE} {_HANDED}",
    ),
    Verb(
        "score answers",
        "score.score",
        "Score the answers of one model against the references",
        "requests answer_references responses model profile track max_latency judge store quorum price "
        "judge_tokens judge_timeout max_judge_failures definitions ood train_requests train_references "
        f"missing context method resamples seed {_HANDED}",
    ),
    Verb(
        "score lint",
        "score.lint_files",
        "Everything that is wrong with an answer file",
        f"requests responses known_references definitions {_HANDED}",
    ),
    Verb(
        "score baselines",
        "score.baselines",
        "What constant answers and a text-only prior reach",
        f"requests answer_references train_requests train_references scored definitions seed {_HANDED}",
    ),
    Verb(
        "score diff",
        "score.diff_verb",
        "What differs between two scorings, and what moved each number",
        f"results_a results_b {_HANDED}",
    ),
    Verb(
        "score judge agreement",
        "score.agreement",
        "How far judges agree, and the answers they disagree on",
        "verdicts limit json",
    ),
    Verb("score judge calibrate", "score.calibrate", "Hold judges against people", "verdicts known_right json"),
    Verb(
        "score judge check",
        "score.check",
        "Run gold pairs and canaries against judges; exit 1 if one is not fit",
        "judges min_accuracy check_store judge_tokens judge_timeout json",
    ),
    Verb(
        "submission new",
        "submission.new",
        "Write a starter pack: Dockerfile, app, README, example input",
        "pack pack_kind force",
    ),
    Verb(
        "submission check",
        "submission.check",
        "Look at what a team hands in, without running or storing it",
        f"phase_file container weights description engine {_HANDED}",
    ),
    Verb(
        "submission rehearse",
        "submission.rehearse",
        "Run a container on your own questions as the organisers would",
        f"{_RUN} phase own_input protocol layout budget budget_s track state show_clock engine runtime gpu "
        f"memory_mb start_up_s batch_size judge store resamples seed {_HANDED}",
    ),
    Verb(
        "submission push",
        "submission.push",
        "Upload to a hosted challenge; goes on after a lost connection",
        "url token container to description as_baseline json",
    ),
    Verb(
        "data questions",
        "data.questions_verb",
        "Questions with reference answers, from annotated procedures",
        "procedure_files out_folder keep confirmed replacements public "
        "tracks_made per_video test_share ood_procedure ood_center ood_template "
        "most_common duplicates blind annotated history unverified definitions procedure_type center "
        f"{_ABOUT} data_set seed json force",
    ),
    Verb(
        "data simulate",
        "data.simulate_verb",
        "Procedures with phases, foreign objects, artefacts and video",
        "new_folder procedures seed painted minutes fps height clock object_masks passes pairs types centers workers "
        f"{_HANDED}",
    ),
    Verb(
        "data check",
        "data.check_folder",
        "What a data set's folder holds, what is missing, what differs",
        "data_set_name folder tasks json",
    ),
    Verb(
        "data annotate run",
        "annotate.run",
        "A stage: screen, boxes, cross-check, reviewed, instances, verify, moments, experts",
        "stage files certain min_votes gold shown least_overlap pass_mark detector images min_score review_tool "
        "review_fps apply check longest_gap_s item action who at field old_value new_value note rating_files "
        f"tolerance_s annotations history {_ABOUT} annotated procedure_type center resamples seed {_HANDED}",
    ),
    Verb(
        "data annotate serve",
        "_review_stages.serve",
        "Show questions or instances in a browser, to be reviewed",
        "reviewed_folder raters adjudicator video_files annotations shown_at_once port",
    ),
    Verb(
        "rank",
        "surgvalid.stats.ranking.rank",
        PANELS["Organisers"]["rank"],
        "table rule board merge consensus test level correction resamples seed must_beat outside unpaid prize_pool "
        f"bucket_weight task_column task_weight challenger_compat {_VERDICT} against {_TABLE} {_HELD} {_HANDED}",
    ),
    Verb(
        "host new",
        "host.new",
        "Write a first challenge to change: the file, its texts, example questions",
        "new_challenge",
    ),
    Verb(
        "host check", "host.check", "Look at a challenge file as a whole, and list every problem", "challenge_file json"
    ),
    Verb("host serve", "host.serve", "Serve the challenge in a folder", "challenge port everywhere workers"),
    Verb(
        "host worker",
        "host.worker",
        "Do jobs of a hosted challenge: run submissions, or score them",
        "url token scratch scored_challenge engine runtime gpu program limit",
    ),
    Verb(
        "host demo",
        "host.demo",
        "A whole challenge on this machine, with teams and leaderboards",
        "demo_folder port days",
    ),
    Verb(
        "host bridge",
        "host.bridge",
        "Other platforms, registries, R: new, rehearse, leaderboard, codabench, design, osf, checklists, r",
        "bridge_step bridge_places force",
    ),
    Verb(
        "host phase hand-in",
        "submission.hand_in",
        "Store what a team hands in, whole or not at all",
        "phase_file run container weights description team json",
    ),
    Verb(
        "host phase run",
        "submission.run",
        "Ask a submission every question of a phase; never sees references",
        f"phase_file input run {_RUN} engine runtime gpu shard compliance json",
    ),
    Verb(
        "host phase score",
        "submission.score",
        "Score a submission that was run; never runs anything of it",
        "phase_file requests answer_references run model judge store resamples json",
    ),
    Verb("host phase status", "submission.status", "Say where a submission stands", f"phase_file run {_HANDED}"),
    Verb(
        "host phase mark",
        "submission.mark",
        "Publish, cancel, disqualify or reinstate a submission",
        "stage_mark reason run json",
    ),
    Verb(
        "host admin adopt",
        "host.adopt",
        "Make the challenge file as it is now the one in force",
        "public_note challenge",
    ),
    Verb(
        "host admin backup",
        "host.backup",
        "Copy the database and every file, while the service runs",
        "target_folder challenge keep_backups",
    ),
    Verb(
        "host admin cost",
        "host.cost",
        "Say what a phase can cost at most, before it opens",
        "challenge_file teams json",
    ),
    Verb(
        "host admin export",
        "host.export",
        "Write what the challenge came to, as far as it is published",
        "target_folder with_hidden challenge",
    ),
    Verb(
        "host admin organiser",
        "host.organiser",
        "Make somebody who has registered an organiser",
        "email person_role challenge",
    ),
    Verb("host admin restore", "host.restore", "Bring a service back from a backup, and check it", "backup challenge"),
    Verb(
        "host admin token",
        "host.token",
        "Make a token for a worker, or take it back",
        "worker_name duties revoke challenge",
    ),
    Verb(
        "host admin verify-log",
        "host.verify_log",
        "Check that nobody changed the log, a row or a file",
        "challenge witness images_too replay",
    ),
    Verb(
        "report make",
        "report.report",
        "One page (HTML, and PDF where wanted) of a folder of results",
        f"source pdf short wrong_frames images template section title margin against why better missing "
        f"{_ROLES} {_HANDED}",
    ),
    Verb(
        "report serve",
        "report.serve",
        "Show the page with its frames in a browser on this machine",
        "source port images template title",
    ),
    Verb(
        "report supplement",
        "report.supplement",
        "Tables and figures of a paper's supplement",
        "score_folders out_folder title by context answers known_references level resamples seed missing json force",
    ),
    Verb(
        "tools list",
        "tools.list_kind",
        "What there is to choose from: metrics, datasets, models, rules, ...",
        "list_of json",
    ),
    Verb(
        "tools doctor",
        "tools.examine",
        "Which sandbox engines work here, and how to mend the others",
        "engines runtime trial json",
    ),
    Verb(
        "tools rerun",
        "rerun.rerun",
        "Repeat a run from its manifest, and say whether the same comes out",
        f"manifest started_in {_HANDED}",
    ),
    Verb("tools store show", "tools.show", "Count what is kept, and lines that cannot be read", "place json"),
    Verb("tools store merge", "tools.merge", "Bring stores together: each reply once", "stores out_folder"),
    Verb("tools store verify", "tools.verify", "Read every line and name those that are damaged", "place set_aside"),
)


def below(path: tuple[str, ...]) -> dict[str, str]:
    """Names and lines of what is directly below a group, in the order of the table; of everything for ()."""
    if not path:
        return {name: line for panel in PANELS.values() for name, line in panel.items()}
    listed: dict[str, str] = {}
    for verb in VERBS:
        words = verb.name.split()
        if len(words) > len(path) and tuple(words[: len(path)]) == path:
            name = words[len(path)]
            listed[name] = verb.line if len(words) == len(path) + 1 else GROUPS[" ".join((*path, name))]
    return listed


def overview() -> str:
    """What `surgvalid --help` prints."""
    widest = max(map(len, below(())))
    lines = ["Usage: surgvalid VERB ...", "", "Validation of surgical video AI that can be trusted.", ""]
    for panel, verbs in PANELS.items():
        lines += [f"{panel}:", *(f"  {name:{widest}}  {line}" for name, line in verbs.items())]
    return "\n".join([*lines, "", "`surgvalid VERB --help` says more; --version and --install-completion as usual."])


def group_help(path: tuple[str, ...]) -> str:
    """What `--help` of a group prints."""
    listed, words = below(path), " ".join(path)
    widest = max(map(len, listed))
    line = GROUPS.get(words) or below(path[:-1])[path[-1]]
    lines = [f"Usage: surgvalid {words} VERB ...", "", f"{line}.", ""]
    lines += [f"  {name:{widest}}  {line}" for name, line in listed.items()]
    if words in USUAL:
        usual = USUAL[words]
        lines += ["", f"`surgvalid {words} ...` is `surgvalid {words} {usual} ...`."]
    if words == "evaluate":
        lines += ["", "`surgvalid evaluate FOLDER` finds out what the folder holds, and says which command that is."]
    return "\n".join([*lines, "", f"`surgvalid {words} VERB --help` says more."])
