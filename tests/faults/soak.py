"""`make soak MINUTES=n SEED=s`: many threads and random faults; at the end the invariants of the fault table hold.

`make soak-postgres MINUTES=n` has one fault only: Postgres is stopped and started again every 5 to 40 seconds.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from fault_cases import Case
from fault_checks import check_leftovers, check_thread
from fault_list import PROCESS_FAULTS
from fault_table import write_soak
from fault_world import World, running_world
from patience import eventually

THREADS = 60
AT_ONCE = 8
"""Questions that are open at a time."""
PAUSE_S = (0.5, 3.5)
POSTGRES_PAUSE_S = (5.0, 40.0)
PEOPLE = ("ana", "ben", "maya", "chenchen")
CHANNELS = ("#sales", "#churn", "#general")

SLACK_ORDERS = [
    {"method": method, "times": times, **kind}
    for method in ("chat.postMessage", "chat.update", "files.completeUploadExternal", "files.getUploadURLExternal", "*")
    for times, kind in (
        (1, {"kind": "ratelimited", "retry_after": 1}),
        (2, {"kind": "http_error", "status": 503}),
        (2, {"kind": "drop_call"}),
        (1, {"kind": "drop_reply"}),
        (1, {"kind": "slow", "seconds": 3}),
        (1, {"kind": "error", "error": "internal_error"}),
    )
]
SLACK_ORDERS += [
    {"method": "share", "kind": "drop_call"},
    {"method": "upload", "kind": "drop_reply"},
    {"method": "envelope", "kind": "drop_reply"},
    {"method": "envelope", "kind": "drop_call"},
    {"duplicate_events": 3},
]


def _name_of(order: Mapping[str, object]) -> str:
    return f"Slack: {order.get('kind', 'events twice')} on {order.get('method', 'events')}"


_SHARE_DROPPED = _name_of({"method": "share", "kind": "drop_call"})


class Soak:
    """People ask in many threads while faults strike."""

    def __init__(self, world: World, chance: random.Random, *, only_postgres: bool = False) -> None:
        self.world = world
        self._pause_s, self._strike = (
            (POSTGRES_PAUSE_S, self._restart_postgres) if only_postgres else (PAUSE_S, self._break)
        )
        self.chance = chance
        self.cases = [Case(world, user=chance.choice(PEOPLE), channel=chance.choice(CHANNELS)) for _ in range(THREADS)]
        self.faults: Counter[str] = Counter()
        self._over = threading.Event()
        self._errors: list[BaseException] = []

    def run(self, minutes: float) -> None:
        """Ask and strike for so many minutes, then wait until everything is answered."""
        naps = random.Random(self.chance.random())
        self.world.model.nap = lambda: naps.choice((0.0, 0.0, 0.2, 1.0))
        asking = threading.Thread(target=self._ask, args=(random.Random(self.chance.random()),))
        asking.start()
        end = time.monotonic() + minutes * 60
        try:
            while time.monotonic() < end and not self._errors:
                time.sleep(self.chance.uniform(*self._pause_s))
                self._strike()
        finally:
            self._over.set()
            asking.join()
        if self._errors:
            raise self._errors[0]
        self.world.control("DELETE", "faults")
        eventually(lambda: all(case.answered() for case in self.cases if case.key), "all answers")

    def shares_missing(self) -> int:
        """How many uploads Slack took and shows nowhere, over all threads."""
        return sum(case.dropped() for case in self.cases if case.key)

    def _break(self) -> None:
        if self.chance.random() < 0.5:
            may_fill = self.world.has_small_disk
            faults = [fault for fault in PROCESS_FAULTS if not fault.held and (may_fill or not fault.fills_disk)]
            fault = self.chance.choice(faults)
            self._count(fault.name)
            fault.strike(self.world)
            if fault.back is not None:
                fault.back(self.world)
        else:
            order = self.chance.choice(SLACK_ORDERS)
            self._count(_name_of(order))
            self.world.control("POST", "faults", **order)

    def _restart_postgres(self) -> None:
        self._count("Postgres: stopped and started again at once")
        self.world.postgres.stop()
        self.world.postgres.start()

    def _count(self, name: str) -> None:
        self.faults[name] += 1
        print(f"{time.strftime('%H:%M:%S')} {sum(self.faults.values()):4d} {name}", flush=True)

    def _ask(self, chance: random.Random) -> None:
        open_cases: set[int] = set()
        try:
            while not self._over.wait(0.2):
                open_cases = {number for number in open_cases if not _unless_away(self.cases[number].answered)}
                rest = [number for number in range(THREADS) if number not in open_cases]
                if len(open_cases) < AT_ONCE:
                    # The thread with the fewest questions comes next, so that all take part.
                    number = min(rest, key=lambda one: (len(self.cases[one].questions), chance.random()))
                    self.cases[number].ask("abcd"[: chance.randint(1, 4)])
                    open_cases.add(number)
        except BaseException as error:
            self._errors.append(error)


def _unless_away(look: Callable[[], bool]) -> bool:
    """The result of `look`, or False while the Store is away."""
    try:
        return look()
    except Exception:
        return False


def main() -> None:
    """Exits with the first invariant that does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only-postgres", action="store_true", help="restart Postgres every 5 to 40 s, nothing else")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"soak of {options.minutes:g} minutes, SEED={seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    folder.chmod(0o755)
    try:
        with running_world(folder) as world:
            soak = Soak(world, random.Random(seed), only_postgres=options.only_postgres)
            try:
                soak.run(options.minutes)
                eventually(lambda: soak.shares_missing() <= soak.faults[_SHARE_DROPPED], "the files that Slack took")
                failures = [why for case in soak.cases if case.key and (why := _checked(case))]
                check_leftovers(world)
            except BaseException:
                _say_what_is_open(soak)
                _keep_log(folder, seed)
                raise
            questions, cells = (
                sum(len(getattr(case, name)) for case in soak.cases) for name in ("questions", "letters")
            )
            line = (
                f"{options.minutes:g} minutes, {sum(1 for case in soak.cases if case.key)} threads, "
                f"{questions} questions, {cells} cells, {sum(soak.faults.values())} faults, "
                f"{len(failures) or 'no'} broken invariant{'s' * (len(failures) != 1)}, SEED={seed}"
            )
            print(line)
            print("\n\n".join(failures))
            if failures:
                _keep_log(folder, seed)
                raise SystemExit(1)
            write_soak(line, "postgres" if options.only_postgres else "soak")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep_log(folder: Path, seed: int) -> None:
    """The worker service's whole log stays, to find the cause."""
    shutil.copy(folder / "worker-1.log", Path(tempfile.gettempdir()) / f"soak-{seed}-worker.log")


def _checked(case: Case) -> str:
    try:
        check_thread(case, dropped=case.dropped())
    except Exception as error:
        return str(error) if isinstance(error, AssertionError) else f"{case.thread.id}: {error!r}"
    return ""


def _say_what_is_open(soak: Soak) -> None:
    for case in soak.cases:
        if case.key and not _unless_away(case.answered):
            print("open:", case.thread.id, case.questions[-1], [message.get("text") for message in case.said()][-4:])
    print(soak.world.log())


if __name__ == "__main__":
    main()
