"""The whole report: templates, what is missing, what is found, and that nothing hostile gets through."""

from __future__ import annotations

import json
import re
import shutil
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

import surgvalid
from report_folder import HOSTILE_NAME, shared_challenge
from small_questions import answers, questions
from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.report import html
from surgvalid.report.chart import Chart
from surgvalid.report.figures import picture
from surgvalid.report.report import Report, make_report
from surgvalid.report.section import Fold, Note, Points, Prose, ReportTable, Section
from surgvalid.report.templates import SECTIONS, TEMPLATES
from surgvalid.results.tables import TABLES
from surgvalid.schema.tables.score_table import read_score_table
from surgvalid.stats.ranking import rank


@pytest.fixture(scope="module")
def challenge() -> Report:
    return make_report(shared_challenge())


@pytest.fixture(scope="module")
def page(challenge: Report) -> str:
    return challenge.html()


def words(section: Section) -> str:
    spoken = [block.text for block in section.blocks if isinstance(block, Prose | Note)]
    points = [point.text for block in section.blocks if isinstance(block, Points) for point in block.points]
    folded = [item for block in section.blocks if isinstance(block, Fold) for item in block.items]
    return " ".join([section.lead, *spoken, *folded, *points])


def asked() -> int:
    """The number of questions in the folder of the challenge."""
    return len(json.loads((shared_challenge() / "requests.json").read_text(encoding="utf-8")))


def named(report: Report, name: str) -> Section:
    return next(section for section in report.sections if section.name == name)


def tables(section: Section) -> dict[str, ReportTable]:
    return {block.name: block for block in section.blocks if isinstance(block, ReportTable)}


def study(path: Path, *, models: tuple[str, ...] = ("a", "b", "c"), videos: int = 6) -> Path:
    rows = [
        (model, f"q{case}", f"v{case % videos}", "smoke" if case % 3 else "clear", ((case * 7 + 3 * number) % 10) / 10)
        for number, model in enumerate(models)
        for case in range(60)
    ]
    pl.DataFrame(rows, schema=["model", "case", "video", "phase", "value"], orient="row").write_csv(path)
    return path


@pytest.mark.long
def test_a_challenge_has_all_its_sections_and_lacks_nothing(challenge: Report) -> None:
    assert challenge.template.name == "challenge"
    assert challenge.missing == []
    assert challenge.title == "endo challenge"
    assert challenge.facts == f"6 models · {asked()} questions · 20 videos"
    names = [section.name for section in challenge.sections]
    assert names[0] == "verdict"
    assert names[-4:] == ["limitations", "methods", "glossary", "reproduction"]
    assert {"board", "buckets", "significance", "answers", "failures", "data"} <= set(names)


def test_every_picture_of_a_challenge_can_be_drawn(challenge: Report) -> None:
    charts = [block for section in challenge.sections for block in section.blocks if isinstance(block, Chart)]
    assert 3 <= len(charts) < 6
    assert len({chart.name for chart in charts}) == len(charts)
    assert "could not be drawn" not in " ".join(words(section) for section in challenge.sections)


def test_a_picture_that_cannot_be_drawn_is_a_sentence() -> None:
    block = picture("board", pl.DataFrame({"board": ["x"], "model": [None], "place": ["first"]}))
    assert isinstance(block, Note)
    assert "'board' could not be drawn" in block.text


def test_the_summary_says_who_leads_and_how_firmly(challenge: Report) -> None:
    text = words(named(challenge, "verdict"))
    assert challenge.facts == f"6 models · {asked()} questions · 20 videos"
    assert "models may be first" in named(challenge, "verdict").lead
    assert not any(word in text.lower() for word in ("for this pair alone", "redraw", "bucket", "odds"))
    assert named(challenge, "verdict").title == "No clear winner on either of the two leaderboards"
    assert {block.name for block in named(challenge, "verdict").blocks if isinstance(block, Points)} == {
        "why", "overturn", "next",
    }  # fmt: skip


def test_the_board_has_the_places_of_the_ranking(challenge: Report) -> None:
    shown = tables(named(challenge, "board"))["places-technical"].frame
    written = pl.read_csv(shared_challenge() / "rank" / "places.csv").filter(pl.col("board") == "technical")
    assert shown["model"].to_list() == written["model"].to_list()
    assert shown["place"].to_list() == written["place"].to_list()


def test_floors_and_margins_stand_beside_the_buckets(challenge: Report) -> None:
    section = named(challenge, "buckets")
    assert {"floors", "margins"} <= set(tables(section))
    assert "do not reach" in words(section) or "does not reach" in words(section)


