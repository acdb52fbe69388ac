"""The vision tower and the decoder of the long video engine beside the reference implementation, in float32."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as t

from surgvalid.models._long_video.decoder import Decoder, Prefix, text_positions, video_positions
from surgvalid.models._long_video.pointwise import compiled
from surgvalid.models._long_video.vision import VisionTower, Windows

QUESTIONS = [[30, 31, 32, 33, 34], [40, 41, 42], [50] * 9]
ANSWER = 5


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    config = t.Qwen2_5_VLConfig(
        text_config={
            "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 4096, "rope_parameters": rope,
            "bos_token_id": 1, "eos_token_id": 2,
        },
        vision_config={
            "depth": 3, "hidden_size": 64, "num_heads": 4, "intermediate_size": 84, "out_hidden_size": 64,
            "fullatt_block_indexes": [1], "window_size": 112, "patch_size": 14,
        },
        image_token_id=290, video_token_id=291, vision_start_token_id=292, vision_end_token_id=293,
    )  # fmt: skip
    built = t.Qwen2_5_VLForConditionalGeneration(config).eval().requires_grad_(False)
    for weights in built.parameters():  # as drawn by default nothing is large enough to go wrong
        torch.nn.init.normal_(weights, mean=float(weights.dim() == 1), std=0.15)
    return built


@pytest.mark.parametrize(("frames", "height", "width"), [(4, 252, 448), (3, 112, 112), (2, 28, 28), (6, 140, 252)])
def test_windows_as_a_batch_give_the_features_of_the_reference(
    model: Any, frames: int, height: int, width: int
) -> None:
    """Grids with windows of one, two and four shapes; an odd number of frames; several chunks."""
    tower = VisionTower(model.model.visual)
    pictures = torch.randint(0, 256, (frames, height, width, 3), dtype=torch.uint8)
    ours = tower.features(pictures, slices_at_once=2)
    even = pictures if frames % 2 == 0 else torch.cat([pictures, pictures[-1:]])
    down, across = tower.grid(height, width)
    patches = tower._patches(even, down, across).flatten(0, 1)
    grid = torch.tensor([[len(even) // 2, 2 * down, 2 * across]])
    theirs = model.model.visual(patches, grid_thw=grid).pooler_output
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_patches_are_those_of_the_processor(model: Any) -> None:
    picture = torch.randint(0, 256, (56, 84, 3), dtype=torch.uint8)
    processor = t.Qwen2VLImageProcessorPil(do_resize=False)
    theirs = processor(picture.numpy(), return_tensors="pt")
    ours = VisionTower(model.model.visual)._patches(picture.expand(2, -1, -1, -1), 2, 3).flatten(0, 1)
    assert theirs["image_grid_thw"].tolist() == [[1, 4, 6]]
    torch.testing.assert_close(ours, theirs["pixel_values"], rtol=1e-4, atol=1e-4)


def test_every_patch_is_in_one_window() -> None:
    for height, width in ((9, 16), (4, 4), (1, 7), (13, 5)):
        order, pieces = Windows(height, width, 4).order(3)
        assert sorted(order.tolist()) == list(range(3 * height * width))
        assert sum(windows * size for _, windows, size in pieces) == 3 * height * width
        assert len(pieces) <= 4


def test_sides_that_are_no_multiples_of_a_merged_patch_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match="multiples of 28 px, got 100 x 56"):
        VisionTower(model.model.visual).grid(56, 100)


# --- one prefix, many questions ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(model: Any) -> tuple[Any, Any]:
    """Rows and positions of a system text, a video of four slices and its end."""
    places = [text_positions(7, 0), video_positions(4, 3, 5, 7, per_slice=3.5)]
    places.append(text_positions(2, int(places[-1].max()) + 1))
    words = model.model.language_model.embed_tokens.weight
    torch.manual_seed(1)
    return torch.cat([words[10:17], torch.randn(60, 64), words[20:22]]), torch.cat(places, dim=1)


@pytest.fixture(scope="module")
def without_reuse(model: Any, shared: tuple[Any, Any]) -> list[tuple[Any, list[int]]]:
    """By the reference, everything computed anew for every token: logits and greedy tokens of each question."""
    return [_anew(model, shared, question) for question in QUESTIONS]


def _anew(model: Any, shared: tuple[Any, Any], question: list[int]) -> tuple[Any, list[int]]:
    rows, places = shared
    words, logits, tokens = model.model.language_model.embed_tokens.weight, [], list(question)
    for _ in range(ANSWER):
        whole = torch.cat([places, text_positions(len(tokens), int(places.max()) + 1)], dim=1)[:, None]
        embedded = torch.cat([rows, words[tokens]])[None]
        hidden = model.model.language_model(inputs_embeds=embedded, position_ids=whole, use_cache=False)
        logits.append(model.lm_head(hidden.last_hidden_state[0, -1]))
        tokens.append(int(logits[-1].argmax()))
    return torch.stack(logits), tokens[len(question) :]


def _prefix(decoder: Decoder, shared: tuple[Any, Any], cuts: list[int]) -> Prefix:
    prefix, at = decoder.prefix(len(shared[0])), 0
    for cut in [*cuts, len(shared[0])]:
        decoder.extend(prefix, shared[0][at:cut], shared[1][:, at:cut])
        at = cut
    return prefix


def _answered(decoder: Decoder, prefix: Prefix, questions: list[list[int]]) -> Any:
    suffixes = [(decoder.embedded(q), text_positions(len(q), prefix.next_position)) for q in questions]
    fork = decoder.fork(prefix, suffixes, steps=ANSWER)
    logits = [fork.logits]
    for _ in range(ANSWER - 1):
        logits.append(decoder.step(fork, logits[-1].argmax(-1)))
    return torch.stack(logits, dim=1)


@pytest.mark.parametrize("cuts", [[], [20, 41]], ids=["in one piece", "in three pieces"])
@pytest.mark.parametrize("chosen", [[0], [0, 1, 2]], ids=["alone", "in a batch"])
def test_a_kept_prefix_gives_the_tokens_of_a_model_that_starts_anew(
    model: Any, shared: tuple[Any, Any], without_reuse: list[tuple[Any, list[int]]], cuts: list[int], chosen: list[int]
) -> None:
    decoder = Decoder(model)
    logits = _answered(decoder, _prefix(decoder, shared, cuts), [QUESTIONS[number] for number in chosen])
    for row, number in zip(logits, chosen, strict=True):
        torch.testing.assert_close(row, without_reuse[number][0], rtol=1e-4, atol=1e-4)
        assert row.argmax(-1).tolist() == without_reuse[number][1]


def test_a_question_leaves_no_trace_in_the_prefix(model: Any, shared: tuple[Any, Any]) -> None:
    decoder = Decoder(model)
    prefix = _prefix(decoder, shared, [])
    before, first = [tensor.clone() for tensor in prefix.keys], _answered(decoder, prefix, QUESTIONS[:1])
    _answered(decoder, prefix, QUESTIONS[1:])
    assert all(torch.equal(now, then) for now, then in zip(prefix.keys, before, strict=True))
    assert torch.equal(_answered(decoder, prefix, QUESTIONS[:1]), first)


def test_a_shorter_prefix_shares_memory_and_recordings(model: Any, shared: tuple[Any, Any]) -> None:
    prefix = _prefix(Decoder(model), shared, [])
    shorter = prefix.until(5, 5)
    assert (shorter.length, shorter.next_position) == (5, 5)
    assert shorter.keys[0] is prefix.keys[0]
    assert shorter.recorded is prefix.recorded, "else steps are recorded anew for every question"


def test_fusing_leaves_the_model_as_it_was(
    model: Any, shared: tuple[Any, Any], without_reuse: list[tuple[Any, list[int]]]
) -> None:
    Decoder(model)
    Decoder(model)
    assert torch.equal(_anew(model, shared, QUESTIONS[0])[0], without_reuse[0][0])


def test_a_prefix_without_room_is_refused(model: Any, shared: tuple[Any, Any]) -> None:
    decoder = Decoder(model)
    with pytest.raises(ValueError, match="a prefix of 10 tokens has no room for 69"):
        decoder.extend(decoder.prefix(10), *shared)


def test_compiled_steps_are_compiled_once_whatever_the_lengths(
    model: Any, shared: tuple[Any, Any], without_reuse: list[tuple[Any, list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compilation takes seconds: no question of another length, no batch of another size may wait for one."""
    graphs: list[Any] = []
    compiling = torch.compile
    monkeypatch.setattr(torch, "compile", lambda step, **options: compiling(step, backend=noted, **options))

    def noted(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    decoder = Decoder(model, steps=compiled())
    prefix = _prefix(decoder, shared, [20, 41])
    for question, (logits, _) in zip(QUESTIONS[:1], without_reuse[:1], strict=True):
        torch.testing.assert_close(_answered(decoder, prefix, [question])[0], logits, rtol=1e-4, atol=1e-4)
    before = len(graphs)
    assert before >= 5
    for row, (logits, _) in zip(_answered(decoder, prefix, QUESTIONS), without_reuse, strict=True):
        torch.testing.assert_close(row, logits, rtol=1e-4, atol=1e-4)
    _answered(decoder, prefix, [[60] * 70])
    assert len(graphs) == before
