"""Where a report's figures come from, and whether they fit one another. Pure: a report and the thread's steps in, what
became of each figure out."""

from __future__ import annotations

from workers.agent.provenance.consistency.amounts import Contradiction
from workers.agent.provenance.consistency.contradicting import contradicted, contradictions
from workers.agent.provenance.outputs.facts import Facts, Place
from workers.agent.provenance.outputs.thread import facts_of
from workers.agent.provenance.tracing import Provenance, Traced, trace

__all__ = [
    "Contradiction",
    "Facts",
    "Place",
    "Provenance",
    "Traced",
    "contradicted",
    "contradictions",
    "facts_of",
    "trace",
]
