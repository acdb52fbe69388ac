"""Tiny models with random weights of every family, with their real processors, built offline and saved to a folder.

Their answers mean nothing. What is real is everything before and after: how images are scaled and cut, where a chat
template puts them, how many tokens each becomes, how a batch is padded and where an answer ends.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import transformers as t
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.processing_utils import ProcessorMixin

PAD, EOS, BOS = 0, 1, 2
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.content is string %}{{ message.content }}{% else %}"
    "{% for block in message.content %}{% if block.type == 'image' %}IMAGE{% else %}{{ block.text }}{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXT = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 2048, "pad_token_id": PAD, "eos_token_id": EOS,
    "bos_token_id": BOS,
}  # fmt: skip
CLIP_VISION = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 28,
    "patch_size": 14,
}  # fmt: skip


def without_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processors do without their video half, which needs torchvision, where that is not installed."""
    if importlib.util.find_spec("torchvision") is None:
        every = ProcessorMixin.get_attributes.__func__  # type: ignore[attr-defined]
        fewer = classmethod(lambda cls: [name for name in every(cls) if name != "video_processor"])
        monkeypatch.setattr(ProcessorMixin, "get_attributes", fewer)
        video = SimpleNamespace(num_frames=8, fps=1, size={"longest_edge": 56})  # what it reads of it for any prompt
        monkeypatch.setattr(t.SmolVLMProcessor, "video_processor", video, raising=False)
        defaults = t.SmolVLMProcessor.__init__.__defaults__
        monkeypatch.setattr(t.SmolVLMProcessor.__init__, "__defaults__", (None, *defaults))


