"""Healthy logs of many kinds pass; planted faults are found. `benchmarks/check_power.py` has more seeds."""

from types import ModuleType

import pytest

KINDS = 10
FAULTS = (
    "propensities of a logger halved",
    "propensities of an action halved",
    "propensities of an action doubled",
    "action in a feature",
    "loss in a feature",
    "losses drift by a third",
    "3 % of rows twice",
    "losses of a logger lost",
    "a deterministic logger",
    "names of loggers swapped",
    "no overlap",
)


@pytest.mark.parametrize("number", range(KINDS))
def test_a_healthy_log_has_nothing_to_mend(worlds: ModuleType, number: int) -> None:
    for seed in (1000, 1001):
        report = worlds.healthy(worlds.KINDS[number], seed).log().check()
        assert report.ok, (worlds.KINDS[number].name, report)


def test_every_kind_and_fault_is_tried(worlds: ModuleType) -> None:
    assert len(worlds.KINDS) == KINDS
    assert tuple(worlds.FAULTS) == FAULTS


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(worlds: ModuleType, fault: str) -> None:
    plant, codes = worlds.FAULTS[fault]
    report = plant(worlds.healthy(worlds.KINDS[0], 1000)).check()
    assert not report.ok
    assert any(one.code in codes for one in report.findings), report


@pytest.mark.parametrize("fault", ["propensities of a logger halved", "names of loggers swapped"])
def test_wrong_propensities_show_without_those_of_other_loggers(worlds: ModuleType, fault: str) -> None:
    kind = worlds.Kind("own", own_only=True)
    report = worlds.FAULTS[fault][0](worlds.healthy(kind, 1000)).check()
    assert any(one.code == "propensities-too-small" for one in report.findings), report
