"""Fine-tune an open vision-language model on a folder of `surgvalid data questions`, and score what came of it.

    python train.py --model FOLDER --questions questions --videos videos --track frame --out tuned

Questions are shown exactly as `surgvalid task ask` and `long-video:` show them (words, frames, their times and size),
so nothing differs between training and use. Memory and time are printed before the first step; `--dry-run` stops
there. A run that was stopped goes on where it was when the same command is given again. In the end OUT/model is a
folder for `surgvalid task ask --model transformers:OUT/model`, and OUT/scores has its scores on the test questions
beside those of the model as it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import lora  # type: ignore[import-not-found]


def options(arguments: list[str] | None) -> argparse.Namespace:
    """What the command line says."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "questions", "videos", "out"):
        reader.add_argument(f"--{name}", type=Path, required=True)
    reader.add_argument("--track", choices=("frame", "segment", "procedure"), default="frame")
    reader.add_argument("--frames", type=int, help="per question; by track 1, 16 or 32")
    reader.add_argument("--device", default=None)
    reader.add_argument("--dtype", default="bfloat16", help="of the frozen weights")
    reader.add_argument("--most", type=int, default=None, help="training questions at most")
    reader.add_argument("--dry-run", action="store_true", help="print memory and time and stop")
    reader.add_argument("--no-scores", action="store_true", help="train only")
    plain = lora.Settings()
    for name in ("steps", "batch", "rank", "alpha", "seed", "save_every", "warm_up"):
        reader.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(plain, name))
    reader.add_argument("--rate", type=float, default=plain.rate)
    reader.add_argument("--no-checkpointing", action="store_true", help="faster, where memory allows")
    return reader.parse_args(arguments)


def examples_of(given: argparse.Namespace) -> list[lora.Example]:
    """Training questions as `surgvalid task ask` would show them, with their references."""
    from types import SimpleNamespace

    from surgvalid.models import Can, PromptImage, QuestionMedia
    from surgvalid.schema.questions.question_files import load_questions

    folder = given.questions / "train" / given.track
    for name in ("requests.json", "references.json"):
        if not (folder / name).is_file():
            sys.exit(f"{folder / name}: no such file; give the folder that `surgvalid data questions --out` wrote")
    loaded = load_questions(folder / "requests.json", folder / "references.json")
    media = QuestionMedia(given.videos, given.track, given.out / "frames", frames=given.frames, media="frames")
    requests = list(loaded.requests.values())[: given.most]
    media.check(requests)
    shown: Any = media.prompts(SimpleNamespace(can=Can(images=True)), requests, max_tokens=64, words="")  # type: ignore[arg-type]
    examples = [
        lora.Example(
            tuple(part.path if isinstance(part, PromptImage) else part for part in prompt.parts),
            str(loaded.references[prompt.id].answer), prompt.system,
        )
        for prompt in shown
    ]  # fmt: skip
    for case, reason in media.unready.items():
        print(f"{case} is left out: {reason}", file=sys.stderr)
    if not examples:
        sys.exit(f"{folder}: no question can be shown; see above")
    return examples


def opened(given: argparse.Namespace) -> tuple[Any, Any]:
    """Model and processor from this machine alone."""
    import torch
    import transformers

    device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit(f"--device {device}: torch sees no GPU; say --device cpu --dtype float32, or run where there is one")
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        processor = transformers.AutoProcessor.from_pretrained(str(given.model), **local)
        model = transformers.AutoModelForImageTextToText.from_pretrained(str(given.model), dtype=given.dtype, **local)
        return model.to(device), processor
    except torch.cuda.OutOfMemoryError:
        sys.exit(f"{given.model}: the weights do not fit the memory of {device}; take a smaller model or a larger GPU")
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        hint = "" if find_spec("torchvision") else "; torchvision, which models for video need, is not installed"
        sys.exit(f"{given.model}: cannot be loaded ({' '.join(str(error).split())[:300]}){hint}")


def scored(given: argparse.Namespace, folder: Path, name: str) -> dict[str, Any]:
    """Answers of a model folder to the test questions, and their scores; judged formats only by exact words."""
    import surgvalid

    test = given.questions / "test" / given.track
    answers = surgvalid.ask(
        f"transformers:{folder}", test / "requests.json", videos=given.videos, track=given.track, frames=given.frames,
        media="frames", max_tokens=64, store=given.out / "store", device=given.device, dtype=given.dtype,
        accept_blind=True,  # before training it may not see yet; that is what is compared
    )  # fmt: skip
    given.out.mkdir(parents=True, exist_ok=True)
    path = answers.to_answers(given.out / f"{name}.json")
    result = surgvalid.score(
        test / "requests.json", test / "references.json", path, model=name, track=given.track, judges=["exact"]
    )
    result.to_dir(given.out / "scores" / name, force=True)
    values = result.table.filter(metric="correct")["value"] if "metric" in result.table.columns else None
    return {"model": name, "answered": len(answers.records["answers"]), "accuracy": _mean(values)}


def _mean(values: Any) -> float | None:
    return None if values is None or not len(values) else round(float(values.mean()), 4)


def main(arguments: list[str] | None = None) -> list[float]:
    """The losses of all steps; everything else lies in the folder."""
    given = options(arguments)
    names = ("steps", "batch", "rank", "alpha", "seed", "save_every", "warm_up", "rate")
    settings = lora.Settings(**{name: getattr(given, name) for name in names}, checkpointing=not given.no_checkpointing)
    examples = examples_of(given)
    print(f"{len(examples)} training questions of the track {given.track}", flush=True)
    model, processor = opened(given)
    model = lora.adapted(model, settings)
    if given.dry_run:
        lengths = lora.lengths_of(processor, examples)
        print("\n".join(lora.needs(model, processor, settings, examples, lengths).lines()), flush=True)
        return []
    losses = lora.trained(model, processor, examples, settings, given.out, say=lambda text: print(text, flush=True))
    model.config.use_cache = True
    model.merge_and_unload().save_pretrained(str(given.out / "model"))
    processor.save_pretrained(str(given.out / "model"))
    if not given.no_scores:
        table = [scored(given, given.model, "before"), scored(given, given.out / "model", "fine-tuned")]
        print(json.dumps(table, indent=1), flush=True)
    return losses


if __name__ == "__main__":
    main()
