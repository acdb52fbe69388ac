"""What we read and write, by the tools themselves (`make test-bridges`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bridge_tables import bridge_rows, bridge_study
from shared_data import shared
from surgvalid import interval
from surgvalid.bridges import harness_task, hub, inspect_ai, mlflow, wandb
from surgvalid.schema.tables.table_reading import read_scores
from unit.bridges.test_harness_task import own_task


def test_inspect_reads_our_logs_and_finds_our_mean(tmp_path: Path) -> None:
    from inspect_ai.analysis import samples_df
    from inspect_ai.log import read_eval_log

    files = inspect_ai.write(bridge_study(), tmp_path)
    for path, row in zip(files, interval(bridge_rows()).table.sort("model").iter_rows(named=True), strict=True):
        log = read_eval_log(str(path))
        assert log.status == "success"
        assert log.results is not None
        assert log.results.scores[0].metrics["mean"].value == pytest.approx(row["value"], abs=1e-12)
        frame = samples_df(str(path))
        assert frame["score_accuracy"].astype(float).mean() == pytest.approx(row["value"], abs=1e-12)
        assert len(frame) == 32


def test_our_standard_errors_are_those_that_inspect_computes(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import SampleScore, Score, stderr

    for path in inspect_ai.write(bridge_study(), tmp_path):
        log = read_eval_log(str(path))
        scores = [
            SampleScore(score=Score(value=sample.scores["accuracy"].value), sample_metadata=sample.metadata)
            for sample in log.samples or []
            if sample.scores
        ]
        theirs = stderr(cluster="video")(scores)
        assert interval(path).table["sd"][0] == pytest.approx(theirs, abs=1e-9)


def test_the_shared_logs_have_the_clustered_standard_errors_of_inspect() -> None:
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import SampleScore, stderr

    paths = sorted(shared("data", "bridges", "inspect_ai").glob("2026*.eval"))
    for path in paths:
        samples = read_eval_log(str(path)).samples or []
        scores = [
            SampleScore(score=score, sample_metadata=one.metadata)
            for one in samples
            for score in (one.scores or {}).values()
        ]
        grades = {"C": 1.0, "I": 0.0}
        theirs = stderr(to_float=grades.__getitem__, cluster="video_id")(scores)
        assert interval(path).table["sd"][0] == pytest.approx(theirs, abs=1e-9)
    assert len(paths) == 2


def test_a_run_of_inspect_is_read_with_the_errors_it_hides(tmp_path: Path) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as evaluated
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import accuracy, match, stderr
    from inspect_ai.solver import Generate, TaskState, solver

    @solver
    def answer():  # type: ignore[no-untyped-def]
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            number = int(str(state.sample_id).rpartition("q")[2])
            if state.sample_id == "v1q2":
                raise RuntimeError("lost")
            said = "yes" if (number + len(str(state.sample_id)[:2]) + int(str(state.sample_id)[1])) % 3 else "no"
            state.output = ModelOutput.from_content("mockllm/model", said)
            return state

        return solve

    samples = [
        Sample(id=f"v{v}q{q}", input="?", target="yes", metadata={"video_id": f"v{v}", "centre": "AB"[v % 2]})
        for v in range(6)
        for q in range(4)
    ]
    task = Task(dataset=samples, solver=answer(), scorer=match(), metrics=[accuracy(), stderr(cluster="video_id")])
    (log,) = evaluated(task, model="mockllm/m", fail_on_error=False, log_dir=str(tmp_path), display="none")
    result = interval(Path(log.location.removeprefix("file://")))
    assert log.results is not None
    metrics = log.results.scores[0].metrics
    assert result.table["value"][0] == pytest.approx(metrics["accuracy"].value, abs=1e-9)
    assert result.table["cases"][0] == 23
    inspects, ours = standard_errors(Path(log.location.removeprefix("file://")))
    assert inspects == pytest.approx(metrics["stderr"].value, abs=1e-9)
    assert ours == pytest.approx(result.table["sd"][0], abs=1e-9)
    assert inspects != pytest.approx(ours, rel=1e-2), "one video has fewer cases"


def standard_errors(path: Path) -> tuple[float, float]:
    """That of inspect and ours, by the formulas of the page on logs, from the scores that we read."""
    rows = read_scores(path).table.frame.drop_nulls("value")
    held = [part["value"].to_numpy() for part in rows.partition_by("video")]
    mean, videos = rows["value"].mean(), len(held)
    u = np.array([(part - mean).sum() for part in held]) / rows.height
    h = np.array([len(part) for part in held]) / rows.height
    return (
        float(np.sqrt(videos / (videos - 1) * (u**2).sum())),
        float(np.sqrt((videos - 1) / videos * ((u / (1 - h)) ** 2).sum())),
    )


def test_the_hub_parses_our_results_and_datasets_loads_our_rows(tmp_path: Path) -> None:
    import yaml
    from datasets import load_dataset
    from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries

    result = bridge_study()
    hub.write(result, tmp_path / "folder", dataset="org/bench", task="vqa")
    for path in (tmp_path / "folder" / ".eval_results").iterdir():
        data = yaml.safe_load(path.read_text())
        entries = parse_eval_result_entries(data)
        assert eval_result_entries_to_yaml(entries) == data
    rows = load_dataset(str(tmp_path / "folder"), split="test", cache_dir=str(tmp_path / "cache"))
    assert pl.DataFrame(rows.to_list()).equals(result.scores.frame)


def test_a_run_of_wandb_holds_numbers_table_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb as package

    monkeypatch.setenv("WANDB_SILENT", "true")
    run = package.init(mode="offline", dir=str(tmp_path), project="bridge")
    result = bridge_study()
    logged = wandb.write(result, run)
    assert {name: run.summary[name] for name in logged} == logged
    run.finish()
    (table,) = tmp_path.rglob("*.table.json")
    ours = interval(bridge_rows()).table.select("value", "sd")
    assert interval(table).table.select("value", "sd").equals(ours)
    assert list(tmp_path.rglob("*.html"))


def test_a_run_of_mlflow_holds_numbers_table_and_page(tmp_path: Path) -> None:
    package = pytest.importorskip("mlflow", reason="mlflow (850 MB) is not installed; make test-bridges MLFLOW=mlflow")
    client = package.MlflowClient(f"sqlite:///{tmp_path}/store.db")
    experiment = client.create_experiment("bridge", artifact_location=(tmp_path / "artifacts").as_uri())
    run = client.create_run(experiment).info.run_id
    result = bridge_study()
    logged = mlflow.write(result, client, run)
    assert client.get_run(run).data.metrics == pytest.approx(logged)
    (table,) = tmp_path.rglob("scores.json")
    assert interval(table).table.select("value", "sd").equals(interval(bridge_rows()).table.select("value", "sd"))
    assert list(tmp_path.rglob("study.html"))


def test_inspect_runs_a_task_of_ours_on_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai import eval as evaluated
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    folder = harness_task.write(own_task(tmp_path / "own"), tmp_path / "own", tmp_path / "task")
    said = iter(["clip", "nothing", "A clip.", "I see a clip."] * 3)

    def answer(messages, tools, choice, config):  # type: ignore[no-untyped-def]
        assert [part.type for part in messages[0].content] == ["image", "text"]
        output = ModelOutput.from_content("mockllm/model", next(said))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    monkeypatch.chdir(folder)  # inspect finds tasks below the working directory
    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = evaluated("inspect_task.py", model=model, log_dir=str(tmp_path / "logs"), display="none", max_samples=1)
    assert log.status == "success"
    assert log.results is not None
    metrics = log.results.scores[0].metrics
    assert metrics["stderr"].params["cluster"] == "video"
    table = interval(Path(log.location.removeprefix("file://"))).table
    assert table.select("metric", "cases", "videos").row(0) == ("accuracy", 12, 4)
    assert table["value"][0] == pytest.approx(metrics["accuracy"].value, abs=1e-9)
    assert table["sd"][0] == pytest.approx(metrics["stderr"].value, abs=1e-9)


def test_the_shared_folders_have_the_clustered_standard_errors_of_lmms_eval_by_its_formula() -> None:
    metrics = pytest.importorskip(
        "lmms_eval.api.metrics", reason="lmms-eval (with torch, over 200 MB) is not installed"
    )
    folders = sorted(shared("data", "bridges", "lmms_eval").iterdir())
    for folder in folders:
        rows = read_scores(folder).table.frame
        theirs = metrics.clustered_stderr(rows["value"].to_list(), rows["video"].to_list())
        n, off = rows.height, rows.with_columns(u=(pl.col("value") - pl.col("value").mean()) / rows.height)
        whole = off.group_by("video").agg(pl.col("u").sum())["u"].pow(2).sum()
        assert theirs == pytest.approx((whole + off["u"].pow(2).sum() / (n - 1)) ** 0.5, abs=1e-9)
        videos = rows["video"].n_unique()
        ours = interval(folder).table["sd"][0]  # videos are as long as each other here
        assert ours == pytest.approx((whole * videos / (videos - 1)) ** 0.5, abs=1e-9)
    assert len(folders) == 2


def test_lmms_eval_loads_a_task_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = pytest.importorskip("lmms_eval.tasks", reason="lmms-eval (with torch, over 200 MB) is not installed")
    from lmms_eval.api.metrics import clustered_stderr

    folder = harness_task.write(own_task(tmp_path / "own"), tmp_path / "own", tmp_path / "task")
    monkeypatch.chdir(folder)
    loaded = tasks.TaskManager(include_path=str(folder), include_defaults=False).load_task_or_group("clip")["clip"]
    docs = list(loaded.test_docs())
    assert (len(docs), loaded.config.cluster_key) == (12, "video")
    assert loaded.doc_to_text(docs[0]) == "clip or nothing?"
    assert [image.size for image in loaded.doc_to_visual(docs[0])] == [(8, 8)]
    items = [loaded.process_results(doc, ["It is a clip."])["accuracy_score"] for doc in docs]
    assert loaded.aggregation()["accuracy_score"](items) == 0.5
    values, videos = [one["score"] for one in items], [one["video"] for one in items]
    u = [sum(one["score"] - 0.5 for one in items if one["video"] == video) / 12 for video in sorted(set(videos))]
    within = sum((value - 0.5) ** 2 for value in values) / (12**2 * 11)
    told = (sum(one**2 for one in u) + within) ** 0.5  # as the page on logs has it
    assert clustered_stderr(values, videos) == pytest.approx(told, abs=1e-9)
