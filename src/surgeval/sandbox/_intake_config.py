"""An image's configuration: who runs, what starts, which variables; and the plain one that is stored."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surgeval.sandbox._intake_layer import MAPPED_IDS, WATCHED, LayerFacts, Problems

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_TEXT_BYTES = 64 << 10


def own_architecture() -> str:
    """This machine's architecture as images call it."""
    return _MACHINES.get(platform.machine().lower(), platform.machine().lower())


def is_dangerous(variable: str) -> bool:
    """Whether an image must not set a variable: it reaches programs of the host that prepare the run.

    The linker's variables reach hooks of the GPU toolkit, and NVIDIA's select GPUs nobody gave.
    """
    return variable.upper().startswith(("LD_", "NVIDIA_", "CUDA_VISIBLE", "CUDA_MPS", "GCONV_", "DBUS_"))


@dataclass(frozen=True)
class ConfigFacts:
    """What is kept of a configuration."""

    user: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    folder: str
    env: tuple[str, ...]
    removed_env: tuple[str, ...]
    dropped: tuple[str, ...]
    """Names of other settings that are not carried over."""

    def plain(self, architecture: str, diff_ids: Sequence[str]) -> bytes:
        """The configuration as it is stored: only what a run needs."""
        inner = {
            "User": self.user,
            "Entrypoint": list(self.entrypoint),
            "Cmd": list(self.command),
            "Env": list(self.env),
        }
        inner["WorkingDir"] = self.folder
        rootfs = {"type": "layers", "diff_ids": list(diff_ids)}
        whole = {"architecture": architecture, "os": "linux", "config": inner, "rootfs": rootfs}
        return json.dumps(whole, sort_keys=True).encode()


_KEPT = {"User", "Entrypoint", "Cmd", "WorkingDir", "Env"}


def read_config(config: Any, layers: Sequence[LayerFacts], architecture: str, problems: Problems) -> ConfigFacts | None:
    """What the configuration says, or None with the reasons noted."""
    before = len(problems.sentences())
    inner = config.get("config") if isinstance(config, dict) else None
    if not isinstance(config, dict) or not isinstance(inner, dict):
        problems.add("papers", "the image's configuration has no settings")
        return None
    _check_platform(config, architecture, problems)
    _check_layers(config, layers, problems)
    _check_places(layers, problems)
    user = _user(inner.get("User"), layers, problems)
    entrypoint, command = (_words(inner.get(key), key, problems) for key in ("Entrypoint", "Cmd"))
    if not entrypoint and not command:
        problems.add("nothing to start", "the image starts nothing; set ENTRYPOINT or CMD")
    env = _words(inner.get("Env"), "Env", problems)
    if any("=" not in line or "\n" in line for line in env):
        problems.add("papers", "Env holds a line that is no NAME=value")
    if len(problems.sentences()) > before or user is None:
        return None
    kept = tuple(line for line in env if not is_dangerous(line.partition("=")[0]))
    removed = tuple(line.partition("=")[0] for line in env if is_dangerous(line.partition("=")[0]))
    dropped = tuple(sorted(key for key, value in inner.items() if value and key not in _KEPT))
    return ConfigFacts(user, entrypoint, command, _folder(inner.get("WorkingDir")), kept, removed, dropped)


def _check_platform(config: dict[str, Any], architecture: str, problems: Problems) -> None:
    platform = (config.get("os"), config.get("architecture"))
    if platform != ("linux", architecture):
        problems.add(
            "architecture",
            f"it is built for {platform[0]}/{platform[1]}; build it with `--platform linux/{architecture}`",
        )


def _check_layers(config: dict[str, Any], layers: Sequence[LayerFacts], problems: Problems) -> None:
    rootfs = config.get("rootfs")
    claimed = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if claimed != [f"sha256:{layer.digest}" for layer in layers]:
        problems.add("papers", "its layers are not those that its configuration names (other digests or number)")


def _check_places(layers: Sequence[LayerFacts], problems: Problems) -> None:
    """The engine mounts onto these places; a link there would send it elsewhere."""
    for place in sorted(WATCHED):
        kinds = [layer.watched[place] for layer in layers if place in layer.watched]
        if kinds and kinds[-1] not in ("folder", "gone"):
            problems.add("mount point", f"/{place} is a {kinds[-1]}; it must be a real folder or absent")


def _user(given: Any, layers: Sequence[LayerFacts], problems: Problems) -> str | None:
    """User and group as numbers, looked up in the image's own account files when they are names."""
    text = given if isinstance(given, str) else ""
    name, _, group = text.partition(":")
    users, groups = _accounts(layers, "etc/passwd"), _accounts(layers, "etc/group")
    uid = name if name.isdigit() else users.get(name, ("", ""))[0]
    if group:
        gid = group if group.isdigit() else groups.get(group, ("", ""))[0]
    else:
        gids = [gid for number, gid in users.values() if number == uid]
        gid = gids[0] if gids else uid
    if name in ("", "root") or uid.strip("0") == "":
        known = "is root" if name in ("", "root") or uid else "is not in its /etc/passwd"
        problems.add("user", f"its USER {text[:40]!r} {known}; add `USER 1000:1000`")
        return None
    if not gid or gid.strip("0") == "" or not all(n.isdigit() and int(n) < MAPPED_IDS for n in (uid, gid)):
        problems.add("user", f"its USER {text[:40]!r} has the root group, an unknown one or too large a number")
        return None
    return f"{int(uid)}:{int(gid)}"


def _accounts(layers: Sequence[LayerFacts], file: str) -> Mapping[str, tuple[str, str]]:
    """Name to (number, primary group) of an account file; the first line of a name counts, as in the C library."""
    held = [layer.accounts[file] for layer in layers if file in layer.accounts]
    accounts: dict[str, tuple[str, str]] = {}
    for line in (held[-1] if held else b"").decode("utf-8", "replace").splitlines():
        fields = line.split(":")
        if len(fields) >= 3 and fields[2].isdigit():
            accounts.setdefault(fields[0], (fields[2], fields[3] if len(fields) > 3 and fields[3].isdigit() else ""))
    return accounts


def _words(given: Any, key: str, problems: Problems) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(word, str) and "\0" not in word for word in given):
        problems.add("papers", f'{key} is not a list of texts; use the exec form, as {key.upper()} ["program"]')
        return ()
    if sum(len(word.encode("utf-8", "replace")) + 1 for word in given) > _TEXT_BYTES:
        problems.add("papers", f"{key} is longer than {_TEXT_BYTES} bytes")
    return tuple(given)


def _folder(given: Any) -> str:
    """The working folder when it is a plain absolute path, else the root."""
    plain = isinstance(given, str) and given.startswith("/") and ".." not in given.split("/") and given.isprintable()
    return given if plain else "/"
