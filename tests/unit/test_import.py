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
