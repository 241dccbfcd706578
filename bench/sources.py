"""A million rows of ten columns from Postgres into the DataFrame of a cell: `python -m bench sources`.

Ours is the whole way: a cell calls `query`, the job asks the broker, the broker's guard and driver ask Postgres, and
the rows come as a sealed file. The rivals read the same statement in a process of their own, with nothing between.
It needs a Postgres that lets the user postgres in without a password: PGHOST and PGPORT, else 127.0.0.1:5432.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from pydantic import SecretStr

from bench.goals import p99
from bench.rivals.environment import LeftOut, environment
from core.settings import load_settings
from core.team_settings import SourceSettings
from executor.client import SessionClient, WithFile
from executor.launch import running_host
from workers.service.processes.broker import BrokerProcess
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request
from workers.sources.opening import named_source, open_source
from workers.sources.query import limits_of

ROWS, TIMES, SMALL_TIMES, THREADS = 1_000_000, 3, 200, 50
TABLE = f"""
CREATE TABLE wide AS SELECT n::bigint AS id, (n % 5000)::int AS customer,
  (n % 100000 / 100.0)::numeric(12, 2) AS amount,
  n * 1.5::float8 AS price, (n % 100)::smallint AS quantity, n % 3 = 0 AS paid,
  timestamptz '2024-01-01 00:00+00' + n * interval '30 seconds' AS placed, date '2024-01-01' + (n % 700)::int AS day,
  (ARRAY['NORTH', 'SOUTH', 'EAST', 'WEST'])[1 + n % 4] AS region, 'note ' || n AS note
FROM generate_series(1, {ROWS}) n
"""
WHOLE = "SELECT id, customer, amount, price, quantity, paid, placed, day, region, note FROM wide"
SMALL = "SELECT id, customer, amount, price, quantity, paid, placed, day, region, note FROM wide LIMIT 10"
RIVALS: Mapping[str, tuple[str, ...]] = {
    "adbc": ("adbc-driver-postgresql", "pandas", "pyarrow"),
    "connectorx": ("connectorx", "pandas", "pyarrow"),
    "read_sql": ("pandas", "psycopg[binary]", "sqlalchemy"),
}
OF_FASTEST, OF_READ_SQL, OWN_MS = 1.3, 5.0, 10.0
RIGHT = """
import datetime, decimal
f = query("select 1.10::numeric(4, 2) as n, timestamptz '2024-03-01 12:00+02' as t, array[1, null, 3] as a, "
          ":p as p, null::int as z", params={"p": "it's"})
row = f.iloc[0]
print(row.n == decimal.Decimal("1.10"), row.t.isoformat() == "2024-03-01T10:00:00+00:00",
      list(row.a)[0] == 1 and len(row.a) == 3, row.p == "it's", f.z.isna()[0])
"""


def measure() -> dict[str, object]:
    """Measure, print a table with ratios, and give the figures."""
    with _database() as url, ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker, client = stack.enter_context(_broker(home, url))
        host = stack.enter_context(running_host())
        right = _cell(host, client, RIGHT).split()
        left_out, rivals = dict[str, str](), dict[str, list[float]]()
        ours = list[float]()
        _ours(host, client)  # the first one loads pandas' parts and connects
        for _ in range(TIMES):  # in turns: what else the machine does meets all of them
            with _peaks({"job": os.getpid(), "broker": broker.pid or 0}) as memory:
                ours.append(_ours(host, client))
            for name in [each for each in RIVALS if each not in left_out]:
                try:
                    rivals.setdefault(name, []).append(_rival(name, RIVALS[name], url))
                except LeftOut as error:
                    rivals.pop(name, None)
                    left_out[name] = str(error)
        through, driver = _small(client, url)
        at_once = _at_once(client)
    found = {
        "ours_s": ours,
        "rivals_s": rivals,
        "left_out": left_out,
        "right": right,
        "memory_mib": memory,
        "small_ms": {"broker": through, "driver": driver},
        "at_once": at_once,
    }
    _print(found)
    return found


def _print(found: Mapping[str, Any]) -> None:
    ours = statistics.median(found["ours_s"])
    medians = {name: statistics.median(times) for name, times in found["rivals_s"].items()}
    print(f"| {ROWS:,} rows x 10 columns into a DataFrame | seconds | ours / theirs |")
    print("| --- | --- | --- |")
    print(f"| a cell's query, through the broker | {ours:.2f} | |")
    for name, seconds in medians.items():
        print(f"| {name}, straight into pandas | {seconds:.2f} | {ours / seconds:.2f}x |")
    for name, why in found["left_out"].items():
        print(f"| {name} | not measured: {why} | |")
    if medians:
        print(f"of the fastest: {ours / min(medians.values()):.2f}x (goal: ≤ {OF_FASTEST}x)", end="")
        if "read_sql" in medians:
            print(f"; faster than read_sql: {medians['read_sql'] / ours:.2f}x (goal: ≥ {OF_READ_SQL:g}x)", end="")
        print()
    small = found["small_ms"]
    own = statistics.median(small["broker"]) - statistics.median(small["driver"])
    print(
        f"10 rows: {statistics.median(small['broker']):.1f} ms through the broker, "
        f"{statistics.median(small['driver']):.1f} ms by the driver alone: {own:.1f} ms of our own "
        f"(goal: ≤ {OWN_MS:g} ms)"
    )
    once = found["at_once"]
    print(
        f"{THREADS} threads at once, 10 rows each: all in {once['seconds']:.2f} s, p50 {once['p50_ms']:.0f} ms, "
        f"p99 {once['p99_ms']:.0f} ms, failed {once['failed']}"
    )
    memory = found["memory_mib"]
    print(f"private memory while the rows pass, MiB: {', '.join(f'{who} {said}' for who, said in memory.items())}")
    print(f"NUMERIC, timestamp with zone, array, parameter and null are right: {', '.join(found['right'])}")


@contextmanager
def _database() -> Iterator[str]:
    host, port = os.environ.get("PGHOST", "127.0.0.1"), os.environ.get("PGPORT", "5432")
    name = f"threadbook_bench_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(host=host, port=int(port), user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'bench'")
        try:
            with psycopg.connect(host=host, port=int(port), user="postgres", dbname=name, autocommit=True) as made:
                made.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
                made.execute(TABLE)
                made.execute("VACUUM ANALYZE wide")
                made.execute(f"GRANT SELECT ON wide TO {name}")
            yield f"postgresql://{name}:bench@{host}:{port}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
            server.execute(f"DROP ROLE {name}")


@contextmanager
def _broker(home: Path, url: str) -> Iterator[tuple[BrokerProcess, BrokerClient]]:
    (home / "url").write_text(url)
    (home / "threadbook.toml").write_text(
        '[sources.bench]\nurl_file = "url"\nmax_rows = 2000000\nmax_mb = 2000\ntimeout_s = 300.0\n'
    )
    settings = load_settings({"THREADBOOK_HOME": str(home)}, home)
    process = BrokerProcess(settings)
    with _without_stderr():
        process.keep()
    try:
        client = BrokerClient(settings.broker_socket, back_s=60.0)
        client.kinds()
        yield process, client
    finally:
        process.stop()


@contextmanager
def _without_stderr() -> Iterator[None]:
    """What is started inside the block logs nowhere: a line per statement would hide the table."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _asked(client: BrokerClient, payload: Mapping[str, Any]) -> Any:
    ask = Ask.model_validate(payload).model_copy(update={"source": "bench"})
    answer, descriptor = client.ask(Request(ask=ask, seconds=300, bytes=1 << 31), threading.Event())
    return answer.value if descriptor is None else WithFile({"rows": answer.rows}, descriptor)


