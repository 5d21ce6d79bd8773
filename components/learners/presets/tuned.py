"""Preset `tuned`: ours, chosen on validation risk by `benchmarks/search_presets.py`; it saw no test data.

The defaults of every method are ours for a dataset that nobody tuned for: standardised inputs, one hidden
layer without BatchNorm, a mean-loss baseline, clipped weights, and ten to thirty times the printed rates.
Scene and Yeast have them too: what the search would move beyond that (the clip of weighted on Scene to 100)
lowers the validation score by 0.005. The constraint of the -reg methods costs little: on Scene and Yeast
(seeds 100-103, split by context) the difference to the twin is 0.002 and -0.002 for naive (standard errors
0.016, 0.053), -0.012 and -0.016 for weighted (0.014, 0.011), 0.000 and 0.018 for balanced (0.002, 0.012).
"""

from multilogger.components.learners.loss_models.settings import Start
from multilogger.components.learners.presets.table import (
    CONSTRAINED,
    DIRECT,
    EXACT,
    LOSS_MODELS,
    ONE_OF,
    SMOOTHED,
    TMC,
    WCRM,
    Row,
)

# A constraint that never binds leaves the run of the direct twin untouched, bit for bit.
NEVER_BINDS = 1e6

# Twenty-two labels: a uniform policy has weights of 1e-6 on the better logger's rows and would learn from the
# nearly uniform logger alone. A copy of the better logger starts with weights of about 1.
# The rate was searched with weighted and weighted-exact on validation seeds 100-103, and with balanced on two
# of them; the number of passes and epochs and the clip were set by hand on seed 100. The self-normalised risk
# of these policies is too good by about a tenth: a policy that leaves the logs at some contexts has no weight
# there, and the risk comes from the others.
LONG_LOG = {
    "warm_start": 5,
    "warm_start_rate": 1e-2,
    "clip": 10.0,
    "risk_rate": 2e-3,
    "batch_size": 4096,
    "epochs": 8,
    "patience": 8,
}

# Ten labels: weights of 2^-10. TMC's rate, and passes for as many steps as there (630; a pass has 7 of them,
# on TMC 129). On validation seeds 100-107, split by context, the score of weighted falls from 0.871 to 0.180,
# that of weighted-exact from 0.826 to 0.174. On four of them weighted-reg is 0.027 above weighted (standard
# error 0.019). With 50 passes at 0.03, which does as well, other clips, a slower risk and weight decay gained
# nothing clear.
TEN_LABELS = {"warm_start": 90, "warm_start_rate": 1e-2}

# One of K actions: a wider network with some decay, from a copy of the better logger. Looked at on a quarter
# of the train contexts of digits, satimage and optdigits, with their classes, one seed: the greedy error of
# balanced is 0.032, 0.111 and 0.021 with them, 0.029, 0.102 and 0.031 with 128 nodes, no decay and a uniform
# start. Which of the three does it was not told apart.
CHOICE = {"hidden": (256,), "weight_decay": 0.1, "warm_start": 20}

