"""What code does differently each time: drawing numbers without a seed, and looking at the clock. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from workers.agent.source import tree
from workers.agent.uses import MOST_CHARS, imports_of

_PYTHONS_DRAWS = re.compile(r"random\.(?!Random|seed|getstate|setstate).*|secrets\..*|uuid\.uuid[14]|os\.urandom")
_NUMPYS_DRAWS = re.compile(r"numpy\.random\.(?!seed|Generator|RandomState|SeedSequence|default_rng).*")
_OWN_GENERATORS = re.compile(r"numpy\.random\.(default_rng|RandomState|SeedSequence)|random\.Random")
_WITH_STATE = re.compile(
    r"sample|shuffle|train_test_split|resample|rvs|KMeans|MiniBatchKMeans|GaussianMixture|TSNE|UMAP|ShuffleSplit|"
    r"StratifiedShuffleSplit|permutation_importance|MLP\w+|RandomForest\w+|ExtraTrees\w+|GradientBoosting\w+|"
    r"HistGradientBoosting\w+|IsolationForest|NMF|SGD\w+|DecisionTree\w+|Bagging\w+|AdaBoost\w+"
)
_STATES = frozenset({"random_state", "seed", "rng"})
_CLOCK = re.compile(
    r"(datetime\.)?(datetime|date)\.(now|today|utcnow)|time\.((time|monotonic|perf_counter|process_time)(_ns)?|"
    r"localtime|gmtime|strftime|ctime)|(pandas\.)?Timestamp\.(now|today|utcnow)"
)
_NOW = frozenset({"now", "today"})


def draws(codes: Iterable[str]) -> bool:
    """Whether these cells of one session draw random numbers without a fixed seed."""
    found: set[str] = set()
    seeded: set[str] = set()
    for name, call in _calls(codes):
        last = name.rpartition(".")[2]
        if name in ("random.seed", "numpy.random.seed") and call.args:
            seeded.add(name.partition(".")[0])
        elif _OWN_GENERATORS.fullmatch(name) and not call.args and not _has_state(call):
            found.add("own")
        elif _NUMPYS_DRAWS.fullmatch(name) or (_WITH_STATE.fullmatch(last) and not _has_state(call)):
            found.add("random" if name.startswith("random.") else "numpy")
        elif _PYTHONS_DRAWS.fullmatch(name):
            found.add("random" if name.startswith("random.") else "own")
    return bool(found - seeded)


def reads_clock(codes: Iterable[str]) -> bool:
    """Whether these cells look at the clock."""
    return any(
        _CLOCK.fullmatch(name)
        or (name.endswith("to_datetime") and any(isinstance(a, ast.Constant) and a.value in _NOW for a in call.args))
        for name, call in _calls(codes)
    )


def _has_state(call: ast.Call) -> bool:
    return any(
        keyword.arg in _STATES and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
        for keyword in call.keywords
    )


def _calls(codes: Iterable[str]) -> Iterable[tuple[str, ast.Call]]:
    codes = [code for code in codes if len(code) <= MOST_CHARS]
    known = {name: full for code in codes for name, full in imports_of(code)}
    for code in codes:
        parsed = tree(code)
        for node in ast.walk(parsed) if parsed else ():
            if isinstance(node, ast.Call):
                yield _name(node.func, known), node


def _name(node: ast.AST, known: Mapping[str, str]) -> str:
    if isinstance(node, ast.Name):
        return known.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value, known)}.{node.attr}"
    return ""
