"""The evaluation method for grand-challenge: both forms of jobs, what participants read, the leaderboard."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bridge_tables import bridge_rows
from shared_data import shared
from surgvalid import compare, interval, rank
from surgvalid.bridges import grand_challenge
from surgvalid.bridges.method import MethodSettings, evaluate, in_a_line, predictions
from surgvalid.errors import FileUnreadable, Misuse, UnknownName, WouldOverwrite

CASES = [
    (f"v{v}-q{q}", f"v{v}", "AB"[v % 2], "yes" if (v * 3 + q * 2) % 5 > 1 else "no")
    for v in range(12)
    for q in range(3)
]


def answered(case: str, right: str) -> str:
    return right if hash_of(case) % 4 else "no" if right == "yes" else "yes"


def hash_of(text: str) -> int:
    return sum(map(ord, text)) * 7


def job(place: int, case: str, word: str = "socket", *, image: bool = False) -> dict[str, Any]:
    named = {"value": None, "image": {"name": case}} if image else {"value": case, "image": None}
    return {
        "pk": f"00000000-0000-0000-0000-{place:012d}",
        "inputs": [{word: {"slug": "case-name", "relative_path": "case-name.json"}, **named}],
        "outputs": [{word: {"slug": "answer", "relative_path": "answer.json"}, "value": None, "image": None}],
        "status": "Succeeded",
    }


def pack(folder: Path, *, baselines: bool = True, per_case: bool = False) -> Path:
    grand_challenge.new(folder)
    references = "".join(f"{case},{video},{centre},{right}\n" for case, video, centre, right in CASES)
    (folder / "ground_truth" / "references.csv").write_text("case,video,centre,reference\n" + references)
    rows = "".join(f"prior,{case},{int(right == 'yes')}\n" for case, _, _, right in CASES)
    place = folder / "ground_truth" / "baselines.csv"
    place.write_text("model,case,value\n" + rows) if baselines else place.unlink()
    settings = (folder / "evaluate.toml").read_text()
    (folder / "evaluate.toml").write_text(settings.replace("per_case = false", f"per_case = {str(per_case).lower()}"))
    return folder


def mounted(folder: Path, *, word: str = "socket", image: bool = False, seed: int = 0) -> Path:
    jobs = [job(place, case, word, image=image) for place, (case, *_) in enumerate(CASES)]
    for one, (case, _, _, right) in zip(jobs, CASES, strict=True):
        place = folder / one["pk"] / "output"
        place.mkdir(parents=True)
        (place / "answer.json").write_text(json.dumps(answered(case, right)))
    random.Random(seed).shuffle(jobs)
    (folder / "predictions.json").write_text(json.dumps(jobs))
    return folder


def run(tmp_path: Path, **how: Any) -> dict[str, Any]:
    place = tmp_path / str(sum(1 for _ in tmp_path.iterdir()))
    out = place / "out"
    out.mkdir(parents=True)
    made = pack(place / "pack", per_case=how.pop("per_case", False))
    evaluate(made, given=mounted(place / "in", **how), out=out, truth=made / "ground_truth")
    return {path.name: path.read_text() for path in out.iterdir()}


def expected() -> pl.DataFrame:
    fixed = {"model": "m", "metric": "accuracy"}
    rows = [
        {**fixed, "case": case, "video": video, "centre": centre, "value": float(answered(case, right) == right)}
        for case, video, centre, right in CASES
    ]
    return pl.DataFrame(rows)


def test_both_forms_of_jobs_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [{}, {"seed": 5}, {"word": "interface"}, {"image": True}]
    made = [run(tmp_path, **way)["metrics.json"] for way in ways]
    assert len(set(made)) == 1


def test_the_numbers_are_those_of_interval_and_compare(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path)["metrics.json"])
    ours = interval(expected()).table.row(0, named=True)
    assert [told[key] for key in ("value", "low", "high")] == pytest.approx([ours[k] for k in ("value", "low", "high")])
    assert (told["cases"], told["videos"]) == (36, 12)
    prior = expected().with_columns(model=pl.lit("prior"), value=pl.Series([float(r == "yes") for *_, r in CASES]))
    row = compare(pl.concat([expected(), prior]), "m", "prior").table.row(0, named=True)
    assert told["baselines"]["prior"]["difference"] == pytest.approx(row["difference"])
    assert told["baselines"]["prior"]["low"] == pytest.approx(row["low"])
    assert set(told["strata"]["centre"]) == {"A", "B"}


def test_paths_of_the_phase_hold_finite_numbers(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path)["metrics.json"])
    settings = grand_challenge.phase_settings(MethodSettings.read(tmp_path / "0" / "pack" / "evaluate.toml"), ["prior"])
    columns = settings["extra_results_columns"]
    assert all(set(one) <= {"title", "path", "order", "error_path", "exclude_from_ranking"} for one in columns)
    assert {one["order"] for one in columns} | {settings["score_default_sort"]} <= {"asc", "desc"}
    for path in [settings["score_jsonpath"], settings["score_error_jsonpath"], *(one["path"] for one in columns)]:
        value = told
        for key in path.split("."):
            value = value[key]
        assert isinstance(value, int | float), path


def test_no_value_of_a_case_is_told_unless_asked_for(tmp_path: Path) -> None:
    made = run(tmp_path)
    assert set(made) == {"metrics.json"}
    assert not [case for case, *_ in CASES if case in made["metrics.json"]]
    asked = run(tmp_path, per_case=True)
    assert set(asked) == {"metrics.json"}, "every other output is shown beside the submission"
    told = json.loads(asked["metrics.json"])
    rows = pl.DataFrame(told.pop("per_case"))
    assert told == json.loads(made["metrics.json"])
    assert rows.sort("case")["value"].to_list() == expected().sort("case")["value"].to_list()
    assert "reference" not in rows.columns


def evaluated(folder: Path, changed: Any = None, **files: str) -> dict[str, Any]:
    """What is told where files of the pack, or what was submitted, are others."""
    place, given, out = folder / "pack", folder / "in", folder / "out"
    if not place.is_dir():
        mounted(given)
        pack(place)
        out.mkdir()
    truth = place / "ground_truth"
    for name in ("references", "baselines") if changed else ():
        (truth / f"{name}.csv").write_text(changed((truth / f"{name}.csv").read_text()))
    (place / "scoring.py").write_text(files.get("scoring", (place / "scoring.py").read_text()))
    if "predictions" in files:
        (given / "predictions.csv").write_text(files["predictions"])
    return evaluate(place, given=given, out=out, truth=truth)


def test_strata_of_few_videos_are_not_told_nor_what_tells_them_by_subtraction(tmp_path: Path) -> None:
    told = evaluated(tmp_path, lambda text: text.replace("v0,A", "v0,C"))
    assert set(told["strata"]["centre"]) == {"B"}, "the whole without A and B would be C"


def test_names_have_no_points_and_no_two_are_one(tmp_path: Path) -> None:
    told = evaluated(
        tmp_path,
        lambda text: (
            text.replace(",A,", ",A 1.5,").replace(",B,", ",A-1.5,").replace("prior,", "net 1.5,")
            + "".join(f"net-1.5,{case},0\n" for case, *_ in CASES if text.startswith("model"))
        ),
    )
    assert set(told["strata"]["centre"]) == {"A-1-5", "A-1-5_"}
    assert set(told["baselines"]) == {"net-1-5", "net-1-5_"}


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"predictions": "case,answer\nv0-q0,yes\n"}, "predictions.csv has no column 'prediction'"),
        ({"scoring": "def score(a, b): return float('nan') if b == 'no' else 1\n"}, "of 36 outputs score no finite"),
        ({"scoring": "def scores(a, b): return 1\n"}, "scoring.py defines no score"),
        ({"scoring": "def score(a, b) return 1\n"}, "scoring.py defines no score"),
        ({"changed": lambda text: text.replace(",value", ",score")}, "baselines.csv has no column 'value'"),
        ({"changed": lambda text: text.replace("prior,v3-q1,", "other,v3-q1,")}, "'prior' has 35 values for 36 cases"),
        ({"changed": lambda text: text + "v0-q0,v0,A,yes\n"}, "references.csv names 1 cases more than once"),
    ],
)
def test_what_cannot_be_scored_is_refused_whole(files: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=why):
        evaluated(tmp_path, **files)


def test_predictions_in_a_table_are_text_whatever_the_others_are(tmp_path: Path) -> None:
    told = evaluated(
        tmp_path,
        lambda text: text.replace(",yes", ",01").replace(",no", ",10"),
        predictions="case,prediction\n" + "".join(f"{case},{'01' if r == 'yes' else '10'}\n" for case, *_, r in CASES),
    )
    assert told["value"] == 1


def test_what_nobody_foresaw_is_one_line_that_quotes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not in_a_line(lambda: {}["the hidden reference of v0-q0"])
    assert capsys.readouterr().err == "the evaluation failed (KeyError)\n"


def broken_jobs(folder: Path, what: str) -> None:
    jobs = json.loads((folder / "predictions.json").read_text())
    first = folder / jobs[0]["pk"] / "output" / "answer.json"
    if what == "missing":
        jobs.pop()
    elif what == "twice":
        jobs.append(jobs[0])
    elif what == "extra":
        jobs.append({**jobs[0], "inputs": [{**jobs[0]["inputs"][0], "value": "v99-q9"}]})
    elif what == "malformed":
        first.write_text("{")
    elif what == "absent":
        first.unlink()
    elif what == "outside":
        jobs[0]["outputs"][0]["socket"]["relative_path"] = "../../../../etc/passwd"
    (folder / "predictions.json").write_text(json.dumps(jobs))


@pytest.mark.parametrize("what", ["missing", "twice", "extra", "malformed", "absent", "outside"])
def test_what_is_wrong_with_outputs_is_one_line_without_hidden_data(what: str, tmp_path: Path) -> None:
    made, given = pack(tmp_path / "pack"), mounted(tmp_path / "in")
    broken_jobs(given, what)
    with pytest.raises(Misuse) as refused:
        evaluate(made, given=given, out=tmp_path, truth=made / "ground_truth")
    text = str(refused.value)
    assert "\n" not in text
    assert not [case for case, *_ in CASES if case in text]
    assert "1" in text
    assert not (tmp_path / "metrics.json").exists()


def test_the_server_answers_and_ends_when_told_to(tmp_path: Path) -> None:
    made, given = pack(tmp_path / "pack"), mounted(tmp_path / "in")
    program = (
        "import sys; from pathlib import Path; from surgvalid.bridges.method import serve; p = Path(sys.argv[1]); "
        "serve(p / 'pack', port=int(sys.argv[2]), given=p / 'in', out=p, truth=p / 'pack' / 'ground_truth')"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(port)], stderr=subprocess.PIPE) as server:
        try:
            assert status(port, "/health", "GET") == 200
            assert status(port, "/invoke", "POST") == 201
            assert "value" in json.loads((tmp_path / "metrics.json").read_text())
            broken_jobs(given, "missing")
            assert status(port, "/invoke", "POST") == 500
            server.send_signal(signal.SIGTERM)
            _, said = server.communicate(timeout=10)
        finally:
            server.kill()
    assert said.decode().splitlines()[-1] == "1 of 36 cases have no output, and 0 outputs are of no case"
    assert server.returncode == 0
    assert made.is_dir()


def status(port: int, path: str, verb: str) -> int:
    for _ in range(300):
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=verb)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except urllib.error.URLError:
            time.sleep(0.1)
    return 0


def evaluations() -> list[dict[str, Any]]:
    """Six submissions of four users as the API tells them; one user's have no scores of cases."""
    rows = bridge_rows()
    made = []
    first = [("ann", "org/alpha", 0), ("bob", "org/beta", 0), ("ann", "org/beta", 0), ("cleo", "org/alpha", 1)]
    for place, (user, model, minus) in enumerate([*first, ("dan", "", 0), ("bob", "org/alpha", 2)]):
        cases = rows.filter(pl.col("model") == model).select("case", "video", "metric", "value").to_dicts()
        for one in cases[: 3 * minus]:
            one["value"] = 0.0
        value = sum(one["value"] for one in cases) / max(len(cases), 1)
        outputs = [{"socket": {"slug": "metrics-json-file"}, "value": {"value": value, "per_case": cases}}]
        made.append(
            {
                "pk": f"e{place}",
                "status": "Succeeded" if cases else "Failed",
                "created": f"2026-01-0{place + 1}T00:00:00Z",
                "published": True,
                "submission": {"pk": f"s{place}", "creator": {"username": user}, "phase": {"pk": "p1"}},
                "outputs": outputs,
            }
        )
    return made


