"""What lies between the scene and the viewer: smoke, fog, dirt, glare, exposure, the sensor and its mask."""

from __future__ import annotations

import numpy as np
from numba import njit

from surgvalid.simulation.render.shade import _noise, _ramp, blocks_around

VEIL = (0.62, 0.64, 0.66)
"""The light of what takes light away: smoke, fog and dirt."""


@njit(cache=True)
def glare_of(colour, rough, spread):  # type: ignore[no-untyped-def]
    """Light beyond what the sensor holds, by blocks of four pixels, and spread to their neighbours."""
    rows, columns, _ = rough.shape
    for j in range(rows):
        for i in range(columns):
            for k in range(3):
                total = 0.0
                for y in range(4 * j, min(4 * j + 4, colour.shape[0])):
                    for x in range(4 * i, min(4 * i + 4, colour.shape[1])):
                        more = colour[y, x, k] - 0.9
                        total += 0.0 if more < 0 else 1.5 if more > 1.5 else more
                rough[j, i, k] = total / 16
    for j in range(rows):
        for i in range(columns):
            for k in range(3):
                total, weight = 0.0, 0.0
                for dy in range(-3, 4):
                    for dx in range(-3, 4):
                        y, x = j + dy, i + dx
                        if 0 <= y < rows and 0 <= x < columns:
                            nearness = 1.0 / (1.0 + dy * dy + dx * dx)
                            total += nearness * rough[y, x, k]
                            weight += nearness
                spread[j, i, k] = total / weight


@njit(cache=True)
def share_that_arrives(inverse_depth, numbers, drops, cells, mask, out):  # type: ignore[no-untyped-def]
    """Of the light of every pixel, the share that comes through smoke, fog, dirt and the optics.

    `numbers`: smoke, its drift, fog, dirt; `drops`: rows x, y, radius, opacity in image heights.
    """
    height, width = out.shape
    smoke, drift, fog, dirt = numbers
    for y in range(height):
        for x in range(width):
            if mask[y, x] <= 0:
                out[y, x] = 0.0
                continue
            arrives = 1.0
            if smoke > 0:
                here = inverse_depth[2 * y, 2 * x]
                depth = 1.0 / here if here > 0 else 40.0
                u, v = x / height, y / height
                cloud = _noise(cells, u * 2.2 + drift, v * 2.2 - 0.6 * drift, drift * 0.35)[0]
                small = _noise(cells, u * 6.0 - drift, v * 6.0 + drift, drift)[0]
                thick = 0.55 + 0.45 * cloud + 0.15 * small
                thick = 0.1 if thick < 0.1 else thick
                deep = smoke * thick * (0.35 + 0.075 * (depth if depth < 30 else 30.0))
                arrives = 1 / (1 + deep + 0.5 * deep * deep)
            if fog > 0:
                u, v = (x - 0.5 * width) / height, (y - 0.5 * height) / height
                veil = fog * (0.80 + 0.55 * (u * u + v * v))
                arrives *= 1 - (0.93 if veil > 0.93 else veil)
            if dirt > 0:
                u, v = x / height, y / height
                for k in range(len(drops)):
                    dx, dy = u - drops[k, 0], v - drops[k, 1]
                    inside = (dx * dx + dy * dy) / (drops[k, 2] * drops[k, 2])
                    if inside < 1:
                        arrives *= 1 - drops[k, 3] * dirt * _ramp(0.0, 0.5, 1 - inside)
            out[y, x] = arrives * mask[y, x]


@njit(cache=True)
def _grain(seed, frame, place):  # type: ignore[no-untyped-def]
    """A whole number that looks random, between -512 and 511 with a peak in the middle."""
    h = (place * 1103515245 + frame * 12820163 + seed * 7919 + 12345) & 0x7FFFFFFF
    for _ in range(2):
        h ^= h >> 15
        h = (h * 1274126177 + 40503) & 0x7FFFFFFF
        h ^= h >> 13
    return (h & 511) + ((h >> 12) & 511) - 511


@njit(cache=True)
def _on_sensor(light):  # type: ignore[no-untyped-def]
    """Light as the sensor gives it, 0 to 255: it bends over smoothly, and is stored by its square root."""
    light = 0.0 if light < 0 else light
    light = light * (1 + 0.16 * light) / (1 + 0.72 * light)
    return 255.0 * np.sqrt(1.0 if light > 1 else light)


@njit(cache=True)
def recorded(colour, spread, arrives, veil, mix, exposure, grain, seed, frame, picture):  # type: ignore[no-untyped-def]
    """Write the image: `veil` is the colour of what takes light away, `mix` a centre's matrix of colours."""
    height, width, _ = colour.shape
    rows, columns, _ = spread.shape
    for y in range(height):
        for x in range(width):
            share = arrives[y, x]
            if share <= 0:
                picture[y, x] = 0
                continue
            j0, j1, b = blocks_around(y, rows)
            i0, i1, a = blocks_around(x, columns)
            noise = grain * _grain(seed, frame, y * width + x) / 256.0 if grain > 0 else 0.0
            seen = np.empty(3)
            for k in range(3):
                upper = spread[j0, i0, k] + a * (spread[j0, i1, k] - spread[j0, i0, k])
                lower = spread[j1, i0, k] + a * (spread[j1, i1, k] - spread[j1, i0, k])
                seen[k] = colour[y, x, k] * share + veil[y, x] * VEIL[k] + 0.55 * (upper + b * (lower - upper)) * share
            for k in range(3):
                value = mix[k, 0] * seen[0] + mix[k, 1] * seen[1] + mix[k, 2] * seen[2]
                level = _on_sensor(value * exposure) + noise
                level = 0.0 if level < 0 else 255.0 if level > 255 else level
                picture[y, x, k] = np.uint8(level + 0.5) if level < 254.5 else 255


@njit(cache=True)
def smeared(light, flow, share, out):  # type: ignore[no-untyped-def]
    """Light as an open shutter gathers it: the mean along the way that each pixel goes meanwhile."""
    height, width, _ = light.shape
    for y in range(height):
        for x in range(width):
            right, below = flow[y, x, 0] * share, flow[y, x, 1] * share
            if abs(right) < 1.5 and abs(below) < 1.5:
                continue
            out[y, x] = 0.0
            for step in range(-3, 4):
                column = min(max(np.int64(np.floor(x + 0.5 + right * step / 6)), 0), width - 1)
                row = min(max(np.int64(np.floor(y + 0.5 + below * step / 6)), 0), height - 1)
                for k in range(3):
                    out[y, x, k] += light[row, column, k]
            for k in range(3):
                out[y, x, k] /= 7
