"""The paper's claims about Table 2 and our own about the additive model, as paired tests over seeds."""

from collections.abc import Callable

from multilogger.components.reproduction.claims.exp_table import DIFFERENCE, MARGIN, ExpTable
from multilogger.components.reproduction.claims.verdicts import Claim, ClaimTest, Side, adjusted
from multilogger.components.reproduction.paper_figures import paper_dataset, paper_table2
from multilogger.components.reproduction.results import Reproduction, datasets_in_order

CONSTRAINED = {"naive-reg": "naive", "weighted-reg": "weighted"}
"""The paper's methods and their direct twins."""


def table2_claims(reproduction: Reproduction) -> list[Claim]:
    """Section 5.2, sentence by sentence; claims with nothing to test are left out."""
    table = ExpTable(reproduction.table2, datasets_in_order(reproduction))
    claims = (
        Claim(
            "constraint",
            "Section 5.2",
            "The constraint helps: Naive-Reg has a lower loss than Naive, and Weighted-Reg than Weighted.",
            DIFFERENCE,
            _tests(table, lambda _, reg: (reg, CONSTRAINED[reg], Side.BELOW)),
        ),
        Claim(
            "wcrm",
            "Section 5.2",
            "Both constrained methods have a lower loss than WCRM.",
            DIFFERENCE,
            _tests(table, lambda _, reg: (reg, "wcrm", Side.BELOW)),
        ),
        Claim(
            "weighting",
            "Section 5.2, Table 2",
            "Of the two constrained methods, Weighted-Reg is the better on Scene and Yeast, "
            "and Naive-Reg on TMC.",
            DIFFERENCE,
            _tests(table, _weighted_against_naive),
        ),
        Claim(
            "better-logger",
            "Section 5.2",
            "Neither constrained method gets below the better logger.",
            f"{DIFFERENCE}; the better logger is the one of lower mean EXP",
            _tests(table, lambda dataset, reg: (reg, table.better_logger(dataset), Side.ABOVE)),
        ),
        Claim(
            "crf",
            "Section 5.2",
            "On Yeast, Weighted-Reg keeps up with a CRF that is trained on all the labels.",
            f"{DIFFERENCE}; keeping up means a loss at most {100 * MARGIN:.0f}\u00a0% above the CRF's",
            _tests(table, _weighted_against_crf, margin=MARGIN),
        ),
    )
    return [claim for claim in claims if claim.tests]


Comparison = tuple[str, str | None, Side]
"""The left method, the right method (None: nothing to test), and the side of 0 that left - right is on."""


def _weighted_against_naive(dataset: str, reg: str) -> Comparison | None:
    if reg != "weighted-reg" or paper_dataset(dataset) not in paper_table2():
        return None
    return (reg, "naive-reg", Side.ABOVE if paper_dataset(dataset) == "tmc" else Side.BELOW)


def _weighted_against_crf(dataset: str, reg: str) -> Comparison | None:
    return (reg, "crf", Side.BELOW) if (dataset, reg) == ("yeast", "weighted-reg") else None


def _tests(
    table: ExpTable, choose: Callable[[str, str], Comparison | None], margin: float = 0.0
) -> tuple[ClaimTest, ...]:
    """The test of what `choose` compares, for each dataset, constrained method and preset run."""
    return tuple(
        test
        for dataset in table.datasets
        for reg in CONSTRAINED
        for left, right, side in [choose(dataset, reg) or ("", None, Side.BELOW)]
        if right is not None
        for test in table.tests(dataset, left, right, side, margin)
    )


def additive_claims(reproduction: Reproduction) -> list[Claim]:
    """Judged apart from the paper's claims, and with Holm's correction of their own."""
    datasets = datasets_in_order(reproduction)
    pairwise = ExpTable(reproduction.pairwise, datasets)
    table2 = ExpTable(reproduction.table2, datasets)
    claims = (
        Claim(
            "bias",
            "Beyond the paper",
            "Where the loss does not add up over labels, Doubly robust has a lower loss than Additive.",
            DIFFERENCE,
            tuple(
                test
                for dataset in pairwise.datasets
                for test in pairwise.tests(dataset, "dr", "additive", Side.BELOW)
            ),
        ),
        Claim(
            "price",
            "Beyond the paper",
            "Where it does, Doubly robust keeps up with Additive.",
            f"{DIFFERENCE}; keeping up means a loss at most {100 * MARGIN:.0f}\u00a0% above Additive's",
            tuple(
                test
                for dataset in table2.datasets
                for test in table2.tests(dataset, "dr", "additive", Side.BELOW, MARGIN)
            ),
        ),
    )
    return adjusted([claim for claim in claims if claim.tests])
