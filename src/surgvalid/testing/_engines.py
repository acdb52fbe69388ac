"""What every engine keeps, as far as it can be seen from outside: its promises, its refusals, and a run that dies.

Whether a promise is kept *inside* a run takes probes there; `tests/contracts/test_every_engine.py` has them.
"""

from __future__ import annotations

from surgvalid.errors import HiddenDataRefused, Misuse
from surgvalid.sandbox import Engine, Guarantee, Launch, open_engine, trial_run
from surgvalid.testing._broken import Broken, refuse


def check_engine(engine: Engine | str) -> None:
    """Nothing, when an engine that works on this machine keeps the rules of engines.

    Args:
        engine: The engine, or its name.

    Raises:
        ContractBroken: With every rule that it does not keep.
    """
    opened = open_engine(engine) if isinstance(engine, str) else engine
    refuse("engine", opened.name, (rule(opened) for rule in ENGINE_RULES))


def it_says_what_it_is(engine: Engine) -> Broken:
    """A name, promises of the known ones, and nothing about images that it never stored."""
    if not engine.name:
        yield "it has no name"
    if strange := [str(promise) for promise in engine.guarantees if promise not in frozenset(Guarantee)]:
        yield f"it promises {', '.join(sorted(strange))}, which is no Guarantee"
    if engine.facts("0" * 64) is not None:
        yield "it tells facts of an image that it never stored"


def what_it_cannot_run_is_refused(engine: Engine) -> Broken:
    """A command where it runs images, an image where it runs commands, hidden data where it cannot keep them in."""
    wrong = Launch(command=("true",)) if engine.takes_images else Launch(image="0" * 64)
    if not _refuses(engine, wrong, Misuse):
        yield f"it takes {'a command without an image' if engine.takes_images else 'an image'}"
    hidden = Launch(command=("true",), hidden=True)
    if engine.guarantees != frozenset(Guarantee) and not _refuses(engine, hidden, HiddenDataRefused):
        yield "it does not promise everything and takes hidden data"


def a_trial_run_starts_and_ends(engine: Engine) -> Broken:
    """A harmless run starts with its limits, is killed and proved dead."""
    trial = trial_run(engine)
    if trial.problem is not None:
        yield str(trial.problem)
    elif len(trial.evidence) < 2:
        yield f"its proof of death has {len(trial.evidence)} observations; expected two or more"


def _refuses(engine: Engine, launch: Launch, error: type[Exception]) -> bool:
    try:
        running = engine.start(launch)
    except error:
        return True
    running.kill()
    return False


ENGINE_RULES = (it_says_what_it_is, what_it_cannot_run_is_refused, a_trial_run_starts_and_ends)
