"""How many questions of our own suite are answered right: by the offline analyst, and with a key by the model as well.

Right, declined and confidently wrong are counted apart. The offline analyst may decline; it must never be wrong.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bench.suite.__main__ import write
from core.settings import load_settings
from tryout.evals.results import read_results, summary
from tryout.evals.run import Options, run


def measure() -> dict[str, Any]:
    """Ask everything; print and return the counts by outcome, the interval, and the names of what was wrong."""
    settings = load_settings()
    has_endpoint = settings.openai_api_key is not None or bool(settings.openai_base_url)
    with tempfile.TemporaryDirectory() as folder:
        suite = write(Path(folder) / "suite")
        return {
            model: _measured(suite, model, Path(folder) / f"run-{place}")
            for place, model in enumerate(["offline", *([settings.openai_model] if has_endpoint else [])])
        }


def _measured(suite: Path, model: str, out: Path) -> dict[str, Any]:
    run(load_settings(), suite, Options(model=model, at_once=2, out=out))
    results = read_results(out / "results.jsonl")
    counted = summary(results)
    wrong = sorted(result.id for result in results if result.outcome == "wrong")
    print(f"{model}: {counted.accuracy:.1%} right, {len(wrong)} confidently wrong: {', '.join(wrong) or 'none'}")
    return {
        "questions": counted.questions,
        "outcomes": counted.outcomes,
        "accuracy": round(counted.accuracy, 4),
        "interval_95": [round(counted.low, 4), round(counted.high, 4)],
        "wrong": wrong,
        "by_tag": {tag: list(pair) for tag, pair in counted.by_tag.items()},
    }
