"""Video: probing, frames at exact times, clips and challenge inputs (needs the extra `video`)."""

from surgvalid.video._pyav import converted, pyav
from surgvalid.video.batch_files import LAYOUTS
from surgvalid.video.clips import OFFICIAL_CLIP, ClipSpec, build_clip, clip_times_s, clip_writer
from surgvalid.video.frame_names import frame_name
from surgvalid.video.images import png_bytes, write_png
from surgvalid.video.key_frames import VideoFrames, nearest
from surgvalid.video.layouts import TRACKS, write_inputs
from surgvalid.video.probe import Probe, TimeIndex, probe, time_index
from surgvalid.video.sampling import FrameSample, sample

__all__ = [
    "LAYOUTS",
    "OFFICIAL_CLIP",
    "TRACKS",
    "ClipSpec",
    "FrameSample",
    "Probe",
    "TimeIndex",
    "VideoFrames",
    "batch_files",
    "build_clip",
    "clip_times_s",
    "clip_writer",
    "clips",
    "converted",
    "frame_name",
    "images",
    "nearest",
    "png_bytes",
    "probe",
    "pyav",
    "sample",
    "stored_images",
    "time_index",
    "write_inputs",
    "write_png",
]
