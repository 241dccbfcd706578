"""What we drive of other libraries although their documents do not promise it: all of it, with the reason.

An upgrade may move any of it without a word. `tests/contract/test_undocumented.py` finds that: each name must stand in
the installed version with these parameters, and no file of ours may use another undocumented name of the same classes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undocumented:
    """A name of another library's class ("module:Class") that these files use.

    `parameters` are those of a method after `self`, or None for a field or a property.
    """

    owner: str
    name: str
    used_in: tuple[str, ...]
    why: str
    parameters: tuple[str, ...] | None = None


_CLIENT = "slack_sdk.socket_mode.builtin.client:SocketModeClient"
_SESSION = "slack_sdk.socket_mode.builtin.connection:Connection"
_STATE = "slack_sdk.socket_mode.builtin.connection:ConnectionState"
_RUNNER = "slack_sdk.socket_mode.interval_runner:IntervalRunner"
_WEB = "slack_sdk.web.client:WebClient"
_QUEUE, _JOB, _WORKER = "rq.queue:Queue", "rq.job:Job", "rq.worker:Worker"

_SOCKET, _WATCHDOG = "bot/socket_mode.py", "bot/watchdog.py"
_WAKES, _RQ_WORKER = "core/queue.py", "workers/service/rq_worker.py"

UNDOCUMENTED = (
    # The end of a Socket Mode connection: the SDK's own `close` alone can wait for ever.
    Undocumented(_CLIENT, "closed", (_SOCKET,), "the monitor checks it before it reconnects"),
    Undocumented(_CLIENT, "auto_reconnect_enabled", (_SOCKET,), "the reader checks it before it reconnects"),
    Undocumented(_CLIENT, "default_auto_reconnect_enabled", (_SOCKET,), "`connect` copies it over the one before"),
    Undocumented(_CLIENT, "message_queue", (_SOCKET,), "an item wakes the message thread, so that it can end"),
    Undocumented(_CLIENT, "current_app_monitor", (_SOCKET,), "reconnects; must end first"),
    Undocumented(_CLIENT, "message_processor", (_SOCKET,), "hands on Slack's disconnects, which reconnect"),
    Undocumented(_CLIENT, "current_session_runner", (_SOCKET,), "starts a session every 0.1 s until it is ended"),
    Undocumented(_CLIENT, "current_session_state", (_SOCKET, _WATCHDOG), "tells a session to end"),
    Undocumented(_CLIENT, "current_session", (_SOCKET, _WATCHDOG), "the connection that is open now"),
    Undocumented(_STATE, "terminated", (_SOCKET, _WATCHDOG), "a session that reads it ends"),
    Undocumented(_SESSION, "sock", (_SOCKET, _WATCHDOG), "its shutdown ends a read that blocks"),
    Undocumented(_SESSION, "last_ping_pong_time", (_WATCHDOG,), "when Slack was heard last"),
    Undocumented(_SESSION, "is_active", (_WATCHDOG,), "whether the SDK takes it for open", ()),
    Undocumented(_SESSION, "close", (_WATCHDOG,), "closes a connection that is deaf", ()),
    Undocumented(_RUNNER, "is_alive", (_SOCKET,), "whether a thread of the SDK runs", ()),
    Undocumented(_RUNNER, "shutdown", (_SOCKET,), "ends a thread of the SDK", ()),
    Undocumented(_RUNNER, "event", (_SOCKET,), "ends a thread of the SDK without waiting for it"),
    Undocumented(_RUNNER, "thread", (_SOCKET,), "is waited for"),
    # All methods of the SDK's client come through one.
    Undocumented(_WEB, "api_call", ("core/slack/client.py",), "counted and paced; every method of the SDK calls it"),
    # Jobs are taken by a process that has one already, and asked about many at a time.
    Undocumented(
        _QUEUE,
        "dequeue_any",
        (_WAKES,),
        "takes a job without an RQ worker",
        ("queues", "timeout", "connection", "job_class", "serializer", "death_penalty_class"),
    ),
    Undocumented(_QUEUE, "key", (_WAKES,), "the list of waiting jobs, read for many threads at once"),
    Undocumented(_QUEUE, "redis_queues_keys", (_WAKES,), "the set of queues, from which a dead node's is taken"),
    Undocumented(_JOB, "key_for", (_WAKES,), "whether jobs have expired, asked for all at once", ("job_id",)),
    # An RQ worker that ends soon, and that outlives a Redis that is away for a moment.
    Undocumented(_WORKER, "horse_pid", (_RQ_WORKER,), "the process of the running job, 0 between jobs"),
    Undocumented(_WORKER, "request_stop", (_RQ_WORKER,), "RQ's handler of the first SIGTERM", ("signum", "frame")),
    Undocumented(_WORKER, "maintain_heartbeats", (_RQ_WORKER,), "called while a job runs", ("job",)),
    Undocumented(
        _WORKER,
        "set_current_job_working_time",
        (_RQ_WORKER,),
        "called while a job runs",
        ("current_job_working_time", "pipeline"),
    ),
)
