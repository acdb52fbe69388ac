"""Sections that a simulated challenge does not show: evaluations, rehearsals, files of the statistics verbs, fits."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from mixed_data import nested_table
from report_folder import HOSTILE_NAME, shared_challenge
from surgvalid.evaluation.run import evaluate
from surgvalid.report import figures as _pictures
from surgvalid.report.chart import Chart
from surgvalid.report.inputs import read_inputs
from surgvalid.report.report import make_report
from surgvalid.report.section import Note, Prose, ReportTable, Section
from surgvalid.report.sections import data, evaluation, failures, latency, ranking, statistics
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.reading import StoredResult
from surgvalid.results.request import VerbRequest
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.mixed.failures import failures as analyse


def words(section: Section) -> str:
    return " ".join(block.text for block in section.blocks if isinstance(block, Prose | Note))


def charts(section: Section) -> list[str]:
    return [block.name for block in section.blocks if isinstance(block, Chart)]


def test_an_evaluated_model_shows_its_metrics(tmp_path: Path) -> None:
    rows = [(f"v{v}", f, "ab"[f % 2], "ab"[(f + (f <= v)) % 2]) for v in range(4) for f in range(10)]
    frame = pl.DataFrame(rows, schema=["video", "frame", "reference", "prediction"], orient="row")
    frame.write_csv(tmp_path / "both.csv")
    evaluate("classification", tmp_path / "both.csv", model=HOSTILE_NAME, replicates=20).to_dir(tmp_path / "net")
    made = make_report(tmp_path)
    assert made.template.name == "single"
    section = evaluation.section(made.inputs)
    assert charts(section) == ["metric-intervals"]
    assert "metrics" in [block.name for block in section.blocks if isinstance(block, ReportTable)]
    assert HOSTILE_NAME not in made.html()


def rehearsal(folder: Path, *lines: str) -> Section:
    folder.mkdir()
    write_manifest(folder / MANIFEST, manifest_of(VerbRequest("rehearse", {})))
    (folder / "answers.jsonl").write_text("".join(line + "\n" for line in lines))
    (folder / "events.jsonl").write_text("")
    return latency.section(read_inputs(folder))


def test_a_broken_rehearsal_is_a_sentence(tmp_path: Path) -> None:
    assert "cannot be read (FileUnreadable)" in words(rehearsal(tmp_path / "a", "no record"))
    assert "has no outcome" in words(rehearsal(tmp_path / "b"))


def test_results_of_statistics_verbs_are_drawn_with_their_words(tmp_path: Path) -> None:
    rows = [(m, f"q{q}", f"v{q % 6}", float((q * (3 + i)) % 5 > 1)) for i, m in enumerate("ab") for q in range(60)]
    table = pl.DataFrame(rows, schema=["model", "case", "video", "value"], orient="row")
    result = compare(table, "a", "b", better="larger", replicates=50)
    result.to_file(tmp_path / "pair.csv")
    manifest = manifest_of(VerbRequest("compare"), prose=result.prose)
    (tmp_path / "pair.manifest.json").write_text(json.dumps(manifest))
    section = statistics.section(read_inputs(tmp_path))
    assert charts(section) == ["compare-pair-csv"]
    assert result.prose in words(section)


def test_a_fit_leaves_what_its_pictures_are_drawn_from(tmp_path: Path) -> None:
    random = ["algorithm", "patient", "image", "instance"]
    found = analyse(nested_table(), outcome="correct", fixed=["smoke", "size"], random=random)
    found.to_dir(tmp_path / "fit")
    section = failures.section(read_inputs(tmp_path))
    assert set(charts(section)) == {"effects-forest"}
    assert {block.name for block in section.blocks if isinstance(block, ReportTable)} == {"effects"}
    assert "Residuals against data simulated from the model: uniformity p" in words(section)


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"counts": "many"},
        {"counts": [{"questions": 3, "split": ["a"]}], "videos": [1, 2], "defects": {"a": 1}},
        {
            "counts": [{"questions": 3}],
            "classes": [{"class": HOSTILE_NAME, "videos": 10**30}],
            "defects": [HOSTILE_NAME],
        },
    ],
)
def test_a_data_card_of_any_shape_does_no_harm(card: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "data_card.json").write_text(json.dumps(card))
    write_manifest(tmp_path / MANIFEST, manifest_of(VerbRequest("questions", {})))
    assert data.section(read_inputs(tmp_path)).name == "data"


ODD = (None, 5, [1, None], {"a": {"b": [1]}})


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: json.dumps(odd))
@pytest.mark.long
def test_documents_with_odd_values_do_no_harm(odd: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value of every document is replaced; what is drawn is not the point, so nothing is."""
    monkeypatch.setattr(_pictures, "CHARTS", defaultdict(lambda: lambda *_, **__: Note("picture", "hint")))
    whole = shared_challenge()
    for name in ("rank", "failures", "questions", "floors", "model-0"):
        shutil.copytree(whole / name, tmp_path / name, ignore=shutil.ignore_patterns("scores.parquet", "test"))
    for path in tmp_path.glob("*/*.json"):
        document = json.loads(path.read_text())
        changed = dict.fromkeys(document, odd)
        kept = {"verb": document["verb"]} if path.name == "manifest.json" else {}
        inner = {key: dict.fromkeys(value, odd) for key, value in document.items() if isinstance(value, dict)}
        for number, version in enumerate((changed, document | inner)):
            path.write_text(json.dumps(version | kept))
            assert make_report(tmp_path, template="challenge").sections, (path.name, number)
        path.write_text(json.dumps(document))
    verdicts = tmp_path / "model-0" / "verdicts.jsonl"
    verdicts.write_text(json.dumps(dict.fromkeys(("judge", "qID", "reference", "candidate", "verdict"), odd)) + "\n")
    assert make_report(tmp_path, template="challenge").sections


