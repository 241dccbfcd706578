"""The counters of a session host, as Prometheus metrics."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from executor.counters import Counters


class SessionMetrics(Collector):
    """Shows the counters it was given last. A session host that is started again begins at zero, as counters may."""

    def __init__(self) -> None:
        self.counters = Counters()

    def collect(self) -> Iterator[Metric]:
        """Starts, evictions, restores and lifetimes."""
        counters = self.counters
        yield CounterMetricFamily("threadbook_sessions_started", "Sessions that began.", value=counters.started)
        evictions = CounterMetricFamily("threadbook_evictions", "Sessions put to rest, by cause.", labels=["cause"])
        for cause, count in (("idle", counters.idle), ("memory", counters.memory)):
            evictions.add_metric([cause], count)
        yield evictions
        restores = CounterMetricFamily("threadbook_restores", "Kept variables put back, by result.", labels=["result"])
        for result, count in (("ok", counters.restored), ("failed", counters.not_restored)):
            restores.add_metric([result], count)
        yield restores
        yield SummaryMetricFamily(
            "threadbook_session_seconds",
            "How long sessions lived.",
            count_value=counters.ended,
            sum_value=counters.lived_s,
        )
