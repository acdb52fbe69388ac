"""Signatures beside a file, made and checked by the user's own `ssh-keygen` or `gpg`; no key is ever read here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from surgeval.errors import Misuse

NAMESPACE = "surgeval"
SSH, GPG = ".sig", ".asc"
_TIMEOUT_S = 120


def sign_ssh(file: Path, key: Path) -> Path:
    """Sign a file with an SSH key; its agent or a question for the pass phrase is `ssh-keygen`'s own affair.

    Raises:
        Misuse: There is no `ssh-keygen`, no such key, or it refuses.
    """
    if not key.is_file():
        raise Misuse(f"--sign-ssh {key}: no such file; name your key, such as ~/.ssh/id_ed25519")
    made = _beside(file, SSH)
    made.unlink(missing_ok=True)
    _run(["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(file)], "--sign-ssh")
    return made


def sign_gpg(file: Path, key: str) -> Path:
    """Sign a file with a GPG key.

    Raises:
        Misuse: There is no `gpg`, no such key, or it refuses.
    """
    made = _beside(file, GPG)
    made.unlink(missing_ok=True)
    _run(["gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output", str(made), "--detach-sign", str(file)],
         "--sign-gpg")  # fmt: skip
    return made


def signature_of(file: Path) -> str:
    """What the signature beside a file says, in words; empty where there is none.

    A good signature says that the holder of a key signed this very content; whose key that is, it does not say.

    Raises:
        Misuse: A signature is there and is not one of this content.
    """
    if _beside(file, SSH).is_file():
        return _checked(["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(_beside(file, SSH))], file)
    if _beside(file, GPG).is_file():
        return _checked(["gpg", "--batch", "--verify", str(_beside(file, GPG)), str(file)], file, by_name=True)
    return ""


def _checked(command: list[str], file: Path, *, by_name: bool = False) -> str:
    if shutil.which(command[0]) is None:
        return f"signature not checked: {command[0]} is not installed"
    content = None if by_name else file.read_bytes()
    done = subprocess.run(command, input=content, capture_output=True, timeout=_TIMEOUT_S, check=False)
    words = (done.stdout + done.stderr).decode(errors="replace")
    if "No public key" in words:
        return "signed with a GPG key that is not known here"
    if done.returncode:
        raise Misuse(f"{file}: its signature does not fit its content; it was changed, or signed elsewhere")
    key = re.search(r"SHA256:[\w+/=]+", words) or re.search(r"key ([0-9A-F]{16,})", words)
    return f"signed with {'GPG' if by_name else 'SSH'} key {key[0].removeprefix('key ') if key else '(unnamed)'}"


def _run(command: list[str], option: str) -> None:
    if shutil.which(command[0]) is None:
        raise Misuse(f"{option}: {command[0]} is not installed here")
    done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it gave no reason"]
        raise Misuse(f"{option}: {command[0]} refused: {lines[-1]}")


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)
