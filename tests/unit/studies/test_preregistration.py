import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.results.registration import document_of
from surgvalid.studies.preregistration import EXAMPLE, FUNCTIONS

PLAN = """
title = "A against B"
question = "Is A better?"
exclusions = ["conversion to open surgery"]
stopping = "at 8 videos"
sample_size = 8

[[analysis]]
verb = "compare"
model_a = "A"
model_b = "B"
metric = "score"
better = "larger"

[[analysis]]
verb = "rank"
rule = "mean-then-rank"
better = "larger"
replicates = 20

[[analysis]]
verb = "evaluate classification"
metrics = ["accuracy"]
"""
SCORES = pl.DataFrame(
    [
        {"model": model, "case": f"c{v}", "video": f"v{v}", "metric": "score", "value": 0.5 + 0.02 * v + lift}
        for v in range(8)
        for model, lift in (("A", 0.1 + 0.01 * (v % 3)), ("B", 0.0))
    ]
)


@pytest.fixture
def registered(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    surgvalid.preregister(tmp_path / "plan.toml").to_dir(tmp_path / "registration")
    SCORES.write_csv(tmp_path / "scores.csv")
    return tmp_path / "registration" / "registration.json"


def run(*words: object):
    return CliRunner().invoke(build_app(), [str(word) for word in words])


def test_a_run_as_registered_says_so(registered: Path):
    result = surgvalid.compare(SCORES, "A", "B", metric="score", better="larger", preregistration=registered)
    [note] = [one for one in result.findings if one.code == "preregistered"]
    stored = json.loads(registered.read_text())
    assert stored["sha256"][:16] in note.message
    assert result.request.settled["preregistration"]["sha256"] == stored["sha256"]
    assert result.request.settled["preregistration"]["deviations"] == {}


def test_every_silent_difference_is_refused_at_once(registered: Path):
    with pytest.raises(InputInvalid) as caught:
        surgvalid.compare(SCORES, "B", "A", metric="score", better="larger", level=0.9, preregistration=registered)
    assert [problem.split(" is ")[0] for problem in caught.value.problems] == ["model_a", "model_b", "level"]
    assert "0.9, registered was 0.95" in caught.value.problems[2]


def test_a_deviation_with_a_reason_is_a_warning_in_the_result(registered: Path):
    asked = {"metric": "score", "better": "larger", "level": 0.9, "preregistration": registered}
    result = surgvalid.compare(SCORES, "A", "B", deviations={"level": "asked for by a reviewer"}, **asked)
    [warning] = [one for one in result.findings if one.code == "deviation"]
    assert warning.text == (
        "Deviation from registration: level is 0.9, registered was 0.95. Reason given: asked for by a reviewer"
    )
    with pytest.raises(InputInvalid, match="--deviation by: nothing differs there"):
        surgvalid.compare(SCORES, "A", "B", deviations={"level": "x", "by": "y"}, **asked)
    with pytest.raises(Misuse, match="name it with --preregistration"):
        surgvalid.compare(SCORES, "A", "B", better="larger", deviations={"level": "x"})


def test_an_analysis_that_nobody_registered_needs_a_reason_too(registered: Path):
    asked = {"outcome": "value", "fixed": ["x"], "random": ["model"], "preregistration": registered}
    with pytest.raises(InputInvalid, match="failures is not registered"):
        surgvalid.failures(SCORES, **asked)
    videos = [f"v{n // 2}" for n in range(16)]
    frames = {"video": videos, "frame": [0, 1] * 8, "reference": list("ab") * 8, "prediction": list("abaa") * 4}
    result = surgvalid.evaluate(
        "classification", frames, metrics=["accuracy"], preregistration=registered, model="any name"
    )
    assert "preregistered" in [one.code for one in result.findings]


def test_python_and_the_command_line_are_held_to_the_same(registered: Path, tmp_path: Path):
    words = ["rank", tmp_path / "scores.csv", "--rule", "mean-then-rank", "--better", "larger", "--resamples", "20"]
    good = run(*words, "--preregistration", registered, "--out", tmp_path / "out")
    assert good.exit_code == 0, good.output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["settled"]["preregistration"]["title"] == "A against B"
    assert "registration.json" in [entry["file"] for entry in manifest["inputs"]]
    bad = run(*words, "--level", "0.99", "--preregistration", registered)
    assert isinstance(bad.exception, InputInvalid)
    reason = ["--deviation", "alpha=a stricter level was asked for"]
    assert run(*words, "--level", "0.99", "--preregistration", registered, *reason).exit_code == 0
    again = run("tools", "rerun", tmp_path / "out")
    assert again.exit_code == 0, again.output


def held(registered: Path, table: pl.DataFrame, **deviations: str):
    asked = {"metric": "score", "better": "larger", "preregistration": registered}
    return surgvalid.compare(table, "A", "B", **asked, deviations=deviations)


def test_fewer_videos_than_planned_need_a_reason(registered: Path):
    fewer = SCORES.filter(~pl.col("video").is_in(["v6", "v7"]))
    with pytest.raises(InputInvalid, match=r"sample_size is 6, registered was 8; state --deviation sample_size=REASON"):
        held(registered, fewer)
    assert not registered.with_name("looks.json").exists(), "nothing was shown, so nothing was looked at"
    result = held(registered, fewer, sample_size="recruiting ended early")
    assert "sample_size is 6, registered was 8. Reason given: recruiting ended early" in " ".join(result.warnings)


def test_excluded_videos_stand_by_name_with_their_reasons(registered: Path):
    gone = pl.col("video").is_in(["v6", "v7"])
    fewer = SCORES.with_columns(value=pl.when(~gone).then("value"))
    result = held(registered, fewer, v6="conversion to open surgery", v7="the camera failed")
    [warning] = [one.text for one in result.findings if one.code == "deviation"]
    assert warning.endswith("v7 was excluded. Reason given: the camera failed"), "v6 left by a registered criterion"
    [note] = [one.text for one in result.findings if one.code == "preregistered"]
    assert "1 excluded by registered criteria (v6: conversion to open surgery)" in note
    with pytest.raises(InputInvalid, match="--deviation v1: nothing differs there"):
        held(registered, fewer, v6="a", v7="b", v1="is in the table")


def test_cases_changed_after_the_first_look_are_noticed(registered: Path):
    held(registered, SCORES)
    stored = registered.with_name("looks.json").read_text()
    assert "v3" not in stored, "names are hashed"
    other = SCORES.with_columns(pl.col("video", "case").str.replace("3", "9"))
    with pytest.raises(InputInvalid) as caught:
        held(registered, other)
    assert [problem[:38] for problem in caught.value.problems] == [
        "1 videos planned or seen first are not", "1 cases were added to those planned or",
    ]  # fmt: skip
    with pytest.raises(InputInvalid, match="not here"):
        held(registered, other, sample_size="in one word", added="a late one")
    names = {"v3": "consent withdrawn", "added": "a late one", "sample_size": "one more"}
    first, second = (held(registered, *one[:1], **one[1]) for one in ((SCORES, {}), (other, names)))
    looks = [one.request.settled["preregistration"]["first_look"] for one in (first, second)]
    assert looks[0] == looks[1]


def test_patients_without_scores_do_not_count_as_compared(registered: Path):
    blank = SCORES.with_columns(value=pl.when(~pl.col("video").is_in(["v1", "v2", "v3"])).then("value"))
    of_one = SCORES.with_columns(value=pl.when((pl.col("model") != "A") | (pl.col("video") != "v5")).then("value"))
    for scores, count in ((blank, 5), (of_one, 7)):
        with pytest.raises(InputInvalid, match=f"sample_size is {count}, registered was 8"):
            held(registered, scores)
        with pytest.raises(InputInvalid, match=f"sample_size is {count}, registered was 8"):
            ranked(registered, scores)


def ranked(registered: Path, scores: pl.DataFrame, **deviations: str):
    asked = {"rule": "mean-then-rank", "better": "larger", "replicates": 20, "preregistration": registered}
    return surgvalid.rank(scores, **asked, deviations=deviations)


def test_rows_that_no_fit_used_do_not_count(tmp_path: Path):
    path = registered_failures(tmp_path)
    empty = ANSWERS.with_columns(smoke=pl.when(pl.col("video") != "v2").then("smoke"))
    with pytest.raises(InputInvalid, match="sample_size is 7, registered was 8"):
        surgvalid.failures(empty, **ASKED, preregistration=path)


def test_all_verbs_share_one_first_look(registered: Path):
    first = held(registered, SCORES)
    fewer = SCORES.filter(pl.col("video") != "v0")
    with pytest.raises(InputInvalid, match="1 videos planned or seen first are not here"):
        ranked(registered, fewer, sample_size="the second verb")
    other = ranked(registered, fewer, v0="consent withdrawn")
    looks = [one.request.settled["preregistration"] for one in (first, other)]
    assert looks[0]["first_look"] == looks[1]["first_look"]
    assert looks[0]["look"] != looks[1]["look"]


def test_a_verb_that_calls_cases_by_other_names_is_held_to_the_same_videos(registered: Path):
    held(registered, SCORES)
    frames = pl.DataFrame([{"video": f"v{n // 2}", "frame": n % 2, "reference": "ab"[n % 2], "prediction": "a"}
                           for n in range(16)])  # fmt: skip
    asked = {"metrics": ["accuracy"], "preregistration": registered}
    surgvalid.evaluate("classification", frames, **asked)
    with pytest.raises(InputInvalid, match="cases of the first look are missing in 1 videos"):
        surgvalid.evaluate("classification", frames[1:], **asked)
    with pytest.raises(InputInvalid, match="1 videos planned or seen first are not here"):
        surgvalid.evaluate("classification", frames[2:], **asked, deviations={"sample_size": "fewer"})


@pytest.mark.parametrize("change", ["date", "verb", "videos", "deviations", "names", "registration", "salt", "removed"])
def test_a_changed_record_of_runs_is_named(registered: Path, change: str):
    held(registered, SCORES)
    held(registered, SCORES.filter(pl.col("video") != "v0"), v0="consent withdrawn")
    path = registered.with_name("looks.json")
    stored = json.loads(path.read_text())
    if change == "removed":
        del stored["runs"][0]
    elif change in stored:
        stored[change] = "0" * 32
    elif change == "names":
        stored["runs"][0]["names"]["videos"].pop()
    else:
        stored["runs"][1][change] = {} if change == "deviations" else "other"
    path.write_text(json.dumps(stored))
    for look in (
        lambda: held(registered, SCORES),
        lambda: surgvalid.studies.preregistration.registered_runs(registered),
    ):
        with pytest.raises(FileUnreadable, match=r"was changed after it was written|under another registration"):
            look()


def test_names_that_nobody_has_seen_exclude_nothing(registered: Path, tmp_path: Path):
    fewer = SCORES.filter(~pl.col("video").is_in(["v6", "v7"]))
    with pytest.raises(InputInvalid, match="nothing shows that there was a v98") as caught:
        held(registered, fewer, v98="conversion to open surgery", v7="conversion to open surgery")
    assert len(caught.value.problems) == 2
    (tmp_path / "listed.toml").write_text(
        PLAN.replace("sample_size", f"videos = {[f'v{n}' for n in range(8)]}\nsample_size")
    )
    surgvalid.preregister(tmp_path / "listed.toml").to_dir(tmp_path / "listed")
    listed = tmp_path / "listed" / "registration.json"
    with pytest.raises(InputInvalid, match="2 videos planned or seen first are not here"):
        held(listed, fewer, sample_size="fewer")
    held(listed, fewer, v6="conversion to open surgery", v7="conversion to open surgery")


def test_the_page_of_a_registration_lists_the_deviations_of_every_run(registered: Path):
    held(registered, SCORES)
    held(registered, SCORES.filter(pl.col("video") != "v0"), v0="consent withdrawn")
    said = run("plan", "verify", registered.parent)
    assert said.exit_code == 0, said.output
    for text in (said.output, registered.with_name("registration.html").read_text()):
        assert "compare of A, B on 8 videos, 8 cases, as registered." in text
        assert "Deviation: v0 was excluded. Reason given: consent withdrawn" in text


def test_the_report_shows_every_deviation(registered: Path, tmp_path: Path):
    options = {"rule": "mean-then-rank", "better": "larger", "replicates": 50}
    result = surgvalid.rank(
        SCORES, preregistration=registered, deviations={"replicates": "twenty were too few"}, **options
    )
    result.to_dir(tmp_path / "study" / "rank")
    page = surgvalid.make_report(tmp_path / "study").html()
    assert "twenty were too few" in page


def registered_failures(folder: Path, *, without: tuple[str, ...] = ()) -> Path:
    """A registration of a failure analysis, as written when some options did not exist."""
    texts = 'title = "T"\nquestion = "Q?"\nexclusions = ["none"]\nstopping = "at 8 videos"\nsample_size = 8'
    analysis = 'verb = "failures"\noutcome = "right"\nfixed = ["smoke"]\nrandom = ["video"]'
    (folder / "plan.toml").write_text(f"{texts}\n[[analysis]]\n{analysis}")
    surgvalid.preregister(folder / "plan.toml").to_dir(folder / "registration")
    path = folder / "registration" / "registration.json"
    content = json.loads(path.read_text())["content"]
    options = content["analyses"][0]["options"]
    assert set(without) <= set(options)
    content["analyses"][0]["options"] = {name: value for name, value in options.items() if name not in without}
    path.write_text(json.dumps(document_of(content)))
    return path


ANSWERS = pl.DataFrame({"video": [f"v{n // 6}" for n in range(48)], "smoke": [n % 2 for n in range(48)],
                        "right": [int((n * 7) % 5 > n % 2) for n in range(48)]})  # fmt: skip
ASKED = {"outcome": "right", "fixed": ["smoke"], "random": ["video"]}


def test_a_failure_analysis_says_that_it_was_registered_and_how_it_deviates(tmp_path: Path):
    path = registered_failures(tmp_path)
    said = surgvalid.failures(ANSWERS, **ASKED, preregistration=path)
    assert [one.code for one in said.findings].count("preregistered") == 1
    other = surgvalid.failures(
        ANSWERS, **ASKED, level=0.9, preregistration=path, deviations={"level": "a typing error"}
    )
    other.to_dir(tmp_path / "out")
    assert any("Reason given: a typing error" in warning for warning in other.warnings)
    assert "a typing error" in (tmp_path / "out" / "manifest.json").read_text()


def test_a_registration_from_before_an_option_existed_still_holds(tmp_path: Path):
    path = registered_failures(tmp_path, without=("recommend", "improvement", "picture", "strengths", "level"))
    said = surgvalid.failures(ANSWERS, **ASKED, preregistration=path)
    assert "Settings and number of videos are as registered" in " ".join(one.text for one in said.findings)
    with pytest.raises(InputInvalid, match="recommend is true, which was not registered; state --deviation recommend"):
        surgvalid.failures(ANSWERS, **ASKED, recommend=True, preregistration=path)


def test_a_changed_registration_is_refused(registered: Path):
    stored = json.loads(registered.read_text())
    stored["content"]["stopping"] = "whenever it is significant"
    registered.write_text(json.dumps(stored))
    with pytest.raises(FileUnreadable, match="it was changed afterwards"):
        surgvalid.compare(SCORES, "A", "B", better="larger", preregistration=registered)


def test_every_problem_of_a_plan_is_listed(tmp_path: Path):
    (tmp_path / "plan.toml").write_text(
        'title = ""\nquestoin = "x"\nexclusions = "none"\nsample_size = -1\n[[analysis]]\nverb = "compere"\n'
        '[[analysis]]\nverb = "compare"\nmethd = "bca"\n[[analysis]]\nverb = "evaluate phases"\nfsp = 1\n'
    )
    with pytest.raises(InputInvalid) as caught:
        surgvalid.preregister(tmp_path / "plan.toml")
    assert len(caught.value.problems) == 9
    text = str(caught.value)
    assert all(hint in text for hint in ("did you mean 'question'", "'compare'", "'method'", "'fps'"))
    (tmp_path / "plan.toml").write_text("title = ")
    with pytest.raises(FileUnreadable, match="no TOML"):
        surgvalid.preregister(tmp_path / "plan.toml")


def test_a_rule_that_does_not_exist_cannot_be_registered(tmp_path: Path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("mean-then-rank", "mean-then-rnak"), encoding="utf-8")
    with pytest.raises(InputInvalid, match=r"analysis 2 \(rank\): .*mean-then-rank"):
        surgvalid.preregister(plan)


@pytest.mark.parametrize("metrics", ['["phase_accuracy", "accuracy"]', '"accuracy"'])
def test_a_metric_of_another_kind_of_evaluation_cannot_be_registered(metrics: str, tmp_path: Path):
    plan = tmp_path / "plan.toml"
    plan.write_text(f'{PLAN}\n[[analysis]]\nverb = "evaluate phases"\nmetrics = {metrics}\n', encoding="utf-8")
    with pytest.raises(InputInvalid) as caught:
        surgvalid.preregister(plan)
    (problem,) = caught.value.problems
    assert problem.endswith("(evaluate phases): unknown metric 'accuracy'; did you mean 'phase_accuracy'?")


def test_the_example_can_be_registered_and_every_option_is_written_down(tmp_path: Path):
    assert run("plan", "register", "--new", tmp_path / "plan.toml").exit_code == 0
    assert (tmp_path / "plan.toml").read_text() == EXAMPLE
    result = surgvalid.preregister(tmp_path / "plan.toml")
    options = result.table.filter(pl.col("analysis") == 1)
    assert set(options.filter("stated")["option"]) == {"by", "level", "metric", "model_a", "model_b"}
    assert {"method", "estimand", "missing", "seed"} <= set(options["option"])
    assert "conventions" in result.records["registration"]["content"]["metrics"]["phase_accuracy"]


def test_every_registrable_verb_takes_a_registration():
    import inspect

    for function, _ in FUNCTIONS.values():
        assert {"preregistration", "deviations"} <= set(inspect.signature(function).parameters)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_signature_is_made_with_the_users_key_and_noticed_when_it_does_not_fit(tmp_path: Path):
    (tmp_path / "plan.toml").write_text(PLAN)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    done = run("plan", "register", tmp_path / "plan.toml", "--out", tmp_path / "r", "--sign", f"ssh={key}")
    assert done.exit_code == 0, done.output
    checked = run("plan", "verify", tmp_path / "r")
    assert "signed with SSH key SHA256:" in checked.output
    file = tmp_path / "r" / "registration.json"
    file.write_text(file.read_text() + " ")
    with pytest.raises(Misuse, match="its signature does not fit"):
        surgvalid.compare(SCORES, "A", "B", better="larger", preregistration=file)
    refused = run(
        "plan", "register", tmp_path / "plan.toml", "--out", tmp_path / "q", "--sign", f"ssh={tmp_path / 'no'}"
    )
    assert isinstance(refused.exception, Misuse)


@pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not installed")
def test_a_gpg_signature_is_only_called_one_where_its_key_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "plan.toml").write_text(PLAN)
    # A socket of gpg-agent lies in the folder and must have a short path.
    with tempfile.TemporaryDirectory(dir="/tmp") as home, tempfile.TemporaryDirectory(dir="/tmp") as empty:
        monkeypatch.setenv("GNUPGHOME", home)
        monkeypatch.setenv("LANG", "de_DE.UTF-8")
        maker = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "a@example.org"]
        subprocess.run([*maker, "ed25519", "sign", "never"], check=True, capture_output=True)
        asked = ("plan", "register", tmp_path / "plan.toml", "--out", tmp_path / "r", "--sign")
        done = run(*asked, "gpg=a@example.org")
        assert done.exit_code == 0, done.output
        checked = run("plan", "verify", tmp_path / "r")
        assert (checked.exit_code, "signed with GPG key " in checked.output) == (0, True)
        refused = run(*asked, "gpg=nobody@example.org", "--force")
        assert "is written, and not signed" in str(refused.exception)
        assert "not signed" in run("plan", "verify", tmp_path / "r").output
        run(*asked, "gpg=a@example.org", "--force")
        monkeypatch.setenv("GNUPGHOME", empty)
        unknown = run("plan", "verify", tmp_path / "r")
        assert (unknown.exit_code, "signature not checked: its GPG key" in unknown.output) == (1, True)
        monkeypatch.setenv("GNUPGHOME", home)
        file = tmp_path / "r" / "registration.json"
        file.write_text(file.read_text() + " ")
        assert isinstance(run("plan", "verify", tmp_path / "r").exception, Misuse)
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False, capture_output=True)


