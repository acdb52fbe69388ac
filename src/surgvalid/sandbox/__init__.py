"""Run untrusted code: one file per engine, found by its name, behind one interface.

    with open_engine("podman").start(Launch(image=..., mounts=(Mount.input(videos), Mount.socket(folder)))) as running:
        connection = running.connect(timeout_s=5)

An engine says what it guarantees, and refuses hidden data when that is not everything.
"""

from surgvalid.sandbox._engine import (
    ENGINES,
    SOCKET_NAME,
    Death,
    Engine,
    Guarantee,
    Problem,
    ProblemSeverity,
    Running,
    Usage,
    engine_takes_images,
    open_engine,
)
from surgvalid.sandbox._gpu import Gpu, GpuWatch, gpus_here, watched_gpu
from surgvalid.sandbox._intake import ImageFacts, ImageLimits, inspect_image, write_clean_image
from surgvalid.sandbox._launch import WEIGHTS_TARGET, Launch, Limits, Mount, MountKind
from surgvalid.sandbox._leases import held_image
from surgvalid.sandbox._trial import Trial, canary_run_s, has_canary, trial_run, write_own_image

__all__ = [
    "ENGINES",
    "SOCKET_NAME",
    "WEIGHTS_TARGET",
    "Death",
    "Engine",
    "Gpu",
    "GpuWatch",
    "Guarantee",
    "ImageFacts",
    "ImageLimits",
    "Launch",
    "Limits",
    "Mount",
    "MountKind",
    "Problem",
    "ProblemSeverity",
    "Running",
    "Trial",
    "Usage",
    "canary_run_s",
    "engine_takes_images",
    "gpus_here",
    "has_canary",
    "held_image",
    "inspect_image",
    "open_engine",
    "process",
    "trial_run",
    "watched_gpu",
    "write_clean_image",
    "write_own_image",
]
