"""Whether a container is what was asked for: by the engine's own record before it starts, then by the kernel's.

A flag that an engine ignores, renames or forgets shows up here, and the run is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from surgvalid.sandbox._intake_config import is_dangerous
from surgvalid.sandbox._kernel import ControlGroup, interfaces_of, is_over, mounts_of, status_of
from surgvalid.sandbox._launch import SCRATCH, Launch, MountKind

GPU_VOID = "NVIDIA_VISIBLE_DEVICES=void"
_GOING_S = 5.0
_NAMESPACES = ("net", "pid", "mnt", "ipc", "uts")


def declared_problems(record: dict[str, Any], launch: Launch) -> list[str]:
    """What the engine's record says otherwise than the launch."""
    host, config = record["HostConfig"], record["Config"]
    limits = launch.limits
    wanted = {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "Memory": limits.memory_mb << 20,
        "MemorySwap": limits.memory_mb << 20,
        "PidsLimit": limits.pids,
        "NanoCpus": round(limits.cpus * 1e9),
        "ShmSize": limits.shm_mb << 20,
    }
    wrong = [f"{key} is {host.get(key)!r}, not {value!r}" for key, value in wanted.items() if host.get(key) != value]
    if (host.get("CpusetCpus") or "") != limits.cpuset:
        wrong.append(f"CpusetCpus is {host.get('CpusetCpus')!r}, not {limits.cpuset!r}")
    if (host.get("CapAdd") or []) or not host.get("CapDrop"):
        wrong.append("capabilities are not dropped")
    security = [str(option) for option in host.get("SecurityOpt") or []]
    if not any(option.startswith("no-new-privileges") for option in security):
        wrong.append("no-new-privileges is not set")
    if any("unconfined" in option or option.endswith("disable") for option in security):
        wrong.append("a security filter is off")
    if config.get("User") != launch.user:
        wrong.append(f"the user is {config.get('User')!r}, not {launch.user!r}")
    if str(record.get("Image", "")).removeprefix("sha256:") != str(launch.image).removeprefix("sha256:"):
        wrong.append("it is made from another image")
    return [*wrong, *_mount_problems(record, launch), *_env_problems(config, launch), *_device_problems(host, launch)]


def _mount_problems(record: dict[str, Any], launch: Launch) -> Iterator[str]:
    expected = {mount.target: mount for mount in launch.mounts}
    for mount in record.get("Mounts") or []:
        asked = expected.get(mount.get("Destination", ""))
        if mount.get("Type") == "tmpfs":
            continue
        if asked is None:
            yield f"{mount.get('Destination')!r} is mounted and nobody asked for it"
        elif asked.kind is MountKind.INPUT and mount.get("RW"):
            yield f"{asked.target} is writable"


def _env_problems(config: dict[str, Any], launch: Launch) -> Iterator[str]:
    lines = config.get("Env") or []
    if GPU_VOID not in lines:
        yield "the variable that selects GPUs is not void"
    names = {line.partition("=")[0] for line in lines if line != GPU_VOID}
    for name in sorted(names - set(launch.env)):
        if is_dangerous(name):
            yield f"the image's variable {name} got through"


def _device_problems(host: dict[str, Any], launch: Launch) -> Iterator[str]:
    requests = host.get("DeviceRequests") or []
    devices = host.get("Devices") or []
    if launch.gpu is None and (requests or devices):
        yield "it has devices and nobody gave it any"
    named = [name for request in requests for name in request.get("DeviceIDs") or []]
    if launch.gpu is not None and requests and named != [f"nvidia.com/gpu={launch.gpu}"]:
        yield f"it has the devices {named}, not the one GPU asked for"


def rights_problems(pid: int) -> list[str]:
    """What the kernel says about the rights of the first process; none when it is gone."""
    status = status_of(pid)
    if status is None:
        return []
    checks = {
        "it holds capabilities": any(status.capabilities),
        "it may gain privileges": not status.no_new_privileges,
        "its system calls are not filtered": not status.seccomp,
        "it runs as root": 0 in status.uids,
    }
    return [sentence for sentence, bad in checks.items() if bad]


def world_problems(pid: int, launch: Launch) -> list[str]:
    """What the kernel says about network, mounts and limits; none when the process is gone or just going."""
    try:
        problems = [*_namespace_problems(pid), *_kernel_mount_problems(pid, launch), *_limit_problems(pid, launch)]
    except OSError as error:
        problems = [f"the kernel does not tell what it may do ({error.strerror})"]
    return [] if problems and is_over(pid, within_s=_GOING_S) else problems


def _namespace_problems(pid: int) -> Iterator[str]:
    if interfaces_of(pid) not in ([], ["lo"]):
        yield f"it sees the network interfaces {', '.join(interfaces_of(pid))}"
    for name in _NAMESPACES:
        if os.readlink(f"/proc/{pid}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}"):
            yield f"it shares the host's {name} namespace"


def _kernel_mount_problems(pid: int, launch: Launch) -> Iterator[str]:
    mounts = mounts_of(pid)
    read_only = ["/", *(mount.target for mount in launch.mounts if mount.kind is MountKind.INPUT)]
    for point in read_only:
        if "ro" not in mounts.get(point, (frozenset(), ""))[0]:
            yield f"{point} is not mounted read-only"
    for point in (SCRATCH, *(m.target for m in launch.mounts if m.kind is not MountKind.INPUT)):
        options, kind = mounts.get(point, (frozenset(), ""))
        flags = {"nosuid", "nodev"} | ({"noexec"} if point != SCRATCH else set())
        if kind != "tmpfs" or not flags <= options or not any(o.startswith("size=") for o in options):
            yield f"{point} is no folder with a size limit"


def _limit_problems(pid: int, launch: Launch) -> Iterator[str]:
    group = ControlGroup.of(pid)
    if group is None:
        return
    limit, pids = group.memory_limit(), group.pids_limit()
    if limit is None or limit > launch.limits.memory_mb << 20:
        yield f"its memory limit is {limit}, not {launch.limits.memory_mb << 20}"
    if not group.swap_included():
        yield "it may use swap beyond its memory limit"
    if pids is None or pids > launch.limits.pids:
        yield f"its limit of processes is {pids}, not {launch.limits.pids}"
