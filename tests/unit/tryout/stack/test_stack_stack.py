"""What a person reads when the stack does not start in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tryout.stack.stack import wait_until_ready


def test_a_start_that_takes_too_long_names_the_process_and_its_log(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    with pytest.raises(TimeoutError) as caught:
        wait_until_ready("the worker service", lambda: False, lambda: None, log, for_s=0.0)
    told = str(caught.value)
    assert told.startswith("The worker service was not ready within 0 s. It was stopped")
    assert "start again" in told
    assert str(log) in told
