"""Results of other tools as tables: inspect, lmms-eval, lm-eval, MLflow, Weights & Biases."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from repository import REPOSITORY
from shared_data import shared
from surgvalid import compare, failures, interval, rank, study
from surgvalid.errors import FileUnreadable, Misuse, TableInvalid
from surgvalid.schema.tables.table_reading import read_scores

EPOCHS = REPOSITORY / "tests" / "data" / "bridges" / "epochs_and_errors.json"


def sample(case: str, value: Any = "C", *, epoch: int = 1, scorer: str = "match", **metadata: Any) -> dict[str, Any]:
    return {"id": case, "epoch": epoch, "metadata": metadata, "scores": {scorer: {"value": value}}}


def log(samples: list[dict[str, Any]], model: str = "org/a", cluster: str | None = None) -> dict[str, Any]:
    metrics = {"stderr": {"name": "stderr", "value": 0.1, "params": {"cluster": cluster} if cluster else {}}}
    results = {"scores": [{"name": "match", "scorer": "match", "metrics": metrics}]}
    return {"version": 2, "status": "success", "eval": {"model": model}, "results": results, "samples": samples}


def packed(path: Path, document: Mapping[str, Any], *, short: bool = True, **members: str) -> Path:
    """A `.eval` log as inspect packs it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in document.items() if k != "samples"}))
        for one in document["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        if short:
            archive.writestr("summaries.json", json.dumps(document["samples"]))
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def cases(videos: int = 6, each: int = 3, **more: Any) -> list[dict[str, Any]]:
    grade = "CICCI"
    return [
        sample(f"{v}-{q}", grade[(v * v + q) % 5], video_id=f"v{v}", centre="AB"[v % 2], **more)
        for v in range(videos)
        for q in range(each)
    ]


def written(path: Path, document: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(document))
    return path


EXPECTED = ("data", "bridges", "expected.json")


def inspect_logs() -> dict[Path, dict[str, Any]]:
    folder = shared("data", "bridges", "inspect_ai")
    return {folder / name: one for name, one in json.loads(shared(*EXPECTED).read_text())["inspect_ai"].items()}


def test_every_shared_log_of_inspect_gives_the_values_and_standard_errors_that_it_stores() -> None:
    pytest.importorskip("zstandard", reason="zstandard is not installed: logs of inspect since 2026 are not read")
    for path, expected in inspect_logs().items():
        table = read_scores(path).table
        assert table.models == [expected["model"]]
        assert table.frame["case"].n_unique() == expected["scored"]
        assert table.frame["value"].mean() == pytest.approx(expected["mean_of_cases"], abs=1e-6)
        if expected["videos"]:
            assert table.frame["video"].n_unique() == expected["videos"]
            header = stored_results(path)
            assert interval(path).table["sd"][0] == pytest.approx(header["stderr"]["value"], abs=1e-9)


def stored_results(path: Path) -> Any:
    from surgvalid.schema.tables import inspect_log

    with zipfile.ZipFile(path) as archive:
        return inspect_log._json(archive, path, "header.json")["results"]["scores"][0]["metrics"]


def test_two_logs_are_compared_by_video() -> None:
    pytest.importorskip("zstandard", reason="zstandard is not installed: logs of inspect since 2026 are not read")
    paths = [path for path, one in inspect_logs().items() if one["task"] == "surgical_vqa"]
    result = compare(paths, "mockllm/alpha", "mockllm/beta")
    assert result.table["difference"][0] == pytest.approx(0.25, abs=1e-9)
    assert result.table["videos"][0] == 8
    assert read_scores(paths).table.strata == ["centre", "phase"]


def test_folders_of_lmms_eval_give_its_values_clusters_and_standard_errors() -> None:
    folder = shared("data", "bridges", "lmms_eval")
    expected = json.loads(shared(*EXPECTED).read_text())["lmms_eval"]
    reading = read_scores([folder / name for name in expected])
    assert reading.unit.column == "videoID"
    for name, one in expected.items():
        rows = reading.table.frame.filter(pl.col("model") == name.replace("__", "/"))
        assert (rows.height, rows["video"].n_unique()) == (one["cases"], one["videos"])
        assert rows["value"].mean() == pytest.approx(one["mean"], abs=1e-6)
        stored = json.loads(next((folder / name).glob("*_results.json")).read_text())["results"]["surg_videomme"]
        naive = interval(folder / name, resample="naive").table["sd"][0]
        assert naive == pytest.approx(stored["videomme_perception_score_stderr_clt,none"], abs=1e-9)
    assert read_scores(folder).table.frame.sort("model", "case").equals(reading.table.frame.sort("model", "case"))
    assert "pred_answer" not in reading.table.strata
    assert "question_id" not in reading.table.strata


def test_tables_of_mlflow_are_models_called_after_the_folders_that_tell_them_apart() -> None:
    folder = shared("data", "bridges", "mlflow")
    expected = json.loads(shared(*EXPECTED).read_text())["mlflow"]
    table = read_scores([folder / name / "per_case.json" for name in expected]).table
    assert table.models == list(expected)
    for name, one in expected.items():
        rows = table.frame.filter(pl.col("model") == name)
        assert (rows.height, rows["video"].n_unique()) == (one["cases"], one["videos"])
        assert rows["value"].mean() == pytest.approx(one["mean"], abs=1e-6)


def test_tables_of_wandb_are_models_called_after_their_runs(tmp_path: Path) -> None:
    paths = []
    for run in ("offline-run-20260101_000000-abc", "offline-run-20260101_000100-def"):
        place = tmp_path / run / "files" / "media" / "table"
        place.mkdir(parents=True)
        data = [[f"v{v}-{q}", f"v{v}", (v + q) / 9] for v in range(6) for q in range(3)]
        name = f"per_image_0_{sha256(run.encode()).hexdigest()[:20]}.table.json"
        paths.append(written(place / name, {"columns": ["image", "video", "dice"], "data": data}))
    assert read_scores(paths).table.models == [path.parts[-5] for path in paths]
    assert read_scores(paths[:1]).table.models == ["per_image"]


def test_epochs_are_averaged_and_errors_left_out_as_inspect_does_itself() -> None:
    stored = json.loads(EPOCHS.read_text())["results"]["scores"][0]["metrics"]
    table = interval(EPOCHS).table
    assert table["value"][0] == pytest.approx(stored["accuracy"]["value"], abs=1e-9)
    assert table["sd"][0] == pytest.approx(stored["stderr"]["value"], abs=1e-9)
    assert (table["cases"][0], table["videos"][0]) == (18, 6)
    sentences = [line.sentence for line in read_scores(EPOCHS).interpreted]
    assert any("3 repeats per case averaged" in sentence for sentence in sentences)
    assert "2 of 54 samples of mockllm/gamma ended in an error or unscored: no score, never 0" in sentences


def test_a_sample_that_ended_in_an_error_is_missing_and_never_wrong(tmp_path: Path) -> None:
    samples = cases()
    samples[4] = {"id": samples[4]["id"], "epoch": 1, "metadata": samples[4]["metadata"], "error": {"message": "no"}}
    a = written(tmp_path / "a.json", log(samples))
    b = written(tmp_path / "b.json", log(cases(), "org/b"))
    reading = read_scores([a, b])
    assert "not there: 1 score of org/a; " in " ".join(line.sentence for line in reading.interpreted)
    assert any("1 of 18 samples of org/a" in line.sentence for line in reading.interpreted)
    result = compare([a, b], "org/a", "org/b")
    assert (result.table["difference"][0], result.table["cases"][0]) == (0.0, 17)


@pytest.mark.parametrize("verb", [study, interval, rank])
def test_verbs_take_logs_directly(verb: Any, tmp_path: Path) -> None:
    logs = [packed(tmp_path / f"{name}.eval", log(cases(), name)) for name in "ab"]
    assert {"a", "b"} <= {str(cell) for row in verb(logs).table.rows() for cell in row}


def test_failures_take_logs_directly(tmp_path: Path) -> None:
    grades = [
        sample(f"{v}-{q}", "CICCICI"[(v * 5 + q * 3) % 7], video_id=f"v{v}", smoke=q % 2)
        for v in range(9)
        for q in range(6)
    ]
    path = packed(tmp_path / "a.eval", log(grades))
    result = failures(path, outcome="value", fixed=["smoke"], random=["video_id", "case"])
    assert "smoke" in result.table["term"].to_list()


def test_the_short_form_and_the_samples_of_a_log_give_the_same(tmp_path: Path) -> None:
    one = read_scores(packed(tmp_path / "a.eval", log(cases()))).table.frame
    other = read_scores(packed(tmp_path / "b.eval", log(cases()), short=False)).table.frame
    assert one.sort("case").equals(other.sort("case"))


def test_the_cluster_of_the_log_is_the_unit_unless_a_patient_is_known(tmp_path: Path) -> None:
    by_site = read_scores(written(tmp_path / "a.json", log(cases(), cluster="centre")))
    assert (by_site.unit.column, by_site.units) == ("centre", 2)
    by_patient = read_scores(written(tmp_path / "b.json", log(cases(patient="p1"), cluster="centre")))
    assert by_patient.unit.column == "patient"
    stated = read_scores(written(tmp_path / "c.json", log(cases(), cluster="centre")), unit="video_id")
    assert (stated.unit.column, stated.units) == ("video_id", 6)


def test_two_scorers_are_chosen_between(tmp_path: Path) -> None:
    samples = cases()
    for one in samples:
        one["scores"]["judge"] = {"value": 0.25}
    path = written(tmp_path / "a.json", log(samples))
    with pytest.raises(Misuse, match=r"scored in 2 ways \('match' in a.json, 'judge' in a.json\); choose one with"):
        interval(path)
    assert interval(path, metric="match").table["value"][0] == pytest.approx(interval_of_match(samples))
    assert interval(path, metric="judge", better="larger").table["value"][0] == pytest.approx(0.25)


def test_the_parts_of_one_score_have_their_own_names_and_directions(tmp_path: Path) -> None:
    samples = [
        sample(f"{v}-{q}", {"dice": (v + q) / 9, "hd95": float(v * q)}, video_id=f"v{v}")
        for v in range(6)
        for q in range(1, 4)
    ]
    path = written(tmp_path / "a.json", log(samples))
    assert read_scores(path, metric="hd95").table.metrics == ["dice", "hd95"]
    assert study(path, metric="hd95").metric.better == "smaller"
    assert study(path, metric="dice").metric.better == "larger"


def interval_of_match(samples: list[dict[str, Any]]) -> float:
    return sum(one["scores"]["match"]["value"] == "C" for one in samples) / len(samples)


def test_the_same_model_twice_is_refused(tmp_path: Path) -> None:
    logs = [packed(tmp_path / f"{name}.eval", log(cases())) for name in "ab"]
    with pytest.raises(TableInvalid, match="both hold 18 scores of model 'org/a'") as refused:
        read_scores(logs)
    assert "a.eval" in str(refused.value)
    with pytest.raises(TableInvalid, match="both hold 18 scores of model 'org/a'"):
        read_scores(tmp_path)


def test_a_folder_of_two_tasks_keeps_them_apart_where_a_model_did_both(tmp_path: Path) -> None:
    def told(model: str, task: str, grade: str) -> dict[str, Any]:
        document = log([{**one, "scores": {"match": {"value": grade}}} for one in cases()], model)
        return {**document, "eval": {"model": model, "task": task}}

    paths = [
        packed(tmp_path / f"{model}-{task}.eval", told(model, task, grade))
        for model in "ab"
        for task, grade in (("phase", "C"), ("tools", "CI"["ab".index(model)]))
    ]
    for given in (tmp_path, paths):
        ranks = rank(given).tables["ranks"]
        assert set(ranks["task"]) == {"phase", "tools"}
        values = {(row["task"], row["model"]): row["value"] for row in ranks.iter_rows(named=True)}
        assert values == {("phase", "a"): 1, ("phase", "b"): 1, ("tools", "a"): 1, ("tools", "b"): 0}
    broken = told("a", "tools", "C")
    broken["samples"][4] |= {"scores": {}, "error": {"message": "no"}}
    packed(paths[1], broken)
    reading = read_scores(tmp_path)
    assert "not there: 1 score of a; " in " ".join(line.sentence for line in reading.interpreted)
    assert any(line.sentence.startswith("1 of 18 samples of a ended") for line in reading.interpreted)
    apart = [paths[0], packed(tmp_path / "c.eval", told("c", "phase-v2", "I"))]
    assert compare(apart, "a", "c").table["cases"][0] == 18, "another name of the task is no other task"


def test_a_folder_of_logs_in_json_is_read(tmp_path: Path) -> None:
    for model in "ab":
        written(tmp_path / f"2026-01-02T03-04-05-00-00_vqa_{model}.json", log(cases(), model))
    written(tmp_path / "manifest.json", {"not": "a log"})
    assert read_scores(tmp_path).table.models == ["a", "b"]


def test_an_attempt_that_did_not_finish_is_left_out_where_inspect_retried_it(tmp_path: Path) -> None:
    def attempt(day: int, status: str, run: str = "r1") -> Path:
        document = {**log(cases()[: None if status == "success" else 4]), "status": status}
        document["eval"] |= {"task_id": run}
        return packed(tmp_path / f"2026-01-0{day}T00-00-00-00-00_vqa_{run}.eval", document)

    lost, done = attempt(1, "error"), attempt(2, "success")
    for given in (tmp_path, [lost, done]):
        reading = read_scores(given)
        assert reading.table.frame.height == 18
        assert f"left out: {lost.name} (error), which inspect retried" in [one.sentence for one in reading.interpreted]
    with pytest.raises(FileUnreadable, match=r"did not finish \(error\); let inspect retry it first"):
        read_scores(lost)
    crashed = tmp_path / "2026-01-03T00-00-00-00-00_vqa_r1.eval"
    with zipfile.ZipFile(crashed, "w") as archive:  # as it is left where nothing could be closed
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {"model": "org/a", "task_id": "r1"}}))
    assert read_scores(tmp_path).table.frame.height == 18
    attempt(4, "cancelled", "r2")
    with pytest.raises(FileUnreadable, match=r"_r2\.eval: its run did not finish \(cancelled\)"):
        read_scores(tmp_path)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({**log([sample("a")]), "status": "error"}, "its run did not finish \\(error\\); let inspect retry it first"),
        ({**log([sample("a")]), "status": "started"}, "its run did not finish"),
        (log([{"id": 1, "epoch": 1, "metadata": {}}]), "holds no scores of cases"),
        (log([]), "holds no scores of cases"),
        (log([sample("a", "fine")]), "sample 'a': scorer 'match' gave 'fine', no number"),
        (log([{"epoch": 1}]), "a sample has no id"),
        ({"columns": ["a", "a"], "data": []}, "a list of different names"),
        ({"columns": ["a", "b"], "data": [[1, 2], [3]]}, "row 2 of 'data' has not the 2 cells"),
        ({"columns": ["a", "b"], "data": []}, "holds no rows"),
        ({"results": {"task": {}}}, "no samples are beside it"),
        ([1, 2], "holds no log of inspect"),
        ({"columns": ["a"], "data": [[{"b": 1}]]}, "holds no rows of numbers and names"),
    ],
)
def test_what_holds_no_scores_is_refused_in_a_sentence(document: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match=why) as refused:
        read_scores(written(tmp_path / "results_x.json", document))
    assert "\n" not in str(refused.value)


