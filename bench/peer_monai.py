"""Border NSD by MONAI, in the environment of whoever runs this file: `python bench/peer_monai.py PAIRS.npz TOLERANCE`.

Prints MONAI's version and its CPU seconds per pair, imports not counted.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np


def main() -> None:
    import monai
    import torch
    from monai.metrics import compute_surface_dice

    torch.set_num_threads(1)
    stored, tolerance = np.load(sys.argv[1]), float(sys.argv[2])
    pairs = [tuple(torch.from_numpy(mask[None, None]) for mask in pair) for pair in stored["pairs"]]
    values = []
    for counted in (False, True):
        start = time.process_time()
        values = [float(compute_surface_dice(p.float(), r.float(), [tolerance])) for r, p in pairs]
        if counted:
            seconds = (time.process_time() - start) / len(pairs)
            print(json.dumps({"version": monai.__version__, "seconds": seconds, "values": values}))


if __name__ == "__main__":
    main()
