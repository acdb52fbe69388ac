"""Sixty simulated procedures: none contradicts itself, and none of the classes is forgotten."""

import pytest

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.procedure_problems import contradictions, procedure_problems
from surgvalid.simulation import simulate, true_procedure

pytestmark = pytest.mark.slow


def test_sixty_procedures_are_sound_and_use_every_class():
    seen = set()
    for scene in simulate(60, seed=23, minutes=(4, 8), width_px=160, height_px=90).scenes():
        procedure = true_procedure(scene)
        assert [*procedure_problems(procedure, class_names=CLASS_NAMES), *contradictions(procedure)] == []
        assert 240 <= procedure.duration_s <= 480
        seen |= {track.class_name for track in procedure.tracks}
    assert seen == set(CLASS_NAMES)
