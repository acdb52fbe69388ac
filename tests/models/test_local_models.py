"""Models that run here, on tiny random weights of every family and their real processors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.models import tiny_models as tiny

from model_prompts import asked
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models import Model, ModelTrouble, Prompt, PromptImage, check_sight, lacking, open_model
from surgvalid.schema.outcomes import Status
from surgvalid.testing._models import MODEL_RULES
from surgvalid.video.images import write_png

pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # of PaliGemma's processor
KINDS = {**tiny.FAMILIES, "language model": tiny.language_model}


@pytest.fixture(scope="session")
def session_patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        tiny.without_torchvision(patch)
        yield patch


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory, session_patch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """The folder of a tiny model, built when first asked for."""
    built: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in built:
            torch.manual_seed(0)
            make = {**KINDS, "clip": tiny.clip, "siglip": tiny.siglip}[name]
            built[name] = make(tmp_path_factory.mktemp(name.replace(" ", "_")))
        return built[name]

    return folder


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[PromptImage]:
    """Images of several sizes and contents."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(7)
    pictures = []
    for number, (height, width) in enumerate([(60, 100), (100, 60), (64, 64)]):
        write_png(rng.integers(0, 256, (height, width, 3), dtype=np.uint8), folder / f"{number}.png")
        pictures.append(PromptImage(folder / f"{number}.png", str(number), float(number)))
    return pictures


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest, folders: Callable[[str], Path]) -> Iterator[Model]:
    opened = open_model(f"transformers:{folders(request.param)}", batch=3)
    yield opened
    opened.close()


def prompts_for(model: Model, shown: list[PromptImage], **fields: Any) -> list[Prompt]:
    pictures = shown if model.can.images else []
    several = [(pictures[i % 3],) if pictures else () for i in range(5)]
    return [
        Prompt(f"q{i}", (*media, f"What is seen in case {i}?" + " Say more." * i), max_tokens=6, **fields)
        for i, media in enumerate(several)
    ]


def test_every_family_answers_in_words_and_counts_its_tokens(model: Model, shown: list[PromptImage]) -> None:
    outcomes, counts = asked(model, prompts_for(model, shown))
    assert (counts.answered, counts.first_reason) == (5, "")
    assert all(outcome.tokens_in > 20 and outcome.tokens_out <= 6 for outcome in outcomes.values())
    assert all(outcome.trouble is ModelTrouble.CUT or outcome.finish == "stop" for outcome in outcomes.values())


def test_answers_are_the_same_alone_and_in_a_batch(
    folders: Callable[[str], Path], shown: list[PromptImage], model: Model
) -> None:
    together, _ = asked(model, prompts_for(model, shown))
    alone, _ = asked(open_model(f"transformers:{model.weights}", batch=1), prompts_for(model, shown))  # type: ignore[attr-defined]
    assert {name: outcome.text for name, outcome in together.items()} == {name: o.text for name, o in alone.items()}


def test_a_picture_changes_what_the_model_sees(folders: Callable[[str], Path], shown: list[PromptImage]) -> None:
    """Two images take more tokens than one, and each family puts them where the prompt has them."""
    for name in tiny.FAMILIES:
        model = open_model(f"transformers:{folders(name)}")
        one, two = (Prompt("q", (*shown[2:3] * count, "What is seen?"), max_tokens=4) for count in (1, 2))
        less, more = asked(model, [one])[0]["q"], asked(model, [two])[0]["q"]
        assert (less.reason, more.reason) == ("", ""), name
        assert more.tokens_in > less.tokens_in, name


