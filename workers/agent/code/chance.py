"""What code does differently each time: drawing numbers without a seed, and looking at the clock. Pure."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from workers.agent.code.source import tree
from workers.agent.code.uses import MOST_CHARS, imports_of

_PYTHONS_DRAWS = re.compile(r"random\.(?!Random|seed|getstate|setstate).*|secrets\..*|uuid\.uuid[14]|os\.urandom")
_NUMPYS_DRAWS = re.compile(r"numpy\.random\.(?!seed|Generator|RandomState|SeedSequence|default_rng).*")
_OWN_GENERATORS = re.compile(r"numpy\.random\.(default_rng|RandomState|SeedSequence)|random\.Random")
_WITH_STATE = re.compile(
    r"sample|shuffle|train_test_split|resample|rvs|KMeans|MiniBatchKMeans|GaussianMixture|TSNE|UMAP|ShuffleSplit|"
    r"StratifiedShuffleSplit|permutation_importance|MLP\w+|RandomForest\w+|ExtraTrees\w+|GradientBoosting\w+|"
    r"HistGradientBoosting\w+|IsolationForest|NMF|SGD\w+|DecisionTree\w+|Bagging\w+|AdaBoost\w+"
)
_SURE_PYTHON = re.compile(
    r"random\.(random|randint|randrange|uniform|choice|choices|sample|shuffle|gauss|normalvariate|triangular|"
    r"betavariate|expovariate|gammavariate|lognormvariate)"
)
_SURE_NUMPY = re.compile(
    r"numpy\.random\.(rand|randn|randint|random|random_sample|choice|shuffle|permutation|normal|uniform|"
    r"standard_normal|poisson|binomial|exponential|gamma|beta|lognormal|multivariate_normal|triangular)"
)
_SURE_SCIKIT = re.compile(
    r"sklearn\.([\w.]+\.)?(train_test_split|shuffle|resample|KMeans|MiniBatchKMeans|GaussianMixture|TSNE|"
    r"ShuffleSplit|StratifiedShuffleSplit|permutation_importance|MLP\w+|RandomForest\w+|ExtraTrees\w+|IsolationForest)"
)
_PANDAS_TABLE = re.compile(r"pandas\.(read_\w+|DataFrame)")
_SAMPLE = frozenset({"n", "frac", "replace", "weights", "axis", "ignore_index"})
"""The parameters of a table's `sample`, but for its `random_state`."""
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


def surely_draws(codes: Iterable[str]) -> bool:
    """The same, where no doubt is left: each run of these cells draws other numbers.

    A name counts only if it was imported and is nothing else, `sample` only on a table that pandas made, or with the
    names of its parameters. What a function does counts only if something uses the function.
    """
    found: set[str] = set()
    seeded: set[str] = set()
    codes = [code for code in codes if len(code) <= MOST_CHARS]
    trees = [parsed for code in codes if (parsed := tree(code)) is not None]
    nodes = [node for parsed in trees for node in ast.walk(parsed)]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    known = {name: full for code in codes for name, full in imports_of(code) if name not in bound}
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    tables = _tables(nodes, known)
    for call in (call for parsed in trees for call in _carried_out(parsed, used)):
        name = _imported(call.func, known)
        if name in ("random.seed", "numpy.random.seed") and call.args:
            seeded.add(name.partition(".")[0])
        elif any(keyword.arg is None for keyword in call.keywords):
            continue
        elif _OWN_GENERATORS.fullmatch(name):
            if not call.args and not _has_state(call):
                found.add("own")
        elif _SURE_NUMPY.fullmatch(name) or _samples(call, tables) or _is_unseeded(name, call):
            found.add("numpy")
        elif _SURE_PYTHON.fullmatch(name):
            found.add("random")
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


def _carried_out(parsed: ast.Module, used: Collection[str]) -> Iterable[ast.Call]:
    """The calls of a cell, without those in functions that nothing uses."""
    waiting: list[ast.AST] = [parsed]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name not in used:
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting.extend(ast.iter_child_nodes(node))


def _imported(node: ast.AST, known: Mapping[str, str]) -> str:
    """The full name of what is called; "" if its first part was not imported."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return _name(node, known) if isinstance(root, ast.Name) and root.id in known else ""


def _tables(nodes: Iterable[ast.AST], known: Mapping[str, str]) -> set[str]:
    """The names that hold a table of pandas, and nothing else."""
    tables: set[str] = set()
    other: set[str] = set()
    counted: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counted[node.id] += 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            made = isinstance(node.value, ast.Call) and _PANDAS_TABLE.fullmatch(_imported(node.value.func, known))
            if made:
                counted[node.targets[0].id] -= 1
            (tables if made else other).add(node.targets[0].id)
    return {name for name in tables - other if not counted[name]}


def _samples(call: ast.Call, tables: Collection[str]) -> bool:
    """Whether this is a table's `sample` without a state: no other object has one with these parameters."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "sample" and len(call.args) <= 1):
        return False
    given = {keyword.arg for keyword in call.keywords if keyword.arg is not None}
    if given - _SAMPLE - {"random_state"} or _has_state(call):
        return False
    of_a_table = isinstance(call.func.value, ast.Name) and call.func.value.id in tables
    return of_a_table or ("frac" in given and not call.args)


def _is_unseeded(name: str, call: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    shuffles = given.get("shuffle")
    keeps_order = isinstance(shuffles, ast.Constant) and shuffles.value is False
    return bool(_SURE_SCIKIT.fullmatch(name)) and not _has_state(call) and not keeps_order
