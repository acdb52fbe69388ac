import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.errors import InputInvalid, Misuse, TooFewVideos, UnknownName

STATED = {"sd": 0.4, "icc": 0.1, "questions": [20], "simulations": 200}


def pilot(videos: int = 12, questions: int = 8, gap: float = 0.06, seed: int = 1, models: int = 2) -> pl.DataFrame:
    """Real scores of models, a step apart, on the same questions; half of the videos have a rare phase."""
    rng = np.random.default_rng(seed)
    rows = []
    for video in range(videos):
        ease, own = rng.normal(0.6, 0.1), rng.normal(0, 0.08, models)
        for case in range(questions):
            for model in range(models):
                value = ease - gap * model + own[model] + rng.normal(0, 0.1)
                rows.append(
                    {"model": f"m{model}", "case": f"{video}-{case}", "video": f"v{video}", "value": value,
                     "metric": "score", "phase": "rare" if video % 2 and case < 3 else "usual",
                     "capability": "object_recognition" if case % 2 else "temporal_grounding", "ood": case > 3}
                )  # fmt: skip
    return pl.DataFrame(rows)


PILOT = pilot()


def test_the_difference_that_a_pilot_happened_to_show_is_no_goal():
    with pytest.raises(InputInvalid, match="name a goal"):
        surgvalid.plan(PILOT, models=["m0", "m1"], better="larger")
    stated = surgvalid.plan(PILOT, models=["m0", "m1"], better="larger", simulations=200, difference=0.05)
    row = stated.table.row(0, named=True)
    assert row["low"] < row["videos"] < row["high"]


def test_a_margin_is_planned_for_as_it_is_tested():
    """Equal models not worse by more than M, and D beyond M, take as many videos as finding M, and D - M."""
    found = surgvalid.plan(difference=0.05, **STATED)
    not_worse, beyond = surgvalid.plan(margin=0.05, **STATED), surgvalid.plan(margin=0.02, difference=0.07, **STATED)
    assert found.videos == not_worse.videos == beyond.videos
    assert "not worse by more than 0.05, where both are equal" in not_worse.verdict[0]
    assert "a true difference of 0.07 exceeds 0.02" in beyond.verdict[0]
    with pytest.raises(InputInvalid, match="does not exceed --margin"):
        surgvalid.plan(margin=0.1, difference=0.05, **STATED)


def test_every_sentence_of_a_plan_has_its_grounds():
    asked = {**STATED, "cost_video": 100.0, "cost_question": 1.0}
    result = surgvalid.plan(difference=0.05, why=True, **asked)
    why = result.as_dict()["why"]
    assert [row["sentence"] for row in why] == list(result.verdict)
    assert all(row["rule"] and row["numbers"] and row["source"] for row in why)
    assert "Why" in result.screen()


def test_a_pilot_without_a_known_unit_is_asked_about():
    rows = {"image": [f"{i}.png" for i in range(40)] * 2, "model": ["A"] * 40 + ["B"] * 40,
            "dice": np.random.default_rng(1).uniform(0.5, 0.9, 80)}  # fmt: skip
    with pytest.raises(Misuse, match=r"how many patients these 40 images.*--unit"):
        surgvalid.plan(rows, difference=0.05)


def test_a_plan_speaks_of_the_units_of_its_pilot():
    rng = np.random.default_rng(1)
    rows = {"patient": [f"p{i}" for i in range(12)], "A": rng.uniform(0.5, 0.9, 12), "B": rng.uniform(0.5, 0.9, 12)}
    spoken = surgvalid.plan(rows, metric="dice", difference=0.2, simulations=200).verdict
    assert "patients" in spoken[0]
    assert not any("video" in sentence for sentence in spoken)


def test_more_questions_per_video_save_less_and_less():
    result = surgvalid.plan(difference=0.05, **STATED)
    sizes = result.table.sort("questions")
    saved = -np.diff(sizes["videos"].to_numpy())
    assert (np.diff(saved[1:]) <= 0).all()
    assert sizes["design_effect"].is_sorted()
    trade = result.tables["trade"]
    assert trade.filter(pl.col("videos") == trade["videos"].max())["reach"].min() < 0.05


def test_a_width_is_reached_as_often_as_asked_for():
    result = surgvalid.plan(width=0.1, value=0.7, sd=0.458, icc=0.1, questions=[20], simulations=400)
    row = result.table.row(0, named=True)
    assert row["simulated"] > 0.8 - 3 * row["simulated_error"]
    assert "no wider than 0.1" in result.verdict[0]


