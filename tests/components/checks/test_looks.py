"""The looks one by one, where a figure can be worked by hand."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

import multilogger as ml
from multilogger.components.api.check_log import LogInMemory
from multilogger.components.checks import repeats as repeats_module
from multilogger.components.checks.drift import block_edges
from multilogger.components.checks.repeats import Repeats
from multilogger.components.checks.sample import Sample
from multilogger.components.log import files
from multilogger.components.log.keys import feature_keys


def codes(log: ml.BanditLog) -> list[str]:
    return [one.code for one in log.check().findings]


def test_equal_rows_have_equal_keys_dense_or_sparse() -> None:
    x = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    x[x < 0] = 0
    twice = np.vstack([x, x[::-1]])
    keys = feature_keys(twice)
    assert (keys[:50] == keys[50:][::-1]).all()
    assert len(np.unique(keys)) == 50
    thin = feature_keys(sparse.csr_array(twice))
    assert (thin[:50] == thin[50:][::-1]).all()
    assert len(np.unique(thin)) == 50


def test_batches_of_any_size_give_the_same_report(
    worlds: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = worlds.small_action(worlds.healthy(worlds.KINDS[0], 5))
    whole = log.check()
    monkeypatch.setattr("multilogger.components.api.check_log.BATCH_ROWS", 700)
    parts = log.check()
    assert [(one.code, one.severity) for one in parts.findings] == [
        (one.code, one.severity) for one in whole.findings
    ]
    assert np.isclose(parts.loggers[0].uniform.effective_rows, whole.loggers[0].uniform.effective_rows)
    assert parts.loggers[0].pareto_k == whole.loggers[0].pareto_k
    assert files.BATCH_ROWS > 700


def test_contexts_are_counted_within_memory(worlds: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = worlds.Kind("again", rows=20_000, passes=4)
    memory = LogInMemory(worlds.healthy(kind, 0).log())
    monkeypatch.setattr(repeats_module, "MOST_ROWS", 4000)
    look = Repeats(memory.facts)
    for batch in memory.batches():
        look.add(batch)
    assert abs(look.contexts / 5000 - 1) < 0.1
    assert len(list(look.findings())) == 0


def test_what_stands_in_for_a_propensity_makes_no_row_a_copy(worlds: ModuleType) -> None:
    """The share of an action says less than a logger does that knows the context."""
    memory = LogInMemory(worlds.healthy(worlds.Kind("again", rows=4000, passes=4), 0).log())

    def found(unlogged: frozenset[str]) -> int:
        facts = replace(memory.facts, unlogged=unlogged)
        look = Repeats(facts)
        for batch in memory.batches():
            stand_in = np.where(batch.logger == 0, np.log(0.01), batch.log_propensity)
            look.add(replace(batch, log_propensity=stand_in))
        return len(list(look.findings()))

    assert found(frozenset()) == 1
    assert found(frozenset(memory.facts.loggers[:1])) == 0


def test_a_sample_takes_all_rows_with_the_same_chance(
    worlds: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = LogInMemory(worlds.healthy(worlds.Kind("long", rows=40_000), 0).log())
    monkeypatch.setattr("multilogger.components.checks.sample.MOST_ROWS", 5000)
    sample = Sample(memory.facts)
    for batch in memory.batches():
        sample.add(batch)
    rows = sample.rows()
    assert len(rows) == 5000
    share = (rows.logger == 0).mean()
    assert abs(share - memory.facts.counts[0] / 40_000) < 0.03


def test_few_contexts_rows_and_events(worlds: ModuleType) -> None:
    world = worlds.healthy(worlds.Kind("two", rows=600, passes=300), 0)
    assert "few-contexts" in codes(world.log())
    tiny = worlds.healthy(worlds.Kind("tiny", rows=60), 0).log()
    assert "few-rows" in codes(tiny)
    world = worlds.healthy(worlds.KINDS[0], 0)
    rare = np.ones(len(world.loss))
    for j in (0, 1):
        rare[np.flatnonzero(world.logger == j)[:3]] = 0.0
    found = codes(replace(world, loss=rare).log())
    assert "few-events-in-all" in found
    assert found.count("few-events") == 2


def test_a_logger_without_validation_rows(worlds: ModuleType) -> None:
    log = worlds.healthy(worlds.KINDS[0], 0).log()
    one_sided = replace(log, validation=(log.logger == 0) & (np.arange(len(log)) % 5 == 0))
    assert any("logger logger-2 has no validation rows" in line for line in one_sided.check().unsafe)


def test_features_that_say_nothing(worlds: ModuleType) -> None:
    world = worlds.healthy(worlds.KINDS[0], 0)
    x = np.column_stack([world.x, np.zeros(3000), np.arange(3000) == 7])
    found = {one.code: one for one in replace(world, x=x).log().check().findings}
    assert "(x6)" in found["constant-features"].what
    assert "(x7)" in found["near-constant-features"].what


def test_a_leak_into_one_column_per_action(worlds: ModuleType) -> None:
    world = worlds.healthy(worlds.KINDS[0], 0)
    x = np.column_stack([world.x, np.eye(5)[world.action]])
    assert "leak-action" in codes(replace(world, x=x).log())


def test_a_logger_that_changes_is_noted(worlds: ModuleType) -> None:
    world = worlds.healthy(worlds.Kind("uniform", sharpness=0.0, loggers=1), 0)
    rng = np.random.default_rng(0)
    p = np.where(world.time > 0.5, 0.6, 0.2)
    action = np.where(rng.random(3000) < p, 0, 1 + rng.integers(0, 4, size=3000))
    own = np.where(action == 0, p, (1 - p) / 4)
    report = replace(world, action=action, log_propensities=np.log(own)[:, None]).log().check()
    assert report.ok, report
    assert any(one.code == "drift-actions" for one in report.findings)


def test_an_action_that_cannot_always_be_taken(worlds: ModuleType) -> None:
    world = worlds.healthy(worlds.Kind("uniform", sharpness=0.0, loggers=1), 0)
    rng = np.random.default_rng(0)
    limited = rng.random(3000) < 0.4
    action = np.where(limited, rng.integers(0, 4, size=3000), rng.integers(0, 5, size=3000))
    own = np.where(limited, 0.25, 0.2)
    report = replace(world, action=action, log_propensities=np.log(own)[:, None]).log().check()
    line = next(one for one in report.findings if one.code == "propensities-too-large")
    assert abs(line.figure - 0.6) < 0.08
    assert "it cannot always take the action" in line.remedy


def test_one_time_has_no_blocks() -> None:
    assert block_edges(np.ones(10)) is None
    edges = block_edges(np.arange(100.0))
    assert edges is not None
    assert len(edges) == 19
