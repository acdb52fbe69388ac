"""The package is light to import, and its public names are pinned."""

import subprocess
import sys

HEAVY = ("torch", "transformers", "django", "altair", "av", "pandas", "numba", "httpx", "matplotlib")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import surgeval, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_scoring_loads_nothing_heavy_either() -> None:
    code = (
        f"import surgeval, sys; surgeval.score, surgeval.ScoreTable; print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_can_be_loaded() -> None:
    import surgeval

    for name in surgeval.__all__:
        assert getattr(surgeval, name) is not None


def test_what_a_public_function_gives_back_is_public_too_and_mirrors_its_verb() -> None:
    import inspect

    import surgeval

    functions = [getattr(surgeval, name) for name in surgeval.__all__ if name[0].islower()]
    given = {str(inspect.signature(function).return_annotation) for function in functions} - {"None"}
    assert given <= set(surgeval.__all__)
    written_otherwise = {"Procedure", "Rehearsal", "Report", "ScoreTable"}
    for name in given - written_otherwise:
        kind = getattr(surgeval, name)
        fields = set().union(*(vars(base).get("__annotations__", {}) for base in kind.__mro__))
        assert hasattr(kind, "table") or "table" in fields, name
        assert hasattr(kind, "to_dir"), name
        assert kind.__repr__ is not object.__repr__, name
