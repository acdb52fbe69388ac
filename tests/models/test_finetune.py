"""The fine-tuning example on a tiny model: the loss falls, a stopped run goes on as if it had not, adapters reload."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models import tiny_models as tiny

from repository import REPOSITORY
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import write_json_rows
from surgvalid.video.images import write_png

peft = pytest.importorskip("peft")
sys.path.insert(0, str(REPOSITORY / "examples" / "finetune"))
import lora  # noqa: E402
import train  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module", params=["qwen2_5_vl", "llava"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        tiny.without_torchvision(patch)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        yield tiny.FAMILIES[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `surgvalid data questions` writes it, of six questions about two videos of one image each."""
    root = tmp_path_factory.mktemp("questions")
    (root / "videos").mkdir()
    for number, video in enumerate(("a", "b")):
        write_png(np.full((56, 56, 3), 40 + 150 * number, np.uint8), root / "videos" / f"{video}.png")
    for split in ("train", "test"):
        rows = [(f"{split}{i}", "ab"[i % 2], "no" if i % 2 else "yes") for i in range(6)]
        requests = [Request(case, video, 0.0, 0.0, "", "Is it dark? Answer with yes or no.") for case, video, _ in rows]
        references = [Reference(case, Capability.read("1a"), "binary", answer) for case, _, answer in rows]
        (root / "questions" / split / "frame").mkdir(parents=True)
        for name, items in (("requests", requests), ("references", references)):
            write_json_rows((item.as_row() for item in items), root / "questions" / split / "frame" / f"{name}.json")
    return root


def run(folder: Path, asked: Path, out: Path, *more: str) -> list[float]:
    return train.main([  # type: ignore[no-any-return]
        "--model", str(folder), "--questions", str(asked / "questions"), "--videos", str(asked / "videos"),
        "--out", str(out), "--device", "cpu", "--dtype", "float32", "--batch", "3", "--rate", "0.02", "--warm-up", "1",
        *more,
    ])  # fmt: skip


def test_the_loss_falls_and_the_model_is_scored(
    folder: Path, asked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    losses = run(folder, asked, tmp_path / "out", "--steps", "12")
    told = capsys.readouterr().out
    assert losses[-1] < losses[0] - 0.2  # much less than real weights: the head is frozen and random
    assert told.index("memory: about") < told.index("step 1 of 12")
    table = json.loads(told[told.index("[\n") :])
    assert [row["model"] for row in table] == ["before", "fine-tuned"]
    assert (tmp_path / "out" / "scores" / "fine-tuned" / "manifest.json").is_file()
    assert (tmp_path / "out" / "model" / "config.json").is_file()


def test_a_stopped_run_goes_on_as_if_it_had_not_been(folder: Path, asked: Path, tmp_path: Path) -> None:
    straight = run(folder, asked, tmp_path / "straight", "--steps", "6", "--no-scores")
    halted = tmp_path / "halted"
    saved, stop = lora._saved, RuntimeError("power failure")

    def failing(model: Any, optimiser: Any, settings: Any, losses: list[float], out: Path) -> None:
        saved(model, optimiser, settings, losses, out)
        raise stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lora, "_saved", failing)
        with pytest.raises(RuntimeError, match="power failure"):
            run(folder, asked, halted, "--steps", "6", "--save-every", "3", "--no-scores")
    assert run(folder, asked, halted, "--steps", "6", "--save-every", "3", "--no-scores") == pytest.approx(straight)
    with pytest.raises(SystemExit, match="was trained with other settings"):
        run(folder, asked, halted, "--steps", "7", "--no-scores")


