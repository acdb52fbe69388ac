"""Every type of procedure, and everything that is painted, fits together."""

from __future__ import annotations

import pytest

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.simulation import CENTERS, CHARACTERISTICS, PROCEDURE_TYPES
from surgvalid.simulation.artefacts import TICKED_FROM
from surgvalid.simulation.instrument_painters import _SHAFTS, _TIPS
from surgvalid.simulation.instruments import TOOLS
from surgvalid.simulation.lives import SIZES, SPECIMEN_SIZES
from surgvalid.simulation.object_painters import _ORGANS, PAINTERS


@pytest.mark.parametrize("kind", PROCEDURE_TYPES.values(), ids=lambda kind: kind.name)
def test_a_procedure_type_names_only_what_exists(kind):
    phases = [phase.name for phase in kind.phases]
    assert len(set(phases)) == len(phases)
    assert all(phase.site in kind.sites and set(phase.tools) <= set(TOOLS) for phase in kind.phases)
    assert len(kind.organs) == len(kind.sites)
    assert set(kind.organs) <= set(_ORGANS)
    assert kind.specimen in SPECIMEN_SIZES
    assert kind.minutes[0] >= 10
    assert kind.minutes[2] <= 180
    for rule in kind.objects:
        assert rule.class_name in CLASS_NAMES
        assert phases.index(rule.phase) <= phases.index(rule.until)
        assert rule.place in kind.sites
        assert not {name.lower() for name in rule.structures} & {name.lower() for name in CLASS_NAMES}, "not anatomy"
        assert 0 < rule.chance <= 1


def test_every_class_has_a_size_a_painter_and_a_procedure_that_uses_it():
    used = {rule.class_name for kind in PROCEDURE_TYPES.values() for rule in kind.objects}
    assert set(SIZES) == set(PAINTERS) == used == set(CLASS_NAMES)


def test_every_tool_can_be_painted():
    assert set(_TIPS) == set(_SHAFTS) == set(TOOLS)


def test_centres_speak_of_artefacts_that_exist():
    known = {*CHARACTERISTICS, "smoke", "blood"}
    assert all(set(center.rates) <= known for center in CENTERS.values())
    assert 0 < TICKED_FROM < 1
