"""Video: probing, frames at exact times, clips and challenge inputs (needs the extra `video`)."""

from surgeval.video._pyav import converted, pyav
from surgeval.video.batch_files import LAYOUTS
from surgeval.video.clips import build_clip, clip_times_s
from surgeval.video.encoding import OFFICIAL_CLIP, ClipSpec, clip_writer
from surgeval.video.frame_store import FrameStore, frame_name, iterate_frames, store_frames
from surgeval.video.images import png_bytes, write_png
from surgeval.video.inputs import ChallengeInputs, read_inputs
from surgeval.video.layouts import TRACKS, write_inputs
from surgeval.video.probe import Probe, TimeIndex, probe, time_index
from surgeval.video.round_trip import clip_problems, input_problems
from surgeval.video.sampling import Sample, sample

__all__ = [
    "LAYOUTS",
    "OFFICIAL_CLIP",
    "TRACKS",
    "ChallengeInputs",
    "ClipSpec",
    "FrameStore",
    "Probe",
    "Sample",
    "TimeIndex",
    "batch_files",
    "build_clip",
    "clip_problems",
    "clip_times_s",
    "clip_writer",
    "clips",
    "clock",
    "converted",
    "encoding",
    "frame_name",
    "images",
    "input_problems",
    "iterate_frames",
    "lettering",
    "pictures",
    "png_bytes",
    "probe",
    "pyav",
    "read_inputs",
    "sample",
    "store_frames",
    "time_index",
    "write_inputs",
    "write_png",
]
