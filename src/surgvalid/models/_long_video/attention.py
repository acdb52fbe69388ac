"""Attention of transformers by two calls of PyTorch: one over all images, one behind what is kept.

By default every image is a call of its own, and tokens behind a kept prefix get a mask of tokens times prefix, which no
fast kernel takes: an image took 13.9 ms on an H200 for 4.4 (bench/gpu_long_video.py). Families whose images or tokens
are padded need their masks and keep the default.
"""

from __future__ import annotations

from typing import Any

from surgvalid.models._local import needed

NAME = "flash_calls_of_torch"
"""`flash` makes the towers of Qwen give all images at once; a name that is not registered for masks gets none."""
FAMILIES = ("qwen2_5_vl", "qwen3_vl")


def attend_in_few_calls(model: Any) -> None:
    """Let a model of `FAMILIES` attend so; others stay as they are."""
    if model.config.model_type in FAMILIES:
        needed("transformers", "long-video").AttentionInterface.register(NAME, attend)
        for config in (model.config.text_config, model.config.vision_config):
            config._attn_implementation = NAME


def attend(_: Any, query: Any, key: Any, value: Any, __: Any = None, **options: Any) -> tuple[Any, None]:
    """What a layer sees: every image itself, or every token all before it."""
    scale, cuts = options.get("scaling"), options.get("cu_seq_lens_q")
    if cuts is not None:
        rows = [tensor[0].transpose(0, 1).contiguous() for tensor in (query, key, value)]
        cuts, most = cuts.int(), int(options["max_length_q"])
        varlen = needed("torch.nn.attention.varlen", "long-video")
        return varlen.varlen_attn(*rows, cuts, cuts, most, most, scale=scale)[None], None
    mask = needed("torch.nn.attention.bias", "long-video").causal_lower_right(query.shape[2], key.shape[2])
    call = needed("torch.nn.functional", "long-video").scaled_dot_product_attention
    return call(query, key, value, attn_mask=mask, scale=scale, enable_gqa=True).transpose(1, 2).contiguous(), None
