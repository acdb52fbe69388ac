"""What about this machine keeps an engine from working, or weakens it, each with its fix."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from surgeval.sandbox._engine import Problem, Severity

_GROUPS = Path("/sys/fs/cgroup")
_CAP_SYS_RESOURCE = 24


def missing_program(program: str, package: str) -> Problem | None:
    """That a program is not installed."""
    if shutil.which(program):
        return None
    return Problem(f"no-{program}", f"{program} is not installed", f"install it, as with `apt-get install {package}`")


def is_hybrid() -> bool:
    """Whether control groups are laid out in the hybrid way (v1 with an empty v2 beside it)."""
    return (_GROUPS / "unified").is_dir()


def hybrid_needs_runc(runtime: str | None) -> Problem | None:
    """That crun is all there is, and refuses hybrid control groups."""
    if not is_hybrid() or runtime in ("runc", "runsc"):
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
    fix = "nothing to do: surgeval passes limits that need no raising"
    return Problem("no-limits-capability", text, fix, Severity.WEAKENS)


def not_root() -> Problem | None:
    """That this user cannot look into a run's own folders, so the output quota is not enforced."""
    if os.geteuid() == 0:
        return None
    text = "without root the output folder has no size limit, and hidden data is refused"
    return Problem("not-root", text, "run the organiser's worker as root", Severity.WEAKENS)


def gpu_problem() -> Problem | None:
    """That there is no GPU, or no CDI description to hand out exactly one."""
    if not Path("/dev/nvidiactl").exists():
        return Problem("no-gpu", "no NVIDIA GPU is here", "submissions run on the CPU only", Severity.WEAKENS)
    if any(found for folder in ("/etc/cdi", "/var/run/cdi") for found in Path(folder).glob("nvidia*")):
        return None
    fix = "run `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
    return Problem("no-cdi", "GPUs are here but not described for containers (CDI)", fix, Severity.WEAKENS)


def no_namespaces() -> Problem | None:
    """That bubblewrap cannot make namespaces here, by trying."""
    probe = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(probe, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Problem("bwrap-fails", f"bubblewrap does not run ({error})", "reinstall bubblewrap")
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip()[-200:]
    fix = "allow user namespaces (`sysctl kernel.unprivileged_userns_clone=1`) or run as root"
    return Problem("no-namespaces", f"bubblewrap cannot make namespaces ({said})", fix)


def first_blocking(problems: Iterator[Problem | None]) -> Problem | None:
    """The first problem that stops an engine; later ones are not looked for."""
    return next((found for found in problems if found and found.severity is Severity.BLOCKS), None)
