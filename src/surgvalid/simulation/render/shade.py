"""Light on surfaces: one lamp beside the lens, wet tissue with relief that hangs on it, metal, gauze, foil.

Every surface is shaded once per pixel, at the middle of the samples that it has there, and mixed by how many they are.
Kernels use only + - * / and square roots, so their bytes are those of every processor.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from surgvalid.simulation.render.raster import SIDE

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
    return value, sx, sy, sz


@njit(cache=True)
def _ramp(low, high, x):  # type: ignore[no-untyped-def]
    share = (x - low) / (high - low)
    share = 0.0 if share < 0 else 1.0 if share > 1 else share
    return share * share * (3 - 2 * share)


@njit(cache=True, inline="always")
def _lit(column, row, t, geometry, lens, table, cells, lamp, shadow):  # type: ignore[no-untyped-def]
    """Light that comes from a triangle at a place in the image: red, green, blue."""
    triangles, rows, local, normals, rest, inverse, places = geometry
    axes = lens[3]
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    unit = np.float64(SIDE * 16)
    ax, ay = places[a, 0] / unit, places[a, 1] / unit
    bx, by = places[b, 0] / unit, places[b, 1] / unit
    cx, cy = places[c, 0] / unit, places[c, 1] / unit
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    u = ((cx - bx) * (row - by) - (cy - by) * (column - bx)) / area * inverse[a]
    v = ((ax - cx) * (row - cy) - (ay - cy) * (column - cx)) / area * inverse[b]
    w = ((bx - ax) * (row - ay) - (by - ay) * (column - ax)) / area * inverse[c]
    if u < 0:
        u = 0.0
    if v < 0:
        v = 0.0
    if w < 0:
        w = 0.0
    whole = u + v + w
    if whole <= 0:
        u, v, w, whole = inverse[a], inverse[b], inverse[c], inverse[a] + inverse[b] + inverse[c]
    u, v, w = u / whole, v / whole, w / whole
    nx = u * normals[a, 0] + v * normals[b, 0] + w * normals[c, 0]
    ny = u * normals[a, 1] + v * normals[b, 1] + w * normals[c, 1]
    nz = u * normals[a, 2] + v * normals[b, 2] + w * normals[c, 2]
    px = u * local[a, 0] + v * local[b, 0] + w * local[c, 0]
    py = u * local[a, 1] + v * local[b, 1] + w * local[c, 1]
    pz = u * local[a, 2] + v * local[b, 2] + w * local[c, 2]
    rx = u * rest[a, 0] + v * rest[b, 0] + w * rest[c, 0]
    ry = u * rest[a, 1] + v * rest[b, 1] + w * rest[c, 1]
    rz = u * rest[a, 2] + v * rest[b, 2] + w * rest[c, 2]
    material = table[rows[t]]
    kind = np.int64(material[15])
    # --- colour and relief -----------------------------------------------------------------------
    scale = material[6]
    value, _, _, _ = _noise(cells, rx * scale, ry * scale, rz * scale)
    share = _ramp(-0.45, 0.45, value)
    red = material[0] + share * (material[3] - material[0])
    green = material[1] + share * (material[4] - material[1])
    blue = material[2] + share * (material[5] - material[2])
    bump, strength = material[7], material[8]
    sx, sy, sz = 0.0, 0.0, 0.0
    if strength > 0:
        value, sx, sy, sz = _noise(cells, rx * bump + 5.3, ry * bump + 1.7, rz * bump + 9.1)
        if kind == 1:  # fat: lobules are round above and meet in creases
            side = 1.0 if value < 0 else -1.0
            hollow = _ramp(0.0, 0.22, abs(value))
            sx, sy, sz = -side * sx, -side * sy, -side * sz
            dark = 0.62 + 0.38 * hollow
            red, green, blue = red * (0.8 + 0.2 * hollow), green * dark, blue * dark
        sx, sy, sz = sx * strength, sy * strength, sz * strength
    fine = material[9]
    tx, ty, tz = 0.0, 0.0, 0.0
    if fine > 0 and pz < FAR_CM:
        scale = bump * 4.1
        value, tx, ty, tz = _noise(cells, rx * scale, ry * scale, rz * scale)
        tx, ty, tz = tx * fine, ty * fine, tz * fine
        tone = 1 + 0.16 * value
        red, green, blue = red * tone, green * tone, blue * tone
    vessels = material[13]
    if vessels > 0:
        scale = material[14]
        first, _, _, _ = _noise(cells, rx * scale + 3.1, ry * scale + 8.2, rz * scale + 0.4)
        second, _, _, _ = _noise(cells, rx * scale * 2.3 + 7.7, ry * scale * 2.3, rz * scale * 2.3 + 2.9)
        first, second = first + 0.25 * second, second + 0.4 * first
        mark = (
            vessels
            * max(1 - _ramp(0.0, 0.028, abs(first)), 0.55 * (1 - _ramp(0.0, 0.04, abs(second))))
            * _ramp(-0.35, 0.25, second - first)
        )
        red = red + mark * (0.30 - red)
        green = green + mark * (0.018 - green)
        blue = blue + mark * (0.018 - blue)
    soak = material[16]
    wet = 0.0
    if kind == 2:  # gauze: threads both ways, a marker, blood that creeps in
        across, along = rx * 7.0, rz * 7.0
        fa, fb = across - np.floor(across) - 0.5, along - np.floor(along) - 0.5
        thread = max(1 - 3.0 * abs(fa), 1 - 3.0 * abs(fb))
        thread = max(thread, 0.0)
        tone = 0.72 + 0.28 * thread
        red, green, blue = red * tone, green * tone, blue * tone
        if abs(rz - material[17]) < 0.13 or (material[17] < 50 and abs(rz + material[17] * 0.45) < 0.05):
            red, green, blue = material[18], material[19], material[20]
        sx, sy, sz = sx + 0.35 * (fa if abs(fa) < 0.33 else 0.0), sy, sz + 0.35 * (fb if abs(fb) < 0.33 else 0.0)
        if soak > 0:
            first, _, _, _ = _noise(cells, rx * 0.55 + material[21], 3.0, rz * 0.55)
            second, _, _, _ = _noise(cells, rx * 2.1 + material[21], 8.0, rz * 2.1)
            wet = _ramp(0.75 - 1.5 * soak, 1.05 - 1.5 * soak, first + 0.3 * second)
            red = red + 0.93 * wet * (0.23 - red)
            green = green + 0.93 * wet * (0.012 - green)
            blue = blue + 0.93 * wet * (0.012 - blue)
    elif kind == 6 and material[17] < 50:  # plastic with a line along it
        if abs(rz - material[17]) < 0.07:
            red, green, blue = material[18], material[19], material[20]
    elif soak > 0:
        first, _, _, _ = _noise(cells, rx * 0.9 + material[21], ry * 0.9, rz * 0.9)
        stain = 0.9 * _ramp(0.55 - 1.1 * soak, 0.8 - 1.1 * soak, first)
        red, green, blue = red + stain * (0.2 - red), green + stain * (0.01 - green), blue + stain * (0.01 - blue)
        wet = stain
    # --- into the lens's axes; the side that is seen -----------------------------------------------
    gx = axes[0, 0] * nx + axes[0, 1] * ny + axes[0, 2] * nz
    gy = axes[1, 0] * nx + axes[1, 1] * ny + axes[1, 2] * nz
    gz = axes[2, 0] * nx + axes[2, 1] * ny + axes[2, 2] * nz
    length = np.sqrt(gx * gx + gy * gy + gz * gz)
    if length <= 0:
        length = 1.0
    gx, gy, gz = gx / length, gy / length, gz / length
    distance = np.sqrt(px * px + py * py + pz * pz)
    ex, ey, ez = -px / distance, -py / distance, -pz / distance
    facing = gx * ex + gy * ey + gz * ez
    if facing < 0:
        gx, gy, gz, facing = -gx, -gy, -gz, -facing
    hx = axes[0, 0] * sx + axes[0, 1] * sy + axes[0, 2] * sz
    hy = axes[1, 0] * sx + axes[1, 1] * sy + axes[1, 2] * sz
    hz = axes[2, 0] * sx + axes[2, 1] * sy + axes[2, 2] * sz
    kx = axes[0, 0] * tx + axes[0, 1] * ty + axes[0, 2] * tz
    ky = axes[1, 0] * tx + axes[1, 1] * ty + axes[1, 2] * tz
    kz = axes[2, 0] * tx + axes[2, 1] * ty + axes[2, 2] * tz
    dx, dy, dz = gx - hx - 0.5 * kx, gy - hy - 0.5 * ky, gz - hz - 0.5 * kz
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / length, dy / length, dz / length
    lx, ly, lz = lamp[0] - px, lamp[1] - py, lamp[2] - pz
    square = lx * lx + ly * ly + lz * lz
    length = np.sqrt(square)
    lx, ly, lz = lx / length, ly / length, lz / length
    power = LAMP_CM2 / (square + 6.0)
    wrap = material[12]
    light = (dx * lx + dy * ly + dz * lz + wrap) / (1 + wrap)
    light = light if light > 0 else 0.0
    ox, oy, oz = gx - 0.6 * hx - kx, gy - 0.6 * hy - ky, gz - 0.6 * hz - kz
    length = np.sqrt(ox * ox + oy * oy + oz * oz)
    ox, oy, oz = ox / length, oy / length, oz / length
    mx, my, mz = lx + ex, ly + ey, lz + ez
    length = np.sqrt(mx * mx + my * my + mz * mz)
    shine = (ox * mx + oy * my + oz * mz) / length
    shine = shine if shine > 0 else 0.0
    broad = shine
    for _ in range(np.int64(material[10])):
        shine = shine * shine
    for _ in range(3):
        broad = broad * broad
    rim = 1 - facing
    rim = rim * rim * rim
    gloss = material[11] * (1 + 1.2 * wet)
    lit = power * shadow
    if kind == 3:  # metal mirrors the cavity: warm and dark below, the lamp's streak above
        qx, qy, qz = 2 * facing * gx - ex, 2 * facing * gy - ey, 2 * facing * gz - ez
        band, _, _, _ = _noise(cells, qx * 2.1 + 4.0, qy * 2.1, qz * 2.1 + 1.0)
        sky = 0.22 + 0.34 * _ramp(-0.5, 0.5, band - 0.7 * qy)
        warm = _ramp(-0.1, 0.8, qy)
        base = lit * (0.18 * light + sky) + 0.03
        red = red * base * (1 + 0.45 * warm)
        green = green * base * (1 - 0.12 * warm)
        blue = blue * base * (1 - 0.25 * warm)
        extra = lit * gloss * (shine + 0.25 * broad)
        return red + extra, green + extra, blue + extra
    lift = 0.045 * material[22]
    body = lit * light
    red = red * (body + lift * 1.25 + 0.10 * power * rim) + material[23] * body * light * 0.5 * red
    green = green * (body + lift * 0.75 + 0.06 * power * rim)
    blue = blue * (body + lift * 0.7 + 0.06 * power * rim)
    extra = lit * gloss * (shine + 0.05 * broad + 0.04 * rim)
    return red + extra, green + extra * 0.97, blue + extra * 0.95


@njit(cache=True)
def shade(chosen, inverse_depth, geometry, lens, table, cells, lamp, shadow, colour, wanted):  # type: ignore[no-untyped-def]
    """Light of the triangles that are chosen at samples, by pixel, where it is wanted.

    `shadow` comes in as how little of the surroundings is in the way, and goes out as the share of the lamp's light.
    """
    rows = geometry[1]
    focal, width, height, _ = lens
    triangle = np.empty(4, np.int64)
    for y in range(height):
        for x in range(width):
            if not wanted[y, x]:
                continue
            red, green, blue = 0.0, 0.0, 0.0
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
                r, g, b = _lit(x + column / count, y + row / count, t, geometry, lens, table, cells, lamp, shadow[y, x])
                portion = count * 0.25
                red, green, blue = red + portion * r, green + portion * g, blue + portion * b
            colour[y, x, 0], colour[y, x, 1], colour[y, x, 2] = red, green, blue


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
    for y in range(height):
        for x in range(width):
            total, count = 0.0, 0
            for dy in range(-reach, reach + 1):
                for dx in range(-reach, reach + 1):
                    row, column = y + dy, x + dx
                    if 0 <= row < height and 0 <= column < width:
                        total += rough[row, column]
                        count += 1
            reach_mean = total / count
            here = rough[y, x]
            creases[y, x] = reach_mean if here > 0 else 0.0


@njit(cache=True)
def shade_of_surroundings(inverse_depth, surroundings, wanted, out):  # type: ignore[no-untyped-def]
    """The factor on the lamp's light by pixel, from the mean inverse depth around it (by blocks of four, blended)."""
    height, width = out.shape
    rows, columns = surroundings.shape
    for y in range(height):
        fy = (y + 0.5) / 4 - 0.5
        j = np.int64(np.floor(fy))
        b = fy - j
        j0, j1 = max(j, 0), min(j + 1, rows - 1)
        for x in range(width):
            here = inverse_depth[2 * y, 2 * x]
            if here <= 0 or not wanted[y, x]:
                out[y, x] = 1.0
                continue
            fx = (x + 0.5) / 4 - 0.5
            i = np.int64(np.floor(fx))
            a = fx - i
            i0, i1 = max(i, 0), min(i + 1, columns - 1)
            upper = surroundings[j0, i0] + a * (surroundings[j0, i1] - surroundings[j0, i0])
            lower = surroundings[j1, i0] + a * (surroundings[j1, i1] - surroundings[j1, i0])
            mean = upper + b * (lower - upper)
            ahead = mean / here - 1.0  # how much nearer the surroundings are
            ahead = 0.0 if ahead < 0 else ahead
            factor = 1 - 2.6 * ahead
            out[y, x] = 0.45 if factor < 0.45 else factor
