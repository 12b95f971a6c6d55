"""What time it is, in texts that sort as time does."""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return the present moment in UTC."""
    return written(datetime.now(UTC))


def in_days(days: float) -> str:
    """Return a moment so many days from now."""
    return written(datetime.now(UTC) + timedelta(days=days))


def written(moment: datetime) -> str:
    """Write a moment."""
    return moment.isoformat(timespec="microseconds")


def until_step(seconds: float, step: float) -> float:
    """Return how long to wait for the next public moment: a step, or twice, four times, ... as much."""
    moment = step
    while moment < seconds:
        moment *= 2
    return moment - seconds
