"""What about this machine keeps an engine from working, or weakens it, each with its fix."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from surgvalid.sandbox._engine import Problem, ProblemSeverity

_GROUPS = Path("/sys/fs/cgroup")
_CAP_SYS_RESOURCE = 24
_GPU_DEVICE = Path("/dev/nvidiactl")
_CDI = (Path("/etc/cdi"), Path("/var/run/cdi"))
_CDI_NAME = re.compile(r"""^\s*(?:-\s+)?["']?name["']?\s*:\s*["']?([\w-]+)["']?,?\s*$""", re.MULTILINE)
"""A device's name, in YAML or in JSON with a line per field, as the vendor's tool writes them."""


def missing_program(program: str, package: str) -> Problem | None:
    """That a program is not installed."""
    if shutil.which(program):
        return None
    return Problem(f"no-{program}", f"{program} is not installed", f"install it, as with `apt-get install {package}`")


def runtime_problem(runtime: str | None, *, is_program: bool = True) -> Problem | None:
    """That the runtime asked for cannot be used: nothing could be fetched from its runs, or no such program is here."""
    if runtime is None:
        return None
    if os.path.basename(runtime) == "runsc":
        text = "under gVisor (runsc) a run keeps its socket and its folders to itself: no answer could be fetched"
        return Problem("runsc-closed", text, "use runc; for a second wall, run the worker in a virtual machine")
    if not is_program or shutil.which(runtime, path=admin_path()):
        return None
    fix = f"install it (as with `apt-get install {runtime}`), or leave the runtime to the engine"
    return Problem("no-runtime", f"runtime {runtime!r} is not installed", fix)


def admin_path() -> str:
    """Where programs are, those of administrators included."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def is_hybrid() -> bool:
    """Whether control groups are laid out in the hybrid way (v1 with an empty v2 beside it)."""
    return (_GROUPS / "unified").is_dir()


def hybrid_needs_runc(runtime: str | None) -> Problem | None:
    """That crun is all there is, and refuses hybrid control groups."""
    if not is_hybrid() or (runtime and os.path.basename(runtime) == "runc"):
        return None
    return Problem("crun-hybrid", "crun refuses hybrid control groups", "install runc (`apt-get install runc`)")


def missing_controllers() -> Problem | None:
    """That the kernel cannot limit memory or processes."""
    unified = _GROUPS / "cgroup.controllers"
    if unified.exists():
        have = set(unified.read_text().split())
    else:
        have = {name for name in ("memory", "pids", "cpu") if (_GROUPS / name).is_dir()}
    lacking = sorted({"memory", "pids", "cpu"} - have)
    if not lacking:
        return None
    fix = "boot with these controllers enabled (cgroup_enable=memory systemd.unified_cgroup_hierarchy=1)"
    return Problem("no-controllers", f"control groups lack {', '.join(lacking)}: limits cannot be kept", fix)


def missing_seccomp() -> Problem | None:
    """That the kernel cannot filter system calls."""
    if Path("/proc/sys/kernel/seccomp/actions_avail").exists():
        return None
    return Problem("no-seccomp", "the kernel cannot filter system calls", "use a kernel with CONFIG_SECCOMP_FILTER")


def no_limits_capability() -> Problem | None:
    """That this process may not raise resource limits, which engines do by default."""
    status = Path("/proc/self/status")
    if os.geteuid() != 0 or not status.exists():
        return None
    effective = next(line for line in status.read_text().splitlines() if line.startswith("CapEff:")).split()[1]
    if int(effective, 16) >> _CAP_SYS_RESOURCE & 1:
        return None
    text = "root lacks CAP_SYS_RESOURCE, so engines cannot raise limits"
    fix = "nothing to do: surgvalid passes limits that need no raising"
    return Problem("no-limits-capability", text, fix, ProblemSeverity.WEAKENS)


def not_root() -> Problem | None:
    """That this user cannot look into a run's own folders, so the output quota is not enforced."""
    if os.geteuid() == 0:
        return None
    text = "without root the output folder has no size limit, and hidden data is refused"
    return Problem("not-root", text, "run the organiser's worker as root", ProblemSeverity.WEAKENS)


def rootless_limits() -> Problem | None:
    """That podman, run by an ordinary user, would quietly drop its limits."""
    uid = os.geteuid()
    if uid == 0:
        return None
    if not (_GROUPS / "cgroup.controllers").exists():
        text = "run by an ordinary user, podman keeps no limits on control groups of the old kind (v1)"
        return Problem("rootless-v1", text, "run it as root, or boot with `systemd.unified_cgroup_hierarchy=1`")
    controllers = _GROUPS / "user.slice" / f"user-{uid}.slice" / f"user@{uid}.service" / "cgroup.controllers"
    lacking = sorted({"cpu", "memory", "pids"} - set(controllers.read_text().split())) if controllers.exists() else []
    if not lacking:
        return None
    fix = "put `[Service]` and `Delegate=cpu memory pids` into /etc/systemd/system/user@.service.d/delegate.conf"
    return Problem("not-delegated", f"this user may not limit {', '.join(lacking)}", f"{fix}, and log in again")


def gpu_problem() -> Problem | None:
    """That there is no GPU, or no CDI description to hand out exactly one."""
    if not _GPU_DEVICE.exists():
        return Problem("no-gpu", "no NVIDIA GPU is here", "submissions run on the CPU only", ProblemSeverity.WEAKENS)
    if any(device for folder in _CDI for device in folder.glob("nvidia*")):
        return None
    fix = "run `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
    return Problem("no-cdi", "GPUs are here but not described for containers (CDI)", fix, ProblemSeverity.WEAKENS)


def gpu_request_problem(gpu: str) -> Problem | None:
    """Why this GPU cannot be given to a run, or None."""
    problem = gpu_problem()
    if problem is not None:
        return problem
    named = gpu_names()
    if gpu in named:
        return None
    return Problem("no-such-gpu", f"there is no GPU {gpu!r} here", f"name one of {', '.join(named) or 'none'}")


def gpu_names() -> tuple[str, ...]:
    """The names under which single GPUs can be asked for, as their descriptions (CDI) say."""
    names = set()
    for folder in _CDI:
        for path in folder.glob("nvidia*"):
            names |= set(_CDI_NAME.findall(path.read_text(encoding="utf-8", errors="replace")))
    return tuple(sorted(names - {"all"}))


def no_namespaces() -> Problem | None:
    """That bubblewrap cannot make namespaces here, by trying."""
    probe = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(probe, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Problem("bwrap-fails", f"bubblewrap does not run ({error})", "reinstall bubblewrap")
    if done.returncode == 0:
        return None
    words = done.stderr.decode("utf-8", "replace").strip()[-200:]
    fix = "allow user namespaces (`sysctl kernel.unprivileged_userns_clone=1`) or run as root"
    return Problem("no-namespaces", f"bubblewrap cannot make namespaces ({words})", fix)


def first_blocking(problems: Iterator[Problem | None]) -> Problem | None:
    """The first problem that stops an engine; later ones are not looked for."""
    return next((problem for problem in problems if problem and problem.severity is ProblemSeverity.BLOCKS), None)
