"""The gauge of the paper: discriminators that estimate D_f from samples (Algorithm 2)."""

import torch
from torch import Tensor

from multilogger.components.learners.gauges import Scene
from multilogger.components.learners.settings import LearnerSettings
from multilogger.components.learners.state import State, module_state, optimiser_state, restore_optimiser
from multilogger.components.networks import Discriminator
from multilogger.components.torch_policies import relaxed_sample, whole
from multilogger.components.variational import variational_objective


class VariationalGauge:
    """One discriminator T a logger, which ascends F at each look (Algorithm 2, step 5).

    Deviation: T ascends on the whole labels that the policy's relaxed samples stand for, and the policy
    descends through the relaxed ones. Trained on relaxed labels, T would only tell fractions from whole
    numbers, and F would estimate no divergence between h and h_j.
    """

    def __init__(self, scene: Scene, features: int, labels: int, settings: LearnerSettings) -> None:
        self.scene, self.tau, self.batch_norm = scene, settings.tau, settings.discriminator_batch_norm
        self.discriminators = [
            Discriminator(features, labels, settings.discriminator_size, scene.generator)
            for _ in range(scene.gauged)
        ]
        self.optimisers = [
            torch.optim.Adam(t.parameters(), lr=settings.discriminator_rate) for t in self.discriminators
        ]
        self.halves: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    def warm_up(self, steps: int) -> None:
        """An untrained T reports about 0 and would pass any threshold."""
        for _ in range(steps):
            self.look()

    def look(self) -> Tensor:
        """F of each T on fresh samples, taken before T's step on them: (J,)."""
        self.halves = [self._draw(j) for j in range(self.scene.gauged)]
        values = []
        for (x, y, x_real, y_real), t, optimiser in zip(
            self.halves, self.discriminators, self.optimisers, strict=True
        ):
            t.train()
            value = variational_objective(t, x, whole(y), x_real, y_real)
            optimiser.zero_grad()
            (-value).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            values.append(value.detach())
        return torch.stack(values)

    def objective(self, coefficients: Tensor) -> Tensor:
        """sum_j c_j F(theta, w^j) (Algorithm 2, step 4), but for what the policy cannot move.

        Logged actions do not move with the policy, so without BatchNorm, which mixes the halves, T is asked
        for the policy's actions alone.
        """
        pairs = zip(self.discriminators, self.halves, strict=True)
        if self.batch_norm:
            return coefficients @ torch.stack([variational_objective(t, *half) for t, half in pairs])
        return coefficients @ torch.stack([t(x, y).mean() for t, (x, y, _, _) in pairs])

    def _draw(self, j: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Algorithm 2, steps 2 and 3: contexts and relaxed actions of the policy, then the logger's own."""
        x = self.scene.at(self.scene.contexts(j))
        y = relaxed_sample(self.scene.logits(x), self.tau, self.scene.generator)
        return x, y, *self.scene.real(j)

    def state(self) -> State:
        state = State()
        for j, (t, optimiser) in enumerate(zip(self.discriminators, self.optimisers, strict=True)):
            state |= module_state(t).under(f"discriminator/{j}")
            state |= optimiser_state(optimiser).under(f"optimiser/{j}")
        return state

    def restore(self, state: State) -> None:
        for j, (t, optimiser) in enumerate(zip(self.discriminators, self.optimisers, strict=True)):
            t.load_state_dict(state.below(f"discriminator/{j}").tensors)
            restore_optimiser(optimiser, state.below(f"optimiser/{j}"))
