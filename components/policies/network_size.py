"""The size of a network, apart from the networks: settings name it long before torch is needed."""

from dataclasses import dataclass

from multilogger.components.errors import BadInput


@dataclass(frozen=True)
class NetworkSize:
    """Nodes of each hidden layer, none for a linear map, and whether BatchNorm follows each."""

    hidden: tuple[int, ...] = (10,)
    batch_norm: bool = True

    def __post_init__(self) -> None:
        if any(width < 1 for width in self.hidden):
            raise BadInput(f"every hidden layer needs at least 1 node, got {self.hidden}")


LINEAR = NetworkSize(hidden=(), batch_norm=False)
