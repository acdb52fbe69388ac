"""A task of ours for other harnesses: a folder that inspect and lmms-eval run, with what is independent declared.

Both take the same cases, and both read replies as `surgvalid.read_reply` does, so a score is the same wherever a model
is asked. Their logs are tables of every verb again.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from surgvalid.bridges.measured import slug
from surgvalid.errors import Misuse
from surgvalid.models import Can, Clip, PromptImage
from surgvalid.results.folder import files_below, staged
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.request import VerbRequest
from surgvalid.tasks import TaskInstance
from surgvalid.tasks.prepare import PreparedTask, TaskOptions, prepare_task
from surgvalid.tasks.responses import reply_schema
from surgvalid.tasks.task import TaskForm

_READING = '''\
"""How replies are scored: 1 where surgvalid reads the class of the reference out of them."""

import json
from pathlib import Path

import surgvalid

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "schema.json").read_text(encoding="utf-8"))


def value(reply, reference):
    """1 or 0; a reply that cannot be read is wrong."""
    return float(surgvalid.read_reply(reply, SCHEMA).value == reference)
'''
_INSPECT = '''\
"""inspect eval inspect_task.py --model PROVIDER/MODEL"""

import json
import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer, stderr

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from reading import value


@scorer(metrics=[accuracy(), stderr(cluster="{unit}")])
def read_class():
    async def score(state, target):
        said = state.output.completion
        return Score(value=CORRECT if value(said, target.text) else INCORRECT, answer=said)

    return score


def sample(row):
    pieces = [
        ContentImage(image=str(HERE / one["image"])) if "image" in one else ContentText(text=one["text"])
        for one in row["parts"]
    ]
    about = {{"{unit}": row["{unit}"], "video": row["video"]}}
    return Sample(id=row["id"], input=[ChatMessageUser(content=pieces)], target=row["target"], metadata=about)


@task
def {name}():
    rows = (HERE / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [sample(json.loads(row)) for row in rows]
    return Task(dataset=samples, scorer=read_class(), config=GenerateConfig(max_tokens={max_tokens}))
'''
_LMMS_EVAL = """\
# python -m lmms_eval --model MODEL --tasks {name} --include_path THIS_FOLDER --log_samples --output_path OUT
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: cases.jsonl
test_split: test
output_type: generate_until
cluster_key: {unit}
doc_to_visual: !function lmms_eval_task.images
doc_to_text: !function lmms_eval_task.text
doc_to_target: target
process_results: !function lmms_eval_task.scored
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
metric_list:
  - metric: accuracy_score
    aggregation: !function lmms_eval_task.mean
    higher_is_better: true
metadata:
  version: 1
"""
_FUNCTIONS = '''\
"""What lmms-eval asks for: images, text, scores. A score carries what is independent: standard errors need it."""

import sys
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from reading import value


def images(doc):
    return [Image.open(HERE / one["image"]).convert("RGB") for one in doc["parts"] if one.get("image")]


def text(doc, lmms_eval_specific_kwargs=None):
    return "\\n".join(one["text"] for one in doc["parts"] if one.get("text"))


def scored(doc, results):
    about = {{"id": doc["id"], "{unit}": doc["{unit}"], "video": doc["video"]}}
    return {{"accuracy_score": {{**about, "score": value(results[0], doc["target"])}}}}


def mean(results):
    return sum(one["score"] for one in results) / len(results)
'''


def write(task: str | Path | TaskInstance, root: str | Path, folder: str | Path, *, force: bool = False) -> Path:
    """Write the cases of a task with their media, `inspect_task.py`, and what lmms-eval loads; gives the folder.

    Args:
        task: The name or file of a task that asks for one class.
        root: The folder of its data.
        folder: A new one.
        force: Whether what stands there may be replaced.

    Raises:
        Misuse: The task asks for something else than one class, or shows whole videos.
        InputInvalid: Files that are missing or cannot be used; all are named.
        WouldOverwrite: The folder holds something already.
    """
    with tempfile.TemporaryDirectory() as frames:
        made = prepare_task(task, Can(images=True), root, TaskOptions(), frames=frames)
        if made.task.answer.form is not TaskForm.CHOICE:
            raise Misuse(
                f"task {made.task.name!r} asks for {made.task.answer.form.value}; only a choice can be handed on"
            )
        made.cut()
        with staged(Path(folder), force=force) as stage:
            (stage / "media").mkdir()
            rows = _rows(made, stage)
            schema = {key: one for key, one in asdict(reply_schema(made.task.answer)).items() if one}
            about = {
                "name": slug(made.task.name).replace("-", "_").replace(".", "_"),
                "unit": made.cases.unit,
                "max_tokens": made.task.answer.max_tokens,
            }
            texts = {
                "cases.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
                "schema.json": json.dumps(schema),
                "reading.py": _READING,
                "inspect_task.py": _INSPECT.format(**about),
                f"{about['name']}.yaml": _LMMS_EVAL.format(**about),
                "lmms_eval_task.py": _FUNCTIONS.format(**about),
            }
            for name, text in texts.items():
                (stage / name).write_text(text, encoding="utf-8")
            request = VerbRequest("harness_task", {"task": made.task.name})
            write_manifest(stage / MANIFEST, manifest_of(request, outputs=files_below(stage)))
    return Path(folder)


def _rows(made: PreparedTask, stage: Path) -> list[dict[str, Any]]:
    """A row for each case; its images lie in the folder `media` afterwards."""
    cases = {row["case"]: row for row in made.cases.table.iter_rows(named=True)}
    rows: list[dict[str, Any]] = []
    for prompt in made.prompts():
        parts: list[dict[str, str]] = [{"text": prompt.system}] if prompt.system else []
        for piece in prompt.parts:
            if isinstance(piece, Clip):
                raise Misuse(f"task {made.task.name!r} shows whole videos; only frames can be handed on")
            if isinstance(piece, PromptImage):
                name = f"media/{piece.digest[:24]}{piece.path.suffix}"
                shutil.copyfile(piece.path, stage / name)
                parts.append({"image": name})
            else:
                parts.append({"text": piece})
        case = cases[prompt.id]
        unit = made.cases.clusters.get(case["video"], case["video"])
        rows.append(
            {
                "id": prompt.id,
                made.cases.unit: unit,
                "video": case["video"],
                "target": case["reference"],
                "parts": parts,
            }
        )
    return rows
