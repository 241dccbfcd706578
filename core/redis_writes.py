"""Whether Redis takes writes, and if not, in words for the admin why. A full Redis still answers a ping."""

from __future__ import annotations

from redis import Redis, RedisError
from redis.exceptions import AuthenticationError, NoPermissionError, OutOfMemoryError, ReadOnlyError

from core.health import Missing

_KEY, _KEPT_S = "threadbook:writes", 60
_CAUSES: tuple[tuple[type[RedisError], str], ...] = (
    (
        AuthenticationError,
        "Redis asks for another password, or for a first one: write redis://:PASSWORD@HOST:PORT/0 as REDIS_URL",
    ),
    (NoPermissionError, "Redis does not let its user of REDIS_URL do this: give that user all keys and commands"),
    (OutOfMemoryError, "Redis is full and takes no writes: raise its maxmemory, or delete what others keep in it"),
    (ReadOnlyError, "Redis is a replica and takes no writes: REDIS_URL must lead to the primary"),
)


def check_writes(redis: Redis) -> None:
    """Write a key that expires soon. Raises RedisError when Redis does not answer, or takes no writes."""
    redis.set(_KEY, "", ex=_KEPT_S)


def redis_answers(redis: Redis) -> str:
    """The check of a process's health page. Raises Missing, or RedisError when Redis does not answer."""
    try:
        check_writes(redis)
    except RedisError as error:
        if (why := refusal(error)) is not None:
            raise Missing(why) from error
        raise
    return "answers"


def refusal(error: Exception) -> str | None:
    """Why Redis refuses, and what to do; None when it refuses nothing that is known here."""
    if str(error).startswith("MISCONF"):
        return "Redis cannot save to its disk and takes no writes: its own log says why"
    return next((why for kind, why in _CAUSES if isinstance(error, kind)), None)