def test_every_answer_has_one_outcome(challenge: Report) -> None:
    frame = tables(named(challenge, "answers"))["outcomes"].frame
    counts = frame.drop("model", "questions", "not_scored")
    assert counts.sum_horizontal().to_list() == frame["questions"].to_list() == [asked()] * 6


def test_limitations_are_found_without_being_told(challenge: Report) -> None:
    found = " ".join(challenge.limitations)
    assert "Only 20 videos" in found
    assert "Buckets that rest on fewer than 13 videos" in found
    assert "clinical leaderboard 8 of 8 (the smallest: " in found
    assert "input-blind" in found
    assert "single judge (exact)" in found
    assert re.search("final ranks rest on the tie-break alone: (technical leaderboard; )?clinical leaderboard", found)
    assert "because their Copeland scores are equal" in found


def test_methods_are_ready_for_a_paper(challenge: Report) -> None:
    text = words(named(challenge, "methods"))
    assert f"6 models answered {asked()} questions on 20 videos" in text
    assert "sign-flip test by video" in text
    assert "binomial mixed model" in text
    assert "Trivial baselines are" in text
    assert "polars" in text
    assert "Warning:" not in text


@pytest.mark.long
def test_nothing_hostile_gets_through_to_the_page(page: str) -> None:
    assert HOSTILE_NAME not in page
    assert "<img" not in page
    assert page.count("<script") == 2
    assert "&lt;/script&gt;&lt;script&gt;window.hacked=1" in page


def test_the_page_of_a_challenge_stays_small(page: str) -> None:
    assert len(page.encode()) < 1_200_000


@pytest.mark.parametrize("gone", [("rank",), ("failures", "floors"), ("questions", "procedures", "model-0")])
def test_a_missing_part_is_said_to_be_missing(gone: tuple[str, ...], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(shared_challenge(), tmp_path / "c"))
    for name in gone:
        shutil.rmtree(folder / name)
    made = make_report(folder)
    said = " ".join(made.missing)
    verbs = {"rank": "rank", "failures": "analyse failures", "floors": "score baselines"}
    assert [name for name, verb in verbs.items() if f"surgvalid {verb}" in said] == [
        name for name in verbs if name in gone
    ]
    assert made.sections[-1].name == "reproduction"


def test_a_ranking_alone_makes_a_report_that_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copytree(shared_challenge() / "rank", tmp_path / "rank")
    made = make_report(tmp_path)
    assert made.template.name == "challenge"
    assert "surgvalid score" in " ".join(made.missing)
    assert "atlas" in words(named(made, "verdict"))


@pytest.mark.long
def test_any_table_of_a_ranking_may_be_lost_or_empty(tmp_path: Path) -> None:
    whole = shared_challenge() / "rank"
    for number, name in enumerate(name for name, table in TABLES["rank"].items() if table.read and name != "prizes"):
        folder = Path(shutil.copytree(whole, tmp_path / name / "rank"))
        head = (folder / f"{name}.csv").read_text().splitlines()[0]
        if number % 2:
            (folder / f"{name}.csv").unlink()
        else:
            (folder / f"{name}.csv").write_text(head + "\n")
        made = make_report(folder.parent, template="challenge")
        assert "could not be drawn" not in " ".join(words(section) for section in made.sections), name


def test_one_scored_model_gets_the_report_for_one_model(tmp_path: Path) -> None:
    shutil.copytree(shared_challenge() / "model-0", tmp_path / "atlas")
    made = make_report(tmp_path)
    assert made.template.name == "single"
    assert made.facts.startswith(f"1 model · {asked()} questions")
    assert "buckets" in tables(named(made, "buckets"))


def test_any_score_table_makes_a_study(tmp_path: Path) -> None:
    made = make_report(study(tmp_path / "dice.csv"), title="Dice <study>")
    assert made.template.name == "study"
    assert "3 models were scored on 60 cases from 6 videos" in words(named(made, "verdict"))
    assert {"intervals"} == set(tables(named(made, "statistics")))
    assert [block.name for block in named(made, "statistics").blocks if isinstance(block, Chart)] == ["strata-deltas"]
    assert "could not be drawn" not in " ".join(words(section) for section in made.sections)
    (chart,) = [block for block in named(made, "verdict").blocks if isinstance(block, Chart)]
    assert chart.data.height == 3
    assert "Dice &lt;study&gt;" in made.html()


