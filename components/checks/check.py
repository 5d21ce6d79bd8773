"""All looks at a log, in one pass over its rows."""

from collections.abc import Callable, Iterator, Sequence

from multilogger.components.checks.batches import CheckedLog, LogFacts
from multilogger.components.checks.coverage import Coverage
from multilogger.components.checks.drift import Drift
from multilogger.components.checks.features import feature_findings
from multilogger.components.checks.findings import Finding, in_order
from multilogger.components.checks.mean_weights import MeanWeights
from multilogger.components.checks.own_weights import OwnWeights
from multilogger.components.checks.repeats import Repeats
from multilogger.components.checks.report import LoggerCheck, LogReport
from multilogger.components.checks.sample import Sample
from multilogger.components.checks.tallies import Tallies
from multilogger.components.evaluation.support import Overlap


def check(
    log: CheckedLog,
    policy_weights: Sequence[Overlap] = (),
    policy_findings: Sequence[Finding] = (),
    advance: Callable[[float], None] = lambda _: None,
) -> LogReport:
    """Look at a log; `advance` is told of rows read. A policy's weights by logger are shown where given."""
    facts = log.facts
    tallies, own, between = Tallies(facts), OwnWeights(facts), MeanWeights(facts)
    coverage, repeats, drift, sample = Coverage(facts), Repeats(facts), Drift(facts), Sample(facts)
    for batch in log.batches():
        for look in (tallies, own, between, coverage, repeats, drift, sample):
            look.add(batch)
        advance(len(batch))
    findings = [
        *tallies.findings(),
        *own.findings([sums.k() for sums in coverage.uniform]),
        *between.findings(),
        *policy_findings,
        *coverage.findings(),
        *repeats.findings(),
        *drift.findings(),
        *feature_findings(sample.rows(), facts),
        *_lacking(facts),
    ]
    kind = "policy" if policy_weights else "average" if facts.all_propensities else "uniform"
    loggers = []
    for j, name in enumerate(facts.loggers):
        uniform = coverage.uniform[j].overlap()
        average = between.average(j) if facts.all_propensities else uniform
        loggers.append(
            LoggerCheck(
                name=name,
                rows=int(tallies.rows[j]),
                mean_loss=float(tallies.mean_loss[j]),
                loss_interval=tallies.loss_interval(j),
                propensities=tallies.propensities(j),
                weights=policy_weights[j] if policy_weights else average,
                uniform=uniform,
                pareto_k=coverage.uniform[j].k(),
                others=coverage.others[j].overlap() if coverage.others else None,
                action_rates=tuple((tallies.taken[j] / tallies.rows[j]).tolist()),
                own_weights=tuple(own.means[j].tolist()) if facts.choices else None,
                loss_over_time=tuple(drift.mean_loss[j].tolist()),
            )
        )
    return LogReport(
        log=facts.title,
        weights=kind,
        loggers=tuple(loggers),
        findings=in_order(findings),
        rows=facts.rows,
        contexts=repeats.contexts,
        actions=facts.actions,
        loss=facts.loss,
    )


def _lacking(facts: LogFacts) -> Iterator[Finding]:
    """What the log does without."""
    if not facts.all_propensities and len(facts.loggers) > 1:
        yield Finding(
            "no-other-propensities",
            "note",
            "the propensities under every logger are not known",
            0.0,
            "no balanced methods and estimates",
        )
    if not facts.contexts_known:
        yield Finding(
            "no-contexts",
            "note",
            "there are no context ids",
            0.0,
            "every row is taken as a context of its own",
        )
