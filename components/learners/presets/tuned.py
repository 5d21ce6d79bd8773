"""Preset `tuned`: ours, chosen on validation risk by `benchmarks/search_presets.py`; it saw no test data."""

from dataclasses import replace

from multilogger.components.learners.training.settings import LearnerSettings, LossShift, Weights

# What all datasets share: standardised inputs, one hidden layer without BatchNorm, a mean-loss baseline,
# clipped weights, and ten to thirty times the printed rates, which need hundreds of epochs to get as far.
TUNED = LearnerSettings(
    hidden=(128,),
    batch_norm=False,
    standardise=True,
    loss_shift=LossShift.BASELINE,
    weights=Weights.CLIP,
    clip=30.0,
    risk_rate=3e-3,
    epochs=60,
    patience=30,
    regulariser_rate=1e-3,
    discriminator_rate=1e-3,
    discriminator_hidden=(59,),
    discriminator_batch_norm=False,
    inner_iterations=1,
    # Tried by hand on Yeast alone: on validation seed 100 points with an l2 of 1e-3 or a clip of 100 were 0.3
    # to 4 above the best; on seeds 100-103 all points of this grid are within 0.3 of each other.
    wcrm_clips=(3.0, 10.0),
    wcrm_variances=(1.0,),
    wcrm_l2s=(0.03, 0.1, 0.3),
)

# Twenty-two labels: a uniform policy has weights of 1e-6 on the better logger's rows and would learn from the
# nearly uniform logger alone. A copy of the better logger starts with weights of about 1.
# The rate was searched with weighted and weighted-exact on validation seeds 100-103, and with balanced on two
# of them; the number of passes and epochs and the clip were set by hand on seed 100. The self-normalised risk
# of these policies is too good by about a tenth: a policy that leaves the logs at some contexts has no weight
# there, and the risk comes from the others.
TUNED_TMC = replace(
    TUNED,
    warm_start=5,
    warm_start_rate=1e-2,
    clip=10.0,
    risk_rate=2e-3,
    batch_size=4096,
    epochs=8,
    patience=8,
    warm_up_steps=100,
)
TUNED_EXACT_TMC = replace(TUNED_TMC, epochs=14)  # of half as many steps
# A linear policy copies a sharp logger with larger steps. From a uniform start the guard refused all points.
TUNED_WCRM_TMC = replace(
    TUNED_TMC,
    warm_start=10,
    warm_start_rate=0.2,
    wcrm_clips=(10.0,),
    wcrm_l2s=(0.001, 0.003, 0.01),
    wcrm_rounds=2,
    wcrm_iterations=8,
)

# Choice: Scene and Yeast share their settings. What the search would move beyond that (the clip of weighted
# on Scene to 100) lowers the validation score by 0.005.
TUNED_DATASETS: dict[str, LearnerSettings] = {
    "digits": TUNED,
    "scene": TUNED,
    "yeast": TUNED,
    "tmc500": TUNED_TMC,
    "tmc": TUNED_TMC,
}

# Labels leave no noise that large batches would have to average out.
TUNED_LABELS_TMC = replace(TUNED, risk_rate=1e-3, weight_decay=1.0, epochs=10, patience=3)
TUNED_METHODS: dict[tuple[str, str], LearnerSettings] = {
    ("tmc500", "full-information"): TUNED_LABELS_TMC,
    ("tmc", "full-information"): TUNED_LABELS_TMC,
    ("tmc500", "wcrm"): TUNED_WCRM_TMC,
    ("tmc", "wcrm"): TUNED_WCRM_TMC,
    ("scene", "weighted-exact"): replace(TUNED, risk_rate=6e-3),
} | {
    (dataset, f"{estimator}-exact"): TUNED_EXACT_TMC
    for dataset in ("tmc500", "tmc")
    for estimator in ("naive", "weighted", "balanced")
}

# A constraint that never binds leaves the run of the direct twin untouched, bit for bit.
NEVER_BINDS = 1e6


# The constraint of the -reg methods, on the discriminator's scale, far below d_2. Who asks for a constraint
# gets one that binds: of the kappas and temperatures tried, this one moves the policy in nearly every epoch
# and costs the least validation score against the direct twin.
# On Scene and Yeast (seeds 100-103, split by context) the difference to the twin is 0.002 and -0.002 for
# naive (standard errors 0.016, 0.053), -0.012 and -0.016 for weighted (0.014, 0.011), 0.000 and 0.018 for
# balanced (0.002, 0.012), whose D_f(h||h_avg) is at most about 1 and needs half the kappa.
TUNED_KAPPA, TUNED_BALANCED_KAPPA, TUNED_TAU, TUNED_REGULARISER_RATE = 0.5, 0.25, 1.0, 1e-3

# The -exact methods: kappa on the scale of the closed form, counted from the least constraint there is (for
# naive a D_f of 64 on digits, 6.5 on Scene, 5 on Yeast, for balanced of 0.9 to 1). They have twice the batch
# of the others and a patience of 15, of little effect on validation but for weighted-exact on Scene, where
# larger steps and more patience lower the score by 0.04. Of kappas with all but equal scores the smallest was
# taken. On digits and tmc500 a few values were looked at. On tmc500 the sharp logger is all but sure of its
# labels in some contexts: d_2 from it is e^32 for the copy that learning starts from and e^35 to e^50 for
# what is learned (seeds 100-102). naive-exact and weighted-exact let that be; balanced-exact with a D_f of at
# most 300, which binds, scores 1.332 against 1.325, both at a rate of 1e-3.
TUNED_EXACT_KAPPA: dict[str, dict[str, float]] = {
    "digits": {"naive-exact": 2.8, "weighted-exact": 6.0, "balanced-exact": 2.5},
    "scene": {"naive-exact": 2.3, "weighted-exact": 6.0, "balanced-exact": 3.7},
    "yeast": {"naive-exact": 650.0, "weighted-exact": 24.0, "balanced-exact": 9.7},
    "tmc500": {"naive-exact": 1e100, "weighted-exact": 1e100, "balanced-exact": 1e6},
    "tmc": {"naive-exact": 1e100, "weighted-exact": 1e100, "balanced-exact": 1e6},
}
TUNED_EXACT_KAPPA_ELSEWHERE = TUNED_EXACT_KAPPA["yeast"]
TUNED_EXACT_PATIENCE = {("scene", "weighted-exact"): 30}


def tuned_preset(dataset: str, method: str) -> LearnerSettings:
    """The settings for a dataset (any name: unknown ones take the defaults) and a method."""
    settings = TUNED_METHODS.get((dataset, method), TUNED_DATASETS.get(dataset, TUNED))
    if method.endswith("-exact"):
        kappas = TUNED_EXACT_KAPPA.get(dataset, TUNED_EXACT_KAPPA_ELSEWHERE)
        patience = TUNED_EXACT_PATIENCE.get((dataset, method), 15)
        return replace(settings, kappa=kappas[method], batch_size=2 * settings.batch_size, patience=patience)
    if not method.endswith("-reg"):
        return settings
    return replace(
        settings,
        kappa=TUNED_BALANCED_KAPPA if method == "balanced-reg" else TUNED_KAPPA,
        tau=TUNED_TAU,
        regulariser_rate=TUNED_REGULARISER_RATE,
        inner_iterations=1,
    )
