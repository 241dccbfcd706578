"""The two ways in which the product waits: call again until it works, and wait until a condition holds.

Nothing else in the product writes a loop with a deadline of its own. `tenacity` does the loop. This module has only the
two forms that are needed, so that a reader learns two names. Threads are blocked while they wait.

    retry_call(redis.ping, on=RedisError, for_s=30)                      raises the last RedisError after 30 s
    wait_until(file.exists, for_s=30, every_s=0.05) or stop_everything() False after 30 s
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    retry_if_not_result,
    stop_after_attempt,
    stop_after_delay,
    stop_any,
    wait_exponential,
)

Result = TypeVar("Result")
Errors = type[Exception] | tuple[type[Exception], ...]

EVERY_S = 0.5


def retry_call(
    call: Callable[[], Result],
    *,
    on: Errors,
    for_s: float | None = None,
    attempts: int | None = None,
    every_s: float = EVERY_S,
    longest_s: float | None = None,
    on_retry: Callable[[Exception], None] | None = None,
    give_up: Callable[[Exception], Exception] | None = None,
) -> Result:
    """The result of `call`, called again after an error of `on` until it works.

    It ends when `for_s` seconds are over, with a last call at that moment, or after `attempts` calls, whichever comes
    first; one of the two must be given. The call is made at least once, and is never cut short. Between two calls are
    `every_s` seconds; with `longest_s` each pause is twice as long as the one before, up to `longest_s`.

    `on_retry` gets the error before each pause (to log or to count it). At the end the last error is raised, or
    `give_up(error)` from it. Any other error is raised at once. Raises ValueError when neither limit is given.
    """
    limits = [
        *([] if for_s is None else [stop_after_delay(for_s)]),
        *([] if attempts is None else [stop_after_attempt(attempts)]),
    ]
    if not limits:
        raise ValueError("a retry needs an end: give for_s or attempts")

    def before_sleep(state: RetryCallState) -> None:
        if on_retry is not None:
            on_retry(_error_of(state))

    def at_the_end(state: RetryCallState) -> Result:
        error = _error_of(state)
        if give_up is None:
            raise error
        raise give_up(error) from error

    retrying = Retrying(
        retry=retry_if_exception_type(on),
        stop=stop_any(*limits),
        wait=_pauses(every_s, longest_s, for_s),
        before_sleep=before_sleep,
        retry_error_callback=at_the_end,
    )
    return retrying(call)


def wait_until(
    condition: Callable[[], Result], *, for_s: float, every_s: float, longest_s: float | None = None
) -> Result:
    """The first true value of `condition`, or its last false value when `for_s` seconds are over.

    It is asked at least once, with the same pauses as in `retry_call`. What it raises is raised at once.
    """
    retrying = Retrying(
        retry=retry_if_not_result(bool),
        stop=stop_after_delay(for_s),
        wait=_pauses(every_s, longest_s, for_s),
        retry_error_callback=_result_of,
    )
    return retrying(condition)


def _pauses(every_s: float, longest_s: float | None, for_s: float | None) -> Callable[[RetryCallState], float]:
    growing = wait_exponential(multiplier=every_s, min=every_s, max=every_s if longest_s is None else longest_s)

    def pause(state: RetryCallState) -> float:
        pause_s = growing(state)
        return pause_s if for_s is None else min(pause_s, max(0.0, for_s - (state.seconds_since_start or 0.0)))

    return pause


def _error_of(state: RetryCallState) -> Exception:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, Exception):
        raise TypeError("only a call that failed is retried")
    return error


def _result_of(state: RetryCallState) -> Any:
    return state.outcome.result() if state.outcome else None
