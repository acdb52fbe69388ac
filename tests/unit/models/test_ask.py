"""Questions of the challenge put to models, from the files to the answer file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import surgvalid
from fake_server import Answer, completion, says, serving
from surgvalid.cli import build_app
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.questions import Request
from surgvalid.video.images import write_png
from timecode_videos import stamped_video

REQUESTS = [Request(f"q{i}", f"v{i % 2}", 0.0, 0.0, "Cholecystectomy", f"Question {i}?") for i in range(4)]


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """Images in place of video files: a video of one frame each."""
    folder = tmp_path / "films"
    folder.mkdir()
    for number in range(2):
        write_png(np.full((16, 24, 3), 40 + number, np.uint8), folder / f"v{number}.png")
    return folder


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A video file of ten seconds whose frames differ."""
    pytest.importorskip("av")
    folder = tmp_path / "clips"
    folder.mkdir()
    stamped_video(folder / "v0.mp4", range(0, 10_000, 500))
    return folder


def ask(model: str, films: Path, **options: Any) -> surgvalid.AskResult:
    return surgvalid.ask(model, REQUESTS, videos=films, **({"track": "frame"} | options))


def test_every_question_is_in_the_result_and_only_answers_are_in_the_answer_file(films: Path, tmp_path: Path) -> None:
    def moody(number: int, body: dict[str, Any]) -> Answer:
        text = body["messages"][1]["content"][-1]["text"]
        if "Question 1" in text:
            return Answer(b"too long: maximum context length", 400)
        return completion(None, refusal="no") if "Question 2" in text else completion("<think>hm</think> yes ")

    with serving(moody) as server:
        result = ask(f"openai:m@{server.url}", films)
        shown = server.bodies[0]["messages"]
    assert shown[0]["role"] == "system"
    assert shown[1]["content"][0]["type"] == "image_url"
    assert shown[1]["content"][1]["text"].startswith("Procedure: Cholecystectomy.")
    assert [row["qID"] for row in result.records["answers"]] == ["q0", "q3"]
    assert {row["content"] for row in result.records["answers"]} == {"yes"}
    assert [response.status for response in result.responses] == [
        Status.ANSWERED, Status.FAILED, Status.REFUSED, Status.ANSWERED,
    ]  # fmt: skip
    assert result.table["trouble"].to_list() == [None, "overflow", "refusal", None]
    assert [finding.code for finding in result.findings] == ["unanswered"]
    folder = result.to_dir(tmp_path / "out")
    lines = (folder / "responses.jsonl").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["answered", "failed", "refused", "answered"]
    assert json.loads((folder / "answers.json").read_text()) == result.records["answers"]


def test_a_reply_that_never_left_its_reasoning_is_no_answer(films: Path) -> None:
    with serving(says(completion("<think>perhaps yes, perhaps", finish="length"))) as server:
        result = ask(f"openai:m@{server.url}", films, reasoning_tokens=1)
    assert result.records["answers"] == []
    assert {response.status for response in result.responses} == {Status.UNREADABLE}


def test_nothing_is_asked_twice_and_another_picture_is(films: Path, tmp_path: Path) -> None:
    with serving(says(completion("yes"))) as server:
        for expected in (4, 4):
            ask(f"openai:m@{server.url}", films, store=tmp_path / "store")
            assert server.asked == expected
        write_png(np.full((16, 24, 3), 200, np.uint8), films / "v0.png")
        ask(f"openai:m@{server.url}", films, store=tmp_path / "store")
        assert server.asked == 6


def test_images_do_not_leave_by_accident(films: Path) -> None:
    with pytest.raises(Misuse, match=r"would be sent to models\.example\.org"):
        ask("openai:m@https://models.example.org/v1", films)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"track": "film"}, UnknownName, "unknown track 'film'"),
        ({"media": "sound"}, UnknownName, "unknown way to show media"),
        ({"frames": 0}, Misuse, "frames must be at least 1"),
        ({"concurency": 3}, UnknownName, "did you mean 'concurrency'"),
        ({"videos": "nowhere"}, InputInvalid, "is no folder of videos"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    change: dict[str, Any], error: type[Exception], words: str, films: Path
) -> None:
    with pytest.raises(error, match=words):
        surgvalid.ask("constant:yes", REQUESTS, **({"videos": films, "track": "frame"} | change))


def test_every_video_that_is_not_there_is_named_before_anything_is_asked(films: Path) -> None:
    (films / "v1.png").unlink()
    with pytest.raises(InputInvalid, match=r"there is no video file or image 'v1'"):
        ask("constant:yes", films)


