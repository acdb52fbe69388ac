"""Run untrusted code: one file per engine, found by its name, behind one interface.

    with open_engine("podman").start(Launch(image=..., mounts=(Mount.input(videos), Mount.socket(folder)))) as running:
        connection = running.connect(timeout_s=5)

An engine says what it guarantees, and refuses hidden data when that is not everything.
"""

from surgeval.sandbox._canary import canary_run_s as canary_run_s
from surgeval.sandbox._canary import has_canary as has_canary
from surgeval.sandbox._engine import SOCKET_NAME as SOCKET_NAME
from surgeval.sandbox._engine import Death as Death
from surgeval.sandbox._engine import Engine as Engine
from surgeval.sandbox._engine import Guarantee as Guarantee
from surgeval.sandbox._engine import Problem as Problem
from surgeval.sandbox._engine import Running as Running
from surgeval.sandbox._engine import Severity as Severity
from surgeval.sandbox._engine import Usage as Usage
from surgeval.sandbox._gpu import Gpu as Gpu
from surgeval.sandbox._gpu import GpuWatch as GpuWatch
from surgeval.sandbox._gpu import gpus_here as gpus_here
from surgeval.sandbox._gpu import watched_gpu as watched_gpu
from surgeval.sandbox._intake import ImageFacts as ImageFacts
from surgeval.sandbox._intake import ImageLimits as ImageLimits
from surgeval.sandbox._intake import inspect_image as inspect_image
from surgeval.sandbox._intake import write_clean_image as write_clean_image
from surgeval.sandbox._launch import WEIGHTS_TARGET as WEIGHTS_TARGET
from surgeval.sandbox._launch import Launch as Launch
from surgeval.sandbox._launch import Limits as Limits
from surgeval.sandbox._launch import Mount as Mount
from surgeval.sandbox._launch import MountKind as MountKind
from surgeval.sandbox._leases import held_image as held_image
from surgeval.sandbox._open import ENGINES as ENGINES
from surgeval.sandbox._open import engine_takes_images as engine_takes_images
from surgeval.sandbox._open import open_engine as open_engine
from surgeval.sandbox._own_image import write_own_image as write_own_image
from surgeval.sandbox._trial import Trial as Trial
from surgeval.sandbox._trial import trial_run as trial_run

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
    "Running",
    "Severity",
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