def test_a_study_with_a_generic_ranking_shows_its_tasks(tmp_path: Path) -> None:
    source = study(tmp_path / "dice.csv")
    rank(read_score_table(source), "mean-then-rank", task_column="phase", better="larger", replicates=20).to_dir(
        tmp_path / "rank"
    )
    made = make_report(tmp_path)
    assert made.template.name == "study"
    assert {"consensus", "ranks"} <= set(tables(named(made, "tasks")))
    assert "could not be drawn" not in " ".join(words(section) for section in made.sections)


def test_one_video_gives_words_instead_of_intervals(tmp_path: Path) -> None:
    made = make_report(study(tmp_path / "dice.csv", videos=1))
    assert "could not be computed" in words(named(made, "statistics"))


def test_patients_are_called_so_in_every_section(tmp_path: Path) -> None:
    """The first page counted patients, and the sections below "whole videos as units"."""
    rows = [f"p{p},{m},{0.7 + p % 5 / 50 + 0.03 * (m == 'B'):.3f}" for p in range(14) for m in "AB"]
    (tmp_path / "table.csv").write_text("\n".join(["patient,model,dice", *rows]), encoding="utf-8")
    made = {one.name: one for one in make_report(tmp_path / "table.csv").sections if one.name != "glossary"}
    shown = [block for section in made.values() for block in section.blocks]
    texts = [block.text for block in shown if isinstance(block, Prose | Note)]
    texts += [
        text for block in shown if isinstance(block, ReportTable | Chart) for text in (block.title, block.caption)
    ]
    assert "hardest patients" in " ".join(texts)
    assert not re.search(r"\b[Vv]ideos?\b", " ".join(texts))
    assert {"videos": "patients"}.items() <= next(
        block.labels.items() for block in made["statistics"].blocks if isinstance(block, ReportTable)
    )


def test_a_template_can_be_chosen_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    source = study(tmp_path / "dice.csv")
    for name in TEMPLATES:
        made = make_report(source, template=name)
        assert made.template.name == name
        assert made.sections[0].name == "verdict"
    with pytest.raises(UnknownName, match="did you mean 'study'"):
        make_report(source, template="studdy")


def test_every_section_of_every_template_exists_and_every_section_is_used() -> None:
    assert {name for template in TEMPLATES.values() for name in template.sections} == set(SECTIONS)
    homes = {SECTIONS[name].__module__.removeprefix("surgvalid.report.") for name in SECTIONS}
    folder = Path(import_module("surgvalid.report.sections").__file__ or "").parent
    assert {f"sections.{path.stem}" for path in folder.glob("[a-z]*.py")} <= homes
    for template in TEMPLATES.values():
        assert template.optional <= set(template.sections)


def test_hostile_names_of_columns_conditions_and_files_are_no_problem(tmp_path: Path) -> None:
    evil = '"><script>window.hacked=1</script>'
    frame = pl.read_csv(study(tmp_path / "dice.csv", models=("a", evil, "=1+1")))
    frame = frame.with_columns(phase=pl.col("phase") + evil).rename({"phase": evil})
    path = tmp_path / f"x {evil.replace('/', '_')}.csv"
    frame.write_csv(path)
    text = make_report(path).html()
    assert text.count("<script") == 2
    assert "window.hacked=1&lt;/script&gt;" in text


def test_the_public_name_does_not_hide_the_package() -> None:
    assert surgvalid.make_report is make_report
    assert import_module("surgvalid.report").__name__ == "surgvalid.report"


def test_a_notebook_shows_the_summary(challenge: Report) -> None:
    text = challenge._repr_html_()
    assert "models may be first" in text
    assert "<li>Methods</li>" in text
    assert "<script" not in text
    assert repr(challenge).startswith("Report('endo challenge', challenge: verdict, ")


def test_equal_sections_give_equal_pages_whatever_was_drawn_before(challenge: Report) -> None:
    sections = [named(challenge, "buckets"), named(challenge, "reproduction")]
    assert html.page("t", "k", "f", sections) == html.page("t", "k", "f", sections)


def test_no_clock_and_no_path_of_this_machine_is_in_the_page(page: str) -> None:
    assert str(shared_challenge().parent) not in page
    assert not re.search(r"20[2-9]\d-\d\d-\d\d", page)


