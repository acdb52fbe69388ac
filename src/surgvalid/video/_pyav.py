"""The one place where PyAV is imported and where its errors become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any, BinaryIO

from surgvalid.errors import ExtraNeeded, FileUnreadable

if TYPE_CHECKING:
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

VideoSource = str | Path | BinaryIO
"""A video file, or an open binary stream that can seek (a member of an archive)."""


def pyav() -> Any:
    """The PyAV module.

    Raises:
        ExtraNeeded: PyAV is not installed.
    """
    try:
        import av
    except ImportError:
        raise ExtraNeeded("reading and writing video", "PyAV", "video") from None
    return av


_converters = local()


def converted(
    frame: VideoFrame, pixel_format: str, *, width_px: int | None = None, height_px: int | None = None
) -> VideoFrame:
    """The frame in another pixel format or size; what is not named stays.

    A frame's own `reformat` works out the tables of the conversion anew for each frame, which takes longer than
    the conversion. Here they are kept from frame to frame, for each thread on its own.
    """
    if not hasattr(_converters, "kept"):
        _converters.kept = pyav().video.reformatter.VideoReformatter()
    shown: VideoFrame = _converters.kept.reformat(frame, width=width_px, height=height_px, format=pixel_format)
    return shown


def name_of(source: VideoSource) -> str:
    """What to call the source in a message."""
    if isinstance(source, str | Path):
        return str(source)
    return str(getattr(source, "name", None) or "video stream")


@contextmanager
def translated(source: VideoSource) -> Iterator[None]:
    """Turns whatever PyAV raises inside the block into one FileUnreadable that names the file."""
    av = pyav()
    try:
        yield
    except (av.FFmpegError, EOFError, OSError, ValueError, OverflowError, MemoryError) as error:
        raise FileUnreadable(name_of(source), [f"not a readable video ({_reason(error)})"]) from None


@contextmanager
def opened(source: VideoSource) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The open container and its first video stream; closed again at the end of the block.

    Only the opening is translated here: reading inside the block translates its own errors.

    Raises:
        FileUnreadable: No such file, no video container, or no image in it.
    """
    if isinstance(source, str | Path) and not Path(source).is_file():
        raise FileUnreadable(str(source), ["no such file"])
    if not isinstance(source, str | Path):
        source.seek(0)
    with translated(source):
        container = pyav().open(str(source) if isinstance(source, Path) else source, mode="r")
    try:
        yield container, _picture_stream(container, source)
    finally:
        container.close()


def _picture_stream(container: InputContainer, source: VideoSource) -> VideoStream:
    usable = [s for s in container.streams.video if s.codec_context is not None and s.codec_context.width > 0]
    if not usable:
        raise FileUnreadable(name_of(source), ["holds no image stream"])
    stream = usable[0]
    if not stream.time_base:
        raise FileUnreadable(name_of(source), ["the image stream has no time base"])
    return stream


def _reason(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:120]
