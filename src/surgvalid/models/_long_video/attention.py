"""Attention of transformers by few calls of PyTorch: one over all images, one or two behind what is kept.

By default every image is a call of its own, and tokens behind a kept prefix get a mask of tokens times prefix, which no
fast kernel takes: an image took 13.9 ms on an H200 for 4.4, and 1.9 with compiled blocks (bench/gpu_long_video.py).
Behind a prefix only PyTorch's older kernel knows the mask, at 340 of the 780 TFLOP/s of a matrix product there; what is
new to itself and what is new to the prefix are two calls that the kernel of cuDNN takes, at 590. Questions that are
answered together see the prefix in one call and themselves by a small mask. Families whose images or tokens are padded
need their masks and keep the default.
"""

from __future__ import annotations

from typing import Any

from surgvalid.models._local import needed

NAME = "flash_calls_of_torch"
"""`flash` makes the towers of Qwen give all images at once; a name that is not registered for masks gets none."""
FAMILIES = ("qwen2_5_vl", "qwen3_vl")


_MANY = 256
"""New tokens from which the kernel of cuDNN is the fastest; a question is shorter."""
_WIDTH = 8
"""Of which widths must be multiples, in 16-bit numbers."""


def attend_in_few_calls(model: Any) -> None:
    """Let a model of `FAMILIES` attend so, with its vision compiled on a GPU; others stay as they are."""
    if model.config.model_type in FAMILIES:
        needed("transformers", "long-video").AttentionInterface.register(NAME, attend)
        for config in (model.config.text_config, model.config.vision_config):
            config._attn_implementation = NAME
        for block in model.model.visual.blocks if model.device.type == "cuda" else ():
            widen(block.mlp)
            block.compile(dynamic=True)
        for layer in model.model.language_model.layers if model.device.type == "cuda" else ():
            for piece in (layer.mlp, layer.input_layernorm, layer.post_attention_layernorm):
                piece.compile(dynamic=True)  # not the layer: its number would make every one a program of its own


def widen(layers: Any) -> None:
    """Let widths that fast kernels do not take end in zeros: 3420, in Qwen2.5-VL, takes twice as long as 3424."""
    torch = needed("torch", "long-video")
    *first, last = [layer for layer in layers.children() if isinstance(layer, torch.nn.Linear)]
    more, pad = -last.in_features % _WIDTH, torch.nn.functional.pad
    last.weight.data = pad(last.weight.data, (0, more))
    for layer in first:
        layer.weight.data = pad(layer.weight.data, (0, 0, 0, more))
        if layer.bias is not None:
            layer.bias.data = pad(layer.bias.data, (0, more))


def attend(_: Any, query: Any, key: Any, value: Any, mask: Any = None, **options: Any) -> tuple[Any, None]:
    """What a layer sees: every image itself, or every token all before it, or what the mask lets it see of the last."""
    scale, cuts = options["scaling"], options.get("cu_seq_lens_q")
    if cuts is not None:
        rows = [tensor[0].transpose(0, 1).contiguous() for tensor in (query, key, value)]
        cuts, most = cuts.int(), int(options["max_length_q"])
        varlen = needed("torch.nn.attention.varlen", "long-video")
        return varlen.varlen_attn(*rows, cuts, cuts, most, most, scale=scale)[None], None
    new, before = query.shape[2], key.shape[2] - query.shape[2]
    if mask is not None:
        seen = _behind(query, key, value, mask, scale)
    elif query.is_cuda and new >= _MANY and before:
        call = needed("torch", "long-video").ops.aten._scaled_dot_product_cudnn_attention
        pairs = [tensor.split([before, new], dim=2) for tensor in (key, value)]
        parts = [
            call(query, *pair, None, True, 0.0, bool(causal), scale=scale)
            for causal, pair in enumerate(zip(*pairs, strict=True))
        ]
        seen = joined(*((seen, weight.reshape(*query.shape[:3], 1)) for seen, weight, *_ in parts))
    else:
        mask = needed("torch.nn.attention.bias", "long-video").causal_lower_right(new, key.shape[2])
        call = needed("torch.nn.functional", "long-video").scaled_dot_product_attention
        seen = call(query, key, value, attn_mask=mask, scale=scale, enable_gqa=True)
    return seen.transpose(1, 2).contiguous(), None


def _behind(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Attention to all of a prefix, and to what follows it as the mask adds; heads that share keys are rows of one."""
    torch, before = needed("torch", "long-video"), key.shape[2] - mask.shape[-1]
    (far, near), (seen, fresh) = (tensor.split([before, mask.shape[-1]], dim=2) for tensor in (key, value))
    rows = query.reshape(1, key.shape[1], -1, query.shape[3])
    if query.is_cuda and query.shape[2] >= _MANY:
        call = torch.ops.aten._scaled_dot_product_cudnn_attention
        seen, weight = call(query, far, seen, None, True, 0.0, False, scale=scale)[:2]
        seen, weight = seen.reshape(rows.shape), weight.reshape(rows.shape[:3])
    elif query.is_cuda:
        seen, weight = torch.ops.aten._scaled_dot_product_flash_attention(rows, far, seen, scale=scale)[:2]
    else:
        scores = scale * rows @ far.mT
        seen, weight = scores.softmax(-1) @ seen, scores.logsumexp(-1)
    heads = (1, key.shape[1], -1, *mask.shape[2:])
    scores = torch.add(mask, (rows @ near.mT).view(heads), alpha=scale).view(*rows.shape[:3], -1)
    shares = torch.cat([weight[..., None], scores], -1).softmax(-1).to(value.dtype)
    return torch.baddbmm((shares[..., :1] * seen)[0], shares[0, ..., 1:], fresh[0]).view(query.shape)


def joined(first: tuple[Any, Any], second: tuple[Any, Any]) -> Any:
    """Attention over both of two sets of keys, from that over each with the logarithm of its sum of weights."""
    (one, one_weight), (other, other_weight) = first, second
    return other.float().lerp(one.float(), (one_weight - other_weight).sigmoid()).to(one.dtype)
