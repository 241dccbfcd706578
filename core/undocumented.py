"""Every name of other libraries that we use although their documents do not promise it, with the reason.

An upgrade may change any of them without notice. `tests/contract/test_undocumented.py` finds that: each name must stand
in the installed version with these parameters, the files here use no other undocumented name of the same classes, and
no file uses a private name (one with a leading underscore) that is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undocumented:
    """A name of another library's class ("module:Class") or module ("module") that these files use.

    `parameters` are those of a function, without `self`; None for a field, a property or a class.
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

_RETRY = "slack_sdk.http_retry.builtin_handlers:RateLimitErrorRetryHandler"
_BOLT_WEB = "slack_bolt.adapter.starlette.handler"
_UVICORN, _CYCLE = "uvicorn.server:Server", "uvicorn.protocols.http.h11_impl:RequestResponseCycle"
_PSYCOPG = "psycopg.connection:Connection"
_CURSOR, _RESULT = "pymysql.cursors:SSCursor", "pymysql.connections:MySQLResult"
_ADBC_CURSOR, _ADBC_ROWS = "adbc_driver_manager.dbapi:Cursor", "adbc_driver_manager.dbapi:_RowIterator"
_FONTS = "matplotlib.font_manager:FontManager"
_PICKLER, _UNPICKLER = "cloudpickle.cloudpickle:Pickler", "pickle:_Unpickler"