def test_an_adapter_reloads_to_the_same_logits(folder: Path, asked: Path, tmp_path: Path) -> None:
    run(folder, asked, tmp_path / "out", "--steps", "4", "--no-scores")
    merged = transformers.AutoModelForImageTextToText.from_pretrained(tmp_path / "out" / "model").eval()
    plain = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    loaded = peft.PeftModel.from_pretrained(plain, str(tmp_path / "out" / "adapter")).eval()
    tokens = torch.arange(4, 24)[None]
    with torch.inference_mode():
        torch.testing.assert_close(
            merged(input_ids=tokens).logits, loaded(input_ids=tokens).logits, rtol=1e-3, atol=1e-4
        )
        with loaded.disable_adapter():
            assert not torch.allclose(merged(input_ids=tokens).logits, loaded(input_ids=tokens).logits, atol=1e-3)


def test_a_dry_run_says_what_it_takes_and_trains_nothing(
    folder: Path, asked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, asked, tmp_path / "out", "--dry-run") == []
    told = capsys.readouterr().out
    assert "s a step of up to" in told
    assert "GB in the memory of the host at a time (all of them would take" in told
    assert not (tmp_path / "out" / "adapter").exists()


def test_missing_questions_and_a_missing_gpu_are_said(
    folder: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SystemExit, match=r"requests.json: no such file; give the folder that `surgvalid data questions"
    ):
        train.main(
            ["--model", str(folder), "--questions", str(tmp_path), "--videos", str(asked), "--out", str(tmp_path)]
        )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="torch sees no GPU"):
        run(folder, asked, tmp_path / "out", "--device", "cuda")


def test_a_folder_without_a_model_is_said(asked: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match=r"empty: cannot be loaded \("):
        run(tmp_path / "empty", asked, tmp_path / "out", "--dry-run")


def test_like_lengths_share_a_batch_and_every_example_comes_once_a_round() -> None:
    lengths = [10, 100, 11, 101, 12, 102, 13, 103]
    order = lora.batches(lengths, 4, 0)
    first = [next(order), next(order)]
    assert sorted(position for batch in first for position in batch) == list(range(8))
    assert {frozenset(batch) for batch in first} == {frozenset({0, 2, 4, 6}), frozenset({1, 3, 5, 7})}


def test_padding_is_left_and_only_answers_are_learned() -> None:
    long = {
        "input_ids": torch.tensor([[5, 6, 7, 8, 9]]),
        "attention_mask": torch.ones(1, 5, dtype=torch.long),
        "answer": 2,
    }
    short = {"input_ids": torch.tensor([[5, 6, 9]]), "attention_mask": torch.ones(1, 3, dtype=torch.long), "answer": 1}
    batch, labels = lora.together([long, short], 0)
    assert batch["input_ids"].tolist() == [[5, 6, 7, 8, 9], [0, 0, 5, 6, 9]]
    assert batch["attention_mask"].tolist() == [[1] * 5, [0, 0, 1, 1, 1]]
    assert labels.tolist() == [[8, 9], [-100, 9]]


def test_examples_become_tensors_when_their_turn_comes(
    folder: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not all before the first step, and with the lengths, and so the batches, that they would have had."""
    given = train.options([
        "--model", str(folder), "--questions", str(asked / "questions"), "--videos", str(asked / "videos"),
        "--out", str(tmp_path), "--device", "cpu", "--dtype", "float32",
    ])  # fmt: skip
    examples = train.examples_of(given) * 20
    model, processor = train.opened(given)
    plain, step, made, before = lora.encoded, lora.answer_loss, [], []
    assert lora.lengths_of(processor, examples) == [plain(processor, e)["input_ids"].shape[1] for e in examples]
    monkeypatch.setattr(lora, "encoded", lambda *given: made.append(1) or plain(*given))
    monkeypatch.setattr(lora, "answer_loss", lambda *given: before.append(len(made)) or step(*given))
    settings = lora.Settings(steps=3, batch=2, warm_up=1)
    losses = lora.trained(lora.adapted(model, settings), processor, examples, settings, tmp_path, say=lambda _: None)
    assert len(losses) == 3
    assert max(before) < 20 < len(examples), "a few for lengths, two batches for memory and time, two under way"