def test_the_board_ranks_as_the_table_does_and_names_who_is_left_out(tmp_path: Path) -> None:
    made = evaluations()
    random.Random(1).shuffle(made)
    place = tmp_path / "evaluations.json"
    place.write_text(json.dumps({"count": 6, "results": made}))
    leaderboard = grand_challenge.leaderboard(place)
    assert set(leaderboard.scores["model"]) == {"ann", "bob", "cleo"}
    assert leaderboard.left_out == ("e4 of dan: Failed, without scores of cases",)
    leaderboard.scores.write_csv(tmp_path / "scores.csv")
    assert rank(leaderboard.scores).table.equals(rank(tmp_path / "scores.csv").table)
    means = dict(leaderboard.scores.group_by("model").agg(pl.col("value").mean()).iter_rows())
    best = dict(
        grand_challenge.leaderboard(made, keep="best").scores.group_by("model").agg(pl.col("value").mean()).iter_rows()
    )
    assert best["ann"] > means["ann"]
    with pytest.raises(UnknownName):
        grand_challenge.leaderboard(made, keep="first")


def test_a_pack_is_not_written_over(tmp_path: Path) -> None:
    grand_challenge.new(tmp_path)
    with pytest.raises(WouldOverwrite, match="Containerfile"):
        grand_challenge.new(tmp_path)