def test_coarse_scores_of_single_questions_take_more_videos_than_the_closed_form_says():
    """One 0/1 question per video: the test is an exact McNemar test, whose steps cost power."""
    rng = np.random.default_rng(0)
    right = rng.random((60, 2)) < np.array([0.9, 0.75])
    rows = [
        {"model": "AB"[m], "case": f"c{v}", "video": f"v{v}", "value": float(right[v, m]), "metric": "correct"}
        for v in range(60)
        for m in range(2)
    ]
    result = surgvalid.plan(pl.DataFrame(rows), models=["A", "B"], difference=0.2, simulations=400)
    codes = [one.code for one in result.findings]
    assert "questions-unplanned" in codes
    assert "trade" not in result.tables


def test_a_subgroup_takes_as_many_videos_as_hold_it():
    result = surgvalid.plan(
        PILOT, models=["m0", "m1"], difference=0.08, subgroup="phase=rare", better="larger", simulations=200
    )
    row = result.table.row(0, named=True)
    assert row["videos"] > 1.7 * row["subgroup_videos"]
    assert "or more then hold the subgroup phase=rare with 80% certainty" in result.verdict[0]
    assert result.tables["components"]["share"][0] == 0.5
    stated = surgvalid.plan(difference=0.05, share=0.25, **STATED)
    assert stated.videos > 3.5 * stated.table["subgroup_videos"][0]


def test_costs_choose_between_videos_and_questions():
    dear = surgvalid.plan(difference=0.05, cost_video=1000, cost_question=1, **STATED)
    cheap = surgvalid.plan(difference=0.05, cost_video=10, cost_question=10, **STATED)
    best = [int(re.search(r"looked at, (\d+) question", one.verdict[-1])[1]) for one in (dear, cheap)]
    assert best[0] > best[1]


def test_an_order_from_a_pilot_has_a_range():
    result = surgvalid.plan(
        pilot(videos=12, gap=0.15, models=3), order=True, better="larger", simulations=100, videos=[10, 40]
    )
    assert result.table["goal"].to_list() == ["first", "order"]
    curve = result.tables["curve"]
    assert (curve["low"] <= curve["high"]).all()


def test_every_problem_of_a_request_is_listed():
    with pytest.raises(InputInvalid) as caught:
        surgvalid.plan(width=-1, difference=0.1, icc=2, power=1.5, questions=[0], share=0.0, tests=0, simulations=3)
    assert len(caught.value.problems) == 10
    with pytest.raises(InputInvalid, match="name a goal"):
        surgvalid.plan(**STATED)
    with pytest.raises(InputInvalid, match=r"--assume icc: state"):
        surgvalid.plan(width=0.1, sd=0.3, questions=[5])
    with pytest.raises(InputInvalid, match="not both"):
        surgvalid.plan(PILOT, difference=0.1, sd=0.3, icc=0.1, questions=[5])


def test_names_that_the_pilot_does_not_have_are_refused():
    with pytest.raises(UnknownName, match="unknown model 'mO'"):
        surgvalid.plan(PILOT, models=["mO", "m1"], difference=0.1, better="larger")
    with pytest.raises(UnknownName, match="value of 'phase'"):
        surgvalid.plan(PILOT, width=0.1, subgroup="phase=end", better="larger")
    with pytest.raises(InputInvalid, match="which has 3"):
        surgvalid.plan(pilot(models=3), difference=0.1, better="larger")


def test_a_pilot_that_shows_nothing_is_refused():
    flat = PILOT.with_columns(value=pl.lit(0.5))
    with pytest.raises(Misuse, match=r"no variation|do not show"):
        surgvalid.plan(flat, models=["m0", "m1"], difference=0.1, better="larger")


def test_a_pilot_of_no_difference_reaches_no_goal():
    frame = PILOT.with_columns(value=pl.when(pl.col("model") == "m1").then(pl.col("value")).otherwise(pl.col("value")))
    result = surgvalid.plan(frame, models=["m0", "m1"], difference=1e-7, better="larger", simulations=100)
    assert result.videos is None
    assert "out-of-reach" in [one.code for one in result.findings]
    assert result.verdict[0].startswith("No number of videos")


