"""What is written for trackers, inspect and the Hub; the tools themselves read it in tests/bridges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from bridge_tables import HOLES, bridge_rows, bridge_study
from surgvalid import interval, study
from surgvalid.bridges import hub, inspect_ai, mlflow
from surgvalid.errors import WouldOverwrite


class Client:
    """What MLflow's client does, written down."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.tags: dict[str, str] = {}
        self.files: dict[str, Any] = {}

    def log_metric(self, run_id: str, key: str, value: float) -> None:
        self.metrics[key] = value

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self.tags[key] = value

    def log_text(self, run_id: str, text: str, artifact_file: str) -> None:
        self.files[artifact_file] = text

    def log_table(self, run_id: str, data: dict[str, list[Any]], artifact_file: str) -> None:
        self.files[artifact_file] = data


def test_a_run_of_mlflow_gets_numbers_with_both_ends_tags_table_and_page() -> None:
    client, result = Client(), bridge_study()
    logged = mlflow.write(result, client, "run")
    values = {row["model"]: row for row in interval(bridge_rows()).table.iter_rows(named=True)}
    assert logged == client.metrics
    for model, row in values.items():
        name = f"{model.replace('/', '-')}/accuracy"
        ends = [client.metrics[name + end] for end in ("", "_low", "_high")]
        assert ends == pytest.approx([row["value"], row["low"], row["high"]])
    assert (client.tags["surgvalid.unit"], client.tags["surgvalid.units"]) == ("video", "8")
    assert pl.DataFrame(client.files["surgvalid/scores.json"]).equals(result.scores.frame)
    assert client.files["surgvalid/study.html"].startswith("<!")


def test_a_study_of_one_model_has_the_metric_as_its_name() -> None:
    client = Client()
    mlflow.write(study(bridge_rows().filter(pl.col("model") == "org/beta")), client, "run")
    assert set(client.metrics) == {"accuracy", "accuracy_low", "accuracy_high"}


@pytest.mark.parametrize(("hole", "rule"), [*((hole, None) for hole in HOLES), ("a row is absent", "worst")])
def test_what_is_written_gives_the_values_of_the_study_where_a_score_is_not_there(
    hole: str, rule: str | None, tmp_path: Path
) -> None:
    client, result = Client(), study(HOLES[hole], missing=rule)
    ours = dict(result.table.select("model", "value").iter_rows())
    mlflow.write(result, client, "run")
    hub.write(result, tmp_path / "hub", dataset="org/bench", task="vqa")
    logs = inspect_ai.write(result, tmp_path / "logs")
    for source in (
        pl.DataFrame(client.files["surgvalid/scores.json"]),
        tmp_path / "hub" / "data" / "test.parquet",
        logs,
    ):
        assert dict(interval(source).table.select("model", "value").iter_rows()) == ours
    for path in logs:
        document = json.loads(path.read_text())
        values = [sample["scores"]["accuracy"]["value"] for sample in document["samples"]]
        told = document["results"]["scores"][0]["metrics"]["mean"]
        assert told["value"] == pytest.approx(sum(values) / len(values))
        for text in (told["metadata"]["interval"], client.tags["surgvalid.interval"]):
            assert "1 score of 'org/alpha' is not there" in text


def test_a_log_of_inspect_is_read_back_to_the_same_values(tmp_path: Path) -> None:
    files = inspect_ai.write(bridge_study(), tmp_path)
    assert [path.name.partition("_")[2] for path in files] == ["surgvalid_org-alpha.json", "surgvalid_org-beta.json"]
    ours, theirs = (
        interval(source).table.select("model", "value", "low", "high", "sd") for source in (bridge_rows(), files)
    )
    assert theirs.equals(ours.sort("model"))
    document = json.loads(files[0].read_text())
    assert "95% interval" in document["results"]["scores"][0]["metrics"]["mean"]["metadata"]["interval"]
    with pytest.raises(WouldOverwrite, match="org-alpha"):
        inspect_ai.write(bridge_study(), tmp_path)
    assert sorted(inspect_ai.write(bridge_study(), tmp_path, force=True)) == sorted(tmp_path.iterdir())


def test_the_hub_gets_the_interval_in_its_notes_and_the_scores_as_a_data_set(tmp_path: Path) -> None:
    result = bridge_study()
    hub.write(result, tmp_path, dataset="org/bench", task="vqa", url="https://example.org/study.html")
    for row in result.table.iter_rows(named=True):
        (entry,) = yaml.safe_load((tmp_path / ".eval_results" / f"{row['model'].replace('/', '-')}.yaml").read_text())
        assert entry["value"] == row["value"]
        assert entry["dataset"] == {"id": "org/bench", "task_id": "vqa"}
        assert entry["source"]["url"] == "https://example.org/study.html"
        for fact in (f"{row['low']:.6g}", f"{row['high']:.6g}", "95%", "8 videos"):
            assert fact in entry["notes"]
    benchmark = yaml.safe_load((tmp_path / "eval.yaml").read_text())
    assert benchmark["tasks"] == [{"id": "vqa", "config": "default", "split": "test"}]
    card = yaml.safe_load((tmp_path / "README.md").read_text().split("---")[1])
    place = tmp_path / card["configs"][0]["data_files"][0]["path"]
    assert pl.read_parquet(place).equals(result.scores.frame)
    with pytest.raises(WouldOverwrite):
        hub.write(result, tmp_path, dataset="org/bench", task="vqa")
