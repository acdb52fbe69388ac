"""The supplement shows what the verbs give, file by file, and says where the data do not carry."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import surgvalid
from small_questions import AXES, MODELS, scored_models
from surgvalid import SupplementResult, results
from surgvalid.cli import build_app
from surgvalid.errors import Misuse
from surgvalid.report.section import Note, Prose
from surgvalid.schema.findings import Severity
from surgvalid.schema.questions.question_files import load_references


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return scored_models(tmp_path_factory.mktemp("scored"))


@pytest.fixture(scope="module")
def made(folders: list[Path]) -> SupplementResult:
    root = folders[0].parent
    return surgvalid.supplement(
        folders, answers=[f"{model}={root / model}.json" for model in MODELS], references=root / "references.json",
        replicates=30, by=["procedure"],
    )  # fmt: skip


def said(result: SupplementResult, section: str) -> str:
    """Every sentence of a section."""
    blocks = next(one for one in result.sections if one.name == section).blocks
    return " ".join(
        block.sentence if isinstance(block, Note) else block.text for block in blocks if isinstance(block, Note | Prose)
    )


@pytest.mark.long
def test_every_table_and_figure_has_a_number_a_title_a_caption_and_a_file(
    made: SupplementResult, tmp_path: Path
) -> None:
    made.to_dir(tmp_path / "out")
    contents = made.tables["contents"]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert set(contents["file"]) | {"contents.csv", "supplement.html", "manifest.json", "r"} == written
    assert (tmp_path / "out" / "r" / "analysis.Rmd").is_file()
    expected = pl.read_csv(tmp_path / "out" / "r" / "data" / "expected.csv")
    assert set(expected["model"]) == set(MODELS)
    assert contents.filter((pl.col("caption") == "") | (pl.col("title") == "")).is_empty()
    page = (tmp_path / "out" / "supplement.html").read_text(encoding="utf-8")
    for number, title in contents.select("number", "title").iter_rows():
        assert f'<span class="no">{number}</span>{title}' in page.replace("&#x27;", "'"), title
    stored = results.read(tmp_path / "out")
    assert set(stored.tables) == set(made.tables)


def test_the_tables_are_those_of_the_verbs(made: SupplementResult, folders: list[Path]) -> None:
    table = [str(folder) for folder in folders]
    found = surgvalid.cooccurrence(table, secondary="secondaries", metric="correct").table
    assert_frame_equal(made.tables["cooccurrence"], found)
    found = surgvalid.dependence(table, metric="correct").influence
    assert_frame_equal(made.tables["influence"], found)
    strata = made.tables["strata"].filter(pl.col("column") == "capability")
    found = surgvalid.strata(table, ["capability"], metric="correct").table
    assert_frame_equal(strata, found)
    pair = surgvalid.compare(table, *MODELS, metric="correct").table.row(0, named=True)
    row = made.tables["differences"].filter(pl.col("group").is_null() & (pl.col("metric") == "correct"))
    assert row.row(0, named=True)["low"] == pair["low"]
    targeted = surgvalid.compare(table, *MODELS, metric="time_error_s").table["difference"].item()
    assert made.tables["differences"].filter(metric="time_error_s")["difference"].item() == targeted


def test_every_axis_of_the_design_is_there(made: SupplementResult) -> None:
    columns = set(made.tables["strata"]["column"])
    assert {"capability", "context", "clinical", "ood", "secondaries", "procedure", *AXES} == columns
    assert {"majority", "weighted", "oracle"} == set(made.tables["ensembles"]["ensemble"])
    assert {"headlines", "videos-all", "differences"} <= set(made.figures)
    assert len({name for name in made.figures if name.startswith("videos-")}) == 6
    drawn = made.figures["videos-all"].data.group_by("model").agg(sd=pl.col("value").std())
    both = drawn.join(made.tables["variability"].filter(pl.col("group").is_null()), on="model", suffix="_described")
    assert both["sd"].to_list() == pytest.approx(both["sd_described"].to_list())


def test_sentences_hold_the_numbers_of_the_tables(made: SupplementResult) -> None:
    best = made.tables["headlines"].filter(pl.col("name") == "mean over buckets").sort("accuracy").row(-1, named=True)
    assert f"{best['accuracy']:.3f} [{best['low']:.3f}, {best['high']:.3f}] ({best['model']})" in said(made, "values")
    assert "not told apart from 0" in said(made, "strata")
    assert "3 videos" in said(made, "strata")
    assert "too narrow with 12 videos" in said(made, "ensembles")


@pytest.mark.long
def test_five_videos_and_one_side_are_said_and_not_hidden(tmp_path: Path) -> None:
    found = surgvalid.supplement(scored_models(tmp_path, videos=5), replicates=20)
    assert "no difference can be shown" in said(found, "data")
    assert "no gap between in and out of distribution" in said(found, "values")
    assert "more videos than effects are needed" in said(found, "adjusted")
    assert "adjusted" not in found.tables
    assert "they do not differ in robustness" in said(found, "data")
    assert found.tables["differences"]["favours"].is_null().all()


def test_one_model_has_no_rank_no_difference_and_no_ensemble(tmp_path: Path) -> None:
    found = surgvalid.supplement(scored_models(tmp_path, models=("moody",)))
    for section in ("ranks", "differences", "ensembles"):
        assert "One model" in said(found, section)
    assert {"places", "differences", "ensembles", "mixed_effects"}.isdisjoint(found.tables)
    assert "strata" in found.tables


@pytest.mark.long
def test_a_model_that_knows_nothing_costs_the_others_no_adjusted_effects(folders: list[Path], tmp_path: Path) -> None:
    root = folders[0].parent
    rows = [{"qID": one.case, "content": "\ud83d", "latency": 1.0} for one in load_references(root / "references.json")]
    (tmp_path / "silent.json").write_text(json.dumps(rows))
    surgvalid.score(
        root / "requests.json", root / "references.json", tmp_path / "silent.json", model="silent 2.5", judges=["exact"]
    ).to_dir(tmp_path / "silent")
    found = surgvalid.supplement(
        [*folders, tmp_path / "silent"], answers=[f"silent 2.5={tmp_path / 'silent.json'}"], replicates=20
    )
    assert set(found.tables["adjusted"].drop_nulls("odds_ratio")["model"]) == set(MODELS)
    assert "silent 2.5" in said(found, "adjusted")


def test_scores_of_an_official_profile_lack_headlines_and_it_is_said(tmp_path: Path) -> None:
    found = surgvalid.supplement(scored_models(tmp_path, profile="orena-focus-0.4.0"), replicates=20)
    assert "official profile" in said(found, "values")
    assert "values" in found.tables


@pytest.mark.long
def test_the_verb_writes_what_can_be_repeated(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[0].parent)
    words = [
        "report",
        "supplement",
        *MODELS,
        "--resamples",
        "20",
        "--out",
        str(tmp_path / "out"),
        "--title",
        "Of <two> models",
    ]
    done = CliRunner().invoke(build_app(), words)
    assert done.exit_code == 0, done.output
    assert "Of &lt;two&gt; models" in (tmp_path / "out" / "supplement.html").read_text(encoding="utf-8")
    again = CliRunner().invoke(build_app(), ["tools", "rerun", str(tmp_path / "out")])
    assert again.exit_code == 0, again.output


def test_what_is_no_scored_model_is_refused(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no folder"):
        surgvalid.supplement([])
    rows = {"model": ["m"], "case": ["c"], "video": ["v"], "metric": ["dsc"], "value": [0.5]}
    pl.DataFrame(rows).write_csv(tmp_path / "table.csv")
    with pytest.raises(Misuse, match="no metric 'correct' but dsc"):
        surgvalid.supplement([tmp_path / "table.csv"])
    with pytest.raises(Misuse, match="write MODEL=FILE"):
        surgvalid.supplement(folders, answers=["nobody=steady.json"])


def answered(root: Path, videos: dict[str, range], **more: object) -> list[Path]:
    """Folders with scores of models on twelve questions in six videos each, beginning where it is said."""
    for place, (model, cases) in enumerate(videos.items()):
        right = [float((case * (7 + place)) % 5 > 1) for case in cases]
        names = {"case": [f"q{case}" for case in cases], "video": [f"v{case // 2}" for case in cases]}
        facts = {"metric": "correct", "value": right, "capability": "duration_estimation", "ood": False}
        (root / model).mkdir()
        pl.DataFrame({"model": model, **names, **facts, **more}).write_parquet(root / model / "scores.parquet")
    return [root / model for model in videos]


def warned(result: SupplementResult) -> dict[str, list[str]]:
    """The warnings by section."""
    held: dict[str, list[str]] = {}
    for one in result.findings:
        if one.severity is Severity.WARNING:
            held.setdefault(one.subject, []).append(one.message)
    return held


def test_models_without_a_case_in_common_do_not_hide_the_other_pairs(tmp_path: Path) -> None:
    folders = answered(tmp_path, {"A": range(12), "B": range(12), "C": range(20, 32)})
    result = surgvalid.supplement(folders, replicates=20, missing="drop-score")
    pairs = result.tables["differences"].select("model_a", "model_b").rows()
    assert pairs == [("A", "B")]
    lost = [text for text in warned(result)["Differences between models"] if "not compared" in text]
    assert [text[:7] for text in lost] == ["A and C", "B and C"]
    assert all("no case was scored" in text for text in lost)


def test_scores_that_forbid_a_section_are_a_warning_with_every_problem(tmp_path: Path) -> None:
    folders = answered(tmp_path, {"A": range(12), "B": range(12)}, capability="no such one")
    ranks = warned(surgvalid.supplement(folders, replicates=20))["Variability of ranks"]
    assert len(ranks) == 1
    assert ranks[0].startswith("Not given: ")
    assert "'no such one'" in ranks[0]
    assert len(ranks[0]) > 400
    assert not ranks[0].endswith("…")
