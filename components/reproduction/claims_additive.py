"""Our own claims about the additive loss model and what it costs to do without: paired tests over seeds."""

from multilogger.components.reproduction.cells import datasets_in_order
from multilogger.components.reproduction.exp_table import DIFFERENCE, MARGIN, ExpTable
from multilogger.components.reproduction.results import Reproduction
from multilogger.components.reproduction.verdicts import Claim, Side, adjusted


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
