"""The command line: `VERBS` lists every verb, and a verb is loaded when it is called.

Verbs print talk to stderr and results to stdout or `--out`. Exit codes: 0 done, 1 findings, 2 misuse.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import typer

__all__ = ["main"]


def build_app() -> typer.Typer:
    """The command-line application with every verb."""
    from surgvalid.cli._group import build_app as build

    return build()


def main() -> None:
    """Run the command line; what is wrong with inputs or the machine becomes one line on stderr and exit code 2.

    The version and the list of verbs are said before anything else is imported.
    """
    if sys.argv[1:] == ["--version"]:
        from surgvalid import __version__

        print(f"surgvalid {__version__}")
    elif sys.argv[1:] in (["--help"], ["-h"]) and "_SURGVALID_COMPLETE" not in os.environ:
        from surgvalid.cli._verbs import overview

        print(overview())
    else:
        _run()


def _run() -> None:
    from surgvalid.catalogue import packages_named
    from surgvalid.cli._console import emit_json, shell_words
    from surgvalid.cli._waiting import waiting
    from surgvalid.errors import InputInvalid, SurgvalidError

    try:
        with waiting(_verb(sys.argv)), packages_named():
            build_app()(prog_name="surgvalid")
    except SurgvalidError as error:
        if "--json" in sys.argv and isinstance(error, InputInvalid):
            emit_json({"error": type(error).__name__, "where": error.where, "problems": error.problems})
        _stop("; ".join([shell_words(str(error)), *getattr(error, "__notes__", ())]))
    except OSError as error:
        where = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        _stop(f"{where}; a file could not be read or written")
    except KeyboardInterrupt:
        from surgvalid.cli._console import talk

        talk("stopped")
        sys.exit(130)
    except MemoryError as error:
        _stop(f"{str(error) or 'no memory is left'}; ask for less at once, such as fewer resamples")


def _verb(words: Sequence[str]) -> str:
    """What was called, for the line that says that it works."""
    from surgvalid.cli._verbs import below

    called: list[str] = []
    for word in words[1:]:
        if word not in below(tuple(called)):
            break
        called.append(word)
    return " ".join(["surgvalid", *called])


def _stop(message: str) -> NoReturn:
    from surgvalid.cli._console import talk

    talk(message)
    sys.exit(2)
