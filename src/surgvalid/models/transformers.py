"""A vision-language model from a folder, through its own processor and chat template.

Qwen2-VL, Qwen2.5-VL, Qwen3-VL, InternVL, LLaVA, PaliGemma, Phi, SmolVLM, Gemma 3 and whatever else the library opens as
a model from images and text to text; a language model without eyes as well, which then takes no images. Greedy
decoding, no remote code, no download. How images are scaled and normalised is the processor's matter alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surgvalid.errors import InputInvalid
from surgvalid.models._local import LocalModel, folder_of, loaded, needed, pictures_of, precision_name
from surgvalid.models._model import Can, ModelTrouble, Outcome, Prompt
from surgvalid.models._open import ModelOptions
from surgvalid.schema.outcomes import Status

USAGE = "transformers:PATH"
_BOXES = {
    "paligemma": "loc-1024",
    "qwen2_vl": "xyxy-1000",
    "qwen2_5_vl": "xyxy-shown",
    "qwen3_vl": "xyxy-1000",
    "internvl": "xyxy-1000",
}
"""How families write boxes."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Weights and what belongs to them."""

    model: Any
    processor: Any
    tokenizer: Any
    longest: int
    """Tokens that fit, or 0 where the model does not say."""


class TransformersModel(LocalModel):
    """A vision-language model from a folder."""

    def __init__(self, folder: Path, options: ModelOptions) -> None:
        super().__init__("transformers", folder, options)
        self._transformers = needed("transformers", self.kind)
        config = loaded(self._transformers.AutoConfig.from_pretrained, folder)
        self._is_listed = type(config) in self._transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        sees = self._is_listed or hasattr(config, "vision_config")  # Phi-4 stands in another list
        self.can = Can(
            images=sees, most_frames=options.most_frames, boxes=options.boxes or _BOXES.get(config.model_type)
        )
        self._loaded: LoadedModel | None = None

    def close(self) -> None:
        """Let go of the weights."""
        self._loaded = None
        if self.device.startswith("cuda"):
            self.torch.cuda.empty_cache()

    def answers(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        """What the model says to the prompts."""
        ready = self.load()
        inputs = self._inputs(ready, prompts)
        length, room = inputs["input_ids"].shape[1], max(prompt.max_tokens for prompt in prompts)
        if ready.longest and length + room > ready.longest:
            if len(prompts) > 1:
                raise ValueError("some prompt is too long; each is asked alone")
            reason = f"the prompt has {length} tokens, more than the model's {ready.longest} leave room for"
            return [Outcome(Status.FAILED, tokens_in=length, trouble=ModelTrouble.OVERFLOW, reason=reason)]
        with self.torch.inference_mode():
            generated = ready.model.generate(
                **inputs,
                max_new_tokens=room,
                pad_token_id=ready.tokenizer.pad_token_id,
                do_sample=False,
                num_beams=1,
                temperature=None,
                top_p=None,
                top_k=None,
            )
        stops, shown = stops_of(ready), _shown(ready, inputs, prompts)
        new, lengths = generated[:, length:].tolist(), inputs["attention_mask"].sum(dim=1).tolist()
        return [
            _outcome(ready, tokens[: prompt.max_tokens], stops, tokens_in, px)
            for prompt, tokens, tokens_in, px in zip(prompts, new, lengths, shown, strict=True)
        ]

    def _inputs(self, ready: LoadedModel, prompts: Sequence[Prompt]) -> Any:
        texts = [_text(ready.processor, prompt) for prompt in prompts]
        pictures = [pictures_of(prompt) for prompt in prompts]
        has_template = bool(getattr(ready.processor, "chat_template", None))
        settings: dict[str, Any] = {"return_tensors": "pt", "padding": True}
        if has_template:
            settings["add_special_tokens"] = False
        if any(pictures):
            return ready.processor(text=texts, images=pictures, **settings).to(self.device, ready.model.dtype)
        return ready.tokenizer(texts, **settings).to(self.device)

    def load(self) -> LoadedModel:
        """The weights with what prepares inputs for them, loaded once.

        Raises:
            InputInvalid: They cannot be loaded, or do not fit the memory.
        """
        if self._loaded is None:
            try:
                self._loaded = self._opened()
            except self.torch.cuda.OutOfMemoryError:
                problem = "its weights do not fit the memory; take dtype=bfloat16, a smaller model or device=cpu"
                raise InputInvalid(str(self.weights), [f"{problem} (not {self.device})"]) from None
        return self._loaded

    def _opened(self) -> LoadedModel:
        transformers = self._transformers
        auto = transformers.AutoModelForImageTextToText if self._is_listed else transformers.AutoModelForCausalLM
        precision = {precision_name(transformers): self.options.dtype}
        model = loaded(auto.from_pretrained, self.weights, **precision).to(self.device).eval()
        opener = transformers.AutoProcessor if self.can.images else transformers.AutoTokenizer
        processor = loaded(opener.from_pretrained, self.weights)
        tokenizer = getattr(processor, "tokenizer", processor)
        tokenizer.padding_side = "left"
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
        config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
        return LoadedModel(model, processor, tokenizer, getattr(config, "max_position_embeddings", 0) or 0)


def build(argument: str, options: ModelOptions) -> TransformersModel:
    """The model from the folder at `argument`.

    Raises:
        InputInvalid: There is no saved model.
    """
    return TransformersModel(folder_of(argument, "transformers"), options)


def _text(processor: Any, prompt: Prompt) -> str:
    """The prompt in the model's own chat layout; without a template, its images and then its texts."""
    blocks = [
        {"type": "text", "text": piece} if isinstance(piece, str) else {"type": "image"} for piece in prompt.parts
    ]
    texts = [piece for piece in (prompt.system, *prompt.parts) if isinstance(piece, str) and piece]
    if not getattr(processor, "chat_template", None):
        mark = getattr(processor, "image_token", None)
        marks = "".join(mark for block in blocks if block["type"] == "image") if isinstance(mark, str) else ""
        return marks + "\n".join(texts)
    sees = hasattr(processor, "image_processor")
    user: Any = blocks if sees else "\n".join(piece for piece in prompt.parts if isinstance(piece, str))
    system: Any = [{"type": "text", "text": prompt.system}] if sees else prompt.system
    messages = [{"role": "user", "content": user}]
    leading = [{"role": "system", "content": system}] if prompt.system else []
    try:
        return templated(processor, [*leading, *messages])
    except needed("jinja2", "transformers").TemplateError:
        if not leading:
            raise
        merged = [*system, *blocks] if sees else f"{prompt.system}\n\n{user}"
        return templated(processor, [{"role": "user", "content": merged}])


def templated(processor: Any, messages: list[dict[str, Any]]) -> str:
    """Messages in the layout of the model's chat template."""
    options: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True}
    if "enable_thinking" in str(processor.chat_template):
        options["enable_thinking"] = False
    return str(processor.apply_chat_template(messages, **options))


