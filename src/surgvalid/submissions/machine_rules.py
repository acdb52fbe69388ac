"""Whether a machine has the processors, the memory and the GPU that a phase promises to a container."""

from __future__ import annotations

import os
from collections.abc import Iterator

from surgvalid.errors import Misuse
from surgvalid.sandbox import Engine, Gpu, Guarantee, Limits, gpus_here
from surgvalid.submissions.phase import GpuRule, SubmissionPhase


def check_machine(phase: SubmissionPhase, engine: Engine) -> None:
    """Nothing, when this machine can give what a phase promises; an engine that limits nothing promises nothing.

    Raises:
        Misuse: With every reason.
    """
    if Guarantee.MEMORY in engine.guarantees and (reasons := "; ".join(lacking_here(phase.run))):
        raise Misuse(f"phase {phase.name!r} gives a container more than this machine has: {reasons}")


def lacking_here(limits: Limits) -> Iterator[str]:
    """What of the limits this machine does not have."""
    here = os.sched_getaffinity(0)
    if limits.cpus > len(here):
        yield f"{limits.cpus:g} processors of {len(here)}"
    if missing := sorted(_processors(limits.cpuset) - here):
        yield f"processor {', '.join(map(str, missing))} of cpuset {limits.cpuset!r}"
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    if limits.memory_mb > memory_mb:
        yield f"{limits.memory_mb} MB of memory of {memory_mb}"


def _processors(cpuset: str) -> set[int]:
    """The numbers in a text as `0-3,8`."""
    bounds = [(span.partition("-")[0], span.rpartition("-")[2]) for span in cpuset.split(",") if span]
    return {number for first, last in bounds for number in range(int(first), int(last) + 1)}


def check_gpu(phase: SubmissionPhase, gpu: str | None) -> None:
    """Nothing, when a container of a phase may be given this GPU, or none where the phase has none.

    Raises:
        Misuse: With the reason.
    """
    check_gpu_count(phase, gpu)
    if gpu is not None and (reason := other_gpu(phase.gpu, gpu)):
        raise Misuse(f"phase {phase.name!r} gives a container {promised(phase.gpu)}; {reason}")


def check_gpu_count(phase: SubmissionPhase, gpu: str | None) -> None:
    """Nothing, when a GPU was named exactly where the phase has one.

    Raises:
        Misuse: One was named and the phase has none, or the other way round.
    """
    if gpu is not None and not phase.gpu.count:
        raise Misuse(f"phase {phase.name!r} gives a container no GPU; got {gpu!r}")
    if gpu is None and phase.gpu.count:
        raise Misuse(f"phase {phase.name!r} gives a container one GPU; name it with --gpu")


def promised(rule: GpuRule) -> str:
    """The GPU of a rule in words."""
    kind = f"of class {rule.kind!r}" if rule.kind else "of any class"
    return f"a GPU {kind}" + (f" with at least {rule.memory_mb} MB" if rule.memory_mb else "")


def other_gpu(rule: GpuRule, gpu: str) -> str:
    """Why the GPU of this index or UUID is not the one of the rule, or nothing."""
    if not rule.kind and not rule.memory_mb:
        return ""
    known = gpus_here()
    if not known:
        return "nvidia-smi, which would tell what the one here is, is not here or does not answer"
    device = next((one for one in known if gpu in (one.index, one.uuid)), None)
    if device is None:
        return f"nvidia-smi knows no {gpu!r} here, only {', '.join(map(str, known))}"
    return unlike(rule, device)


def unlike(rule: GpuRule, device: Gpu) -> str:
    """What of a rule a device does not keep, or nothing."""
    problems = []
    if rule.kind.casefold() not in device.name.casefold():
        problems.append(f"it is called {device.name!r}")
    if device.memory_mb < rule.memory_mb:
        problems.append(f"it has {device.memory_mb} MB")
    return f"{device} is another: {' and '.join(problems)}" if problems else ""


def gpu_notes(phase: SubmissionPhase) -> list[str]:
    """The GPUs of this machine that a phase can use; nothing where it has none.

    Raises:
        Misuse: There is none.
    """
    if not phase.gpu.count:
        return []
    known = gpus_here()
    fitting = [str(device) for device in known if not unlike(phase.gpu, device)]
    if not fitting:
        others = f"only {', '.join(map(str, known))}" if known else "and nvidia-smi tells of none"
        raise Misuse(f"phase {phase.name!r} gives a container {promised(phase.gpu)}; there is none here, {others}")
    return [f"{device} fits" for device in fitting]
