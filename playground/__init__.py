"""A local Slack: Web API, Socket Mode and a web page. Imports nothing of ours, so it can be as strict as Slack."""

from playground.options import Options
from playground.samples import Sample, sample_from
from playground.server import Address, running, serve

__all__ = ["Address", "Options", "Sample", "running", "sample_from", "serve"]
