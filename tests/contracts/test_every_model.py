"""What holds for every kind of model. A new kind without an example here fails the first test."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import surgvalid
from fake_server import Answer, completion, serving
from surgvalid.errors import ExtraNeeded, SurgvalidError
from surgvalid.models import MODELS, Model, open_model
from surgvalid.testing._models import MODEL_RULES

HERE = (
    "all_positive", "anthropic", "blind", "constant", "file", "gemini", "middle_frame", "openai", "prior", "program",
    "random",
)  # fmt: skip
ELSEWHERE = ("clip", "container", "long_video", "open_clip", "transformers")
"""They need torch, or an engine for images; `tests/models` puts those with torch to the same tests."""


def message(number: int, body: dict[str, object]) -> Answer:
    return Answer(json.dumps({"content": [{"type": "text", "text": "clip"}], "stop_reason": "end_turn"}).encode())


def candidate(number: int, body: dict[str, object]) -> Answer:
    return Answer(
        json.dumps({"candidates": [{"content": {"parts": [{"text": "clip"}]}, "finishReason": "STOP"}]}).encode()
    )


SERVE = Path(surgvalid.__file__).parent / "submissions" / "serve.py"
SERVERS = {"openai": lambda number, body: completion("clip"), "anthropic": message, "gemini": candidate}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that speaks our protocol."""
    path = tmp_path_factory.mktemp("program") / "answer.py"
    body = "scores = lambda question: {label: 0.5 for label in question['labels']}\n"
    body += "serve(lambda question: {'content': 'clip', 'extra': {'scores': scores(question)}})\n"
    path.write_text(SERVE.read_text(encoding="utf-8") + "\n" + body, encoding="utf-8")
    return path


@pytest.fixture(params=HERE)
def model(request: pytest.FixtureRequest, tmp_path: Path, program: Path) -> Iterator[Model]:
    kind = request.param
    if kind in SERVERS:
        with serving(SERVERS[kind], most_requests=5000) as server:
            yield open_model(f"{kind}:m@{server.url.removesuffix('/v1')}")
        return
    (tmp_path / "answers.json").write_text(json.dumps({f"q{i}": "clip" for i in range(7)}))
    arguments = {
        "file": f"file:{tmp_path / 'answers.json'}", "constant": "constant:clip", "blind": "blind:constant:clip",
        "middle_frame": "middle-frame:prior", "program": f"program:{sys.executable} {program}",
    }  # fmt: skip
    yield open_model(arguments.get(kind, kind))


def test_every_kind_has_an_example() -> None:
    assert sorted((*HERE, *ELSEWHERE)) == sorted(MODELS)


@pytest.mark.parametrize("kind", MODELS)
def test_a_kind_says_how_it_is_written_and_what_it_is(kind: str) -> None:
    offered = MODELS[kind]
    assert offered.USAGE.split(":")[0].replace("-", "_") == kind
    assert callable(offered.build)
    assert (offered if isinstance(offered, ModuleType) else offered.build).__doc__


def test_the_name_starts_with_the_kind(model: Model) -> None:
    assert model.name.split(":")[0] == model.kind
    assert model.kind.replace("-", "_") in MODELS


@pytest.mark.parametrize("rule", MODEL_RULES, ids=lambda rule: rule.__name__)
def test_a_model_keeps_every_rule(model: Model, rule: Callable[[Model], Iterator[str]]) -> None:
    assert list(rule(model)) == []


@pytest.mark.parametrize("kind", MODELS)
def test_too_little_or_too_much_is_refused(kind: str) -> None:
    usage = MODELS[kind].USAGE
    spec = usage.split(":")[0] + ("" if ":" in usage else ":something")
    with pytest.raises(SurgvalidError, match=r"says too little|takes nothing after its name"):
        open_model(spec)


@pytest.mark.parametrize("spec", ["transformers", "long-video", "clip", "open-clip:ViT-B-32@"])
def test_what_runs_here_names_its_extra(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "config.json").write_text("{}")
    where = tmp_path / "config.json" if spec.endswith("@") else tmp_path
    with pytest.raises(ExtraNeeded, match=r"needs torch; install surgvalid\[local-models\]"):
        open_model(f"{spec}{'' if spec.endswith('@') else ':'}{where}")
