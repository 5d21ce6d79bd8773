"""The report of a check: for machines, as a page, and in the order of severity."""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np

import multilogger as ml


def test_json_has_everything_and_no_nan(worlds: ModuleType) -> None:
    log = worlds.deterministic_logger(worlds.healthy(worlds.KINDS[0], 3))
    report = log.check()
    found = json.loads(report.to_json())
    assert found["ok"] is False
    assert found["safe"] is True
    assert found["rows"] == 3000
    assert {"code", "severity", "what", "figure", "remedy"} == set(found["findings"][0])
    rates = np.bincount(log.action[log.logger == 1], minlength=5) / (log.logger == 1).sum()
    assert np.allclose(found["loggers"][1]["action_rates"], rates)
    own = 1 / np.exp(log.log_propensity)
    expected = [own[(log.logger == 1) & (log.action == a)].sum() / (log.logger == 1).sum() for a in range(5)]
    assert np.allclose(found["loggers"][1]["own_weights"], expected)


def test_the_worst_comes_first(worlds: ModuleType) -> None:
    world = worlds.healthy(worlds.KINDS[0], 3)
    report = worlds.wrong_logger(replace(world, loss=np.where(world.logger == 1, 1.0, world.loss))).check()
    order = [one.severity for one in report.findings]
    assert order == sorted(order, key=["unsafe", "mend", "note"].index)
    assert report.unsafe == report.mend[: len(report.unsafe)]
    assert not report.safe
    assert str(report).splitlines()[7].startswith("Unsafe: ")


def test_a_page_with_names_that_look_like_html(worlds: ModuleType, tmp_path: Path) -> None:
    log = worlds.drifting(worlds.healthy(worlds.KINDS[0], 3))
    odd = replace(log, loggers=("<script>alert(1)</script>", "$x_{$"), actions=tuple("abcd$"))
    path = tmp_path / "page.html"
    odd.check().to_html(path)
    text = path.read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml") == 4
    assert "<script>" not in text
    assert "drift-loss" in text


def test_label_vectors_have_a_page_too(worlds: ModuleType, tmp_path: Path) -> None:
    log = worlds.healthy(worlds.KINDS[7], 3).log()
    assert isinstance(log, ml.BanditLog)
    log.check().to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("data:image/svg+xml") == 3