def test_the_page_shows_both_pictures(tmp_path: Path):
    surgvalid.plan(difference=0.05, **STATED).to_dir(tmp_path / "plan")
    page = (tmp_path / "plan" / "plan.html").read_text(encoding="utf-8")
    assert "More videos against more frames" in page
    assert "What more videos bring" in page


def test_one_number_of_questions_needs_no_list():
    options = {"difference": 0.05, "sd": 0.4, "icc": 0.1, "simulations": 100}
    assert surgvalid.plan(questions=10, **options).videos == surgvalid.plan(questions=[10], **options).videos


def test_a_pilot_of_one_video_is_answered_with_what_plan_has():
    rows = {
        "model": ["A", "B"] * 3,
        "case": list("aabbcc"),
        "video": ["v"] * 6,
        "value": [0.5, 0.6, 0.4, 0.7, 0.5, 0.4],
    }
    with pytest.raises(TooFewVideos, match="--assume sd=") as caught:
        surgvalid.plan(rows, difference=0.1, better="larger")
    assert "--resample" not in str(caught.value)


@pytest.mark.parametrize("goal", ["difference", "width", "margin"])
def test_percent_points_of_a_share_are_asked_for_in_its_own_unit(goal: str):
    rows = {
        "patient": [f"p{n}" for n in range(12)],
        "A": [0.5 + n / 40 for n in range(12)],
        "B": [0.6 + n / 50 for n in range(12)],
    }
    with pytest.raises(
        Misuse, match=rf"--{goal} 5: 'dice' lies between 0 and 1; percent points are hundredths there .--{goal} 0.05."
    ):
        surgvalid.plan(rows, **{goal: 5}, metric="dice")
    percent = {name: [100 * one for one in values] if name != "patient" else values for name, values in rows.items()}
    assert surgvalid.plan(percent, **{goal: 5}, metric="dice", simulations=100).title  # as the scores are written
    assert surgvalid.plan(rows, **{goal: 0.05}, metric="dice", simulations=100).title
    assert surgvalid.plan(percent, **{goal: 5}, metric="hd95", simulations=100).title


def organs(models: str = "AB") -> pl.DataFrame:
    """14 patients of two centres with three organs each."""
    rng = np.random.default_rng(3)
    rows = [
        {"patient": f"p{p:02}", "centre": "north" if p < 7 else "south", "organ": organ, "model": model,
         "dice": 0.8 + 0.03 * (model == "B") * (1 if p < 7 else -1) + float(rng.normal(0, 0.01))}
        for p in range(14) for organ in ("liver", "duct", "artery") for model in models
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_organs_of_a_pilot_are_no_questions_of_which_a_study_has_more() -> None:
    result = surgvalid.plan(organs(), difference=0.02, simulations=100)
    assert "with 3 values of 'organ' each" in result.verdict[0]
    assert "questions" not in " ".join(result.verdict)
    alone = organs().group_by("patient", "centre", "model", maintain_order=True).agg(pl.col("dice").mean())
    assert result.videos == surgvalid.plan(alone, difference=0.02, simulations=100).videos


def test_what_the_verdict_on_a_pilot_says_of_centres_and_missing_scores_is_told() -> None:
    lacking = organs().filter(~((pl.col("model") == "B") & pl.col("patient").is_in(["p00", "p01", "p07", "p13"])))
    told = " ".join(one.text for one in surgvalid.plan(lacking, difference=0.02, simulations=100).findings)
    assert "10 of the 14 patients of the pilot have scores of both models" in told
    assert "1.4 times as many" in told
    assert "depends on centre" in " ".join(
        one.text for one in surgvalid.plan(organs(), difference=0.02, simulations=100).findings
    )


def test_the_order_of_rows_gives_a_plan_no_direction() -> None:
    tables = (organs(), organs().reverse())
    first, second = (surgvalid.plan(table, margin=0.02, simulations=100) for table in tables)
    assert first.verdict == second.verdict
    assert "one of A and B is not worse than the other" in first.verdict[0]


def test_rows_of_a_metric_that_is_none_of_answers_are_called_cases() -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"patient": f"p{patient}", "frame": frame, "model": model, "dice": 0.7 + patient / 100 + rng.normal(0, 0.05)}
        for patient in range(8)
        for frame in range(6)
        for model in "AB"
    ]
    said = " ".join(surgvalid.plan(pl.DataFrame(rows), difference=0.05, simulations=100).verdict)
    assert "patients with 6 cases each" in said
    assert "question" not in said
