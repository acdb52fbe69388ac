from __future__ import annotations

import pytest

from surgvalid.errors import Misuse
from surgvalid.video import frame_name


@pytest.mark.parametrize("time_s", [-1.0, float("nan"), 1 / 3, 1e12])
def test_times_that_no_name_can_hold_are_refused(time_s):
    with pytest.raises(Misuse, match="whole milliseconds"):
        frame_name(time_s)
