"""Images as small files and as arrays, by OpenCV or Pillow, whichever is there."""

from __future__ import annotations

import io

import numpy as np

try:
    import cv2
except ImportError:
    cv2 = None
    from PIL import Image

WIDTH, HEIGHT = 288, 162
"""Size of the stored images, in pixels. The eye leaves out the first and the last row."""
QUALITY = 55
"""Of the WebP files: about 2 kB each."""


def encoded(picture: np.ndarray) -> bytes:
    """An image (height x width x 3, red first) as a WebP file."""
    if cv2 is None:
        file = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(picture)).save(file, "webp", quality=QUALITY)
        return file.getvalue()
    done, data = cv2.imencode(".webp", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    if not done:
        raise SystemExit("sees: this OpenCV cannot write WebP")
    return bytes(data)


def decoded(data: bytes) -> np.ndarray:
    """A stored image as the eye wants it."""
    if cv2 is None:
        return cropped(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise SystemExit("sees: this OpenCV cannot read WebP")
    return cropped(picture[..., ::-1])


def cropped(picture: np.ndarray) -> np.ndarray:
    """An image of any size as 160 x 288 x 3."""
    if picture.shape[:2] != (HEIGHT, WIDTH):
        if cv2 is None:
            image = Image.fromarray(np.ascontiguousarray(picture))
            picture = np.asarray(image.resize((WIDTH, HEIGHT), Image.Resampling.BOX))
        else:
            picture = cv2.resize(np.ascontiguousarray(picture), (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    return np.array(picture[1:-1])
