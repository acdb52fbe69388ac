"""Light on surfaces: one lamp beside the lens, wet tissue with relief that hangs on it, metal, gauze, foil.

Every surface is shaded once per pixel, at the middle of the samples that it has there, and mixed by how many they are.
Kernels use only + - * / and square roots, so their bytes are those of every processor.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from surgvalid.simulation.render.raster import blended, dot, plus, scaled, weights_at

PERIOD = 32
"""After so many cells the noise repeats."""
LAMP = (0.75, -0.45, 0.0)
"""Where the lamp is, in centimetres to the right of, below and before the eye."""
FAR_CM = 15.0
"""What is farther away has neither fine relief nor shadows."""
LAMP_CM2 = 58.0
"""Square of the distance at which the lamp lights with strength 1."""


def noise_cells(seed: int = 7) -> np.ndarray:
    """Random values on a lattice, between -1 and 1."""
    cells = np.random.default_rng(seed).random((PERIOD, PERIOD, PERIOD)) * 2 - 1
    return np.asarray(np.round(cells, 9))


@njit(cache=True)
def _noise(cells, x, y, z):  # type: ignore[no-untyped-def]
    """Smooth noise at a place, and its slope."""
    fx, fy, fz = np.floor(x), np.floor(y), np.floor(z)
    a, b, c = x - fx, y - fy, z - fz
    i, j, k = np.int64(fx) & 31, np.int64(fy) & 31, np.int64(fz) & 31
    i1, j1, k1 = (i + 1) & 31, (j + 1) & 31, (k + 1) & 31
    u, v, w = a * a * (3 - 2 * a), b * b * (3 - 2 * b), c * c * (3 - 2 * c)
    du, dv, dw = 6 * a * (1 - a), 6 * b * (1 - b), 6 * c * (1 - c)
    n000, n001, n010, n011 = cells[i, j, k], cells[i, j, k1], cells[i, j1, k], cells[i, j1, k1]
    n100, n101, n110, n111 = cells[i1, j, k], cells[i1, j, k1], cells[i1, j1, k], cells[i1, j1, k1]
    q00, q01 = n000 + w * (n001 - n000), n010 + w * (n011 - n010)
    q10, q11 = n100 + w * (n101 - n100), n110 + w * (n111 - n110)
    p0, p1 = q00 + v * (q01 - q00), q10 + v * (q11 - q10)
    s0, s1 = (n001 - n000) + v * ((n011 - n010) - (n001 - n000)), (n101 - n100) + v * ((n111 - n110) - (n101 - n100))
    value = p0 + u * (p1 - p0)
    sx = du * (p1 - p0)
    sy = dv * ((q01 - q00) + u * ((q11 - q10) - (q01 - q00)))
    sz = dw * (s0 + u * (s1 - s0))
    return value, (sx, sy, sz)


@njit(cache=True)
def _ramp(low, high, x):  # type: ignore[no-untyped-def]
    share = (x - low) / (high - low)
    share = min(max(share, 0.0), 1.0)
    return share * share * (3 - 2 * share)


@njit(cache=True)
def _unit(a):  # type: ignore[no-untyped-def]
    length = np.sqrt(dot(a, a))
    length = length if length > 0 else 1.0
    return a[0] / length, a[1] / length, a[2] / length


@njit(cache=True)
def _turned(axes, a):  # type: ignore[no-untyped-def]
    """A direction of the scene in the lens's axes."""
    return dot(axes[0], a), dot(axes[1], a), dot(axes[2], a)


@njit(cache=True)
def _faded(colour, share, to):  # type: ignore[no-untyped-def]
    """A colour on its way to another."""
    red, green, blue = colour[0], colour[1], colour[2]
    return red + share * (to[0] - red), green + share * (to[1] - green), blue + share * (to[2] - blue)


@njit(cache=True)
def _cloud(cells, place, scale, x, y, z):  # type: ignore[no-untyped-def]
    """Noise at a place, and its slope, in another scale and elsewhere."""
    return _noise(cells, place[0] * scale + x, place[1] * scale + y, place[2] * scale + z)