def tokenizer(*specials: str, **named: str) -> Any:
    """A tokenizer of single bytes, and these words."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<eos>", "<bos>", "<unk>", *alphabet])}
    bytewise = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    bytewise.pre_tokenizer, bytewise.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    whole = t.PreTrainedTokenizerFast(
        tokenizer_object=bytewise, pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="<unk>",
        model_max_length=2048, extra_special_tokens=named,
    )  # fmt: skip
    whole.add_tokens(list(specials), special_tokens=True)
    return whole


def _saved(folder: Path, model: Any, processor: Any) -> Path:
    model.generation_config.eos_token_id = EOS
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _qwen(
    folder: Path, config: Any, model: Any, processor: Any, vision: dict[str, Any], patch_px: int, **text: Any
) -> Path:
    words = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    tokens = tokenizer("<|vision_start|>", "<|vision_end|>", *words.values(), **words)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    number = tokens.convert_tokens_to_ids
    whole = config(
        text_config=TEXT | {"vocab_size": len(tokens), "rope_parameters": rope} | text,
        vision_config={"depth": 1, "hidden_size": 32, "num_heads": 2, "patch_size": patch_px} | vision,
        image_token_id=number("<|image_pad|>"), video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"), vision_end_token_id=number("<|vision_end|>"),
    )  # fmt: skip
    side = 2 * patch_px
    pictures = t.Qwen2VLImageProcessorPil(patch_size=patch_px, min_pixels=side * side, max_pixels=16 * side * side)
    template = TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
    return _saved(folder, model(whole), processor(pictures, tokens, chat_template=template))


def qwen2_vl(folder: Path) -> Path:
    return _qwen(folder, t.Qwen2VLConfig, t.Qwen2VLForConditionalGeneration, t.Qwen2VLProcessor, {"embed_dim": 32}, 14)


def qwen2_5_vl(folder: Path) -> Path:
    vision = {"out_hidden_size": 32, "intermediate_size": 64, "fullatt_block_indexes": [0], "window_size": 112}
    kinds = (t.Qwen2_5_VLConfig, t.Qwen2_5_VLForConditionalGeneration, t.Qwen2_5_VLProcessor)
    return _qwen(folder, *kinds, vision, 14)


def qwen3_vl(folder: Path) -> Path:
    vision = {
        "out_hidden_size": 32, "intermediate_size": 64, "deepstack_visual_indexes": [0], "num_position_embeddings": 64,
    }  # fmt: skip
    kinds = (t.Qwen3VLConfig, t.Qwen3VLForConditionalGeneration, t.Qwen3VLProcessor)
    return _qwen(folder, *kinds, vision, 16, head_dim=8)


def internvl(folder: Path) -> Path:
    words = {
        "context_image_token": "<IMG_CONTEXT>",
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "video_token": "<video>",
    }
    tokens = tokenizer(*words.values(), **words)
    config = t.InternVLConfig(
        text_config=TEXT | {"model_type": "qwen2", "vocab_size": len(tokens)},
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
            "image_size": [28, 28], "patch_size": [14, 14],
        },
        image_token_id=tokens.convert_tokens_to_ids("<IMG_CONTEXT>"), image_seq_length=1, downsample_ratio=0.5,
    )  # fmt: skip
    pictures = t.GotOcr2ImageProcessorPil(size={"height": 28, "width": 28}, crop_to_patches=False)
    template = TEMPLATE.replace("IMAGE", "<IMG_CONTEXT>")
    processor = t.InternVLProcessor(pictures, tokens, image_seq_length=1, chat_template=template)
    return _saved(folder, t.InternVLForConditionalGeneration(config), processor)


def llava(folder: Path) -> Path:
    tokens = tokenizer("<image>")
    config = t.LlavaConfig(
        text_config=TEXT | {"model_type": "llama", "vocab_size": len(tokens)},
        vision_config=CLIP_VISION | {"model_type": "clip_vision_model"},
        image_token_index=tokens.convert_tokens_to_ids("<image>"), image_seq_length=4,
    )  # fmt: skip
    pictures = t.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    processor = t.LlavaProcessor(
        pictures, tokens, patch_size=14, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=TEMPLATE.replace("IMAGE", "<image>"),
    )  # fmt: skip
    return _saved(folder, t.LlavaForConditionalGeneration(config), processor)


def paligemma(folder: Path) -> Path:
    tokens = tokenizer("<image>")
    config = t.PaliGemmaConfig(
        text_config=TEXT | {"model_type": "gemma", "vocab_size": len(tokens) + 64, "head_dim": 8},
        vision_config=CLIP_VISION | {"model_type": "siglip_vision_model", "projection_dim": 32},
        image_token_index=tokens.convert_tokens_to_ids("<image>"), projection_dim=32, hidden_size=32,
    )  # fmt: skip
    pictures = t.SiglipImageProcessorPil(size={"height": 28, "width": 28})
    pictures.image_seq_length = 4
    return _saved(folder, t.PaliGemmaForConditionalGeneration(config), t.PaliGemmaProcessor(pictures, tokens))


def smolvlm(folder: Path) -> Path:
    words = {
        "image_token": "<image>",
        "fake_image_token": "<fake_token_around_image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>",
    }
    tokens = tokenizer(*words.values(), **words)
    config = t.SmolVLMConfig(
        text_config=TEXT | {"model_type": "llama", "vocab_size": len(tokens)},
        vision_config=CLIP_VISION | {"image_size": 56}, scale_factor=2,
        image_token_id=tokens.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    pictures = t.SmolVLMImageProcessorPil(
        size={"longest_edge": 56}, max_image_size={"longest_edge": 56}, do_image_splitting=False
    )
    processor = t.SmolVLMProcessor(
        pictures, tokens, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    return _saved(folder, t.SmolVLMForConditionalGeneration(config), processor)


def gemma3(folder: Path) -> Path:
    words = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    tokens = tokenizer(*words.values(), **words)
    number = tokens.convert_tokens_to_ids
    tokens.image_token_id = number("<image_soft_token>")
    config = t.Gemma3Config(
        text_config=TEXT | {"vocab_size": len(tokens), "head_dim": 8, "sliding_window": 512},
        vision_config=CLIP_VISION | {"image_size": 56}, mm_tokens_per_image=4,
        image_token_index=number("<image_soft_token>"), boi_token_index=number("<start_of_image>"),
        eoi_token_index=number("<end_of_image>"),
    )  # fmt: skip
    pictures = t.Gemma3ImageProcessorPil(size={"height": 56, "width": 56})
    processor = t.Gemma3Processor(
        pictures, tokens, image_seq_length=4, chat_template=TEMPLATE.replace("IMAGE", "<start_of_image>")
    )
    return _saved(folder, t.Gemma3ForConditionalGeneration(config), processor)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "qwen2_vl": qwen2_vl, "qwen2_5_vl": qwen2_5_vl, "qwen3_vl": qwen3_vl, "internvl": internvl, "llava": llava,
    "paligemma": paligemma, "smolvlm": smolvlm, "gemma3": gemma3,
}  # fmt: skip
"""Phi-4 is not among them: its processor of images cannot be built without torchvision."""


def language_model(folder: Path) -> Path:
    tokens = tokenizer()
    tokens.chat_template = TEMPLATE
    return _saved(folder, t.LlamaForCausalLM(t.LlamaConfig(**TEXT, vocab_size=len(tokens))), tokens)


def clip(folder: Path) -> Path:
    tokens = tokenizer()
    text = {key: TEXT[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")}
    config = t.CLIPConfig(
        text_config=text | {"vocab_size": len(tokens), "max_position_embeddings": 77, "eos_token_id": EOS},
        vision_config=CLIP_VISION, projection_dim=16,
    )  # fmt: skip
    pictures = t.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    tokens.model_max_length = 77
    return _saved_pair(folder, t.CLIPModel(config), t.CLIPProcessor(pictures, tokens))


def siglip(folder: Path) -> Path:
    tokens = tokenizer()
    tokens.model_max_length = 64
    text = {key: TEXT[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")}
    config = t.SiglipConfig(
        text_config=text | {"vocab_size": len(tokens), "max_position_embeddings": 64}, vision_config=CLIP_VISION
    )
    pictures = t.SiglipImageProcessorPil(size={"height": 28, "width": 28})
    return _saved_pair(folder, t.SiglipModel(config), t.SiglipProcessor(pictures, tokens))


def _saved_pair(folder: Path, model: Any, processor: Any) -> Path:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
