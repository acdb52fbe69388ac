"""The compiled twin of undoing a PNG picture's filters: the same bytes, in plain loops."""

from __future__ import annotations

from numba import njit

from surgeval.scoring.predictions.png import ABOVE, AVERAGE, LEFT, PAETH


@njit(cache=True, nogil=True)
def unfilter_numba(kinds, pixels, step):  # type: ignore[no-untyped-def]
    """Add back to each row its prediction from its neighbours."""  # pragma: no cover - compiled
    for y in range(pixels.shape[0]):
        kind = kinds[y]
        for x in range(pixels.shape[1] if kind else 0):
            left = int(pixels[y, x - step]) if x >= step else 0
            up = int(pixels[y - 1, x]) if y else 0
            corner = int(pixels[y - 1, x - step]) if y and x >= step else 0
            guess = 0
            if kind == LEFT:
                guess = left
            elif kind == ABOVE:
                guess = up
            elif kind == AVERAGE:
                guess = (left + up) // 2
            elif kind == PAETH:
                far_left, far_up, far_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
                if far_left <= far_up and far_left <= far_corner:
                    guess = left
                else:
                    guess = up if far_up <= far_corner else corner
            pixels[y, x] = (pixels[y, x] + guess) & 255