def test_videos_of_few_patients_are_not_passed_off_as_patients(tmp_path: Path) -> None:
    """Of 12 patients planned there were 6 with two videos each; with --unit video it ran as registered."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'title = "t"\nquestion = "q"\nexclusions = []\nstopping = "at 12"\nsample_size = 12\n'
        '[[analysis]]\nverb = "compare"\nmodel_a = "A"\nmodel_b = "B"\nbetter = "larger"\n'
    )
    surgvalid.preregister(plan).to_dir(tmp_path / "registered")
    rows = [
        {
            "model": model,
            "patient": f"p{v // 2}",
            "video": f"v{v}",
            "case": f"c{v}",
            "dice": 0.02 * v + 0.3 * (model == "A"),
        }
        for v in range(12)
        for model in "AB"
    ]
    asked = {"better": "larger", "columns": {"unit": "video"}, "preregistration": tmp_path / "registered"}
    with pytest.raises(
        InputInvalid, match=r"unit was not registered, and 6 patients \('patient'\) hold these 12 videos"
    ):
        surgvalid.compare(rows, "A", "B", **asked)
    result = surgvalid.compare(rows, "A", "B", **asked, deviations={"unit": "years apart"})
    assert "Reason given: years apart" in " ".join(result.warnings)
    sentences = [line.sentence for line in result.request.interpreted]
    assert "12 videos ('video') are independent" in sentences, "patients do not lie within their videos"


def test_scores_that_changed_since_the_first_look_are_a_deviation(registered: Path):
    held(registered, SCORES)
    shifted = pl.when(pl.col("model") == "A").then(pl.col("value") + 0.5).otherwise("value").alias("value")
    better = SCORES.with_columns(shifted)
    with pytest.raises(
        InputInvalid, match="scores of 8 videos are not those of the first look; state --deviation scores"
    ):
        held(registered, better)
    said = held(registered, better, scores="a wrong file before")
    assert "scores of 8 videos" in " ".join(said.warnings)


def test_fewer_cases_under_other_names_are_noticed(registered: Path):
    several = pl.concat([SCORES.with_columns(case=pl.col("case") + f"-{n}") for n in range(3)])
    held(registered, several)
    renamed = several.filter(~pl.col("case").str.ends_with("-2")).with_columns(case="x" + pl.col("case"))
    with pytest.raises(InputInvalid, match="cases of the first look are missing in 8 videos"):
        held(registered, renamed)


def test_what_a_registration_verified_is_said_and_what_nobody_can_know(registered: Path):
    first = " ".join(one.text for one in held(registered, SCORES).findings)
    assert "it lists none by name. This is the first look kept beside it" in first
    assert "would not show" in first
    assert first == " ".join(one.text for one in held(registered, SCORES).findings), "a repeated run says the same"
    ranked = {"rule": "mean-then-rank", "better": "larger", "replicates": 20, "preregistration": registered}
    second = " ".join(one.text for one in surgvalid.rank(SCORES, **ranked).findings)
    assert "Its videos, cases and scores were held against the first look that is kept beside it, of 20" in second
    registered.with_name("looks.json").unlink()
    assert "This is the first look" in " ".join(one.text for one in held(registered, SCORES).findings)


def said(result) -> str:
    return " ".join(one.text for one in result.findings if one.code == "preregistered")


def test_a_model_that_nobody_saw_before_is_not_said_to_have_been_held_against_anything(registered: Path):
    frames = pl.DataFrame([{"video": f"v{n // 2}", "frame": n % 2, "reference": "ab"[n % 2], "prediction": "a"}
                           for n in range(16)])  # fmt: skip
    asked = {"metrics": ["accuracy"], "preregistration": registered}
    assert "This is the first look" in said(surgvalid.evaluate("classification", frames, model="m1", **asked))
    other = frames.with_columns(prediction="reference")
    text = said(surgvalid.evaluate("classification", other, model="m2", **asked))
    assert "Its videos and cases (not their scores) were held against" in text
    assert "There are no earlier scores of m2 to hold against." in text
    shown = run("plan", "verify", registered).output
    assert "evaluate classification of m1 on 8 videos, 16 cases, as registered" in " ".join(shown.split())
    assert "evaluate classification of m2 on 8 videos" in " ".join(shown.split())


def test_values_are_bound_with_their_cases_and_strata(registered: Path):
    phases = pl.concat(
        [
            SCORES.with_columns(
                case=pl.col("case") + f"-{n}", value=pl.col("value") + n / 50, phase=pl.lit("ab"[n % 2])
            )
            for n in range(4)
        ]
    )
    held(registered, phases)
    exchanged = phases.with_columns(value=pl.col("value").reverse().over("model", "video"))
    with pytest.raises(InputInvalid, match="scores of 8 videos are not those of the first look"):
        held(registered, exchanged)
    relabelled = phases.with_columns(phase=pl.when(pl.col("value") > 0.6).then(pl.lit("a")).otherwise(pl.lit("b")))
    with pytest.raises(InputInvalid, match=r"strata \(phase\) of \d videos are not those of the first look"):
        held(registered, relabelled)
    late = said(held(registered, relabelled, strata="annotated again"))
    assert "This is look 2 under it" in late
    held(registered, phases.with_columns(weather=pl.lit("rain")).sample(fraction=1.0, shuffle=True, seed=1))


def test_later_looks_are_told_as_such(registered: Path):
    few = SCORES.filter(~pl.col("video").is_in(["v6", "v7"]))
    assert "This is the first look" in said(held(registered, few, sample_size="interim"))
    text = said(held(registered, SCORES, added="the last two"))
    assert "This is look 2 under it; earlier: 20" in text
    assert ", compare, 6 videos, sample_size (interim)." in text
    assert text == said(held(registered, SCORES, added="the last two"))


FREE = """
title = "A against B"
question = "Is A better?"
exclusions = ["conversion to open surgery"]
stopping = "at 8 patients"
sample_size = 8
[[analysis]]
verb = "compare"
model_a = "A"
model_b = "B"
better = "larger"
"""
PATIENTS = SCORES.select("model", "case", patient=pl.col("video").str.replace("v", "P"), dice="value")


def free_run(folder: Path, table: pl.DataFrame, **deviations: str):
    if not (folder / "free").exists():
        (folder / "free.toml").write_text(FREE)
        surgvalid.preregister(folder / "free.toml").to_dir(folder / "free")
    asked = {"better": "larger", "preregistration": folder / "free", "deviations": deviations}
    return surgvalid.compare(table, "A", "B", **asked)


def test_a_metric_that_nobody_registered_is_bound_by_the_first_look(tmp_path: Path):
    """Of two columns of scores the first is compared: exchanged, another metric ran as registered."""
    both = PATIENTS.with_columns(nsd=pl.col("dice") * 0.9)
    text = said(free_run(tmp_path, both))
    assert "number of patients are as registered" in text
    assert "It names no metric; this is of dice." in text
    other = both.select(pl.exclude("dice"), "dice")
    with pytest.raises(InputInvalid, match="analysed_metric is nsd, at the first look it was dice; state --deviation"):
        free_run(tmp_path, other)
    with pytest.raises(InputInvalid, match="analysed_metric is iou"):
        free_run(tmp_path, PATIENTS.rename({"dice": "iou"}))
    assert "analysed_metric" in " ".join(free_run(tmp_path, other, analysed_metric="a reviewer asked").warnings)


def test_spellings_and_formats_are_no_deviation(tmp_path: Path):
    free_run(tmp_path, PATIENTS)
    respelled = pl.format("Pat {}", pl.col("patient").str.slice(1).str.zfill(3)).alias("patient")
    for table in (
        PATIENTS.with_columns(respelled),
        PATIENTS.with_columns(pl.col("dice").cast(pl.Float32)),
        PATIENTS.with_columns(pl.col("dice") * 100),
    ):
        assert [one.text for one in free_run(tmp_path, table).findings if one.code == "deviation"] == []
    gone = PATIENTS.filter(pl.col("patient") != "P3")
    with pytest.raises(InputInvalid, match="1 patients planned or seen first are not here"):
        free_run(tmp_path, gone)
    [warning] = free_run(tmp_path, gone, **{"patient 03": "the camera failed"}).warnings[:1]
    assert "patient 03 was excluded. Reason given: the camera failed" in warning