def test_a_part_of_a_phase_and_several_phases_are_refused_and_what_is_not_published_is_left_out(tmp_path: Path) -> None:
    made, place = evaluations(), tmp_path / "evaluations.json"
    place.write_text(json.dumps({"count": 120, "next": "https://example.org?offset=100", "results": made}))
    with pytest.raises(FileUnreadable, match=r"holds 6 of 120 evaluations; ask with limit=1000"):
        grand_challenge.leaderboard(place)
    made[3]["published"] = False
    told = grand_challenge.leaderboard(made)
    assert set(told.scores["model"]) == {"ann", "bob"}
    assert "e3 of cleo: Succeeded, not published" in told.left_out
    made[3]["submission"]["phase"] = {"pk": "p2"}
    with pytest.raises(FileUnreadable, match=r"holds evaluations of 2 phases; ask with submission__phase"):
        grand_challenge.leaderboard(made)


def test_only_the_newest_method_and_the_newest_evaluation_of_a_submission_count(tmp_path: Path) -> None:
    made = [one | {"method": "m1"} for one in evaluations()]
    again = {**made[1], "pk": "e6", "created": "2026-01-07T00:00:00Z", "outputs": made[2]["outputs"]}
    again["outputs"][0]["value"]["value"] -= 0.3
    better = {**again, "outputs": made[0]["outputs"]}  # bob's first submission, evaluated again: e1 is no second try
    best = grand_challenge.leaderboard([*made[:5], better, again | {"created": "2026-01-08"}], keep="best").scores
    rows = again["outputs"][0]["value"]["per_case"]
    assert best.filter(model="bob")["value"].to_list() == [one["value"] for one in rows]
    mended = [*made, again | {"method": "m2"}]
    told = grand_challenge.leaderboard(mended)
    assert set(told.scores["model"]) == {"bob"}
    assert "e0 of ann: Succeeded, by an earlier method; evaluate it again" in told.left_out


