"""How missing propensities are estimated."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PropensitySettings:
    """The numbers of an estimate; every one may be changed.

    Args:
        folds: contexts are dealt into so many lots; a row is judged by a model that saw none of its lot.
        C: inverse penalties to choose from, on standardised features.
        leaves: most leaves of a decision tree to choose from, for loggers that follow rules; it is taken
            where it makes held-out rows likelier than a regression does. () leaves trees out.
        temperatures: factors of the logits to choose from; below 1 is flatter, above 1 sharper.
        mixings: shares of the logger's marginal distribution to choose from, besides one over the logger's
            rows. None is 0, so that no estimate is absurdly small; 1 is a logger that does not look at the
            context.
        most_rows: a model is fitted to at most so many rows of a logger, drawn by the seed.
        block_rows: predictions are made for so many rows at a time, fewer where `block_numbers` would be
            passed by rows times actions.
    """

    folds: int = 5
    C: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0)
    leaves: tuple[int, ...] = (4, 16, 64)
    temperatures: tuple[float, ...] = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5)
    mixings: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
    most_rows: int = 50_000
    block_rows: int = 4096
    block_numbers: int = 2_000_000

    def shares(self, rows: int) -> tuple[float, ...]:
        """The mixings to choose from for a logger of so many rows, in ascending order."""
        least = 1.0 / max(1, rows)
        return (least, *(one for one in self.mixings if one > least))


USUAL = PropensitySettings()
REGRESSIONS = PropensitySettings(leaves=())  # whose policies are linear in the context, and saved as such