def test_an_unknown_way_of_packing_is_named(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.eval", log(cases()))
    content = path.read_bytes().replace(b"\x14\x00\x00\x00\x08\x00", b"\x14\x00\x00\x00\x62\x00")
    path.write_bytes(content)
    with pytest.raises(FileUnreadable, match="packed by method 98, which is not known here"):
        read_scores(path)


def test_zstandard_is_named_where_a_log_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.eval", log(cases()))
    path.write_bytes(path.read_bytes().replace(b"\x14\x00\x00\x00\x08\x00", b"\x14\x00\x00\x00\x5d\x00"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(Misuse, match=r"a\.eval is packed by Zstandard: pip install zstandard, or use Python 3\.14"):
        read_scores(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "samples\\..\\..\\x.json"])
def test_an_archive_that_climbs_out_is_refused(name: str, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.eval", log(cases()), **{name: "{}"})
    with pytest.raises(FileUnreadable, match="points outside the archive"):
        read_scores(path)


def test_an_archive_that_explodes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log([])))
        with archive.open("summaries.json", "w", force_zip64=True) as handle:
            for _ in range(80):
                handle.write(b"[" * (1 << 20))
    with pytest.raises(FileUnreadable, match=r"claims to unpack|larger than 256 MiB"):
        read_scores(path)


def test_broken_archives_and_nesting_are_refused(tmp_path: Path) -> None:
    whole = packed(tmp_path / "a.eval", log(cases())).read_bytes()
    for place, content in enumerate([b"", b"PK", whole[: len(whole) // 2], whole[:60] + bytes(99) + whole[159:]]):
        path = tmp_path / f"broken{place}.eval"
        path.write_bytes(content)
        with pytest.raises(FileUnreadable, match="eval"):
            read_scores(path)
    deep = packed(tmp_path / "deep.eval", log([]), short=False, **{"summaries.json": "[" * 100_000})
    with pytest.raises(FileUnreadable, match="is no JSON"):
        read_scores(deep)


def test_a_log_of_lm_eval_with_two_filters_names_them(tmp_path: Path) -> None:
    lines = [
        {
            "doc_id": n,
            "doc": {"patient": f"p{n % 4}", "text": f"long {n}"},
            "filter": which,
            "exact_match": float(n % 3),
        }
        for which in ("strict", "loose")
        for n in range(12)
    ]
    place = tmp_path / "org__m"
    place.mkdir()
    (place / "samples_gsm_2026-01-02T03-04-05.678.jsonl").write_text("\n".join(map(json.dumps, lines)))
    values = {"exact_match,strict": 0.5, "exact_match_stderr,strict": 0.1, "exact_match,loose": 1, "alias": "gsm"}
    sides = {"gsm": {"exact_match": True}}
    results = {"results": {"gsm": values}, "higher_is_better": sides, "configs": {"gsm": {}}, "model_name": "org/m"}
    (place / "results_2026-01-02T03-04-05.678.json").write_text(json.dumps(results))
    with pytest.raises(Misuse, match=r"2 ways \('exact_match,strict' in sam\S+l, 'exact_match,loose' in samples"):
        read_scores(place)
    reading = read_scores(place, metric="exact_match,loose")
    assert (reading.table.models, reading.unit.column, reading.units) == (["org/m"], "patient", 4)
    assert "text" not in reading.table.strata


def test_a_hundred_megabytes_of_samples_are_read_below_a_gigabyte(tmp_path: Path) -> None:
    filler = "the gallbladder is retracted " * 3_500
    samples = [
        {**sample(f"{n % 40}-{n}", "CI"[n % 2], video_id=f"v{n % 40}"), "messages": filler} for n in range(1_000)
    ]
    path = written(tmp_path / "a.json", log(samples))
    assert path.stat().st_size > 100e6
    program = (
        "import pathlib, re, sys; from surgvalid.schema.tables.table_reading import read_scores; "
        "assert read_scores(sys.argv[1]).table.frame.height == 1000; "
        "print(re.search(r'VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 1e9


def lmms_folder(
    place: Path, model: str = "org/m", task: str = "vqa", *, lines: int = 12, original: int = 12, effective: int = 12
) -> Path:
    """A folder of lmms-eval."""
    folder = place / model.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"doc_id": n, "acc_score": {"score": float(n % 3 > 0), "videoID": f"v{n // 2}"}} for n in range(lines)]
    (folder / f"20260101_000000_samples_{task}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = folder / "20260101_000000_results.json"
    document = json.loads(path.read_text()) if path.exists() else {"model_name": model}
    told = {
        "results": {"acc_score,none": sum(n % 3 > 0 for n in range(lines)) / lines},
        "configs": {"cluster_key": "videoID"},
        "higher_is_better": {"acc_score": True},
        "n-samples": {"original": original, "effective": effective},
    }
    written(path, {**document, **{key: {**document.get(key, {}), task: one} for key, one in told.items()}})
    return folder


def marks(source: Any) -> list[str]:
    return [one.message for one in interval(source).findings if one.code == "run-unfinished"]


def test_half_a_run_of_lmms_eval_is_marked_wherever_its_scores_go(tmp_path: Path) -> None:
    half = lmms_folder(tmp_path, lines=8)
    told = "the run of 'org/m' is not finished: 8 of 12 cases of 'vqa' are in its log"
    assert marks(half) == [told]
    assert marks(next(half.glob("*.jsonl"))) == [told]
    whole = lmms_folder(tmp_path, "org/n")
    assert marks(whole) == []
    assert marks(tmp_path) == [told]
    result = study([half, whole])
    assert [one.message for one in result.findings].count(told) == 1
    assert "is not finished: 8 of 12 cases of" in result.html()
    (tmp_path / "kept").mkdir()
    result.scores.to_dir(tmp_path / "kept")
    assert marks(tmp_path / "kept") == [told]


def test_a_run_with_a_limit_is_marked(tmp_path: Path) -> None:
    part = lmms_folder(tmp_path, lines=8, effective=8)
    assert marks(part) == ["the run of 'org/m' is not finished: 8 of 12 cases of 'vqa' are in its log (its limit)"]
    document = log(cases())
    document["eval"] |= {"task": "phase", "dataset": {"samples": 100}, "config": {"limit": 18}}
    told = "the run of 'org/a' is not finished: 18 of 100 cases of 'phase' are in its log (its limit)"
    assert marks(written(tmp_path / "a.json", document)) == [told]
    del document["eval"]["config"]
    assert marks(written(tmp_path / "b.json", document)) == [told.removesuffix(" (its limit)")]


def test_a_log_that_lost_samples_of_an_epoch_is_marked(tmp_path: Path) -> None:
    document = log(cases() + [{**one, "epoch": 2} for one in cases()[:-2]])
    document["eval"] |= {"task": "phase", "dataset": {"samples": 18}}
    document["results"] |= {"total_samples": 36}
    told = ["the run of 'org/a' is not finished: 34 of 36 samples of 'phase' are in its log"]
    assert marks(written(tmp_path / "a.json", document)) == told


def test_samples_without_results_beside_them_say_that_nothing_counts_them(tmp_path: Path) -> None:
    folder = lmms_folder(tmp_path)
    next(folder.glob("*results*")).unlink()
    sentences = [line.sentence for line in read_scores(folder).interpreted]
    assert "no results beside 20260101_000000_samples_vqa.jsonl: nothing says how many cases were planned" in sentences


def test_a_folder_of_two_tools_is_refused_by_name(tmp_path: Path) -> None:
    lmms_folder(tmp_path)
    packed(tmp_path / "a.eval", log(cases()))
    with pytest.raises(FileUnreadable, match=r"vqa\.jsonl: .* is of lmms-eval or lm-eval and a\.eval of inspect"):
        read_scores(tmp_path)


def test_the_log_of_another_task_is_named(tmp_path: Path) -> None:
    paths = [packed(tmp_path / f"{model}.eval", log(cases(), model)) for model in "ab"]
    other = log([sample(f"x{n}", "CI"[n % 2]) for n in range(9)], "c")
    other["eval"] |= {"task": "popularity"}
    packed(tmp_path / "c.eval", other)
    for given in (tmp_path, [*paths, tmp_path / "c.eval"]):
        with pytest.raises(FileUnreadable, match=r"c\.eval: \(task 'popularity'\) shares no case with a\.eval"):
            read_scores(given)
    for one in other["samples"]:
        one["id"] = "-".join(one["id"].replace("x", "").zfill(2))
    packed(tmp_path / "c.eval", other)
    with pytest.raises(
        FileUnreadable, match=r"c\.eval: \(task 'popularity'\) does not say 'video_id', as a\.eval does"
    ):
        read_scores(tmp_path)


def test_one_task_of_two_names_is_told(tmp_path: Path) -> None:
    """Tasks that number their questions from 1 share names of cases, and may be different questions."""
    paths = [written(tmp_path / "a.json", log(cases(), "a"))]
    other = log(cases(), "b")
    other["eval"] |= {"task": "popularity"}
    said = [line.sentence for line in read_scores([*paths, written(tmp_path / "b.json", other)]).interpreted]
    assert [one for one in said if "tasks 'None', 'popularity' are read as one" in one]
    assert not [line for line in read_scores(paths).interpreted if "are read as one" in line.sentence]


def test_numbers_of_questions_are_no_property_of_them(tmp_path: Path) -> None:
    numbered = [{**one, "metadata": {**one["metadata"], "question_id": 7 * place, "area_px": 31 * place}}
                for place, one in enumerate(cases())]  # fmt: skip
    assert read_scores(written(tmp_path / "a.json", log(numbered))).table.strata == ["centre", "area_px"]


def test_scorers_that_differ_between_logs_are_named_with_their_logs(tmp_path: Path) -> None:
    paths = [written(tmp_path / "a.json", log(cases(), "a"))]
    paths.append(
        written(
            tmp_path / "b.json",
            log([sample(one["id"], 0.5, scorer="judge", **one["metadata"]) for one in cases()], "b"),
        )
    )
    with pytest.raises(
        FileUnreadable, match=r"b\.json: .* is scored by 'judge' and a\.json by 'match'; score them alike"
    ):
        read_scores(paths)


def test_tasks_of_lmms_eval_with_other_clusters_are_named(tmp_path: Path) -> None:
    for model in ("org/m", "org/n"):
        folder = lmms_folder(tmp_path, model)
        lmms_folder(tmp_path, model, "plain")
        rows = [{"doc_id": n, "acc_score": n % 2} for n in range(12)]
        (folder / "20260101_000000_samples_plain.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(FileUnreadable, match=r"samples_plain\.jsonl: \(task 'plain'\) does not say 'videoID', as "):
        read_scores(tmp_path)


def doubts(source: Any) -> list[str]:
    return [one.message for one in interval(source).findings if one.code == "run-doubt"]


def test_samples_that_were_changed_do_not_have_the_mean_of_their_results(tmp_path: Path) -> None:
    folder = lmms_folder(tmp_path)
    assert doubts(folder) == []
    samples = next(folder.glob("*.jsonl"))
    samples.write_text(samples.read_text().replace('"score": 0.0', '"score": 1.0', 1))
    assert len(doubts(folder)) == 1
    assert "say acc_score = 0.666667, its samples have the mean 0.75: samples were changed" in doubts(folder)[0]
    assert all(doubts(shared("data", "bridges", "lmms_eval", name)) == [] for name in ("example-org__alpha-2b",))


def test_samples_of_inspect_that_were_changed_do_not_have_the_mean_that_it_wrote(tmp_path: Path) -> None:
    document = json.loads(EPOCHS.read_text())
    assert doubts(EPOCHS) == [], "epochs are averaged and errors left out before"
    for one in document["samples"][:9]:
        one["scores"] = {"match": {"value": "C"}}
    (doubt,) = doubts(written(tmp_path / "a.json", document))
    assert doubt.startswith("a.json says accuracy = 0.638889, its samples have the mean 0.685185: ")
    document["results"]["scores"][0]["reducer"] = "max"
    assert doubts(written(tmp_path / "a.json", document)) == [], "of another way to put epochs together"


def test_each_part_of_a_score_is_held_against_its_own_mean(tmp_path: Path) -> None:
    samples = [sample(f"{v}-{q}", {"dice": (v + q) / 9, "hd95": float(v)}) for v in range(6) for q in range(3)]
    document = log(samples)
    means = {"dice": sum(one["scores"]["match"]["value"]["dice"] for one in samples) / 18, "hd95": 2.5}
    document["results"]["scores"] = [
        {"name": name, "scorer": "match", "metrics": {"mean": {"value": mean}}} for name, mean in means.items()
    ]
    path = written(tmp_path / "a.json", document)
    told = {name: [f.message for f in interval(path, metric=name).findings if f.code == "run-doubt"] for name in means}
    assert told == {"dice": [], "hd95": []}
    document["results"]["scores"][1]["metrics"]["mean"]["value"] = 2
    found = interval(written(tmp_path / "a.json", document), metric="hd95").findings
    assert [one.message.partition(":")[0] for one in found if one.code == "run-doubt"] == [
        "a.json says hd95 = 2, its samples have the mean 2.5"
    ]


def test_a_declared_cluster_that_samples_lack_is_told(tmp_path: Path) -> None:
    folder = lmms_folder(tmp_path)
    samples = next(folder.glob("*.jsonl"))
    samples.write_text(samples.read_text().replace('"videoID"', '"question_type"'))
    assert len(doubts(folder)) == 1
    assert "'vqa' clusters its standard errors by 'videoID', which its samples lack" in doubts(folder)[0]
    assert "which its samples lack" in study([folder]).html()
