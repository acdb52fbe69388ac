"""Train the models of some recipes side by side on one device and keep their predictions.

    python -m examples.weakness_to_algorithm.train --data painted --out run1 --recipes baselines --folds 2

Needs torch, numpy and OpenCV (or PyAV and scipy). With `--folds 2` every recipe is trained three times: on half of the
development procedures to predict the other half, the other way round, and on all of them to predict the procedures that
are held out. Each training is a process of its own; recipes that differ only in what is done with the network's output
share one network, so that they differ in nothing else. `--tiny` is a CPU run of seconds that shows that all works.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from examples.weakness_to_algorithm.grouping import instances_of, without_learning
from examples.weakness_to_algorithm.losses import loss_of
from examples.weakness_to_algorithm.networks import network
from examples.weakness_to_algorithm.pack import Pack, read_pack
from examples.weakness_to_algorithm.recipes import BASELINES, Recipe, read_recipes, write_recipes
from examples.weakness_to_algorithm.spoiling import coloured, moved, pasted, spoiled
from torch.nn import functional as F

DEVELOPMENT = "development"
ALL = -1
"""The fold that leaves nothing out."""


def fold_of(videos: np.ndarray, folds: int) -> np.ndarray:
    """The fold of every row: whole videos, in their order, one after the other."""
    _, place = np.unique(videos, return_inverse=True)
    return place % folds


def rows_of_fit(pack: Pack, fold: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on and those to predict."""
    inside = pack.columns["part"] == DEVELOPMENT
    if fold == ALL:
        return np.flatnonzero(inside), np.flatnonzero(~inside)
    left_out = fold_of(pack.columns["video"], folds) == fold
    return np.flatnonzero(inside & ~left_out), np.flatnonzero(inside & left_out)


def sampling_weights(recipe: Recipe, pack: Pack, rows: np.ndarray, path: Path) -> np.ndarray:
    """How often each of the rows is drawn."""
    if recipe.sampling == "even":
        return np.full(len(rows), 1 / len(rows))
    stored = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    weight_of = dict(zip(stored["case"].tolist(), stored["weight"].tolist(), strict=True))
    weights = np.array([weight_of[case] for case in pack.columns["case"][rows].tolist()], dtype=float)
    if recipe.sampling == "shuffled":
        weights = np.random.default_rng(recipe.seed).permutation(weights)
    return weights / weights.sum()