PAPER_ROWS = (
    Row((*DIRECT, *CONSTRAINED, *EXACT), CHOICE, spaces=ONE_OF),
    # The largest kappas of 1, 3, 9 and 0.5, 2, 6 that still bind on digits (validation seed 100), or less.
    Row(("naive-reg", "weighted-exact"), {"kappa": 2.0}, spaces=ONE_OF),
    Row(("balanced-reg",), {"kappa": 0.75}, spaces=ONE_OF),
    Row(("naive-exact",), {"kappa": 0.5}, spaces=ONE_OF),
    Row(("balanced-exact",), {"kappa": 1.0}, spaces=ONE_OF),
    Row((*DIRECT, *CONSTRAINED, *EXACT), TEN_LABELS, ("digits",)),
    Row((*WCRM, *DIRECT, *CONSTRAINED), LONG_LOG, TMC),
    Row(CONSTRAINED, {"warm_up_steps": 100}, TMC),
    # From a copy of the sharp logger a kappa of 0.5 pulls the policy back to the nearly uniform one. On
    # validation seeds 100-101 the largest kappas tried that bind cost 0.063 for naive and 0.013 for balanced;
    # 9 and 2 never bind.
    Row(("naive-reg",), {"kappa": 6.0}, TMC),
    Row(("balanced-reg",), {"kappa": 1.0}, TMC),
    # A linear policy copies a sharp logger with larger steps; from a uniform start the guard refused all.
    Row(
        WCRM,
        {
            "warm_start": 10,
            "warm_start_rate": 0.2,
            "wcrm_clips": (10.0,),
            "wcrm_l2s": (0.001, 0.003, 0.01),
            "wcrm_rounds": 2,
            "wcrm_iterations": 8,
        },
        TMC,
    ),
    # Of half as many steps.
    Row(EXACT, LONG_LOG | {"batch_size": 8192, "epochs": 14, "patience": 15}, TMC),
    # Larger steps and more patience lower the score by 0.04.
    Row(("weighted-exact",), {"risk_rate": 6e-3, "patience": 30}, ("scene",)),
    # Of kappas with all but equal scores the smallest was taken. On digits and tmc500 few were looked at.
    # On tmc500 the sharp logger is all but sure of its labels in some contexts: d_2 from it is e^32 for
    # the copy that learning starts from and e^35 to e^50 for what is learned (seeds 100-102). naive-exact and
    # weighted-exact let that be; balanced-exact with a D_f of at most 300, which binds, scores 1.332 against
    # 1.325, both at a rate of 1e-3.
    Row(("naive-exact",), {"kappa": 2.8}, ("digits",)),
    Row(("naive-exact",), {"kappa": 2.3}, ("scene",)),
    Row(("weighted-exact",), {"kappa": 6.0}, ("digits", "scene")),
    Row(("balanced-exact",), {"kappa": 2.5}, ("digits",)),
    Row(("balanced-exact",), {"kappa": 3.7}, ("scene",)),
    Row(("naive-exact", "weighted-exact"), {"kappa": 1e100}, TMC),
    Row(("balanced-exact",), {"kappa": 1e6}, TMC),
)

# What is not of the paper has the same settings in every preset. Scene and Yeast: twelve seeds.
OWN_ROWS = (
    Row(SMOOTHED, CHOICE, spaces=ONE_OF),
    Row(("full-information",), {"risk_rate": 5e-3, "input_dropout": 0.0, "patience": 50}, spaces=ONE_OF),
    Row(
        ("dr",),
        {
            "hidden": (256,),
            "risk_rate": 5e-3,
            "input_dropout": 0.0,
            "hidden_dropout": 0.3,
            "context_batch": 0,
        },
        spaces=ONE_OF,
    ),
    # `auto` takes what follows from the log; for one of K actions that is what `dm` has.
    Row(
        ("auto",),
        {
            "risk_rate": 5e-3,
            "input_dropout": 0.0,
            "start": Start.SCRATCH,
            "fit_all": False,
            "epochs": 50,
            "patience": 50,
        },
        spaces=ONE_OF,
    ),
    Row(
        LOSS_MODELS,
        {"hidden": (256,), "risk_rate": 2e-3, "input_dropout": 0.4, "context_batch": 64},
        ("scene",),
    ),
    Row(LOSS_MODELS, {"hidden": (256,), "input_dropout": 0.0}, ("yeast",)),
    # A dropout of 0.2 would be 0.004 lower on two seeds.
    Row(LOSS_MODELS, {"risk_rate": 2e-3, "input_dropout": 0.3, "context_batch": 256}, TMC),
    Row(("additive", "additive-soft"), {"epochs": 20}, TMC),
    Row(("dr",), {"model_epochs": 20}, TMC),
    # A slower policy lowers the validation score by 0.003 on Scene and 0.010 on Yeast, eight seeds each.
    Row(("dr",), {"policy_rate": 3e-4}, ("scene", "yeast")),
)