def holed_scores(path: Path, **statuses: str) -> Path:
    """A score table of two models in which cases of A have no score, for the reasons given."""
    rows = [
        {"model": model, "video": f"v{n % 4}", "case": f"q{n}", "metric": "correct", "value": float((n + 1) % 2),
         "status": "answered"}
        for model in "AB"
        for n in range(12)
    ]  # fmt: skip
    for row in rows[:12]:
        if status := statuses.get(str(row["case"])):
            row.update(value=None, status=status)
    pl.DataFrame(rows).write_csv(path)
    return path


def test_scores_that_are_left_out_are_said_at_the_top_with_their_status(tmp_path: Path) -> None:
    source = holed_scores(tmp_path / "scores.csv", q0="infrastructure", q2="failed")
    asked = words(named(make_report(source), "verdict"))
    assert "1 score is not there (A: infrastructure: 1); say what to count" in asked
    made = make_report(source, missing=["infrastructure=drop-score"])
    assert "1 score of 'A' is not there (infrastructure: 1): left out" in words(made.sections[0])
    assert "no verdict" not in made.html()
    assert "8.3 % of the answers have no score (" in " ".join(made.limitations)
    whole = make_report(source, missing=["infrastructure=0"])
    assert "left out" not in words(whole.sections[0])
    assert whole.manifest["options"]["missing"] == ["infrastructure=0"]


def test_rules_for_missing_scores_are_obeyed_or_refused(tmp_path: Path) -> None:
    source = holed_scores(tmp_path / "scores.csv", q0="infrastructure")
    with pytest.raises(TableInvalid, match="1 score is not there"):
        make_report(source, missing="error")
    with pytest.raises(Misuse, match="outside the range of 'correct'"):
        make_report(source, missing=7)


def test_no_model_is_called_best_where_nobody_said_which_values_are(tmp_path: Path) -> None:
    rows = [
        {"model": m, "case": f"q{v}", "video": f"v{v}", "value": at + v % 3}
        for m, at in (("A", 2.0), ("B", 5.0))
        for v in range(8)
    ]
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "own.csv")
    page = make_report(tmp_path / "own.csv").html()
    assert "largest first: B" in page
    assert "best first" not in page
    assert "--fixed COLUMN,..." in page


def test_the_folder_of_a_single_comparison_is_shown(tmp_path: Path) -> None:
    table = read_score_table(study(tmp_path / "scores.csv")).directed("larger")
    surgvalid.compare(table, "a", "b").to_dir(tmp_path / "difference")
    made = make_report(tmp_path / "difference")
    assert words(named(made, "verdict")).startswith("No scores are here, but what compare wrote.")
    statistics = named(made, "statistics")
    assert [block.title for block in statistics.blocks if isinstance(block, ReportTable)] == ["Compare"]
    assert [block.name for block in statistics.blocks if isinstance(block, Chart)] == ["compare"]
    assert tables(statistics)["compare"].frame.row(0, named=True)["model_b"] == "b"


@pytest.mark.parametrize("verb", ["dependence", "interval"])
def test_what_any_verb_of_statistics_wrote_is_shown_wherever_it_lies(verb: str, tmp_path: Path) -> None:
    result = getattr(surgvalid, verb)(study(tmp_path / "scores.csv"), better="larger")
    result.to_dir(tmp_path / "all" / "mine")
    shown = tables(named(make_report(tmp_path / "all"), "statistics"))
    assert [table.frame.height for table in shown.values()] == [result.table.height]


def unjudged(folder: Path, **options: object) -> Path:
    """A folder with the scores of a model of whose answers five were never judged."""
    requests, references = questions()
    given = answers("net", requests, references, seed=1)
    surgvalid.score(requests, references, given, model="net", **options).to_dir(folder / "net")
    return folder


def test_scores_that_nobody_judged_give_no_number_before_somebody_decides(tmp_path: Path) -> None:
    undecided = make_report(unjudged(tmp_path))
    assert "not_judged" in words(named(undecided, "verdict"))
    assert "There is no number to judge by" in words(named(undecided, "verdict"))
    assert "intervals" not in tables(named(undecided, "statistics"))
    decided = make_report(tmp_path, missing="not_judged=worst")
    assert "intervals" in tables(named(decided, "statistics"))


def test_the_rule_that_every_scoring_was_given_holds_for_the_page(tmp_path: Path) -> None:
    made = make_report(unjudged(tmp_path, missing="not_judged=worst"))
    value = tables(named(made, "statistics"))["intervals"].frame["value"].item()
    line = pl.read_csv(tmp_path / "net" / "summary.csv").filter(level="overall", estimand="rows")
    assert value == line["accuracy"].item()