@njit(cache=True, inline="always")
def _lit(column, row, t, geometry, lens, table, cells, lamp, shadow):  # type: ignore[no-untyped-def]
    """Light that comes from a triangle at a place in the image: red, green, blue."""
    triangles, rows, local, normals, rest, inverse, places = geometry
    axes = lens[3]
    corners = weights_at(column, row, t, triangles, places, inverse)
    place, rests = blended(local, corners), blended(rest, corners)
    material = table[rows[t]]
    kind, line, start = np.int64(material[15]), material[17], material[21]
    # --- colour and relief -----------------------------------------------------------------------
    share = _ramp(-0.45, 0.45, _cloud(cells, rests, material[6], 0.0, 0.0, 0.0)[0])
    colour = _faded(material[:3], share, material[3:6])
    bump, strength, fine = material[7], material[8], material[9]
    slope, small = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if strength > 0:
        value, slope = _cloud(cells, rests, bump, 5.3, 1.7, 9.1)
        if kind == 1:  # fat: lobules are round above and meet in creases
            slope = scaled(slope, -1.0 if value < 0 else 1.0)
            hollow = _ramp(0.0, 0.22, abs(value))
            dark = 0.62 + 0.38 * hollow
            colour = colour[0] * (0.8 + 0.2 * hollow), colour[1] * dark, colour[2] * dark
        slope = scaled(slope, strength)
    if fine > 0 and place[2] < FAR_CM:
        value, small = _cloud(cells, rests, bump * 4.1, 0.0, 0.0, 0.0)
        small, colour = scaled(small, fine), scaled(colour, 1 + 0.16 * value)
    vessels = material[13]
    if vessels > 0:
        first = _cloud(cells, rests, material[14], 3.1, 8.2, 0.4)[0]
        second = _cloud(cells, scaled(rests, material[14]), 2.3, 7.7, 0.0, 2.9)[0]
        first, second = first + 0.25 * second, second + 0.4 * first
        mark = (
            vessels
            * max(1 - _ramp(0.0, 0.028, abs(first)), 0.55 * (1 - _ramp(0.0, 0.04, abs(second))))
            * _ramp(-0.35, 0.25, second - first)
        )
        colour = _faded(colour, mark, (0.30, 0.018, 0.018))
    soak = material[16]
    wet = 0.0
    if kind == 2:  # gauze: threads both ways, a marker, blood that creeps in
        across, along = rests[0] * 7.0, rests[2] * 7.0
        fa, fb = across - np.floor(across) - 0.5, along - np.floor(along) - 0.5
        thread = max(1 - 3.0 * abs(fa), 1 - 3.0 * abs(fb))
        colour = scaled(colour, 0.72 + 0.28 * max(thread, 0.0))
        if abs(rests[2] - line) < 0.13 or (line < 50 and abs(rests[2] + line * 0.45) < 0.05):
            colour = material[18], material[19], material[20]
        slope = plus(slope, 0.35, (fa if abs(fa) < 0.33 else 0.0, 0.0, fb if abs(fb) < 0.33 else 0.0))
        if soak > 0:
            flat = rests[0], 0.0, rests[2]
            first = _cloud(cells, flat, 0.55, start, 3.0, 0.0)[0]
            second = _cloud(cells, flat, 2.1, start, 8.0, 0.0)[0]
            wet = _ramp(0.75 - 1.5 * soak, 1.05 - 1.5 * soak, first + 0.3 * second)
            colour = _faded(colour, 0.93 * wet, (0.23, 0.012, 0.012))
    elif kind == 6 and line < 50:  # plastic with a line along it
        if abs(rests[2] - line) < 0.07:
            colour = material[18], material[19], material[20]
    elif soak > 0:
        first = _cloud(cells, rests, 0.9, start, 0.0, 0.0)[0]
        wet = 0.9 * _ramp(0.55 - 1.1 * soak, 0.8 - 1.1 * soak, first)
        colour = _faded(colour, wet, (0.2, 0.01, 0.01))
    # --- into the lens's axes; the side that is seen -----------------------------------------------
    normal, eye = _unit(_turned(axes, blended(normals, corners))), _unit(scaled(place, -1.0))
    facing = dot(normal, eye)
    if facing < 0:
        normal, facing = scaled(normal, -1.0), -facing
    slope, small = _turned(axes, slope), _turned(axes, small)
    to_lamp = plus(lamp, -1.0, place)
    power = LAMP_CM2 / (dot(to_lamp, to_lamp) + 6.0)
    to_lamp = _unit(to_lamp)
    wrap = material[12]
    rough = _unit(plus(plus(normal, -1.0, slope), -0.5, small))
    light = max((dot(rough, to_lamp) + wrap) / (1 + wrap), 0.0)
    glossy = _unit(plus(plus(normal, -0.6, slope), -1.0, small))
    shine = max(dot(glossy, _unit(plus(to_lamp, 1.0, eye))), 0.0)
    broad = shine
    for _ in range(np.int64(material[10])):
        shine = shine * shine
    for _ in range(3):
        broad = broad * broad
    rim = 1 - facing
    rim = rim * rim * rim
    if kind == 4:  # foil is densest where it is seen from the side
        rim = 9 * rim
    gloss = material[11] * (1 + 1.2 * wet)
    lit = power * shadow
    if kind == 3:  # metal mirrors the cavity: warm and dark below, the lamp's streak above
        mirrored = plus(scaled(normal, 2 * facing), -1.0, eye)
        band = _cloud(cells, mirrored, 2.1, 4.0, 0.0, 1.0)[0]
        sky = 0.22 + 0.34 * _ramp(-0.5, 0.5, band - 0.7 * mirrored[1])
        warm = _ramp(-0.1, 0.8, mirrored[1])
        red, green, blue = scaled(colour, lit * (0.18 * light + sky) + 0.03)
        extra = lit * gloss * (shine + 0.25 * broad)
        return red * (1 + 0.45 * warm) + extra, green * (1 - 0.12 * warm) + extra, blue * (1 - 0.25 * warm) + extra
    red, green, blue = colour
    lift = 0.045 * material[22]
    body = lit * light
    red = red * (body + lift * 1.25 + 0.10 * power * rim) + material[23] * body * light * 0.5 * red
    green = green * (body + lift * 0.75 + 0.06 * power * rim)
    blue = blue * (body + lift * 0.7 + 0.06 * power * rim)
    extra = lit * gloss * (shine + 0.05 * broad + 0.04 * rim)
    return red + extra, green + extra * 0.97, blue + extra * 0.95


