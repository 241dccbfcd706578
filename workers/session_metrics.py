"""What a session host counted of its sessions, as Prometheus takes it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from executor.tally import Tally


class SessionMetrics(Collector):
    """Shows the tally it was given last. A session host that is started again begins at zero, as counters may."""

    def __init__(self) -> None:
        self.tally = Tally()

    def collect(self) -> Iterator[Metric]:
        """Starts, evictions, restores and lifetimes."""
        tally = self.tally
        yield CounterMetricFamily("threadbook_sessions_started", "Sessions that began.", value=tally.started)
        evictions = CounterMetricFamily("threadbook_evictions", "Sessions put to rest, by cause.", labels=["cause"])
        for cause, count in (("idle", tally.idle), ("memory", tally.memory)):
            evictions.add_metric([cause], count)
        yield evictions
        restores = CounterMetricFamily("threadbook_restores", "Kept variables put back, by result.", labels=["result"])
        for result, count in (("ok", tally.restored), ("failed", tally.not_restored)):
            restores.add_metric([result], count)
        yield restores
        yield SummaryMetricFamily(
            "threadbook_session_seconds", "How long sessions lived.", count_value=tally.ended, sum_value=tally.lived_s
        )
