"""The claims that the concepts page makes about merge rules, simulated again with fewer studies."""

from docs.validate_orders import SCENARIOS, recovery


def test_testing_protects_equals() -> None:
    apart = recovery(*SCENARIOS["all equal, 100 videos"], runs=40, seed=1)
    assert apart["accuracy"] > 0.9
    assert all(apart[merge] < 0.2 for merge in apart if merge != "accuracy")


def test_testing_does_not_sharpen_the_order() -> None:
    few = recovery(*SCENARIOS["spread field, 15 videos"], runs=40, seed=1)
    assert few["accuracy"] > max(value for merge, value in few.items() if merge != "accuracy")
    assert few["closure"] < 0.2