def test_answers_without_evaluations_and_those_of_a_participant_are_told_apart() -> None:
    with pytest.raises(FileUnreadable, match="holds no evaluations"):
        grand_challenge.leaderboard([])
    made = evaluations()
    for one in made:
        one["outputs"][0]["value"].pop("per_case")
    with pytest.raises(FileUnreadable, match=r"per_case = true in evaluate.toml, and an organiser's token"):
        grand_challenge.leaderboard(made)


def test_jobs_of_the_platform_itself_are_read_with_the_folders_of_their_images(tmp_path: Path) -> None:
    jobs = json.loads(shared("data", "bridges", "grand_challenge", "predictions_socket.json").read_text())
    for number, one in enumerate(jobs):
        one["inputs"][0]["image"]["name"] = f"eye-{number}"
        (tmp_path / one["pk"] / "output" / one["outputs"][0]["socket"]["relative_path"]).mkdir(parents=True)
    (tmp_path / "predictions.json").write_text(json.dumps(jobs))
    sockets = {"case_socket": "color-fundus-image", "output_socket": "binary-vessel-segmentation"}
    settings = MethodSettings(**sockets, metric="dice", better="larger")
    expected = {
        f"eye-{n}": tmp_path / one["pk"] / "output" / "images" / "binary-vessel-segmentation"
        for n, one in enumerate(jobs)
    }
    assert predictions(tmp_path, settings) == expected
    expected["eye-1"].rmdir()
    with pytest.raises(Misuse, match=r"1 of 3 outputs cannot be read"):
        predictions(tmp_path, settings)


def test_a_file_that_lists_no_evaluations_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('[{"results": {}}]')
    with pytest.raises(FileUnreadable, match="holds no evaluations"):
        grand_challenge.leaderboard(tmp_path / "metrics.json")
