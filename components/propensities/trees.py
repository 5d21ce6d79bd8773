"""A logger as a decision tree: for those that follow rules, which no regression on the context can tell.

The tree turns a context into the number of its leaf; the policy is then linear in the indicators of leaves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multilogger.components.actions.arrays import Matrix, Vector
from multilogger.components.datasets.labelled_data import Features, LabelledData

MOST_NUMBERS = 20_000_000  # rows times actions beyond which no tree is grown
LEAST_ROWS = 20  # of a leaf
LEAF = -1

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Splits:
    """Node i asks whether feature `feature[i]` is at most `threshold[i]` and goes to `children[i]`.

    `children` (nodes, 2) are left and right; a leaf has feature -1 and its number among the leaves in both.
    """

    feature: Numbers
    threshold: Vector
    children: Numbers

    @property
    def leaves(self) -> int:
        return int((self.feature == LEAF).sum())

    def leaf_of(self, x: Features) -> Numbers:
        """The leaf of every row of x (n, d): (n,)."""
        node = np.zeros(x.shape[0], dtype=np.int64)
        while (going := np.flatnonzero(self.feature[node] != LEAF)).size:
            at = node[going]
            value = np.asarray(x[going, self.feature[at]]).ravel()
            node[going] = self.children[at, (value > self.threshold[at]).astype(np.int64)]
        return np.asarray(self.children[node, 0])

    def indicators(self, x: Features) -> sparse.csr_array:
        """1 in the column of each row's leaf: (n, leaves)."""
        leaf = self.leaf_of(x)
        ones = np.ones(len(leaf), dtype=np.float32)
        return sparse.csr_array((ones, leaf, np.arange(len(leaf) + 1)), shape=(len(leaf), self.leaves))


def grow_tree(data: LabelledData, marginal: Vector, most_leaves: int) -> tuple[Splits, Matrix]:
    """Split where actions differ most (Gini), the best first; the weights (size, leaves + 1) of the leaves.

    Choice: a leaf counts one row more, of the marginal distribution, so that it has no chance of 0.
    """
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor(max_leaf_nodes=most_leaves, min_samples_leaf=LEAST_ROWS, random_state=0)
    taken = data.y if data.space.action_shape else data.y[:, None] == np.arange(data.space.size)
    tree = model.fit(data.x, taken.astype(np.float32)).tree_
    is_leaf = np.asarray(tree.children_left) < 0
    number = np.cumsum(is_leaf) - 1
    children = np.stack([tree.children_left, tree.children_right], axis=1).astype(np.int64)
    children[is_leaf] = number[is_leaf][:, None]
    values = np.asarray(tree.value).reshape(tree.node_count, data.space.size)[is_leaf]
    rows = np.asarray(tree.n_node_samples, dtype=np.float64)[is_leaf][:, None]
    logits = data.space.logits_of((rows * values + marginal) / (rows + 1.0))
    splits = Splits(
        feature=np.where(is_leaf, LEAF, tree.feature).astype(np.int64),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        children=children,
    )
    return splits, np.hstack([logits.T, np.zeros((data.space.size, 1))])