def _cell(host: SessionClient, client: BrokerClient, code: str) -> str:
    result = host.run(
        "T1:C1:1.0", uuid.uuid4().hex, code, on_request=lambda kind, payload: _asked(client, payload), timeout_s=300
    )
    if result.status != "ok":
        raise RuntimeError(f"a cell of the measurement failed: {result.error}")
    return result.stdout


def _ours(host: SessionClient, client: BrokerClient) -> float:
    code = (
        f"import time\nbegan = time.perf_counter()\nframe = query({WHOLE!r})\n"
        f"print(time.perf_counter() - began)\nassert frame.shape == ({ROWS}, 10)\ndel frame"
    )
    return float(_cell(host, client, code))


@contextmanager
def _peaks(pids: Mapping[str, int]) -> Iterator[dict[str, str]]:
    """Private memory of processes, before and at its highest, written down at the end."""
    before = {who: _private_mib(pid) for who, pid in pids.items()}
    highest, over, told = dict(before), threading.Event(), dict[str, str]()

    def look() -> None:
        while not over.wait(0.01):
            for who, pid in pids.items():
                highest[who] = max(highest[who], _private_mib(pid))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield told
    finally:
        over.set()
        looking.join()
        told.update({who: f"{before[who]:.0f} → {highest[who]:.0f}" for who in pids})


def _private_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _rival(name: str, packages: tuple[str, ...], url: str) -> float:
    python = environment(f"sources-{name}", packages)
    script = Path(__file__).parent / "rivals" / "readers.py"
    try:
        done = subprocess.run(
            [python, script, name, url, "1"],
            input=WHOLE,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise LeftOut(f"it failed: {str(error.stderr or error)[-200:]}") from None
    found = json.loads(done.stdout)
    if found["rows"] != ROWS:
        raise LeftOut(f"it gave {found['rows']:,} rows")
    return float(found["seconds"][0])


def _small(client: BrokerClient, url: str) -> tuple[list[float], list[float]]:
    """Milliseconds of a query of ten rows: through the broker, and by its driver alone on an open connection."""
    source = named_source("bench", SourceSettings(url_env="X"), SecretStr(url))
    with closing(open_source(source)) as driver:

        def by_driver() -> None:
            with driver.run(SMALL, limits_of(source)) as result:
                assert sum(batch.num_rows for batch in result.batches) == 10

        def by_broker() -> None:
            os.close(_asked(client, {"ask": "rows", "sql": SMALL}).descriptor)

        return _times(by_broker), _times(by_driver)


def _times(work: Callable[[], None]) -> list[float]:
    work()
    found = []
    for _ in range(SMALL_TIMES):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1e3)
    return found


def _at_once(client: BrokerClient) -> dict[str, float]:
    """Many threads ask at the same moment: the pool has four connections, the others wait for one."""
    ready = threading.Barrier(THREADS)

    def ask(_: int) -> float | None:
        ready.wait()
        began = time.perf_counter()
        try:
            os.close(_asked(client, {"ask": "rows", "sql": SMALL}).descriptor)
        except Exception:
            return None
        return (time.perf_counter() - began) * 1e3

    began = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(ask, range(THREADS)))
    seconds = time.perf_counter() - began
    took = [each for each in found if each is not None]
    return {
        "seconds": seconds,
        "p50_ms": statistics.median(took or [0.0]),
        "p99_ms": p99(took or [0.0]),
        "failed": len(found) - len(took),
    }
