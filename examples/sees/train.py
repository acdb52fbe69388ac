"""Train the model and its blind twin, and answer every test question with each.

    python -m examples.sees.train DATA OUT [--seconds 240] [--steps N] [--variant sees|blind|both] [--tiny] [--seed 0]

Needs torch, ONNX, numpy and OpenCV, not surgvalid. DATA is what `make_data.py` wrote. OUT gets `model/*.onnx` (8 bits
per weight; what `app.py` answers with), `learned.pt` (the same for torch), `metrics-VARIANT.json` (loss curve, steps,
seconds, versions) and `answers-VARIANT.json`: under each condition (`sees`, `shuffled` images of other videos, `blind`;
where `other_look.py` painted, `other look`) the answer to every test question.
With --seconds the number of steps is fixed after a few measured ones and printed; with --steps N and the same seed a
run can be repeated, on a CPU to the last bit, on a GPU but for the order in which it adds. With --weights FILE nothing
is trained: `answers-look.json` gets the answers to the images with another look.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import words
from .asked import Vocabulary, answer_text
from .learning import answer_loss, mirrored, moved_about, normal, recoloured, sight_loss
from .model import MARKS, TINY, Marks, Sees, Size, mark_width, summary_width
from .store import Store, Targets, asked_tensors, moved, rows_of, targets_of
from .weights import KEPT, export, load, parameters, rounded, save

READ_FROM = 0.2
"""Share of the steps after which the reader joins the eye."""
UNMEASURED, MEASURED = 12, 30
"""Steps before and during the measurement from which the number of steps follows."""
DROPPED, LOOKS = 0.15, 4
"""Share of the images that the reader of many goes without, and in how many lights it knows each: its eye knows the
training images too well."""
LONG_SHARE = 0.15
"""Share of the time for the reader of segments and procedures."""


class Asked:
    """The questions of a split and some tracks, as tensors on a device."""

    def __init__(self, store: Store, split: str, tracks: tuple[str, ...], vocabulary: Vocabulary, device: str) -> None:
        self.rows = store.chosen(split, tracks)
        self.read = [words.read(q["text"], q["procedure"]) for q in self.rows]
        starts, ends = [float(q["start"]) for q in self.rows], [float(q["end"]) for q in self.rows]
        self.asked = moved(asked_tensors(self.read, starts, ends, vocabulary), device)
        self.right: Targets = moved(targets_of(self.rows, self.read, vocabulary), device)
        which, when = store.pictures_for(self.rows)
        if tracks == ("frame",):
            index = store.frame_index()
            which[:, 0] = torch.tensor([index[q["video"], q["end"]] for q in self.rows])
        self.which, self.when = which.to(device), when.to(device)
        often = Counter(q["template"] for q in self.rows)
        self.weight = torch.tensor([often[q["template"]] ** -0.5 for q in self.rows], device=device)

    def draw(self, count: int) -> Tensor:
        """Rows for a step: a template with few questions comes more often than its share, so that it is learned too."""
        return torch.multinomial(self.weight, count, replacement=True)

    def __len__(self) -> int:
        return len(self.rows)


class Average:
    """A running mean of all weights, which is better than any of them."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.state = {name: value.detach().clone().float() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def add(self, model: torch.nn.Module, keep: float) -> None:
        """Take in the present weights."""
        for name, value in model.state_dict().items():
            self.state[name].lerp_(value.float(), 1 - keep)


def rate(step: int, steps: int, top: float) -> float:
    """The learning rate: up quickly, then down along a cosine."""
    rise = min(1.0, (step + 1) / max(20, steps // 50))
    return top * rise * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, step / max(1, steps)))))