def stops_of(ready: LoadedModel) -> set[int]:
    """Tokens that end an answer."""
    configured = ready.model.generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return {token for token in [*listed, ready.tokenizer.eos_token_id] if token is not None}


def _outcome(
    ready: LoadedModel, tokens: list[int], stops: set[int], tokens_in: int, shown: tuple[int, int] | None
) -> Outcome:
    end = next((position for position, token in enumerate(tokens) if token in stops), None)
    kept = tokens if end is None else tokens[:end]
    text = ready.tokenizer.decode(kept, skip_special_tokens=True)
    trouble, finish = (ModelTrouble.CUT, "length") if end is None else (None, "stop")
    return Outcome(
        Status.ANSWERED, text, tokens_in=tokens_in, tokens_out=len(kept), trouble=trouble, finish=finish, shown_px=shown
    )


def _shown(ready: LoadedModel, inputs: Mapping[str, Any], prompts: Sequence[Prompt]) -> list[tuple[int, int] | None]:
    """Width and height of the last image of each prompt as the model saw it, where the inputs say it."""
    if "image_grid_thw" not in inputs:
        return [None] * len(prompts)
    grids, patch_px = inputs["image_grid_thw"].tolist(), int(ready.processor.image_processor.patch_size)
    shown: list[tuple[int, int] | None] = []
    count = 0
    for prompt in prompts:
        count += prompt.frames
        _, height, width = grids[count - 1]
        shown.append((width * patch_px, height * patch_px) if prompt.frames else None)
    return shown