def test_a_model_of_a_folder_is_probed_and_one_that_loses_its_images_is_blind(
    folders: Callable[[str], Path], shown: list[PromptImage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random weights name no colour, but their replies change with the image; without images no token is counted."""
    model = open_model(f"transformers:{folders('qwen2_vl')}", batch=4)
    prompts = [Prompt(f"q{n}", (one, "What is seen?"), max_tokens=4) for n, one in enumerate(shown)]
    sight = check_sight(model, prompts)
    assert sight is not None
    assert str(sight.verdict) in ("sees", "uncertain"), sight.sentence
    assert sight.tokens != "not counted"
    answers = type(model).answers

    def without_images(self: Model, asked: list[Prompt]) -> object:
        words = [replace(one, parts=tuple(part for part in one.parts if isinstance(part, str))) for one in asked]
        return answers(self, words)  # type: ignore[arg-type]

    monkeypatch.setattr(type(model), "answers", without_images)
    with pytest.raises(Misuse, match="does not see its images"):
        check_sight(model, prompts)


def test_the_size_at_which_boxes_are_written_is_known(folders: Callable[[str], Path], shown: list[PromptImage]) -> None:
    model = open_model(f"transformers:{folders('qwen2_5_vl')}")
    assert model.can.boxes == "xyxy-shown"
    outcome = asked(model, [Prompt("q", (shown[0], "Where?"), max_tokens=4)])[0]["q"]
    assert outcome.shown_px is not None
    width, height = outcome.shown_px
    assert (width % 28, height % 28) == (0, 0)
    assert width > height
    assert outcome.shown_px != (100, 60)


def test_a_prompt_that_does_not_fit_is_an_overflow_and_costs_no_other(model: Model, shown: list[PromptImage]) -> None:
    long = Prompt("long", ("word " * 600,), max_tokens=6)
    outcomes, counts = asked(model, [*prompts_for(model, shown)[:2], long])
    assert outcomes["long"].trouble is ModelTrouble.OVERFLOW
    assert "more than the model's 2048 leave room for" in outcomes["long"].reason
    assert counts.answered == 2


def test_a_language_model_takes_no_pictures(folders: Callable[[str], Path], shown: list[PromptImage]) -> None:
    model = open_model(f"transformers:{folders('language model')}")
    assert lacking(model, Prompt("q", (shown[0], "?"))) == ["it takes no images"]


def test_a_picture_that_cannot_be_read_costs_its_own_prompt(
    folders: Callable[[str], Path], shown: list[PromptImage], tmp_path: Path
) -> None:
    (tmp_path / "cut.png").write_bytes(shown[0].path.read_bytes()[:200])
    model = open_model(f"transformers:{folders('llava')}")
    prompts = [
        Prompt("good", (shown[0], "?"), max_tokens=2),
        Prompt("cut", (PromptImage(tmp_path / "cut.png", "c"), "?"), max_tokens=2),
    ]
    outcomes, _ = asked(model, prompts)
    assert outcomes["good"].answered
    assert (outcomes["cut"].status, outcomes["cut"].trouble) == (Status.FAILED, ModelTrouble.PERMANENT)


def test_another_model_in_the_folder_is_another_revision(folders: Callable[[str], Path], tmp_path: Path) -> None:
    first = open_model(f"transformers:{folders('llava')}")
    assert first.revision == open_model(f"transformers:{folders('llava')}").revision
    assert first.revision != open_model(f"transformers:{folders('paligemma')}").revision


@pytest.mark.parametrize("content", ["{}", "no json", json.dumps({"model_type": "unheard_of"})])
def test_a_folder_that_holds_no_model_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputInvalid, match="cannot be loaded"):
        open_model(f"transformers:{tmp_path}")


@pytest.mark.parametrize("rule", MODEL_RULES[:3], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("spec", ["transformers:llava", "clip:clip"])
def test_local_models_keep_the_rules(
    rule: Callable[[Model], Iterator[str]], spec: str, folders: Callable[[str], Path]
) -> None:
    kind, _, name = spec.partition(":")
    assert list(rule(open_model(f"{kind}:{folders(name)}"))) == []


# --- CLIP ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_scores_are_the_cosines_that_the_model_itself_gives(
    name: str, folders: Callable[[str], Path], shown: list[PromptImage]
) -> None:
    import transformers
    from PIL import Image

    folder, labels, texts = folders(name), ("clip", "sponge"), ("a photo of a clip", "a photo of a sponge")
    model = open_model(f"clip:{folder}")
    outcomes, _ = asked(model, [Prompt("q", (shown[0],), labels=labels, label_texts=texts)])
    whole, processor = (
        transformers.AutoModel.from_pretrained(folder).eval(),
        transformers.AutoProcessor.from_pretrained(folder),
    )
    padding = "max_length" if name == "siglip" else True
    with torch.inference_mode():
        inputs = processor(
            text=list(texts), images=Image.open(shown[0].path).convert("RGB"), return_tensors="pt", padding=padding
        )
        given = whole(**inputs)
        logits = given.logits_per_image[0]
        bias = whole.logit_bias if name == "siglip" else 0.0
        expected = ((logits - bias) / whole.logit_scale.exp()).tolist()
    assert outcomes["q"].scores == pytest.approx(dict(zip(labels, expected, strict=True)), abs=1e-5)
    assert outcomes["q"].text == ""


def test_pictures_reach_clip_rescaled(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A published wrapper left the rescaling out: values of 463 to 488 instead of 0.08 to 0.34."""
    write_png(np.full((40, 40, 3), 128, np.uint8), tmp_path / "grey.png")
    model = open_model(f"clip:{folders('clip')}")
    seen: list[Any] = []
    network = model.parts[0]  # type: ignore[attr-defined]
    ask = network.get_image_features
    monkeypatch.setattr(
        network, "get_image_features", lambda **inputs: (seen.append(inputs["pixel_values"]), ask(**inputs))[1]
    )
    asked(model, [Prompt("q", (PromptImage(tmp_path / "grey.png", "g"),), labels=("a", "b"))])
    assert 0.0 < float(seen[0].min()) < float(seen[0].max()) < 0.5


def test_several_pictures_have_the_mean_of_their_cosines(
    folders: Callable[[str], Path], shown: list[PromptImage]
) -> None:
    model = open_model(f"clip:{folders('clip')}", batch=2)
    each = asked(model, [Prompt(str(i), (picture,), labels=("a", "b")) for i, picture in enumerate(shown)])[0]
    both = asked(model, [Prompt("all", tuple(shown), labels=("a", "b"))])[0]["all"]
    assert both.scores is not None
    assert both.scores["a"] == pytest.approx(np.mean([o.scores["a"] for o in each.values() if o.scores]), abs=1e-5)


def test_clip_needs_labels_and_a_picture(folders: Callable[[str], Path], shown: list[PromptImage]) -> None:
    model = open_model(f"clip:{folders('clip')}")
    assert lacking(model, Prompt("q", (shown[0],))) == ["it can only choose between labels, and there are none"]
    assert asked(model, [Prompt("q", ("text",), labels=("a",))])[0]["q"].reason == "there is no image to compare with"
