import pytest

from surgvalid.errors import UnknownName
from surgvalid.schema.questions.taxonomy import Capability


def test_there_are_five_groups_and_fifteen_leaves() -> None:
    assert len(Capability.groups()) == 5
    leaves = [leaf for group in Capability.groups() for leaf in group.leaves]
    assert len(leaves) == 15
    assert [leaf.code for leaf in leaves] == sorted(leaf.code for leaf in leaves)


@pytest.mark.parametrize("spelling", ["2a", "2A", " 2 a ", "temporal_localization", "TEMPORAL-Localization"])
def test_every_spelling_of_a_capability_is_read(spelling: str) -> None:
    assert Capability.read(spelling) is Capability.TEMPORAL_LOCALIZATION


def test_an_unknown_capability_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'temporal_ordering'"):
        Capability.read("temporal_ordring")


def test_group_titles_of_the_challenge_document_are_read() -> None:
    assert Capability.read("Event and Scene Understanding") is Capability.EVENT_UNDERSTANDING


def test_a_leaf_belongs_to_the_group_of_its_digit() -> None:
    assert Capability.EVENT_AGGREGATION.group is Capability.AGGREGATION
    assert Capability.AGGREGATION.group is Capability.AGGREGATION
