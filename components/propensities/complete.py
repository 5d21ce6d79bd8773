"""Log propensities under every logger: those of the log where it has them, estimates elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilogger.components.actions.arrays import Actions, Matrix, Vector
from multilogger.components.actions.space import ActionSpace
from multilogger.components.datasets.labelled_data import Features
from multilogger.components.errors import BadInput
from multilogger.components.propensities.crossfit import CrossFitted, cross_fit, without_extra
from multilogger.components.propensities.estimated_policy import EstimatedPolicy, chances
from multilogger.components.propensities.report import PropensityReport, report_of
from multilogger.components.propensities.rows import ActedRows, Numbers, deal_folds
from multilogger.components.propensities.settings import REGRESSIONS, PropensitySettings
from multilogger.components.propensities.tally import Tally
from multilogger.components.propensities.time import TimeHats


@dataclass(frozen=True)
class CompletedPropensities:
    """`log_propensities` (n, J) without a gap; `estimated` (n, J) says which were not logged.

    `policies` are the loggers as their rows show them, one each, fitted to all of its rows; `of_rows` the
    same with the extra features of rows, if there are any. `report` says how good they are, and whether
    logged propensities agree with them.
    """

    log_propensities: Matrix
    estimated: NDArray[np.bool_]
    policies: tuple[EstimatedPolicy, ...]
    of_rows: tuple[EstimatedPolicy, ...]
    report: PropensityReport


def complete_propensities(
    x: Features,
    context: Numbers,
    action: Actions,
    logger: Numbers,
    own: Vector,
    table: Matrix | None,
    space: ActionSpace,
    loggers: Sequence[str],
    seed: int = 0,
    settings: PropensitySettings = REGRESSIONS,
    extra: Matrix | TimeHats | None = None,
) -> CompletedPropensities:
    """Fill in what a log does not say of log h_k(y|x), for every row and every logger k.

    Args:
        x: contexts (m, d), dense or sparse.
        context: the row of x of each row (n,).
        action: numbers (n,) or label vectors (n, q).
        logger: who acted, 0..J-1 (n,).
        own: log propensity under the row's own logger (n,), NaN where it was not logged.
        table: log propensities under every logger (n, J), NaN where unknown, or None.
        space: the space of the actions.
        loggers: names of the J loggers.
        seed: of the folds and of the sample of rows.
        settings: see `PropensitySettings`.
        extra: further features of rows (n, e), such as the time. The row's estimates use them; the policies,
            which are asked about contexts, do not.
    """
    rows = ActedRows(x, context, action, logger, space, extra)
    known = _known(rows, own, table, loggers)
    missing = np.isnan(known)
    fold = deal_folds(rows, settings.folds, seed)
    policies, tallies, fits = [], [], []
    for j in range(len(loggers)):
        acted = np.flatnonzero(logger == j)
        rng = np.random.default_rng([seed, *b"propensity-rows", j])
        fitted = cross_fit(rows, acted, fold, settings, rng)
        tallies.append(_fill(rows, fitted, j, fold, known, missing, settings))
        policies.append(without_extra(rows, fitted, acted, settings, rng))
        fits.append(fitted)
    report = report_of(tuple(loggers), logger, missing, fits, tallies)
    of_rows = tuple(fitted.whole for fitted in fits)
    return CompletedPropensities(known, missing, tuple(policies), of_rows, report)


def _known(rows: ActedRows, own: Vector, table: Matrix | None, loggers: Sequence[str]) -> Matrix:
    """What the log says: (n, J), NaN elsewhere. A row's own propensity goes before its place in the table."""
    n, count = len(rows.context), len(loggers)
    if table is not None and table.shape != (n, count):
        raise BadInput(
            f"propensities under every logger must be (rows, loggers) = {(n, count)}, got {table.shape}; "
            f"give one column per logger, in the order {', '.join(loggers)}"
        )
    counts = np.bincount(rows.logger, minlength=count)
    if (counts == 0).any():
        name = loggers[int(np.flatnonzero(counts == 0)[0])]
        raise BadInput(f"logger {name} has no rows to estimate its propensities from; drop it")
    known = np.full((n, count), np.nan) if table is None else np.array(table, dtype=np.float64)
    said = np.flatnonzero(~np.isnan(own))
    known[said, rows.logger[said]] = own[said]
    return known


def _fill(
    rows: ActedRows,
    fitted: CrossFitted,
    j: int,
    fold: Numbers,
    known: Matrix,
    missing: NDArray[np.bool_],
    settings: PropensitySettings,
) -> Tally:
    """Put the estimates under logger j into `known`, and judge them on the logger's own rows."""
    tally = Tally(rows.space, settings.folds)
    most = max(1, min(settings.block_rows, settings.block_numbers // rows.space.size))
    wanted = missing[:, j] | (rows.logger == j)
    for k, model in enumerate(fitted.by_fold):
        for block in rows.blocks(np.flatnonzero(wanted & (fold == k)), most):
            p, action = model.probabilities(rows.features(block)), rows.action[block]
            mine = rows.logger[block] == j
            logged = np.where(missing[block[mine], j], np.nan, known[block[mine], j])
            tally.add(k, p[mine], model.marginal, action[mine], logged)
            gaps = missing[block, j]
            known[block[gaps], j] = np.log(chances(p, action, rows.space)[gaps]).sum(axis=1)
    return tally
