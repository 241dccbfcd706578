"""The bot heeds a stop whatever it waits for."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SCRIPT = """
import signal, threading, time
from bot import service
signal.pthread_sigmask(signal.SIG_BLOCK, service.STOPS)
service.STOP_S = 0.01
stop = service.StopSignal()
def tell():
    while not stop._started:
        time.sleep(0.01)
    print("waits", flush=True)
if {started}:
    threading.Thread(target=tell).start()
    stop.wait()
    print("stops", flush=True)
print("hangs", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("started", "said", "status"), [(False, "bot_stopped_while_starting", 0), (True, "bot_cut_off", 1)]
)
def test_a_stop_ends_a_bot_that_hangs_while_it_starts_or_stops(
    number: int, started: bool, said: str, status: int
) -> None:
    command = [sys.executable, "-c", SCRIPT.format(started=started)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bot:
        assert bot.stdout is not None
        bot.stdout.readline()
        bot.send_signal(number)
        assert said in bot.stdout.read()
        assert bot.wait() == status
