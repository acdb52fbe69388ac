"""Signatures beside a file, made and checked by the user's own `ssh-keygen` or `gpg`; no key is ever read here."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path

from surgvalid.errors import Misuse
from surgvalid.schema.legacy import former

NAMESPACE = "surgvalid"
SSH, GPG = ".sig", ".asc"
UNCHECKED = "signature not checked"
"""How the words on a signature begin that nobody could check."""
_SINCE = {"EXPKEYSIG": "has expired since", "REVKEYSIG": "was revoked since"}
_TIMEOUT_S = 120


def sign_ssh(file: Path, key: Path) -> Path:
    """Sign a file with an SSH key; its agent or a question for the pass phrase is `ssh-keygen`'s own affair.

    Raises:
        Misuse: There is no `ssh-keygen`, no such key, or it refuses.
    """
    if not key.is_file():
        raise Misuse(f"--sign ssh={key}: no such file; name your key, such as ~/.ssh/id_ed25519")
    made = _beside(file, SSH)
    made.unlink(missing_ok=True)
    _run(["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(file)], "--sign ssh")
    return made


def sign_gpg(file: Path, key: str) -> Path:
    """Sign a file with a GPG key.

    Raises:
        Misuse: There is no `gpg`, no such key, or it refuses.
    """
    made = _beside(file, GPG)
    made.unlink(missing_ok=True)
    _run(
        ["gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output", str(made), "--detach-sign", str(file)],
        "--sign gpg",
    )
    return made


def signature_of(file: Path) -> str:
    """What the signature beside a file says, in words; empty where there is none.

    A good signature says that the holder of a key signed this very content; whose key that is, it does not say.

    Raises:
        Misuse: A signature is there and is not one of this content.
    """
    if _beside(file, SSH).is_file():
        namespace = former(NAMESPACE) if _of_former_namespace(_beside(file, SSH)) else NAMESPACE
        command = ["ssh-keygen", "-Y", "check-novalidate", "-n", namespace, "-s", str(_beside(file, SSH))]
        return _checked(command, file, r"(SHA256:[\w+/=]+)", "SSH")
    if _beside(file, GPG).is_file():
        # Words of gpg follow the user's language; its status lines do not.
        command = ["gpg", "--batch", "--status-fd", "1", "--verify", str(_beside(file, GPG)), str(file)]
        return _checked(command, file, r"VALIDSIG ([0-9A-F]+)", "GPG")
    return ""


def _of_former_namespace(signature: Path) -> bool:
    """Whether 0.1.0 signed: the namespace stands unencrypted in the signed part."""
    lines = signature.read_bytes().splitlines()
    try:
        content = base64.b64decode(b"".join(line for line in lines if not line.startswith(b"-")))
    except ValueError:
        return False
    return former(NAMESPACE).encode() in content


def _checked(command: list[str], file: Path, key_in_words: str, kind: str) -> str:
    if shutil.which(command[0]) is None:
        return f"{UNCHECKED}: {command[0]} is not installed"
    done = subprocess.run(command, input=file.read_bytes(), capture_output=True, timeout=_TIMEOUT_S, check=False)
    words = done.stdout.decode(errors="replace")
    if "NO_PUBKEY" in words:
        return f"{UNCHECKED}: its GPG key is not in your keyring (gpg --import); it may be one of something else"
    key = re.search(key_in_words, words)
    if done.returncode or key is None:
        raise Misuse(f"{file}: its signature does not fit its content; it was changed, or signed elsewhere")
    since = [text for code, text in _SINCE.items() if code in words]
    return f"signed with {kind} key {key[1]}" + "".join(f", which {text}" for text in since)


def _run(command: list[str], option: str) -> None:
    if shutil.which(command[0]) is None:
        raise Misuse(f"{option}: {command[0]} is not installed here")
    done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it gave no reason"]
        raise Misuse(f"{option}: {command[0]} refused: {lines[-1]}")


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)
