"""Whatever version 0.1.0 wrote is read as it was: tables, documents, procedures, reviews, stores, registrations.

The fixtures were written once, by that version, and are never written again (`v0_1_0/README.md` says how). What a
service of it kept is read in `tests/host/test_reads_0_1_0_service.py`. The name that the program had then is part of
some of these files; it is not spelled here, but read from them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result as Done
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import surgvalid
from repository import GOLDEN
from surgvalid import results
from surgvalid.asking.reading import PARSER_VERSION
from surgvalid.cli import build_app
from surgvalid.datasets import read_annotations, recognised_tool
from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.sharing import key_path, read_shared
from surgvalid.questions.stages.history import ReviewState
from surgvalid.report.inputs import read_inputs
from surgvalid.report.review.items import material_in
from surgvalid.report.review.log import ReviewLog
from surgvalid.report.review.server import ReviewServer, history_file
from surgvalid.results.registration import held_to
from surgvalid.schema.procedures.procedure_files import read_procedure
from surgvalid.schema.tables.score_table import read_score_table
from surgvalid.schema.tables.table_facts import facts_beside
from surgvalid.submissions.phase import read_phase
from surgvalid.submissions.phase_status import status_of, submission_status
from surgvalid.tasks import parse_run

OLD = GOLDEN / "v0_1_0"
NOW = surgvalid.__name__
THEN = next(key for key, value in json.loads((OLD / "runs/rank/manifest.json").read_text()).items() if value == "0.1.0")
"""The name of the program, today and then."""
PAGES = (".html", ".svg")
"""Drawn for people and read by nobody; not kept here."""
RELEASE = re.compile(r"Registered under other versions: [^\n]*\d\.\d+\.\d+ \(now \d+\.\d+\.\d+\)\.")
"""Says that another release runs than was registered: true today, and not in the file of then."""
FOLDERS = sorted(
    file.parent.relative_to(OLD).as_posix()
    for file in OLD.rglob("manifest.json")
    if not file.relative_to(OLD).parts[0].startswith("early")
)
TABLES = sorted(file.name.removesuffix(".manifest.json") for file in (OLD / "tables").glob("*.manifest.json"))
LONG = ("failure-change", "plan", "study", "supplement")
REPEATED = {
    **{f"runs/{name}": "inputs" for name in (
        "score", "score-official", "ask", "rank", "rank-mean", "failures", "failures-per-model", "failures-next",
        "floors", "diff", "lint", "evaluate", "combine", "audit", "audit-card", "combine-sites",
        "audit-tables", "task-board", *LONG,
    )},
    **{f"evaluate/{name}": "evaluate" for name in (
        "classification", "phases", "cvs", "triplets", "detection", "segmentation", "tracking", "shard-1-of-2",
    )},
    **{f"tables/{name}.manifest.json": "tables" for name in TABLES},
    "registration/run": "registration",
}  # fmt: skip
"""Runs that are repeated from their manifests, and where they were started."""
NOT_WRITTEN = ("badge.svg", "guideline_items.csv", "label_errors.csv")
"""Files of an audit of 0.1.0 that stand on its page, or had no rows."""
NOT_DRAWN = ("places-technical.svg", "places-clinical.svg", "examples.csv")
"""Figures of a supplement of 0.1.0 whose numbers stand in a table, and words of models that stand in the cases."""
REWORDED = ("decisions", "findings", "warnings")
ADDED_SINCE = ("groups", "median", "median_low", "median_high")
SAID_SINCE = (
    r"(?m)^.*(outright failure in up to|failed outright, and up to|alone makes up).*\n?"
    r"|Effects are for these \d+ models, on average\.|^.*can be told apart, so their order is open.*\n?"
    r"|Audit of this table: .*?surgvalid audit\."
)
"""What 0.1.0 did not say: findings about metrics without an upper bound, which models effects are for, open orders,
the audit of a study."""


def invoke(*words: object) -> Done:
    done = CliRunner().invoke(build_app(), [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def document(*parts: str) -> Any:
    return json.loads(OLD.joinpath(*parts).read_text(encoding="utf-8"))


def copied(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a fixture to work in, as the folder in which commands are started."""
    shutil.copytree(OLD / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    return tmp_path / name


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """A table without what CSV cannot tell apart: kinds of numbers, nothing and NaN, truth and its word."""
    texts = frame.with_columns(pl.col(pl.Boolean).cast(pl.String), pl.selectors.numeric().cast(pl.Float64))
    texts = texts.with_columns(pl.selectors.string().replace({"True": "true", "False": "false"}))
    empty = [name for name, kind in texts.schema.items() if kind == pl.Null or texts[name].is_null().all()]
    return texts.with_columns(
        *(pl.lit(None, dtype=pl.String).alias(name) for name in empty),
        pl.selectors.float().exclude(*empty).fill_nan(None) if empty else pl.selectors.float().fill_nan(None),
    )


def as_written(path: Path, kinds: Mapping[str, Any]) -> pl.DataFrame:
    """A CSV file read without the package, each column as text or number as the other reading has it."""
    texts = {name: pl.String for name, kind in kinds.items() if not kind.is_numeric()}
    frame = pl.read_csv(path, infer_schema_length=None, schema_overrides=texts)
    today = {"ci_low": "low", "ci_high": "high"} | ({"z": "t"} if "std_error" in frame.columns else {})
    return frame.rename(today, strict=False)  # ends as official summaries call them, and the t of an effect


GONE_SINCE = ("p_false_claim", "difference_scored", "p_scored")
"""Columns that are not written any more."""
NOT_SMOOTH = ("transition_delay_p50_s",)
"""Metrics whose units are resampled now; the jackknife that made their intervals is wrong for them."""
FEWEST_TESTED = 6
"""Videos below which a difference has no interval any more."""


def without_superseded(new: pl.DataFrame, old: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables without what 0.1.0 did not have, and without intervals that it made too narrow.

    Metrics without an upper bound had plain t intervals, which cover .85-.93: their ends and the name of their method
    are superseded, their values are not. So are symbols of effects, which went by uncorrected p values.
    """
    if "std_error" in old.columns:
        old = old.rename({"z": "t"}, strict=False)
        new, old = (frame.drop("symbol", strict=False) for frame in (new, old))
    new = new.drop([name for name in ADDED_SINCE if name not in old.columns], strict=False)
    new, old = (frame.drop(*GONE_SINCE, strict=False) for frame in (new, old))
    if {"metric", "df"} <= set(old.columns):
        resampled = pl.col("metric").is_in(NOT_SMOOTH)
        spread = [name for name in ("low", "high", "sd", "df", "note") if name in new.columns and name in old.columns]
        new, old = (
            frame.with_columns(pl.when(~resampled).then(pl.col(name)).alias(name) for name in spread)
            for frame in (new, old)
        )
    if "favours" in old.columns:  # the model that is ahead, then; that which is shown to be better, now
        shown = pl.col("p_value") <= 1 - pl.col("level")
        old = old.with_columns(pl.when(shown).then(pl.col("favours")).cast(new.schema["favours"]).alias("favours"))
    since = "by the exact sign-flip test no difference can be shown"
    old = old.with_columns(pl.col(pl.String).str.replace_all("no difference can be significant", since, literal=True))
    if {"difference", "gain"} & set(new.columns) and {"low"} <= set(new.columns) and new.height == old.height:
        bare = new["low"].is_null() & old["low"].is_not_null()
        assert "videos" not in new.columns or (new.filter(bare)["videos"] < FEWEST_TESTED).all()
        ends = [name for name in ("low", "high", "method", "note") if name in old.columns and bare.any()]
        new, old = (
            frame.with_columns(pl.when(~bare).then(pl.col(name)).alias(name) for name in ends) for frame in (new, old)
        )
    if "method" not in new.columns or new.schema["method"] != pl.String or new.height != old.height:
        return new, old
    skewed = new["method"].fill_null("").str.contains("log and Hall")
    hidden = [name for name in ("low", "high", "method") if name in old.columns] if skewed.any() else []
    return tuple(
        frame.with_columns(pl.when(~skewed).then(pl.col(name)).alias(name) for name in hidden) for frame in (new, old)
    )  # type: ignore[return-value]


def listed_alike(contents: pl.DataFrame) -> pl.DataFrame:
    """What a supplement lists, without figures that are no longer drawn and the numbers that moved up for them."""
    drawn = contents.filter(~pl.col("file").is_in(NOT_DRAWN))
    return drawn.with_columns(pl.col("file").str.replace("^boxes-", "videos-"), pl.col("number").str.head(5))


RELABELLED = ("best predictor of each template that never looks", "best input-blind predictor of each template")
"""A row of the data card, before and today."""


def differences(new: Any, old: Any, at: str = "") -> list[str]:
    """Where two documents differ; sentences may be worded anew, the numbers in them may not."""
    if isinstance(old, dict) and isinstance(new, dict):
        old = {key.replace(*RELABELLED): value for key, value in old.items()}
        other = sorted(f"{at}/{key}" for key in set(old) ^ set(new))
        return other + [
            one for key in sorted(set(old) & set(new)) for one in differences(new[key], old[key], f"{at}/{key}")
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [one for row, pair in enumerate(zip(new, old, strict=True)) for one in differences(*pair, f"{at}/{row}")]
    if isinstance(old, str) and isinstance(new, str) and " " in old:
        same = re.findall(r"\d+(?:\.\d+)?", new) == re.findall(r"\d+(?:\.\d+)?", old)
    elif isinstance(old, float | int) and isinstance(new, float | int):
        same = new == pytest.approx(old, rel=1e-6, abs=1e-12)
    else:
        same = new == old
    return [] if same else [f"{at}: {new!r} for {old!r}"]


def assert_same_file(old: Path, new: Path) -> None:
    """Equal in content: to the last bit, or as tables with values that differ in the last digits of the machine.

    What is written today bears today's name of the program.
    """
    if old.read_bytes() == new.read_bytes():
        return
    if old.suffix == ".parquet":
        assert_frame_equal(pl.read_parquet(new), pl.read_parquet(old), rel_tol=1e-7, abs_tol=1e-9)
    elif old.name in ("readings.csv", "sanity.csv"):  # sentences and checks, of today's wording and number
        assert pl.read_csv(new).height >= pl.read_csv(old).height
    elif old.suffix == ".csv":
        frames = [pl.read_csv(path, infer_schema_length=None) for path in (new, old)]
        reworded = pl.selectors.by_name("reason", require_all=False).str.replace("place", "final rank")
        frames = [frame.with_columns(reworded).drop("title", "caption", strict=False) for frame in frames]
        if old.name == "contents.csv":
            frames = [listed_alike(frame) for frame in frames]
        assert_frame_equal(*without_superseded(*frames), rel_tol=1e-7, abs_tol=1e-9)
    elif old.suffix in (".txt", ".md"):  # prose may be worded anew; what it states may not
        texts = [
            re.sub(
                r"(?m)The ranks that a model can have.*$", "", re.sub(SAID_SINCE, "", path.read_text(encoding="utf-8"))
            )
            for path in (new, old)
        ]
        numbers = [re.findall(r"\d+(?:\.\d+)?", re.sub(RELEASE, "", text)) for text in texts]
        if (old.parent / "sanity.csv").is_file():  # what was joined with what is told since then
            numbers[0] = [one for one in numbers[0] if one in numbers[1]]
            assert all(numbers[0].count(one) >= numbers[1].count(one) for one in numbers[1])
        else:
            assert numbers[0] == numbers[1]
    elif old.name == "metrics.json":  # how the table was read is told since then
        told = json.loads(new.read_text(encoding="utf-8"))
        assert told.pop("read_as", None) is not None
        assert told == json.loads(old.read_text(encoding="utf-8"))
    else:
        text = old.read_text(encoding="utf-8").replace(THEN, NOW)
        if new.read_text(encoding="utf-8") != text:
            records = [json.loads(one) for one in (new.read_text(encoding="utf-8"), text)]
            if old.name == "fit.json":  # findings and decisions are worded by today's rules for models and few videos
                records = [{key: v for key, v in one.items() if key not in REWORDED} for one in records]
            assert differences(*records) == []


def test_every_kind_of_folder_is_frozen() -> None:
    verbs = {" ".join(document(folder, "manifest.json")["verb"].split()[:2]) for folder in FOLDERS}
    kinds = ("classification", "phases", "cvs", "triplets", "detection", "segmentation", "tracking")
    stages = ("screen", "boxes", "cross-check", "instances", "moments", "reviewed", "experts")
    assert verbs >= {
        *(f"evaluate {kind}" for kind in kinds), *(f"annotate {stage}" for stage in stages), "score", "ask", "rank",
        "failures", "failure-change", "floors", "diff", "lint", "supplement", "combine", "study", "audit",
        "audit card", "audit tables", "plan", "preregister", "monitor", "questions", "simulate", "task run",
        "task board", "rehearse", "submission check", "submission hand-in", "submission status",
    }  # fmt: skip
    assert len(TABLES) >= 8


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_read_as_it_was_written(folder: str) -> None:
    manifest = document(folder, "manifest.json")
    stored = results.read(OLD / folder)
    assert stored.stored[NOW] == manifest[THEN] == "0.1.0"
    assert stored.request.verb == manifest["verb"]
    assert stored.prose == manifest["prose"]
    assert [one.as_dict() for one in stored.findings] == manifest["findings"]
    files = [entry["file"] for entry in manifest["outputs"] if "/" not in entry["file"]]
    assert set(stored.tables) == {name.removesuffix(".csv") for name in files if name.endswith(".csv")}
    assert set(stored.records) == {name.removesuffix(".json") for name in files if name.endswith(".json")}
    for name, frame in stored.tables.items():
        written = as_written(OLD / folder / f"{name}.csv", frame.schema)
        assert_frame_equal(plain(frame), plain(written), check_dtypes=False)
    for name, record in stored.records.items():
        assert record == document(folder, f"{name}.json")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_with_the_manifest_beside_it(name: str) -> None:
    manifest, stored = document("tables", f"{name}.manifest.json"), results.read(OLD / "tables" / f"{name}.csv")
    assert (stored.kind, stored.stored[NOW], stored.prose) == (manifest["verb"], "0.1.0", manifest["prose"])
    written = as_written(OLD / "tables" / f"{name}.csv", stored.tables["result"].schema)
    assert_frame_equal(plain(stored.tables["result"]), plain(written), check_dtypes=False)


@pytest.mark.parametrize(
    ("manifest", "start"),
    [pytest.param(*one, marks=pytest.mark.long) if one[0].endswith(LONG) else one for one in REPEATED.items()],
)
def test_a_run_is_repeated_from_its_manifest_with_equal_files(manifest: str, start: str, tmp_path: Path) -> None:
    again = tmp_path / "again"
    done = invoke("tools", "rerun", OLD / manifest, "--from", OLD / start, "--out", again, "--json")
    said = json.loads(done.stdout)
    file = OLD / manifest if manifest.endswith(".json") else OLD / manifest / "manifest.json"
    assert said["verb"] == json.loads(file.read_text())["verb"]
    assert [name for name in said["changed_inputs"] if not name.endswith(PAGES)] == []
    assert said["files"] > 0
    for name in said["differing"]:
        if not name.endswith(PAGES) and name not in (*NOT_WRITTEN, *NOT_DRAWN):
            assert_same_file(file.parent / name, again / name)
    for entry in json.loads(file.read_text())["outputs"]:
        written = re.sub("^boxes-", "videos-", entry["file"])
        assert (again / written).is_file() or written in (*NOT_WRITTEN, *NOT_DRAWN)


def references_in(folder: Path) -> dict[tuple[Any, ...], Any]:
    """The reference of every question of a set, by its video, window and wording."""
    questions = {}
    for requests in sorted(folder.glob("*/*/requests.json")):
        answers = {row["qID"]: row["answer"] for row in json.loads((requests.parent / "references.json").read_text())}
        for row in json.loads(requests.read_text()):
            questions[row["videoID"], row["start_time"], row["end_time"], row["question"]] = answers[row["qID"]]
    return questions


def test_questions_are_made_again_by_the_templates_of_today(tmp_path: Path) -> None:
    words = ("tools", "rerun", OLD / "procedures/questions", "--from", OLD / "procedures")
    assert json.loads(invoke(*words, "--out", tmp_path / "again", "--json").stdout)["verb"] == "questions"
    assert len(references_in(tmp_path / "again")) == len(references_in(OLD / "procedures/questions"))
    invoke(
        "data", "questions", OLD / "procedures/simulated/procedures", "--per-video", 2000, "--out", tmp_path / "many"
    )
    now, then = references_in(tmp_path / "many"), references_in(OLD / "procedures/questions")
    both = now.keys() & then.keys()
    assert both, "moments and options are drawn anew; what is asked again has the same reference"
    assert {key: now[key] for key in both} == {key: then[key] for key in both}


def test_procedures_are_simulated_again_by_the_scenes_of_today(tmp_path: Path) -> None:
    """Whose objects lie in space: other truth, the same kinds of files."""
    words = ("tools", "rerun", OLD / "procedures/simulated", "--from", OLD / "procedures", "--out", tmp_path / "again")
    assert json.loads(invoke(*words, "--json").stdout)["verb"] == "simulate"
    manifest = document("procedures/simulated", "manifest.json")
    assert all((tmp_path / "again" / entry["file"]).is_file() for entry in manifest["outputs"])


def test_monitoring_is_repeated_by_the_test_of_today(tmp_path: Path) -> None:
    invoke("tools", "rerun", OLD / "runs/monitor", "--from", OLD / "inputs", "--out", tmp_path / "again", "--json")
    now, then = (pl.read_csv(place / "changes.csv") for place in (tmp_path / "again", OLD / "runs/monitor"))
    names = ["kind", "column", "level", "model"]
    same = [*names, "validation", "new", "change", "low", "high", "videos_validation", "videos_new"]
    assert_frame_equal(*(frame.select(same).sort(names, nulls_last=True) for frame in (now, then)))


def test_a_manifest_of_before_that_lists_too_little_is_refused_in_words() -> None:
    with pytest.raises(FileUnreadable, match="no manifest that a run can be repeated from"):
        invoke("tools", "rerun", OLD / "early" / "rank")


@pytest.mark.parametrize("folder", ["inputs/steady", "evaluate/detection", "evaluate/segmentation"])
def test_a_score_table_alone_still_knows_its_metrics(folder: str, tmp_path: Path) -> None:
    alone = Path(shutil.copy(OLD / folder / "scores.parquet", tmp_path))
    facts = facts_beside(alone)
    beside = document(folder, "metrics.json")
    assert set(facts.metrics) == set(beside["metrics"]) != set()
    for name, record in beside["metrics"].items():
        told = facts.metrics[name]
        assert (told.better, told.low, told.high) == (record["better"], *_ends(record))
    table = read_score_table([alone])
    assert table.frame.height == pl.read_parquet(OLD / folder / "scores.parquet").height


def _ends(record: Mapping[str, Any]) -> tuple[float, float]:
    low, high = record.get("low"), record.get("high")
    return float("-inf") if low is None else low, float("inf") if high is None else high


def test_shards_come_together_as_the_whole(tmp_path: Path) -> None:
    done = invoke(
        "evaluate",
        "combine",
        OLD / "evaluate" / "shard-1-of-2",
        OLD / "evaluate" / "shard-2-of-2",
        "--out",
        tmp_path / "out",
    )
    assert done.exit_code == 0
    whole, combined = (
        pl.read_csv(place / "metrics.csv") for place in (OLD / "evaluate/classification", tmp_path / "out")
    )
    for name in ("metric", "value", "low", "high"):
        assert combined[name].to_list() == pytest.approx(whole[name].to_list(), nan_ok=True)


def test_what_a_site_shared_is_read_and_its_key_still_gives_the_same_names(tmp_path: Path) -> None:
    shutil.copytree(OLD / "inputs", tmp_path / "inputs")
    before = read_shared(tmp_path / "inputs" / "north.parquet")
    assert (before.site, before.head["kind"], before.head["videos"]) == ("north", "classification", 3)
    made = surgvalid.evaluate("classification", OLD / "inputs" / "frames.csv", metrics=["accuracy"], share=True)
    place = tmp_path / "inputs" / "later.parquet"
    surgvalid.share(made, place, site="north", minimum_cases=1, cell_size=1)
    names = [set(one.statistics.frame["video"]) for one in (before, read_shared(place))]
    assert names[0] == names[1], f"{key_path(place).name} is not where the key of before lies, or was not found"


@pytest.mark.parametrize("path", sorted(OLD.glob("procedures/*/procedures/*.json")), ids=lambda path: path.stem)
def test_a_simulated_procedure_is_read(path: Path) -> None:
    told, procedure = json.loads(path.read_text()), read_procedure(path)
    assert (procedure.video, procedure.duration_s, procedure.center) == (
        told["video"], told["duration_s"], told["center"],
    )  # fmt: skip
    assert [track.instance for track in procedure.tracks] == [track["instance"] for track in told["tracks"]]
    assert [(event.second, event.kind.value, event.instance) for event in procedure.events] == [
        (second, kind, instance) for second, kind, instance, *_ in told["events"]
    ]
    assert sum(map(len, procedure.tracks)) > 0


@pytest.mark.parametrize("tool", ["coco", "label_studio"])
def test_what_a_format_has_no_words_for_comes_back_from_a_file_of_a_tool(tool: str) -> None:
    path, truth = OLD / "procedures" / "tools" / f"{tool}.json", read_procedure(OLD / "procedures/tools/truth.json")
    assert recognised_tool(path) == tool
    [procedure] = read_annotations(path, tool=tool).procedures
    assert (procedure.events, procedure.phases, procedure.declared) == (truth.events, truth.phases, truth.declared)
    assert [t.instance for t in procedure.instruments] == [t.instance for t in truth.instruments]
    for read, known in zip(procedure.tracks, truth.tracks, strict=True):
        assert (read.instance, read.class_name, dict(read.attributes)) == (
            known.instance, known.class_name, dict(known.attributes),
        )  # fmt: skip
        assert read.seconds.tolist() == known.seconds.tolist()


@pytest.mark.parametrize("path", ["label-studio-export.json", "cross-check-cvat/review/001_sim5_0000.xml"])
def test_a_review_comes_back_with_its_flags(path: str, tmp_path: Path) -> None:
    assert (
        invoke("data", "annotate", "run", "reviewed", OLD / "annotate" / path, "--out", tmp_path / "out").exit_code == 0
    )
    flags = pl.read_csv(tmp_path / "out" / "flags.csv")
    sent = pl.read_csv(OLD / "annotate" / "cross-check" / "flags.csv")
    assert flags["kind"].sort().to_list() == sent["kind"].sort().to_list()
    assert (flags["review"] == "right").sum() == (3 if path.endswith(".json") else 0)


def test_a_history_of_a_review_goes_on(tmp_path: Path) -> None:
    shutil.copytree(OLD / "annotate" / "instances", tmp_path / "instances")
    history = tmp_path / "instances" / "history.csv"
    states = {
        row["item"]: row["state"]
        for row in json.loads(invoke("data", "annotate", "run", "verify", history, "--json").stdout)["items"]
    }
    first, second, *others = pl.read_csv(history)["item"].unique(maintain_order=True)
    assert (states[first], states[second]) == (ReviewState.CONFIRMED, ReviewState.DISPUTED)
    assert {states[name] for name in others} == {ReviewState.PROPOSED}
    invoke(
        "data",
        "annotate",
        "run",
        "verify",
        history,
        "--entry",
        f"item={others[0]}",
        "--who",
        "anna",
        "--at",
        "2026-06-01",
    )
    assert pl.read_csv(history).height == pl.read_csv(OLD / "annotate/instances/history.csv").height + 1


def test_questions_under_review_are_not_proposed_twice(tmp_path: Path) -> None:
    shutil.copytree(OLD / "procedures" / "questions", tmp_path / "questions")
    material = material_in(
        tmp_path / "questions", annotations=[OLD / "procedures/simulated/procedures"], video_files=()
    )
    log = ReviewLog(history_file(tmp_path / "questions"))
    ReviewServer(material, log, raters=["anna"], adjudicator="", port=0).server_close()
    before = pl.read_csv(OLD / "procedures" / "questions" / "history.csv")
    assert len(log.history.entries) == before.height == len(material.items) + 2
    confirmed = [item for item, state in log.history.states().items() if state is ReviewState.CONFIRMED]
    assert confirmed == [before["item"][-1]]


def test_a_registration_is_checked_with_its_signature() -> None:
    told = document("registration", "signed", "registration.json")
    done = invoke("plan", "verify", OLD / "registration" / "signed", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["sha256"]) == (0, told["sha256"])
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed here")
    assert said["signature"].startswith("signed with SSH key SHA256:")


def test_a_run_is_held_to_a_registration_of_before() -> None:
    place, options = OLD / "registration" / "signed", document("registration", "run", "manifest.json")["options"]
    asked = {name: value for name, value in options.items() if name not in ("kind", "deviations")}
    kept = held_to(place, "evaluate phases", asked, None, {NOW: "99", "numpy": "0"}, {}).kept({("v1", "c1")})
    assert kept["sha256"] == document("registration", "run", "manifest.json")["settled"]["preregistration"]["sha256"]
    [version] = [finding.message for finding in kept.findings if finding.code == "registered-version"]
    assert f"{NOW} 0.1.0 (now 99)" in version


def test_replies_of_a_task_are_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = copied("task", tmp_path, monkeypatch)
    [run] = (home / "runs" / "clip").iterdir()
    model = json.loads((run / "manifest.json").read_text())["options"]["model"]
    words = ("task", "run", "data/clip.toml", "--data", "data", "--model", model, "--model-option", "concurrency=1")
    assert invoke(*words, "--out", "again").exit_code == 0, "its server is gone: whoever asks again gets no answer"
    [again] = (home / "again" / "clip").iterdir()
    before = (run / "metrics.csv").read_text().replace("parser: 1,", f"parser: {PARSER_VERSION},")  # of today
    assert (again / "metrics.csv").read_text() == before
    first, second = (pl.read_csv(place / "answers.csv") for place in (run, again))
    assert second.select("case", "answer").equals(first.select("case", "answer"))
    assert (first["reused"].any(), second["reused"].all()) == (False, True)


def test_a_run_of_a_task_is_parsed_again_and_stands_on_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = copied("task", tmp_path, monkeypatch)
    [run] = (home / "runs" / "clip").iterdir()
    result = parse_run(run, root="data")
    assert result.tables["metrics"]["value"].to_list() == pl.read_csv(run / "metrics.csv")["value"].to_list() == [0.25]
    assert surgvalid.task_board([run]).table["value"].to_list() == [0.25]


def test_answers_are_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(OLD / "inputs", tmp_path / "inputs")
    home = copied("ask", tmp_path, monkeypatch)
    model = document("ask", "out", "manifest.json")["options"]["model"]
    words = ("--requests", "../inputs/requests.json", "--videos", "../inputs/films", "--track", "frame")
    words = (*words, "--policy", "strict")  # answers as they came, which is how 0.1.0 handed them over
    asked = invoke("task", "ask", "--model", model, "--model-option", "concurrency=1", *words, "--out", "again")
    assert asked.exit_code == 0
    first, second = (json.loads((home / place / "answers.json").read_text()) for place in ("out", "again"))
    assert [{**row, "latency": 0} for row in second] == [{**row, "latency": 0} for row in first]


def test_verdicts_of_a_judge_are_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(OLD / "inputs", tmp_path / "inputs")
    home = copied("judge", tmp_path, monkeypatch)
    [judge] = document("judge", "score", "manifest.json")["options"]["judges"]
    files = [f"--{name}=../inputs/{file}.json" for name, file in
             (("requests", "requests"), ("references", "references"), ("responses", "moody"))]  # fmt: skip
    assert invoke("score", *files, "--judge", judge, "--resamples", 20, "--out", "again").exit_code == 0
    assert (home / "again" / "results.csv").read_bytes() == (home / "score" / "results.csv").read_bytes()
    counted = pl.read_csv(home / "again" / "judges.csv")
    assert (counted["asked"].sum(), counted["reused"].sum()) == (
        0,
        pl.read_csv(home / "score/judges.csv")["asked"].sum(),
    )


@pytest.mark.parametrize("home", ["ask", "judge", "task"])
def test_a_store_is_whole(home: str) -> None:
    assert invoke("tools", "store", "verify", OLD / home / f".{THEN}").exit_code == 0


def test_a_submission_stands_where_it_stood_and_belongs_to_its_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = copied("submission", tmp_path, monkeypatch)
    phase = read_phase("phase.toml")
    assert phase.digest() == document("submission", "run", "phase.json")["digest"], "its runs would be of another phase"
    status = submission_status("run", phase)
    assert [row["stage"] for row in status_of(home / "run")["history"]] == [
        "uploaded", "intake_ok", "running", "inferred", "scored",
    ]  # fmt: skip
    assert status_of(home / "run")["stage"] == "scored"
    assert "other-phase" not in [finding.code for finding in status.findings]
    words = ("--requests", "pack/example_input/request.json", "--references", "references.json", "--judge", "exact")
    assert (
        invoke("host", "phase", "score", "--phase", "phase.toml", "--run", "run", *words, "--resamples", 10).exit_code
        == 0
    )
    for name in ("results.csv", "summary.csv"):
        assert_same_file(OLD / "submission" / "run" / "scores" / name, home / "run" / "scores" / name)


def test_a_phase_that_names_its_schema_is_read(tmp_path: Path) -> None:
    schema = document("submission", "run", "phase.json")["phase"]["schema"]
    (tmp_path / "phase.toml").write_text(f'schema = "{schema}"\n{(OLD / "submission/phase.toml").read_text()}')
    assert read_phase(tmp_path / "phase.toml") == read_phase(OLD / "submission" / "phase.toml")


def test_a_study_file_and_folders_of_before_are_audited(tmp_path: Path) -> None:
    text = (OLD / "study" / "study.toml").read_text()
    assert "# results = " in text
    named = f'results = "{OLD / "inputs" / "steady"}"'
    lines = [named if line.startswith("# results = ") else line for line in text.splitlines()]
    (tmp_path / "study.toml").write_text("\n".join(lines))
    done = invoke("audit", tmp_path / "study.toml", "--pitfall", "P3.5", "--json")
    [check] = json.loads(done.stdout)["checks"]
    assert "1 results name versions, options, inputs and hashes; no file was changed." in check["evidence"]


def test_a_report_says_which_version_made_the_results() -> None:
    inputs = read_inputs(OLD / "runs" / "score")
    assert [finding.message for finding in inputs.findings if finding.code == "part-left-out"] == []
    assert {part.stored[NOW] for part in inputs.parts} == {"0.1.0"}
    assert inputs.scores is not None
    assert inputs.scores.frame.height == pl.read_parquet(OLD / "runs/score/scores.parquet").height