_SOCKET, _WATCHDOG = "bot/connection/socket_mode.py", "bot/connection/watchdog.py"
_WAKES, _RQ_WORKER = "core/queue.py", "workers/service/rq_worker.py"
_WEB_CLIENT, _HTTP, _PLAYGROUND = "core/slack/client.py", "bot/connection/web.py", "playground/server.py"
_DATABASE, _MYSQL = "core/store/database.py", "workers/sources/drivers/mysql.py"
_POSTGRES = "workers/sources/drivers/postgres.py"
_FIGURES = "executor/inside/figures.py"
_KEEPING, _SALVAGE = "executor/inside/pickler.py", "executor/inside/pickle_salvage.py"

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
    Undocumented(
        _WEB,
        "api_call",
        (_WEB_CLIENT, "core/slack/fake.py"),
        "counted and paced; every method of the SDK calls it",
        ("api_method", "http_verb", "files", "data", "params", "json", "headers", "auth"),
    ),
    Undocumented(
        _WEB,
        "_perform_urllib_http_request_internal",
        (_WEB_CLIENT,),
        "sends a request; the SDK's own opens a connection for each",
        ("url", "req"),
    ),
    Undocumented(
        _RETRY,
        "can_retry",
        (_WEB_CLIENT,),
        "a decorative call does not wait",
        ("state", "request", "response", "error"),
    ),
    Undocumented(
        _RETRY,
        "prepare_for_next_attempt",
        (_WEB_CLIENT,),
        "counts the retry and makes all processes wait",
        ("state", "request", "response", "error"),
    ),
    Undocumented(
        _WEB,
        "_request_for_pagination",
        (_WEB_CLIENT, "core/slack/fake.py"),
        "paced; `SlackResponse` asks for its next page with it",
        ("api_url", "req_args"),
    ),
    # HTTP mode: Bolt's own handler for Starlette runs the app in the event loop, which would block.
    Undocumented(
        _BOLT_WEB,
        "to_bolt_request",
        (_HTTP,),
        "Slack's request for Bolt",
        ("req", "body", "addition_context_properties"),
    ),
    Undocumented(_BOLT_WEB, "to_starlette_response", (_HTTP,), "Bolt's answer for Starlette", ("bolt_resp",)),
    # A web server in a thread, which has no signals to end it.
    Undocumented(_UVICORN, "should_exit", (_HTTP, _PLAYGROUND), "ends the server"),
    Undocumented(_UVICORN, "started", (_HTTP,), "whether connections are accepted"),
    Undocumented(_UVICORN, "startup", (_PLAYGROUND,), "says that connections are accepted", ("sockets",)),
    Undocumented(_UVICORN, "shutdown", (_PLAYGROUND,), "ends the sockets of the playground first", ("sockets",)),
    Undocumented(_CYCLE, "transport", ("playground/guard.py",), "cuts a connection; ASGI has no way to"),
    # Jobs are taken by a process that has one already, and asked about many at a time.
    Undocumented(_QUEUE, "key", (_WAKES,), "the list of waiting jobs, read for many threads at once"),
    Undocumented(_QUEUE, "redis_queues_keys", (_WAKES,), "the set of queues, from which a dead node's is taken"),
    Undocumented(_JOB, "func_name", (_WAKES,), "what a job asks for; nothing but a wake is carried out"),
    Undocumented(_JOB, "kwargs", (_WAKES,), "the same: a wake has none"),
    Undocumented(_JOB, "key_for", (_WAKES,), "whether jobs have expired, asked for all at once", ("job_id",)),
    Undocumented(
        _JOB,
        "to_dict",
        (_WAKES,),
        "the fields of a job, which a script puts into its queue",
        ("include_meta", "include_result"),
    ),
    Undocumented(_JOB, "restore", (_WAKES,), "a job from the fields that a script gave", ("raw_data",)),
    Undocumented(_JOB, "enqueued_at", (_WAKES,), "set where RQ's own enqueue would set it"),
    # An RQ worker that gives its jobs to processes of ours, and ends soon.
    Undocumented(_WORKER, "execute_job", (_RQ_WORKER,), "what becomes of a job that was taken", ("job", "queue")),
    Undocumented(_WORKER, "heartbeat", (_RQ_WORKER,), "called every few seconds", ("timeout", "pipeline")),
    Undocumented(_WORKER, "horse_pid", (_RQ_WORKER,), "whether there is a process to kill; 0 when there is none"),
    Undocumented(_WORKER, "kill_horse", (_RQ_WORKER,), "called at the second SIGTERM", ("sig",)),
    Undocumented(_WORKER, "wait_for_horse", (_RQ_WORKER,), "called after it", ()),
    Undocumented(_WORKER, "request_stop", (_RQ_WORKER,), "RQ's handler of the first SIGTERM", ("signum", "frame")),
    # A connection to Postgres on which every call comes to an end.
    Undocumented(
        _PSYCOPG, "wait", (_DATABASE,), "every call waits in it; it gets a time-out", ("gen", "interval", "timeout")
    ),
    Undocumented("psycopg.errors", "_WaitTimeout", (_DATABASE,), "what `wait` raises after its time-out"),
    # The types of a source's columns, and rows that nobody will read.
    Undocumented(_CURSOR, "_result", (_MYSQL,), "the columns with their types; the rows that are still to come"),
    Undocumented(_RESULT, "fields", (_MYSQL,), "the columns with their types"),
    Undocumented(_RESULT, "unbuffered_active", (_MYSQL,), "whether rows are still to come"),
    Undocumented(_RESULT, "converters", (_MYSQL,), "how pymysql reads each column"),
    Undocumented(_RESULT, "warning_count", (_MYSQL,), "whether the server warns that it cut a value"),
    Undocumented(_RESULT, "_read_row_from_packet", (_MYSQL,), "rows stay as they came", ("packet",)),
    # Rows of Postgres, with errors that keep the server's own number.
    Undocumented(_ADBC_CURSOR, "_results", (_POSTGRES,), "the rows that are still to come"),
    Undocumented(_ADBC_CURSOR, "adbc_statement", (_POSTGRES,), "takes the option that EXPLAIN needs: no COPY"),
    Undocumented(_ADBC_ROWS, "reader", (_POSTGRES,), "`fetch_record_batch` gives the one inside it, whose errors lose"),
    # A chart shows letters of every script, whichever font its style names.
    Undocumented(
        _FONTS,
        "_find_fonts_by_props",
        (_FIGURES,),
        "adds our font as the last resort; without it such letters are boxes",
        ("prop", "fontext", "directory", "fallback_to_default", "rebuild_if_missing"),
    ),
    Undocumented(_FONTS, "ttflist", (_FIGURES,), "the installed fonts; ours is added under the names of its kin"),
    Undocumented(
        "matplotlib.font_manager",
        "_get_font",
        ("executor/inside/warm.py",),
        "a cache, emptied before the fork; matplotlib would empty it in each subprocess, which copies 1.7 MB",
    ),
    Undocumented(
        "pandas._config.config:DictWrapper",
        "d",
        ("executor/inside/process_settings.py",),
        "all options at once, after each cell once one has named them; to ask for each by its name takes far longer",
    ),
    # Variables of a notebook are kept together, and those that can be made again come back without the others.
    Undocumented(
        _PICKLER, "_dynamic_function_reduce", (_KEEPING,), "a function keeps no copy of the notebook", ("func",)
    ),
    Undocumented(_PICKLER, "globals_ref", (_KEEPING,), "the globals that a function is given, by their id"),
    Undocumented("pickle", "_Unpickler", (_SALVAGE,), "the standard library's unpickler in Python"),
    Undocumented(_UNPICKLER, "dispatch", (_SALVAGE,), "its steps by code, some of which are replaced"),
    Undocumented(_UNPICKLER, "load_pop", (_SALVAGE,), "a step that is extended", ()),
    Undocumented(_UNPICKLER, "stack", (_SALVAGE,), "the objects that are being made"),
    # python-pptx knows bullets of a layout only; the indent of a line in a text box is in its XML.
    Undocumented("pptx.text.text:_Paragraph", "_p", ("workers/delivery/reports/formats/slides.py",), "the line's XML"),
)
