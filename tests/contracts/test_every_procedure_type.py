"""Every type of procedure, and everything that is painted, fits together."""

from __future__ import annotations

import pytest

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.simulation import CENTERS, CHARACTERISTICS, PROCEDURE_TYPES
from surgvalid.simulation.artefacts import TICKED_FROM
from surgvalid.simulation.instruments import TOOLS
from surgvalid.simulation.procedure_types import SIZES, SPECIMEN_SIZES


@pytest.mark.parametrize("kind", PROCEDURE_TYPES.values(), ids=lambda kind: kind.name)
def test_a_procedure_type_names_only_what_exists(kind):
    phases = [phase.name for phase in kind.phases]
    assert len(set(phases)) == len(phases)
    assert all(phase.site in kind.sites and set(phase.tools) <= set(TOOLS) for phase in kind.phases)
    assert kind.ground in ("omentum", "peritoneum")
    assert kind.specimen in SPECIMEN_SIZES
    assert kind.minutes[0] >= 10
    assert kind.minutes[2] <= 180
    for rule in kind.objects:
        assert rule.class_name in CLASS_NAMES
        assert phases.index(rule.phase) <= phases.index(rule.until)
        assert rule.place in kind.sites
        assert not {name.lower() for name in rule.structures} & {name.lower() for name in CLASS_NAMES}, "not anatomy"
        assert 0 < rule.chance <= 1


def test_every_class_has_a_size_a_body_and_a_procedure_that_uses_it():
    pytest.importorskip("numba")
    from surgvalid.simulation.meshes.objects import object_mesh

    used = {rule.class_name for kind in PROCEDURE_TYPES.values() for rule in kind.objects}
    assert set(SIZES) == used == set(CLASS_NAMES)
    for name, size in SIZES.items():
        look = "gallbladder" if name == "Specimen" else "silver"
        assert len(object_mesh(name, look, size, 1, CENTERS["Center A"])[0].corners) > 10


def test_every_tool_has_a_body():
    pytest.importorskip("numba")
    from surgvalid.simulation.meshes.tools import tool_mesh

    assert all(len(tool_mesh(tool, 0.5).corners) > 100 for tool in TOOLS)


def test_centres_speak_of_artefacts_that_exist():
    known = {*CHARACTERISTICS, "smoke", "blood"}
    assert all(set(center.rates) <= known for center in CENTERS.values())
    assert 0 < TICKED_FROM < 1