@njit(cache=True)
def shade(chosen, inverse_depth, geometry, lens, table, cells, lamp, shadow, colour, places):  # type: ignore[no-untyped-def]
    """Light of the triangles that are chosen at samples, at pixels counted in reading order.

    `shadow` comes in as how little of the surroundings is in the way, and goes out as the share of the lamp's light.
    """
    rows = geometry[1]
    focal, width, height, _ = lens
    triangle = np.empty(4, np.int64)
    for n in range(len(places)):
        y, x = places[n] // width, places[n] % width
        light = 0.0, 0.0, 0.0
        for k in range(4):
            triangle[k] = chosen[2 * y + k // 2, 2 * x + k % 2]
        shadow[y, x] *= _shadow(x, y, inverse_depth, focal, width, height, lamp)
        for k in range(4):
            t = triangle[k]
            if t < 0:
                continue
            first = True
            for m in range(k):
                if triangle[m] >= 0 and rows[triangle[m]] == rows[t]:
                    first = False
            if not first:
                continue
            count, column, row = 0, 0.0, 0.0
            for m in range(k, 4):
                if triangle[m] >= 0 and rows[triangle[m]] == rows[t]:
                    count += 1
                    column += 0.25 + 0.5 * (m % 2)
                    row += 0.25 + 0.5 * (m // 2)
            if count == 4 and triangle[3] != t:
                t = triangle[3] if (x + y) % 2 else t
            lit = _lit(x + column / count, y + row / count, t, geometry, lens, table, cells, lamp, shadow[y, x])
            light = plus(light, count * 0.25, lit)
        for k in range(3):
            colour[n, k] = light[k]


@njit(cache=True)
def _shadow(x, y, inverse_depth, focal, width, height, lamp):  # type: ignore[no-untyped-def]
    """How much of the lamp's light arrives: a walk from the surface towards the lamp, over the depths that are seen."""
    here = inverse_depth[2 * y, 2 * x]
    if here * FAR_CM <= 1:
        return 1.0
    depth = 1.0 / here
    dark = 0.0
    for step in range(1, 6):
        way = 0.025 * step * (1 + 0.4 * step)
        at = depth * (1 - way)
        shift = focal * way / at
        column = np.int64((x + 0.5 + shift * lamp[0]) * 2)
        row = np.int64((y + 0.5 + shift * lamp[1]) * 2)
        if column < 0 or row < 0 or column >= 2 * width or row >= 2 * height:
            break
        other = inverse_depth[row, column]
        if other > 0:
            gap = at - 1.0 / other
            if 0.06 < gap < 3.5:
                dark = max(dark, _ramp(0.06, 0.3, gap) * (1 - 0.07 * step))
    return 1 - 0.72 * dark


@njit(cache=True)
def creases_of(inverse_depth, rough, reach, creases):  # type: ignore[no-untyped-def]
    """How little of the cavity's light reaches every pixel: less where its surroundings are nearer than it is.

    `rough` receives the mean inverse depth of blocks of four pixels, which is what surroundings are read from.
    """
    height, width = rough.shape
    for y in range(height):
        for x in range(width):
            total = 0.0
            for dy in (1, 4, 6):
                for dx in (1, 4, 6):
                    total += inverse_depth[
                        min(8 * y + dy, inverse_depth.shape[0] - 1), min(8 * x + dx, inverse_depth.shape[1] - 1)
                    ]
            rough[y, x] = total / 9
    across = np.empty_like(rough)
    for y in range(height):
        for x in range(width):
            across[y, x] = rough[y, max(x - reach, 0) : x + reach + 1].mean()
    for y in range(height):
        for x in range(width):
            creases[y, x] = across[max(y - reach, 0) : y + reach + 1, x].mean() if rough[y, x] > 0 else 0.0


@njit(cache=True)
def blocks_around(place, count):  # type: ignore[no-untyped-def]
    """Of blocks of four pixels, the two whose middles a pixel lies between, and how far it is from the first."""
    middle = (place + 0.5) / 4 - 0.5
    first = np.int64(np.floor(middle))
    return max(first, 0), min(first + 1, count - 1), middle - first


@njit(cache=True)
def shade_of_surroundings(inverse_depth, surroundings, places, out):  # type: ignore[no-untyped-def]
    """The factor on the lamp's light by pixel, from the mean inverse depth around it (by blocks of four, blended)."""
    width = out.shape[1]
    rows, columns = surroundings.shape
    for n in range(len(places)):
        y, x = places[n] // width, places[n] % width
        here = inverse_depth[2 * y, 2 * x]
        out[y, x] = 1.0
        if here <= 0:
            continue
        j0, j1, b = blocks_around(y, rows)
        i0, i1, a = blocks_around(x, columns)
        upper = surroundings[j0, i0] + a * (surroundings[j0, i1] - surroundings[j0, i0])
        lower = surroundings[j1, i0] + a * (surroundings[j1, i1] - surroundings[j1, i0])
        mean = upper + b * (lower - upper)
        ahead = max(mean / here - 1.0, 0.0)  # how much nearer the surroundings are
        out[y, x] = max(1 - 2.6 * ahead, 0.45)