class Run:
    """One training."""

    def __init__(self, options: argparse.Namespace, variant: str) -> None:
        torch.manual_seed(options.seed)
        self.options, self.blind = options, variant == "blind"
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.store = Store.read(options.data, threads=options.threads)
        if options.tiny:
            self.size, self.batch = TINY, 8
        else:
            self.size, self.batch = Size(), 192
        self.vocabulary = Vocabulary.of(self.store.chosen("train", ("frame", "segment", "procedure")))
        self.size = replace(self.size, words=len(self.vocabulary.words), answers=len(self.vocabulary.answers))
        # Channels last are faster on a GPU; on a CPU the backward pass can crash with them (torch 2.13).
        self.layout = torch.channels_last if self.device == "cuda" else torch.contiguous_format
        self.model = Sees(self.size).to(self.device).to(memory_format=self.layout)
        self.pictures = self.store.pictures.to(self.device)
        self.objects = self.store.objects.to(self.device)
        train_videos = {q["video"] for q in self.store.questions if q["split"] == "train"}
        known = [at for at, video in enumerate(self.store.video_of) if video in train_videos]
        self.known = torch.tensor(known, device=self.device)
        self.curve: list[dict[str, float]] = []
        self.began = time.monotonic()
        self.say(f"{variant}: {parameters(self.model)} parameters, {len(known)} training images, {self.device}")

    def say(self, text: str) -> None:
        """Print with the time."""
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def loop(
        self, module: torch.nn.Module, steps: int | None, seconds: float, top: float, step_of: Any, name: str
    ) -> int:
        """Run the steps of one stage on one part of the model; returns how many there were."""
        eye = [weight for name, weight in module.named_parameters() if name.startswith("eye.")]
        rest = [weight for name, weight in module.named_parameters() if not name.startswith("eye.")]
        groups = [{"params": weights, "speed": speed} for weights, speed in ((eye, 2.0), (rest, 1.0)) if weights]
        optimiser = torch.optim.AdamW(groups, lr=top, weight_decay=0.03, betas=(0.9, 0.98))
        average, began, at = Average(module), time.monotonic(), 0
        while steps is None or at < steps:
            for group in optimiser.param_groups:
                group["lr"] = group["speed"] * rate(at, steps or 1000, top)
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
                losses = step_of(at / steps if steps else 0.0)
            loss = sum(losses.values(), torch.zeros((), device=self.device))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 5.0)
            optimiser.step()
            average.add(module, min(0.998, (at + 1) / (at + 10)))
            at += 1
            if steps is None and at == UNMEASURED:  # the first steps are slow
                began = time.monotonic()
            elif steps is None and at == UNMEASURED + MEASURED:
                each_s = (time.monotonic() - began) / MEASURED
                steps = at + int(0.97 * seconds / each_s)
                self.say(f"{name}: {steps} steps of {1000 * each_s:.1f} ms")
            if at % max(1, (steps or 400) // 40) == 0:
                values = {key: round(float(value.detach()), 4) for key, value in losses.items()}
                self.curve.append({"stage": name, "step": at, **values})  # type: ignore[dict-item]
                self.say(f"{name} {at}: {values}")
        module.load_state_dict({k: v.to(module.state_dict()[k].dtype) for k, v in average.state.items()})
        return at

    def frame_step(self, train: Asked) -> Any:
        """One step of the eye and the reader of single images."""

        def step(progress: float) -> dict[str, Tensor]:
            model, device = self.model, self.device
            rows = train.draw(self.batch)
            asked, right, which = rows_of(train.asked, rows), rows_of(train.right, rows), train.which[rows, 0]
            mirror = torch.randint(4, (self.batch,), device=device)
            one = right.one.gather(1, mirror[:, None])[:, 0]
            if self.blind:
                heads = model.read_frame(asked, *self.nothing(self.batch), blind=True)
                return {"answers": answer_loss(heads, right, right.one[:, 0], None, torch.ones(1, 1, device=device))}
            shown, objects = mirrored(normal(self.pictures[which]), self.objects[which], mirror)
            others = self.known[torch.randint(len(self.known), (self.batch,), device=device)]
            mirror = torch.randint(4, (self.batch,), device=device)
            more, more_objects = mirrored(normal(self.pictures[others]), self.objects[others], mirror)
            more, more_objects = moved_about(more, more_objects)
            shown = recoloured(torch.cat((shown, more))).contiguous(memory_format=self.layout)
            sight, marks, total = model.look(shown)
            losses = sight_loss(sight, torch.cat((objects, more_objects)))
            if progress >= READ_FROM:
                half = Marks(*(getattr(marks, name)[: self.batch] for name in Marks.__dataclass_fields__))
                heads = model.read_frame(asked, half, total[: self.batch])
                losses["answers"] = answer_loss(heads, right, one, None, torch.ones(1, 1, device=device))
            return losses

        return step

    def nothing(self, count: int) -> tuple[Marks, Tensor]:
        """What an eye sees that is shut."""
        none = torch.zeros(count, MARKS, device=self.device)
        empty = torch.zeros(count, MARKS, mark_width(self.size), device=self.device)
        marks = Marks(none.long(), none, none[..., None].expand(-1, -1, 4), none, empty)
        return marks, torch.zeros(count, summary_width(self.size), device=self.device)

    def long_step(self, train: Asked, totals: Tensor) -> Any:
        """One step of the reader of segments and procedures."""

        def step(_: float) -> dict[str, Tensor]:
            rows = train.draw(self.batch)
            asked, right, which, when = (rows_of(train.asked, rows), rows_of(train.right, rows), train.which[rows],
                                         train.when[rows])  # fmt: skip
            there = (which >= 0) & (torch.rand(which.shape, device=self.device) > DROPPED)
            there[:, 0] = True
            look = torch.randint(len(totals), (len(rows), 1), device=self.device)
            heads = self.model.read_long(asked, totals[look, which.clamp(min=0)], there, when, blind=self.blind)
            return {"answers": answer_loss(heads, right, right.one[:, 0], when, there)}

        return step

    @torch.no_grad()
    def totals(self, *, changed: bool = False) -> Tensor:
        """Every image, summed up by the eye; or as it would be in other light."""
        self.model.eval()
        parts = []
        for at in range(0, len(self.pictures), 256):
            shown = normal(self.pictures[at : at + 256])
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
                parts.append(self.model.look(recoloured(shown) if changed else shown)[2].float())
        self.model.train()
        return torch.cat(parts)

    def train(self) -> dict[str, Any]:
        """Both stages; returns what a model card needs."""
        tracks = {q["track"] for q in self.store.questions}
        frame = Asked(self.store, "train", ("frame",), self.vocabulary, self.device)
        steps = self.options.steps
        seconds = self.options.seconds * (1 - LONG_SHARE)
        if self.blind:
            steps = max(1, steps // 4 if steps else 15 * len(frame) // self.batch)
        self.model.train()
        did = {"frame": self.loop(self.model, steps, seconds, 1e-3, self.frame_step(frame), "frame")}
        if tracks - {"frame"}:
            long = Asked(self.store, "train", ("segment", "procedure"), self.vocabulary, self.device)
            looks = [self.nothing(len(self.pictures))[1]] if self.blind else [
                self.totals(changed=look > 0) for look in range(LOOKS)
            ]  # fmt: skip
            totals = torch.stack(looks)
            limit = self.options.steps or min(1200, max(1, 30 * len(long) // self.batch))
            did["long"] = self.loop(self.model.long, limit, 0.0, 1e-3, self.long_step(long, totals), "long")
        return {
            "variant": "blind" if self.blind else "sees", "seed": self.options.seed, "steps": did,
            "asked": (f"--steps {steps}" if self.options.steps else f"--seconds {self.options.seconds:g}")
                     + " --tiny" * self.options.tiny,
            "seconds": round(time.monotonic() - self.began, 1), "batch": self.batch, "curve": self.curve,
            "parameters": parameters(self.model), "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if self.device == "cuda" else "CPU",
            "questions": Counter(q["split"] + " " + q["track"] for q in self.store.questions),
            "pictures": len(self.pictures), "videos": len(self.store.videos),
        }  # fmt: skip

    @torch.no_grad()
    def answers(self, condition: str) -> dict[str, str]:
        """The answer to every test question, with the model as it will be kept."""
        self.model.eval()
        rng, given = np.random.default_rng(self.options.seed), {}
        for tracks in (("frame",), ("segment", "procedure")):
            if not self.store.chosen("test", tracks):
                continue
            test = Asked(self.store, "test", tracks, self.vocabulary, self.device)
            if condition == "other look":
                return self.with_other_look(test)
            which, when = test.which, test.when
            if condition == "shuffled":
                order = torch.from_numpy(elsewhere(test.rows, rng)).to(self.device)
                which, when = which[order], when[order]
            for at in range(0, len(test), 64):
                given |= self.some(test, torch.arange(at, min(at + 64, len(test)), device=self.device), which, when,
                                   blind=condition == "blind")  # fmt: skip
        return given

    def with_other_look(self, test: Asked) -> dict[str, str]:
        """The answers to the FRAME questions whose images there are with another centre's camera."""
        kept = self.pictures
        self.pictures = kept.clone()
        for at, picture in self.store.other_look.items():
            self.pictures[at] = torch.from_numpy(picture).to(self.device)
        rows = [n for n, at in enumerate(test.which[:, 0].tolist()) if at in self.store.other_look]
        given = {}
        for at in range(0, len(rows), 64):
            some = torch.tensor(rows[at : at + 64], device=self.device)
            given |= self.some(test, some, test.which, test.when, blind=False)
        self.pictures = kept
        return given

    def some(self, test: Asked, rows: Tensor, which: Tensor, when: Tensor, *, blind: bool) -> dict[str, str]:
        """The answers to some of the questions."""
        asked, pictures, marks, times = rows_of(test.asked, rows), which[rows], None, None
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            if test.rows[0]["track"] == "frame":
                marks, total = self.nothing(len(rows))
                if not blind:
                    _, marks, total = self.model.look(normal(self.pictures[pictures[:, 0]]))
                heads = self.model.read_frame(asked, marks, total, blind=blind)
            else:
                there, times = pictures >= 0, when[rows]
                totals = torch.zeros(*pictures.shape, summary_width(self.size), device=self.device)
                if not blind:
                    totals[there] = self.every[pictures[there]]
                heads = self.model.read_long(asked, totals, there, times, blind=blind)
        texts = {}
        for row, number in enumerate(rows.tolist()):
            q = test.rows[number]
            texts[q["id"]] = answer_text(
                test.read[number], heads, row, start_s=q["start"], window_s=max(1.0, q["end"] - q["start"]),
                answers=list(self.vocabulary.answers), times=times, marks=None if blind else marks,
            )  # fmt: skip
        return texts

    def finish(self, out: Path) -> None:
        """Keep the weights, and answer with what was kept."""
        about = self.train()
        if not self.blind:
            self.model.load_state_dict(rounded(self.model.state_dict()))
            save(out / KEPT, self.model, self.vocabulary)
            kept, vocabulary = load(out / KEPT)
            about["sha256"], about["bytes"] = export(out / "model", kept, vocabulary)
        self.every = self.nothing(1)[1] if self.blind else self.totals()
        conditions = ("blind",) if self.blind else ("sees", "shuffled", *["other look"] * bool(self.store.other_look))
        given = {condition: self.answers(condition) for condition in conditions}
        about["exact"] = {condition: exact(self.store, answers) for condition, answers in given.items()}
        self.say(json.dumps(about["exact"], indent=1))
        variant = about["variant"]
        (out / f"metrics-{variant}.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
        (out / f"answers-{variant}.json").write_text(json.dumps(given, indent=0), encoding="utf-8")

    def look_again(self, out: Path) -> None:
        """Answer the questions whose images there are with another look, with weights that exist."""
        model, self.vocabulary = load(self.options.weights)
        self.size, self.model = model.size, model.to(self.device)
        given = {"other look": self.answers("other look")}
        (out / "answers-look.json").write_text(json.dumps(given, indent=0), encoding="utf-8")


def elsewhere(rows: list[dict[str, Any]], rng: np.random.Generator) -> np.ndarray:
    """For each question a question of the same track in another video, whose images it gets."""
    order = np.empty(len(rows), np.int64)
    for at, row in enumerate(rows):
        others = [n for n, q in enumerate(rows) if q["video"] != row["video"] and q["track"] == row["track"]]
        order[at] = rng.choice(others) if others else at
    return order


def exact(store: Store, given: dict[str, str]) -> dict[str, float]:
    """Share of answers that equal the reference to the letter, by set: a first look, not the score."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for q in store.questions:
        if q["id"] in given:
            for key in (f"{q['track']} {'new centre' if q['ood'] else 'known'}",
                        f"{q['track']} {q['format']} {'new centre' if q['ood'] else 'known'}"):  # fmt: skip
                asked[key] += 1
                right[key] += given[q["id"]].casefold() == q["answer"].casefold()
    return {key: round(right[key] / asked[key], 3) for key in sorted(asked)}


def options_from(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--steps", type=int, help="instead of --seconds: a run that can be repeated")
    parser.add_argument("--variant", choices=("sees", "blind", "both"), default="both")
    parser.add_argument("--tiny", action="store_true", help="a very small model, for tests")
    parser.add_argument("--weights", type=Path, help="answer images with another look; train nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=8)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Train what is asked for; both at the same time when both are."""
    options = options_from(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.weights is not None:
        Run(options, "sees").look_again(options.out)
        return
    twin = None
    if options.variant == "both":
        given = arguments if arguments is not None else sys.argv[1:]
        given = [word for word in given if word not in ("--variant", "both")]
        twin = subprocess.Popen([sys.executable, "-u", "-m", "examples.sees.train", *given, "--variant", "blind"])
    Run(options, "sees" if options.variant == "both" else options.variant).finish(options.out)
    if twin is not None and twin.wait():
        raise SystemExit("train: the blind twin failed")


if __name__ == "__main__":
    main()