def test_confidences_of_an_evaluated_model_become_a_reliability_curve(tmp_path: Path) -> None:
    rows = [(f"v{v}", f, "ab"[f % 2], 0.1 + 0.08 * ((v + f) % 10)) for v in range(4) for f in range(20)]
    frame = pl.DataFrame(rows, schema=["video", "frame", "reference", "score:a"], orient="row")
    frame.with_columns((1 - pl.col("score:a")).alias("score:b")).write_csv(tmp_path / "both.csv")
    evaluate("classification", tmp_path / "both.csv", model="net", metrics=["ece"], replicates=20).to_dir(
        tmp_path / "net"
    )
    section = evaluation.section(read_inputs(tmp_path))
    [curve] = [block for block in section.blocks if isinstance(block, Chart) and block.name == "calibration"]
    assert curve.data["cases"].sum() == 80


def test_residuals_against_simulated_data_come_with_their_tests(tmp_path: Path) -> None:
    found = analyse(nested_table(), outcome="correct", fixed=["smoke"], random=["algorithm", "patient"])
    found.to_dir(tmp_path / "fit")
    [part] = read_inputs(tmp_path).of("failures")
    tests = dict(part.frame("residual_tests").rows())
    assert {"uniformity_p", "dispersion", "outlier_p"} <= set(tests)
    assert part.frame("residuals")["residual"].is_between(0, 1).all()


def test_a_map_of_pairs_is_drawn_only_where_something_is_significant() -> None:
    buckets = {"board": ["x", "x"], "capability": ["a", "b"], "ood": [False, True]}
    pairs = pl.DataFrame(
        {**buckets, "model_a": ["A", "A"], "model_b": ["B", "B"], "difference": [0.1, 0.2], "p_adjusted": [0.2, 0.3]}
    )
    for significant in ([False, None], [True, False]):
        table = pairs.with_columns(significant=pl.Series(significant, dtype=pl.Boolean))
        stored = StoredResult(kind="rank", tables={"pairs": table}, records={}, request=VerbRequest("rank"))
        drawn = [block for block in ranking._significance_of(stored, "x") if isinstance(block, Chart)]
        assert len(drawn) == any(significant)