def test_frames_of_a_stretch_have_their_real_times(clip: Path, tmp_path: Path) -> None:
    requests = [Request("q", "v0", 2.0, 6.0, "", "What happens?")]
    with serving(says(completion("yes"))) as server:
        model = f"openai:m@{server.url}"
        for _ in range(2):
            surgvalid.ask(model, requests, videos=clip, track="segment", frames=4, store=tmp_path / "store")
        assert server.asked == 1
        content = server.bodies[0]["messages"][1]["content"]
    texts = [block["text"] for block in content if block["type"] == "text"]
    assert texts[:4] == [f"Frame at 00:00:0{second}:" for second in (2, 3, 4, 5)]
    assert "00:00:02 to 00:00:06" in texts[4]
    images = [block["image_url"]["url"] for block in content if block["type"] == "image_url"]
    assert len(set(images)) == 4
    assert len(list((tmp_path / "store" / "frames").rglob("*.jpg"))) == 4


def test_a_question_beyond_the_film_costs_itself_only(clip: Path) -> None:
    requests = [Request("in", "v0", 2.0, 2.0, "", "?"), Request("out", "v0", 99.0, 99.0, "", "?")]
    result = surgvalid.ask("constant:yes", requests, videos=clip, track="frame")
    assert result.table["status"].to_list() == ["answered", "not_asked"]
    assert "lie outside the video, which runs from 0 to 9.540 s" in result.responses[1].detail


# --- command line ----------------------------------------------------------------------------------


@pytest.fixture
def here(films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requests.json").write_text(json.dumps([request.as_row() for request in REQUESTS]))
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(
        build_app(), ["task", "ask", "--requests", "requests.json", "--videos", "films", "--track", "frame", *words]
    )


def test_the_verb_writes_an_answer_file_with_its_manifest(here: Path) -> None:
    done = run("--model", "constant:yes", "--out", "answers.json")
    assert done.exit_code == 0, done.output
    assert len(json.loads((here / "answers.json").read_text())) == 4
    assert json.loads((here / "answers.manifest.json").read_text())["verb"] == "ask"
    again = run("--model", "constant:no", "--out", "answers.json")
    assert "exists already" in str(again.exception)


def test_a_dry_run_sends_nothing_and_says_what_it_would_take(here: Path) -> None:
    with serving(says(completion("yes"))) as server:
        done = run("--model", f"openai:m@{server.url}", "--dry-run", "--model-option", "price=2/8")
        assert server.asked == 0
    assert done.exit_code == 0, done.output
    assert "requests: 4" in done.output
    assert "money: at most about 0.0" in done.output


def test_where_nothing_was_answered_the_verb_ends_with_1(here: Path) -> None:
    done = run("--model", "openai:m@http://127.0.0.1:9/v1", "--out", "out")
    assert done.exit_code == 1
    assert json.loads((here / "out" / "answers.json").read_text()) == []
    assert "is the server running there?" in (here / "out" / "outcomes.csv").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "opnai:m"], "did you mean 'openai'"),
        (["--model", "constant:yes", "--model-option", "colour=red"], "unknown option of a model 'colour'"),
        (["--model", "constant:yes", "--model-option", "batch=many"], "cannot be 'many'; it is int"),
        (["--model", "openai:m@http://localhost:9", "--max-cost", "1"], "has no known price"),
        (["--model", "openai:m@https://models.example.org"], "--send-media-to models.example.org"),
    ],
)
def test_misuse_is_said(words: list[str], message: str, here: Path) -> None:
    done = run(*words)
    assert done.exit_code != 0
    assert message in f"{done.exception} {done.output}"


FORMS = {
    "Is a clip visible? Answer with yes or no.": ("**Yes**, a clip lies on the duct.", "yes"),
    "How many clips are there? Answer with a number.": ("I count three clips.", "3"),
    "For which share of the time is it seen, in percent?": ("about 40 percent", "40%"),
    "When is it inserted? Answer as hh:mm:ss.": ("It is inserted at 0:12:30.", "00:12:30"),
    "Which objects are visible? Answer with class names or none.": ("I can see a needle.", "Needle"),
    "Is a sponge visible? Answer with yes or no.": ("I cannot tell whether a sponge is visible.", None),
    "Is a drain visible? Answer with yes or no.": ("No.", None),
    "What happens here?": ("The duct is clipped.", None),
}


@pytest.mark.parametrize("policy", ["careful", "strict"])
def test_closed_answers_are_handed_over_as_they_were_read_and_replies_are_kept(films: Path, policy: str) -> None:
    requests = [Request(f"q{i}", "v0", 0.0, 0.0, "Cholecystectomy", question) for i, question in enumerate(FORMS)]

    def said(number: int, body: dict[str, Any]) -> Answer:
        text = body["messages"][1]["content"][-1]["text"]
        return completion(next(reply for question, (reply, _) in FORMS.items() if question in text))

    with serving(said) as server:
        result = surgvalid.ask(f"openai:m@{server.url}", requests, videos=films, track="frame", policy=policy)
    assert result.table["text"].to_list() == [reply for reply, _ in FORMS.values()]
    wanted = [reply if meant is None or policy == "strict" else meant for reply, meant in FORMS.values()]
    assert [row["content"] for row in result.records["answers"]] == wanted
    notes = [one.text for one in result.findings if one.code == "replies-read"]
    assert [one.split(" answers")[0] for one in notes] == ([] if policy == "strict" else ["5 of 8"])
