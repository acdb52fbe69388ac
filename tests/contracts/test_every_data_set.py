"""Every data set: reads its own layout, counts, never raises on bad files, and lists every problem."""

import subprocess
import sys

import pytest

from data_set_files import BUILDERS
from repository import REPOSITORY
from surgvalid.datasets import DATA_SETS, open_data_set
from surgvalid.errors import UnknownName
from surgvalid.testing._data_sets import DATA_SET_RULES

NAMES = tuple(DATA_SETS)


def test_every_data_set_has_a_fabricated_one_and_is_found_without_importing():
    assert set(BUILDERS) == set(NAMES)
    code = "import sys; from surgvalid.datasets import DATA_SETS as n; names = list(n); "
    code += "assert names and not [x for x in names if 'surgvalid.datasets.sets.' + x in sys.modules]"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(REPOSITORY / "src")})


@pytest.mark.parametrize("rule", DATA_SET_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_keeps_every_rule(name, rule):
    assert open_data_set(name).name == name
    assert list(rule(open_data_set(name), BUILDERS[name])) == []


def test_small_counts_are_named(tmp_path):
    BUILDERS["cholec80"](tmp_path)
    assert open_data_set("cholec80").check(tmp_path).differing.height > 0


def test_official_splits_are_known_or_their_lack_is_said_for_every_data_set():
    known = {name: sorted(set(open_data_set(name).splits()["scheme"])) for name in NAMES}
    folds = [f"fold {number}" for number in range(1, 6)]
    assert {name: schemes for name, schemes in known.items() if schemes} == {
        "autolaparo": ["official", "official clips"],
        "cholec80": ["32/8/40", "camma 40/8/32", "endonet 40/40"],
        "cholec80_cvs": ["fixed 50/15/15"],
        "cholec80_vqa": ["official"],
        "cholecinstanceseg": ["official"],
        "cholect45": [*folds, "surgbenchkit"],
        "cholect50": ["challenge loader", "challenge validation", *folds, "rendezvous"],
        "dresden": ["official"],
        "endoscapes2023": ["official"],
        "endovis18_vqa": ["official"],
        "endovis2017": [f"ternausnet fold {number}" for number in range(4)],
        "endovis2018": ["isinet"],
        "grasp": ["fold 1", "fold 2", "official"],
        "heichole": ["surgbenchkit"],
        "m2cai16": ["tool", "workflow"],
        "pitvqa": ["official"],
        "psi_ava": ["fold 1", "fold 2"],
        "ssg_vqa": ["official"],
    }
    sizes = {name: sorted(open_data_set(name).split_sizes) for name in NAMES if open_data_set(name).split_sizes}
    assert sizes == {"cholectrack20": ["official"], "heico": ["frames"]}


def test_an_unknown_data_set_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'cholec80'"):
        open_data_set("cholec8O")
