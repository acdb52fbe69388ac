"""The model: a convolutional eye that marks objects, a reader of questions that looks at what the eye marked.

The eye gives, for an image of 288 x 160, a map of centres per class, the size, occlusion and colour of the object at
each place, and counts per class. Its strongest marks become *object tokens*. A reader (transformer) takes the words of
the question and these tokens (FRAME), or one token per image (SEGMENT, PROCEDURE), and answers by the head of the
wanted format; heads may point at tokens, so that "which is largest?" is learned as pointing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .asked import MOST_WORDS
from .words import CLASSES, COLOURS, MOST

WIDTH, HEIGHT, STRIDE = 288, 160, 4
MARKS, MOST_FRAMES = 16, 64
LEAST_STRENGTH = 0.05
"""Marks that are weaker are not read."""
COUNTS = 8
"""Of each class 0 to 7 objects are counted."""
KINDS = len(CLASSES)


@dataclass(frozen=True)
class Size:
    """How large the model is."""

    channels: tuple[int, ...] = (24, 40, 72, 112, 160)
    blocks: tuple[int, ...] = (2, 2, 3, 2)
    pyramid: int = 72
    width: int = 116
    layers: int = 3
    heads: int = 4
    answers: int = 1
    words: int = 2


TINY = Size(channels=(8, 8, 12, 16, 16), blocks=(1, 1, 1, 1), pyramid=12, width=24, layers=1, heads=2)


def _conv(before: int, after: int, size: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, size // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)
    )


class Block(nn.Module):
    """Two convolutions around which the input goes along."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.one = _conv(before, after, 3, stride)
        self.two = nn.Sequential(nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
        same = stride == 1 and before == after
        self.aside = nn.Identity() if same else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """The input, changed a little."""
        return F.relu(self.two(self.one(x)) + self.aside(x))


@dataclass
class Sight:
    """What the eye makes of a batch of images; maps are (batch, channels, 40, 72)."""

    heat: Tensor
    shape: Tensor
    """Width and height of the object that has its middle here, as shares of the image."""
    occluded: Tensor
    colour: Tensor
    counts: Tensor
    """(batch, classes, COUNTS), not normalised."""
    features: Tensor
    coarse: Tensor
    """(batch, channels, 5, 9)."""


class Eye(nn.Module):
    """From images to marks."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        c, p = size.channels, size.pyramid
        self.stem = _conv(3, c[0], 3, 2)
        stages = []
        for at, count in enumerate(size.blocks):
            blocks = [Block(c[at], c[at + 1], 2)] + [Block(c[at + 1], c[at + 1], 1) for _ in range(count - 1)]
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.ModuleList(stages)
        self.across = nn.ModuleList(nn.Conv2d(channels, p, 1) for channels in c[1:])
        self.smooth = nn.ModuleList(_conv(p, p) for _ in c[1:-1])
        self.branch = _conv(p, p)
        self.maps = nn.Conv2d(p, KINDS + 2 + 1 + len(COLOURS), 1)
        self.counts = nn.Linear(2 * p + c[-1], KINDS * COUNTS)
        nn.init.constant_(self.maps.bias[:KINDS], -3.5)

    def forward(self, pictures: Tensor) -> Sight:
        """Marks of images (batch, 3, 160, 288) with values around 0."""
        x, levels = self.stem(pictures), []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        coarse = x
        top = self.across[-1](levels[-1])
        for at in range(len(levels) - 2, -1, -1):
            side = self.across[at](levels[at])
            top = self.smooth[at](side + F.interpolate(top, size=side.shape[-2:], mode="nearest"))
        features = self.branch(top)
        maps = self.maps(features).float()
        heat, shape, occluded, colour = maps.split((KINDS, 2, 1, len(COLOURS)), dim=1)
        pooled = torch.cat((features.amax((2, 3)), features.mean((2, 3)), coarse.mean((2, 3))), 1)
        counts = self.counts(pooled).float().view(-1, KINDS, COUNTS)
        return Sight(heat, shape.sigmoid(), occluded, colour, counts, features, coarse)


@dataclass
class Marks:
    """The strongest marks of each image, strongest first."""

    kind: Tensor
    """(batch, MARKS), the class."""
    strength: Tensor
    place: Tensor
    """(batch, MARKS, 4): across, down, width, height, as shares."""
    occluded: Tensor
    described: Tensor
    """(batch, MARKS, n): everything known of the mark, as numbers."""

    @property
    def there(self) -> Tensor:
        """(batch, MARKS): which of them count, always the strongest."""
        return (self.strength > LEAST_STRENGTH) | (torch.arange(MARKS, device=self.strength.device) == 0)


def marks_of(sight: Sight) -> Marks:
    """The places where the map of a class is higher than around it."""
    chance = sight.heat.sigmoid()
    peak = chance * (chance == F.max_pool2d(chance, 3, 1, 1))
    high, wide = peak.shape[2:]
    strength, at = peak.flatten(1).topk(MARKS, dim=1)
    kind, cell = at // (high * wide), at % (high * wide)

    def here(maps: Tensor) -> Tensor:
        return maps.flatten(2).gather(2, cell[:, None].expand(-1, maps.shape[1], -1)).transpose(1, 2)

    middle = torch.stack(((cell % wide + 0.5) / wide, (cell // wide + 0.5) / high), -1).float()
    place = torch.cat((middle, here(sight.shape)), -1)
    occluded = here(sight.occluded).sigmoid()[..., 0]
    waves = torch.cat([f(math.pi * k * middle) for k in (1, 2, 4) for f in (torch.sin, torch.cos)], -1)
    one_hot = F.one_hot(kind, KINDS) * strength[..., None]
    known = (one_hot, strength[..., None], place, waves, occluded[..., None], here(sight.colour).softmax(-1))
    return Marks(kind, strength, place, occluded, torch.cat((*known, here(sight.features).float()), -1))


def summary_of(sight: Sight, marks: Marks) -> Tensor:
    """Per image: how many of each class, how sure, how many occluded, where the strongest is."""
    by_class = F.one_hot(marks.kind, KINDS) * marks.strength[..., None]
    expected = (sight.counts.softmax(-1) * torch.arange(COUNTS, device=sight.counts.device)).sum(-1)
    best = by_class / (by_class.sum(1, keepdim=True) + 1e-4)
    where = torch.einsum("bmk,bmp->bkp", best, marks.place).flatten(1)
    parts = (by_class.sum(1), by_class.amax(1), (by_class * marks.occluded[..., None]).sum(1), expected, where)
    return torch.cat((*parts, sight.coarse.mean((2, 3)).float()), 1)


def mark_width(size: Size) -> int:
    """How many numbers describe a mark."""
    return KINDS + 1 + 4 + 12 + 1 + len(COLOURS) + size.pyramid


def summary_width(size: Size) -> int:
    """How many numbers sum up an image."""
    return 8 * KINDS + size.channels[-1]


def time_waves(seconds: Tensor, window_s: Tensor) -> Tensor:
    """Sines of a time in the window, from the whole of it down to a few seconds; the window's length beside them."""
    share = seconds / window_s.clamp(min=1)
    waves = [f(math.pi * k * share) for k in (1, 2, 4, 8) for f in (torch.sin, torch.cos)]
    waves += [f(2 * math.pi * seconds / s) for s in (10, 25, 60, 150, 400) for f in (torch.sin, torch.cos)]
    return torch.stack((*waves, share, seconds / 300, window_s.expand_as(seconds) / 300), -1)


TIME_WIDTH = 21


@dataclass
class Questions:
    """A batch of questions as numbers."""

    words: Tensor
    """(batch, words), 0 where there is none."""
    times: Tensor
    """(batch, words), seconds since the start of the window, -1 where a word names none."""
    window_s: Tensor
    """(batch, 1)."""
    options: Tensor
    """(batch, options, words of an option), 0 where there is none."""
    option_times: Tensor
    """(batch, options), as `times`."""


@dataclass
class Heads:
    """What the heads say, for every question and every format."""

    binary: Tensor
    number: Tensor
    one_class: Tensor
    classes: Tensor
    choice: Tensor
    answer: Tensor
    pointed: Tensor
    """(batch, tokens): for times, how well each image fits."""
    share: Tensor
    """(batch,): for percentages and durations."""


class Reader(nn.Module):
    """Reads a question and the tokens of what was seen, and answers by every head."""

    def __init__(self, size: Size, token_width: int) -> None:
        super().__init__()
        d = size.width
        self.word = nn.Embedding(size.words, d, padding_idx=0)
        self.place = nn.Parameter(torch.randn(MOST_WORDS + 1, d) * 0.02)
        self.role = nn.Parameter(torch.randn(3, d) * 0.02)
        self.time = nn.Linear(TIME_WIDTH, d)
        self.token = nn.Sequential(nn.Linear(token_width, d), nn.GELU(), nn.Linear(d, d))
        self.total = nn.Linear(summary_width(size), d)
        layer = nn.TransformerEncoderLayer(d, size.heads, 4 * d, 0.1, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, size.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.scores = nn.Linear(d, 5)
        self.direct = nn.Linear(token_width, d)
        inner = (nn.Linear(4 * d + 3, 2 * d), nn.GELU(), nn.Dropout(0.1))
        self.mix = nn.Sequential(*inner, nn.Linear(2 * d, d), nn.GELU())
        self.binary, self.number = nn.Linear(d, 2), nn.Linear(d, MOST + 1)
        self.one_class, self.classes = nn.Linear(d, KINDS), nn.Linear(d, KINDS)
        self.choice, self.answer = nn.Linear(d, d), nn.Linear(d, size.answers)
        self.kinds_or_things = nn.Linear(d, 1)
        self.steep = nn.Parameter(torch.tensor(0.5))
        nn.init.constant_(self.scores.bias[3:4], -1.5)

    def forward(self, asked: Questions, tokens: Tensor, there: Tensor, kind: Tensor | None, total: Tensor,
                times: Tensor | None = None) -> Heads:  # fmt: skip
        """Answers by every head.

        Args:
            asked: The questions.
            tokens: (batch, tokens, n) of what was seen.
            there: (batch, tokens), which of them count.
            kind: (batch, tokens), the class each token stands for, or None.
            total: (batch, n), what was seen, summed up.
            times: (batch, tokens), when each was seen, in seconds since the start of the window.
        """
        words = self.word(asked.words) + self.place[1 : 1 + asked.words.shape[1]] + self.role[0]
        when = self.time(time_waves(asked.times, asked.window_s))
        words = words + when * (asked.times >= 0)[..., None]
        seen = self.token(tokens) + self.role[1]
        if times is not None:
            seen = seen + self.time(time_waves(times, asked.window_s))
        first = self.place[:1].expand(len(words), 1, -1)
        whole = (self.total(total) + self.role[2])[:, None]
        empty = torch.cat((there.new_zeros(len(there), 2), asked.words == 0, ~there), 1)
        x = self.norm(self.body(torch.cat((first, whole, words, seen), 1), src_key_padding_mask=empty))
        return self._heads(asked, x[:, 0], x[:, -tokens.shape[1] :], tokens, there, kind)

    def _heads(
        self, asked: Questions, head: Tensor, seen: Tensor, tokens: Tensor, there: Tensor, kind: Tensor | None
    ) -> Heads:
        point, other, every, keep, share = self.scores(seen).float().unbind(-1)
        point, other = (score.masked_fill(~there, -30.0) for score in (point, other))
        looked = torch.einsum("bt,btd->bd", point.softmax(-1).to(seen.dtype), seen)
        # Most answers stay when an image is mirrored, so the body forgets left and right; the tokens do not.
        pair = torch.stack((point.softmax(-1), other.softmax(-1)), 1).to(tokens.dtype) @ tokens
        direct = self.direct(pair).flatten(1)
        kept = keep.sigmoid() * there
        things = kept.sum(1) / (1 if kind is not None else MOST_FRAMES / 4)
        fraction = share.sigmoid().mul(there).sum(1) / there.sum(1).clamp(min=1)
        kinds = things
        if kind is not None:
            by_class = F.one_hot(kind, KINDS).bool() & there[..., None]
            kinds = (kept[..., None] * by_class).amax(1).sum(1)
        amounts = torch.stack((things, kinds, fraction), 1).to(head.dtype)
        z = self.mix(torch.cat((head, looked, direct.to(head.dtype), amounts), 1))
        number, one_class, classes = self.number(z).float(), self.one_class(z).float(), self.classes(z).float()
        if kind is not None:
            gate = self.kinds_or_things(head).float().sigmoid()[:, 0]
            amount = (gate * things + (1 - gate) * kinds)[:, None]
            number = number - self.steep * (amount - torch.arange(MOST + 1, device=z.device)) ** 2
            one_class = one_class + point[..., None].masked_fill(~by_class, -8.0).logsumexp(1)
            classes = classes + every[..., None].masked_fill(~by_class, -4.0).amax(1)
        options = self.word(asked.options).sum(2) / (asked.options > 0).sum(2, keepdim=True).clamp(min=1)
        when = self.time(time_waves(asked.option_times, asked.window_s))
        options = options + when * (asked.option_times >= 0)[..., None]
        choice = torch.einsum("bod,bd->bo", options.float(), self.choice(z).float()) / math.sqrt(z.shape[1])
        choice = choice.masked_fill((asked.options == 0).all(2), -30.0)
        return Heads(
            self.binary(z).float(), number, one_class, classes, choice, self.answer(z).float(), point, fraction
        )


class Sees(nn.Module):
    """The eye and its two readers: of one image, and of many."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.eye = Eye(size)
        self.frame = Reader(size, mark_width(size))
        self.long = Reader(size, summary_width(size))

    def look(self, pictures: Tensor) -> tuple[Sight, Marks, Tensor]:
        """What the eye sees in images, its marks, and the sum of each image."""
        sight = self.eye(pictures)
        marks = marks_of(sight)
        return sight, marks, summary_of(sight, marks)

    def read_frame(self, asked: Questions, marks: Marks, total: Tensor, *, blind: bool = False) -> Heads:
        """Answers to questions about one image each."""
        if blind:
            return self.frame(asked, torch.zeros_like(marks.described), torch.zeros_like(marks.there), marks.kind,
                              torch.zeros_like(total))  # fmt: skip
        return self.frame(asked, marks.described, marks.there, marks.kind, total)

    def read_long(
        self, asked: Questions, totals: Tensor, there: Tensor, times: Tensor, *, blind: bool = False
    ) -> Heads:
        """Answers to questions about several images each, summed up one by one."""
        if blind:
            totals = torch.zeros_like(totals)
        mean = (totals * there[..., None]).sum(1) / there.sum(1, keepdim=True).clamp(min=1)
        return self.long(asked, totals, there, None, mean, times)