class Trainer:
    """One model and the data on its device."""

    def __init__(self, recipe: Recipe, pack: Pack, *, width: int, device: str) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.device = recipe, device
        height, wide = pack.labels.shape[1:]
        self.size = height, wide
        self.pad = (0, -wide % 16, 0, -height % 16)
        self.load(pack)
        inputs = 3 if recipe.neighbours == "none" else 9
        self.model = network(recipe.kind, inputs=inputs, width=width).to(device, memory_format=torch.channels_last)

    def load(self, pack: Pack) -> None:
        """Bring other frames of the same size onto the device; rows are theirs from now on."""
        self.frames = torch.from_numpy(pack.frames).to(self.device)
        self.labels = torch.from_numpy(pack.labels).to(self.device)

    def batch(self, rows: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Frames in [0, 1] and labels of some rows, padded so that their sides divide by sixteen."""
        rows = torch.as_tensor(rows, device=self.device)
        frames = self.frames[rows].permute(0, 1, 4, 2, 3).float() / 255
        if self.recipe.neighbours == "none":
            frames = frames[:, 1:2]
        elif self.recipe.neighbours == "copies":
            frames = frames[:, 1:2].expand(-1, 3, -1, -1, -1)
        return F.pad(frames, self.pad), F.pad(self.labels[rows].long(), self.pad)

    def fit(self, rows: np.ndarray, weights: np.ndarray, *, steps: int, seconds: float, size: int) -> dict[str, Any]:
        """Train until the steps or the seconds are used up, the rate falling with whichever is further."""
        recipe, rng, start = self.recipe, np.random.default_rng(self.recipe.seed), time.monotonic()
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=1e-2)
        self.model.train()
        losses, done = [], 0
        while (way := max(done / steps, (time.monotonic() - start) / seconds)) < 1:
            for group in optimiser.param_groups:
                group["lr"] = 2e-3 * min(1.0, 20 * way + 0.05) * (0.5 + 0.5 * np.cos(np.pi * way)) + 1e-6
            frames, labels = moved(*self.batch(rng.choice(rows, size, p=weights)))
            if recipe.paste:
                frames, labels = pasted(frames, labels)
            frames = spoiled(coloured(frames), labels, recipe.spoilers)
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
                made = self.model(frames.flatten(1, 2).contiguous(memory_format=torch.channels_last))
            loss = loss_of(recipe.kind, made, labels, small_weigh_more=recipe.small_weigh_more)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            optimiser.step()
            done += 1
            if done % 50 == 1:
                losses.append(round(float(loss.detach()), 4))
        return {"steps": done, "seconds": round(time.monotonic() - start, 1), "losses": losses}

    @torch.no_grad()
    def predict(self, rows: np.ndarray, *, size: int = 32) -> np.ndarray:
        """The label maps of some rows."""
        self.model.eval()
        maps: list[np.ndarray] = []
        for start in range(0, len(rows), size):
            frames, _ = self.batch(rows[start : start + size])
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
                made = self.model(frames.flatten(1, 2).contiguous(memory_format=torch.channels_last))
            height, width = self.size
            cut = {name: one if name == "there" else one[..., :height, :width] for name, one in made.items()}
            maps += instances_of(self.recipe.kind, cut, merge=self.recipe.merge)
        return np.stack(maps)


def train_one(given: argparse.Namespace) -> None:
    """Train one recipe on one fold and write `NAME.FOLD.npz` for it and for all that share its network."""
    torch.set_num_threads(1)
    pack = read_pack(given.data / "frames.npz")
    recipes = read_recipes(given.out / "recipes.json")
    recipe = next(one for one in recipes if one.name == given.one)
    train, test = rows_of_fit(pack, given.fold, given.folds)
    weights = sampling_weights(recipe, pack, train, given.data / "weights.csv")
    trainer = Trainer(recipe, pack, width=given.width, device=given.device)
    record = trainer.fit(train, weights, steps=given.steps * recipe.longer, seconds=given.seconds, size=given.batch)
    if given.test:
        pack = read_pack(given.test / "frames.npz")
        trainer.load(pack)
        test = np.arange(len(pack))
    record |= {"fold": given.fold, "trained_on": len(train), "predicted": len(test), "network_of": recipe.name}
    for one in recipes:
        if one.training() == recipe.training():
            trainer.recipe = one
            path = given.out / f"{one.name.replace(' ', '_')}.{given.fold}.npz"
            np.savez_compressed(path, case=pack.columns["case"][test], labels=trainer.predict(test))
            path.with_suffix(".json").write_text(json.dumps({**record, "recipe": asdict(one)}), encoding="utf-8")


def train_all(given: argparse.Namespace, recipes: list[Recipe]) -> None:
    """Train every recipe on every fold side by side; then one file of predictions and one record remain."""
    given.out.mkdir(parents=True, exist_ok=True)
    write_recipes(recipes, given.out / "recipes.json")
    networks = {one.training(): one for one in reversed(recipes)}
    trained = [one for one in recipes if one in networks.values()]
    fits = [(one, fold) for one in trained for fold in ([*range(given.folds)] if given.folds > 1 else []) + [ALL]]
    shared = [f"--{name}={getattr(given, name)}" for name in ("data", "out", "folds", "width", "steps", "seconds",
                                                               "batch", "device")]  # fmt: skip
    module = "examples.weakness_to_algorithm.train"
    command = [sys.executable, "-m", module, *shared, *([f"--test={given.test}"] if given.test else [])]
    waiting, failed = [[*command, f"--one={one.name}", f"--fold={fold}"] for one, fold in fits], 0
    running: list[subprocess.Popen[bytes]] = []
    while waiting or running:
        while waiting and len(running) < given.parallel:
            running.append(subprocess.Popen(waiting.pop(0)))
        time.sleep(0.2)
        failed += sum(process.poll() not in (None, 0) for process in running)
        running = [process for process in running if process.poll() is None]
    _gather(given, recipes)
    if failed:
        raise SystemExit(f"{failed} of {len(fits)} trainings failed; the predictions of the others are kept")


def _gather(given: argparse.Namespace, recipes: list[Recipe]) -> None:
    """Join the files of all processes."""
    made: dict[str, np.ndarray] = {}
    for recipe in recipes:
        paths = sorted(given.out.glob(f"{recipe.name.replace(' ', '_')}.*.npz"))
        parts = []
        for path in paths:
            with np.load(path) as part:
                parts.append((part["case"], part["labels"]))
        if parts:
            made[f"{recipe.name}|case"] = np.concatenate([case for case, _ in parts])
            made[f"{recipe.name}|labels"] = np.concatenate([labels for _, labels in parts])
        for path in paths:
            path.unlink()
    if given.add_simple:
        pack = read_pack(given.data / "frames.npz")
        made["greyness|case"] = pack.columns["case"]
        made["greyness|labels"] = np.stack([without_learning(frames[1]) for frames in pack.frames])
    np.savez_compressed(given.out / "predictions.npz", **made)
    records = sorted(given.out.glob("*.*.json"))
    listed = [json.loads(path.read_text(encoding="utf-8")) for path in records]
    (given.out / "training.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    for path in records:
        path.unlink()


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder of `paint`.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipes", default="baselines", help="baselines, or a file of recipes.")
    parser.add_argument("--test", type=Path, help="Another folder of `paint`, all of which is predicted instead.")
    parser.add_argument("--folds", type=int, default=2, help="1: only the training on all development procedures.")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=120.0, help="Of each training; the rate falls in time.")
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--parallel", type=int, default=12)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true", help="Three steps of a very small network.")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    parser.add_argument("--fold", type=int, default=ALL, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tiny:
        given.width, given.steps, given.batch, given.parallel = 4, 3, 2, 1
    if given.one:
        train_one(given)
        return
    given.add_simple = given.recipes == "baselines"
    train_all(given, list(BASELINES) if given.recipes == "baselines" else read_recipes(Path(given.recipes)))


if __name__ == "__main__":
    main()
