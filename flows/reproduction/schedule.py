"""A reproduction that runs by the clock: what a person asked for, checked before anything starts."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from multilogger.components.errors import BadInput

FLOW = "reproduce"
WANTED = {
    "name": "use letters, digits, '-', '_' and '.'",
    "cron": "give minute hour day month weekday, such as '0 2 * * *'",
    "timezone": "give a name of the tz database, such as Europe/Berlin",
}


class Schedule(BaseModel):
    """A named deployment of the `reproduce` flow."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    cron: str
    timezone: str
    parameters: dict[str, Any]

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not name or not all(letter.isalnum() or letter in "-_." for letter in name):
            raise ValueError(WANTED["name"])
        return name

    @property
    def full_name(self) -> str:
        """As Prefect's command line spells it."""
        return f"{FLOW}/{self.name}"


def checked_schedule(name: str, cron: str, timezone: str, parameters: dict[str, Any]) -> Schedule:
    """A schedule that Prefect will accept."""
    from prefect.client.schemas.schedules import CronSchedule

    try:
        CronSchedule(cron=cron, timezone=timezone)
        return Schedule(name=name, cron=cron, timezone=timezone, parameters=parameters)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0])
        raise BadInput(f"bad --{option} {first['input']!r}: {WANTED[option]}") from error
