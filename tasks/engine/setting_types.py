"""Types of settings that a person types as text."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _split_commas(value: Any) -> Any:
    """`0.05,2` and a single number are lists too."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return (value,) if isinstance(value, int | float) else value


PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
FloatList = Annotated[tuple[PositiveFloat, ...], BeforeValidator(_split_commas), Field(min_length=1)]
IntList = Annotated[tuple[PositiveInt, ...], BeforeValidator(_split_commas), Field(min_length=1)]
