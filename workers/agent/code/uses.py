"""What a cell reads, sets and changes: names, files, and what is unknown. Pure; the code is read and never run.

Errors are possible in one direction only. A name too many makes a cell run again without need. A name too few would
leave out a needed cell. So an object counts as changed whenever a call may change it.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

from workers.agent.code.source import tree

MOST_CHARS = 100_000
"""Longer code is not read: all cells count as needed then."""
ANY = "*"
"""Stands for a file whose name the code does not spell out."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PURE = _words(
    """
    abs add_prefix add_suffix agg aggregate align all any argmax argmin argsort asfreq assign
    astype at autocorr between bfill capitalize casefold ceil center clip combine_first contains copy corr
    corrwith count cov cummax cummin cumprod cumsum cut date day describe diff div dot drop drop_duplicates
    dropna dt duplicated encode decode endswith eq equals eval ewm expanding explode extract ffill fillna filter
    find findall first flatten floor floordiv format ge get get_group group groupby groups gt head hist
    histogram hour iat idxmax idxmin iloc index info interpolate isdigit isin isna isnull isoformat items
    iteritems iterrows itertuples join keys kurt kurtosis last le len ljust loc lower lstrip lt mask match
    max mean median melt memory_usage merge min mod mode month mul name ndim ne nlargest notna notnull nsmallest
    nunique ohlc params pct_change percentile period pivot pivot_table plot pow predict prod product
    quantile query quarter rank ravel reindex removeprefix removesuffix rename rename_axis repeat replace
    resample reset_index reshape rfind rjust rolling round rsplit rstrip sample score search select_dtypes sem
    set_axis set_index shift size skew slice sort_index sort_values split splitlines squeeze stack startswith
    std str strftime strip strptime sub sum summary swapaxes swaplevel tail take title to_csv to_datetime
    to_dict to_excel to_feather to_frame to_html to_json to_latex to_list to_markdown to_numpy to_parquet
    to_period to_pydatetime to_records to_series to_string to_timestamp tolist total_seconds translate
    transpose truncate tz_convert tz_localize union unique unstack upper value_counts values var week weekday
    where year zfill intersection difference issubset issuperset isalpha isnumeric swapcase most_common day_name
    month_name normalize nonzero cumcount ngroup xs droplevel crosstab bar barh scatter savefig legend set_title
    set_xlabel set_ylabel set_xticks set_yticks set_xticklabels tick_params set_xlim set_ylim grid
    """
)
"""Methods that do not change their object, except with `inplace`. Methods that call a function are not among them."""
_CALLERS = frozenset({"apply", "map", "pipe", "transform", "applymap", "agg", "aggregate", "filter"})
_FRESH = _words(
    """
    sum mean median std var count nunique copy deepcopy corr cov quantile prod any all round idxmax idxmin
    total_seconds strftime isoformat strip lower upper tolist to_list to_string to_markdown value_counts
    describe len format agg aggregate assign crosstab drop_duplicates dropna melt merge pivot_table rename
    reset_index sort_values
    """
)
"""Methods whose result surely shares no object with theirs."""
_PURE_BUILTINS = _words(
    """
    print len sum min max abs round sorted int float str bool complex repr list tuple set dict frozenset type
    isinstance issubclass range enumerate zip reversed any all id hash format divmod pow ord chr bin hex display
    bytes hasattr query tables columns search_schema sample describe
    """
)
_BUILTINS = frozenset(dir(builtins))
_FRESH_BUILTINS = _words(
    """
    len sum int float str bool abs round repr range any all format hash
    """
)
_CHANGES_ARGUMENTS = re.compile(
    r"shuffle|heap\w+|insort\w*|fill_diagonal|copyto|put|put_along_axis|place|setattr|delattr|update|next|seed|dump"
)
_OPAQUE_CALLS = frozenset({"exec", "eval", "compile", "globals", "locals", "vars", "dir", "__import__", "get_ipython"})
_OPAQUE_MODULES = frozenset({"importlib", "__main__", "inspect", "gc", "builtins", "IPython", "code", "ctypes"})
_ITERATORS = re.compile(
    r"(.*\.)?(iter|map|filter|zip|enumerate|reversed|open|reader|DictReader|iterrows|itertuples|finditer|scandir|iterdir)"
    r"|itertools\..*"
)
_HARMLESS_CALLS = re.compile(
    r"(matplotlib\.pyplot|plt|pylab)\.(?!rc|style|set_cmap|switch_backend|ion|ioff).*"
    r"|(requests|urllib|urllib3|httpx|http|socket|smtplib|ftplib|subprocess)\..*"
    r"|seaborn\.(?!set).*|time\.sleep|sys\.std(out|err)\..*|IPython\.display\..*|warnings\.warn|gc\.collect"
)
"""Calls of a module's function, standing alone, that leave no state which another cell meets. Figures end with their
cell."""
_GLOBAL_DRAWS = re.compile(r"numpy\.random\.(?!default_rng|Generator|RandomState|SeedSequence).*|random\.(?!Random).*")
_DRAWING = frozenset({"sample", "shuffle", "train_test_split", "rvs", "permutation_importance", "resample"})
_READ_CALLS = re.compile(
    r"(read_\w+|open|load\w*|loadtxt|genfromtxt|imread|ExcelFile|fromfile|scan_\w+|reader|is_file|exists|getsize|stat)"
)
_LISTS = frozenset({"glob", "iglob", "rglob", "listdir", "iterdir", "scandir", "walk"})
_WRITE_CALLS = re.compile(
    r"(to_(csv|excel|parquet|json|pickle|html|feather|sql|latex|markdown|xml|orc|hdf|stata)|savefig|save\w*|dump|"
    r"write\w*|ExcelWriter|rename|replace|remove|unlink|rmtree|move|copy\w*|mkdir|makedirs|touch|imsave|extractall)"
)
_PROCESSES = re.compile(r"subprocess\..*|os\.(system|popen|exec\w*|spawn\w*)")
_FILE_FUNCTIONS = frozenset({"rename", "replace", "remove", "unlink", "rmtree", "move"})
_AT_NAME = re.compile(r"@([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Body:
    """What a function or class does when it is used: the names of its cell that it reads, sets and changes."""

    reads: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Uses:
    """What a cell does to names and files.

    `sets`: names that it may give a value; `surely`: those that it gives one whenever it runs to its end. `changes`:
    names whose object it may change. `links`: groups of names that may share an object from then on. `bodies`: what its
    functions do when they are called. `iterators`: names of objects that reading uses up; `generators`: functions that
    make such objects; `made_by`: (name, function that gave it its value). `ambient`: it changes something that every
    cell meets (a seed, an option). `opaque`: nothing can be said about it.
    """

    reads: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    surely: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    links: tuple[frozenset[str], ...] = ()
    bodies: Mapping[str, Body] = field(default_factory=dict)
    iterators: frozenset[str] = frozenset()
    generators: frozenset[str] = frozenset()
    made_by: tuple[tuple[str, str], ...] = ()
    files_read: frozenset[str] = frozenset()
    files_written: frozenset[str] = frozenset()
    ambient: bool = False
    opaque: bool = False


OPAQUE = Uses(opaque=True)


Modules = tuple[tuple[str, str], ...]
"""Names in the session that stand for modules and what was imported out of them, with their full names."""


@lru_cache(maxsize=512)
def functions_of(code: str) -> frozenset[str]:
    """The names of the functions and methods that this cell defines. Never raises."""
    parsed = tree(code) if len(code) <= MOST_CHARS else None
    return frozenset(_functions(parsed)) if parsed is not None else frozenset()


@lru_cache(maxsize=512)
def imports_of(code: str) -> Modules:
    """What this cell imports. Never raises."""
    parsed = tree(code) if len(code) <= MOST_CHARS else None
    return tuple(_imports(parsed).items()) if parsed is not None else ()


@lru_cache(maxsize=512)
def words_of(code: str, modules: Modules = ()) -> frozenset[str]:
    """The names of variables that this cell's texts may hold, if other cells have imported these modules: `@limit`, the
    frame of a statement, the `df` of `"df" in globals()`. Never raises."""
    parsed = tree(code) if len(code) <= MOST_CHARS else None
    known = {**dict(modules), **dict(imports_of(code))}
    return frozenset(_words_in(parsed, known)) if parsed is not None else frozenset()


@lru_cache(maxsize=512)
def uses_of(
    code: str,
    modules: Modules = (),
    functions: frozenset[str] = frozenset(),
    own: frozenset[str] = frozenset(),
    place: int = 0,
) -> Uses:
    """What this cell does, if other cells of the session have imported and defined these names. Never raises.

    `own` are names that no two cells share (`own_names`); `place` tells this cell's ones from those of the others.
    """
    parsed = tree(code) if len(code) <= MOST_CHARS else None
    if parsed is None:
        return OPAQUE
    try:
        return _Reader(parsed, dict(modules), functions, own, place).uses()
    except RecursionError:
        return OPAQUE


class _Reader:
    """Reads one cell."""

    def __init__(
        self, parsed: ast.Module, modules: Mapping[str, str], functions: frozenset[str], own: frozenset[str], place: int
    ) -> None:
        parsed = with_own_names(parsed, own, place)
        self._tree = parsed
        self._modules = {**modules, **_imports(parsed)}
        self._functions = {*functions, *_functions(parsed)}

    def uses(self) -> Uses:
        if self._is_opaque():
            return OPAQUE
        nodes = list(ast.walk(self._tree))
        written, read = self._files(nodes)
        return Uses(
            reads=frozenset(self._reads(self._tree)),
            sets=frozenset(_bound(self._tree)),
            surely=frozenset(name for one in self._tree.body for name in _surely(one)),
            changes=frozenset(self._changes(self._tree)) - self._modules.keys() - _BUILTINS,
            links=tuple(group for group in self._links(self._tree.body) if len(group) > 1),
            bodies=self._bodies(nodes),
            iterators=frozenset(self._iterators(nodes)),
            generators=frozenset(_generators(nodes)),
            made_by=tuple(_made_by(nodes)),
            files_read=read,
            files_written=written,
            ambient=any(self._is_ambient(node) for node in nodes),
        )

    # --- what cannot be told

    def _is_opaque(self) -> bool:
        looked = [call for _, call in _looks_for_names(self._tree)]
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and self._name(node.func) in _OPAQUE_CALLS and node not in looked:
                return True
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                return True
            if isinstance(node, ast.Import | ast.ImportFrom) and self._imports_hidden(node):
                return True
            if isinstance(node, ast.Attribute) and self._name(node) in ("sys.modules", "sys._getframe"):
                return True
        return False

    @staticmethod
    def _imports_hidden(node: ast.Import | ast.ImportFrom) -> bool:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        return any(name.partition(".")[0] in _OPAQUE_MODULES - {"gc", "inspect", "IPython"} for name in names)

    # --- names

    def _name(self, node: ast.AST) -> str:
        """The dotted name of an expression with the names of its imports, "" when it has none."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self._name(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""

    def _reads(self, node: ast.AST) -> Iterator[str]:
        yield from _words_in(node, self._modules)
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load | ast.Del):
                yield each.id
            elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                yield each.target.id

    def _changes(self, node: ast.AST) -> Iterator[str]:
        for each in ast.walk(node):
            if isinstance(each, ast.Subscript | ast.Attribute) and isinstance(each.ctx, ast.Store | ast.Del):
                yield from _roots(each)
            elif isinstance(each, ast.AugAssign):
                yield from _roots(each.target)
            elif isinstance(each, ast.Delete):
                yield from (name for target in each.targets for name in _roots(target))
            elif isinstance(each, ast.Call):
                yield from self._changed_by(each)

    def _changed_by(self, call: ast.Call) -> Iterator[str]:
        """The names whose objects a call may change."""
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        for keyword in call.keywords:
            if keyword.arg == "out":
                yield from _roots(keyword.value)
        called = self._name(call.func)
        if isinstance(call.func, ast.Attribute):
            root = next(iter(_roots(call.func)), "")
            if root and root in self._modules:
                if _CHANGES_ARGUMENTS.fullmatch(call.func.attr):
                    yield from (name for each in arguments for name in _roots(each))
                return
            in_place = any(k.arg == "inplace" and not _is(k.value, False) for k in call.keywords)
            is_pure = call.func.attr in _PURE and call.func.attr not in self._functions
            if in_place or not (is_pure or call.func.attr in _CALLERS):
                yield from _roots(call.func)
            if not is_pure:
                yield from (name for each in arguments for name in _roots(each))
        elif isinstance(call.func, ast.Name):
            if call.func.id in self._modules:  # a function that was imported by itself
                if _CHANGES_ARGUMENTS.fullmatch(called.rpartition(".")[2]):
                    yield from (name for each in arguments for name in _roots(each))
            elif call.func.id not in _PURE_BUILTINS or call.func.id in self._functions:
                yield from (name for each in arguments for name in _roots(each))

    def _iterators(self, nodes: list[ast.AST]) -> Iterator[str]:
        """Names of objects that reading uses up: files, generator expressions, readers in pieces."""
        for node in nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if self._is_iterator(node.value):
                    yield from (name for target in targets for name in _stored(target))
            elif isinstance(node, ast.With | ast.AsyncWith):
                yield from (name for item in node.items if item.optional_vars for name in _stored(item.optional_vars))

    def _is_iterator(self, value: ast.expr) -> bool:
        if isinstance(value, ast.GeneratorExp):
            return True
        if not isinstance(value, ast.Call):
            return False
        called = self._name(value.func) or (value.func.attr if isinstance(value.func, ast.Attribute) else "")
        pieces = any(keyword.arg in ("chunksize", "iterator") for keyword in value.keywords)
        return pieces or bool(_ITERATORS.fullmatch(called))

    # --- names that share an object

    def _links(self, statements: list[ast.stmt]) -> Iterator[frozenset[str]]:
        for node in (node for statement in statements for node in ast.walk(statement)):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if not self._is_fresh(node.value):
                    yield self._group([*targets, node.value])
            elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                yield self._group([node.target, node.iter])
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield self._given_out(node) | {node.name}
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                yield self._group([node.optional_vars, node.context_expr])
            elif isinstance(node, ast.Call) and any(True for _ in self._changed_by(node)):
                yield self._group([node])

    def _group(self, nodes: list[ast.expr]) -> frozenset[str]:
        return frozenset(
            each.id
            for node in nodes
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and each.id not in self._modules and each.id not in _PURE_BUILTINS
        )

    @staticmethod
    def _given_out(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
        """The names whose objects a function returns as they are. A call in it links them where it stands."""
        values = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value]
        return frozenset(
            name
            for value in values
            if not any(isinstance(each, ast.Call) for each in ast.walk(value))
            for name in _roots(value)
        )

    def _is_fresh(self, value: ast.expr) -> bool:
        """Whether the value surely shares no object with what it was made from."""
        match value:
            case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.BinOp() | ast.UnaryOp():
                return True
            case ast.Call(func=ast.Attribute(attr=attr) as func):
                return attr in _FRESH and attr not in self._functions and self._name(func) != "heapq.merge"
            case ast.Call(func=ast.Name(id=name)):
                return name in _FRESH_BUILTINS and name not in self._functions
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return all(self._is_fresh(item) for item in items)
            case ast.Dict(values=items):
                return all(self._is_fresh(item) for item in items)
            case _:
                return False

    # --- functions

    def _bodies(self, nodes: list[ast.AST]) -> dict[str, Body]:
        found: dict[str, Body] = {}
        for node in nodes:
            names: list[str] = []
            inside: ast.AST | None = None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names, inside = [node.name], node
            elif isinstance(node, ast.Assign) and any(isinstance(n, ast.Lambda) for n in ast.walk(node.value)):
                names, inside = [name for target in node.targets for name in _roots(target)], node.value
            if inside is None:
                continue
            told = {n for each in ast.walk(inside) if isinstance(each, ast.Global) for n in each.names}
            body = Body(
                frozenset(self._reads(inside)),
                frozenset(told),
                frozenset(self._changes(inside)) - self._modules.keys() - _BUILTINS,
            )
            for name in names:
                known = found.get(name, Body())
                found[name] = Body(known.reads | body.reads, known.sets | body.sets, known.changes | body.changes)
        return found

    # --- what every cell meets

    def _is_ambient(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = self._name(node.value.func)
            return self._is_of_module(node.value.func) and not _HARMLESS_CALLS.fullmatch(name)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            return self._is_of_module(node)
        if isinstance(node, ast.With):
            return any(self._is_of_module(item.context_expr) and not item.optional_vars for item in node.items)
        if isinstance(node, ast.Call):
            name = self._name(node.func)
            last = name.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
            seeded = any(keyword.arg == "random_state" for keyword in node.keywords)
            return bool(_GLOBAL_DRAWS.fullmatch(name)) or (last in _DRAWING and not seeded)
        return False

    def _is_of_module(self, node: ast.AST) -> bool:
        return any(root in self._modules for root in _roots(node))

    # --- files

    def _files(self, nodes: list[ast.AST]) -> tuple[frozenset[str], frozenset[str]]:
        """(written, read): the last parts of paths that the code spells out, `ANY` for others."""
        written: set[str] = set()
        read: set[str] = set()
        for call in (node for node in nodes if isinstance(node, ast.Call)):
            last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            named = {PurePath(text).name for text in _texts(call) if text.strip()}
            if _PROCESSES.fullmatch(self._name(call.func)):
                written.add(ANY)
            elif last in _LISTS:
                read.add(ANY)
            elif (last == "open" and _opens_to_write(call)) or _is_writer(last, self._name(call.func)):
                written |= named or {ANY}
            elif _READ_CALLS.fullmatch(last):
                read |= named if _spells_path(call) else {*named, ANY}
            else:
                read |= named
        # A path may be put into a variable first.
        texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        read |= {PurePath(text).name for text in texts if 0 < len(text) < 300}
        return frozenset(written), frozenset(read)


_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def with_own_names(parsed: ast.Module, own: frozenset[str] = frozenset(), place: int = 0) -> ast.Module:
    """A copy in which variables of comprehensions, locals of functions and the `own` names of the cell at this place
    have names that no other cell has: `x` of `[x for x in xs]` is no `x` of the session."""
    found = copy.deepcopy(parsed)
    _Locals(own, place).visit(found)
    return found


class _Locals(ast.NodeVisitor):
    def __init__(self, own: frozenset[str], place: int) -> None:
        self._names = {name: f"{name} in {place}" for name in own}
        self._place = place
        self._scopes = 0

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self._names.get(node.id, node.id)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        with self._scope(self._parameters(node.args)):
            self.visit(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outside in (*node.decorator_list, *([node.returns] if node.returns else [])):
            self.visit(outside)
        inside = [each for statement in node.body for each in ast.walk(statement)]
        told = {name for each in inside if isinstance(each, ast.Global | ast.Nonlocal) for name in each.names}
        own = {name for statement in node.body for name in _own_of(statement)}
        with self._scope((*self._parameters(node.args), *(own - told))):
            for statement in node.body:
                self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _parameters(self, given: ast.arguments) -> list[str]:
        """The names of the parameters, after a visit to what stands outside of the function."""
        several = [each for each in (given.vararg, given.kwarg) if each is not None]
        named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]
        for outside in (*given.defaults, *given.kw_defaults, *(each.annotation for each in named)):
            if outside is not None:
                self.visit(outside)
        return [each.arg for each in named]

    def visit_ListComp(self, node: _Comprehension) -> None:
        first = node.generators[0]
        self.visit(first.iter)  # outside of the comprehension: `[x for x in x]`
        with self._scope(name for each in node.generators for name in _stored(each.target)):
            for each in node.generators:
                for inside in (each.target, *(() if each is first else (each.iter,)), *each.ifs):
                    self.visit(inside)
            for made in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
                self.visit(made)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    @contextmanager
    def _scope(self, names: Iterable[str]) -> Iterator[None]:
        outside = self._names
        self._scopes += 1
        self._names = outside | {name: f"{name} of {self._scopes} in {self._place}" for name in names}
        yield
        self._names = outside


def _words_in(node: ast.AST, modules: Mapping[str, str]) -> Iterator[str]:
    yield from (name for name, _ in _looks_for_names(node))
    asks_duckdb = any(full.partition(".")[0] == "duckdb" for full in modules.values())
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield from _AT_NAME.findall(each.value)  # DataFrame.query("x > @limit")
            if asks_duckdb:  # it finds frames by the names in the statement
                yield from _WORD.findall(each.value[:20_000])


def _looks_for_names(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The names whose being there is asked for, as in `"df" in globals()`, each with that call."""
    for each in ast.walk(node):
        match each:
            case ast.Compare(
                left=ast.Constant(value=str(name)),
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Call(func=ast.Name(id="globals" | "locals" | "vars" | "dir"), args=[]) as call],
            ):
                yield name, call
            case _:
                pass


def _functions(parsed: ast.Module) -> Iterator[str]:
    return (node.name for node in ast.walk(parsed) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _generators(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(node)):
            yield node.name


def _made_by(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(call := node.value, ast.Call)
            and isinstance(call.func, ast.Name)
        ):
            yield from ((name, call.func.id) for target in node.targets for name in _stored(target))


def _is_writer(last: str, name: str) -> bool:
    if last in _FILE_FUNCTIONS or last.startswith("copy"):
        return name.startswith(("os.", "shutil.")) or last in ("unlink", "rmtree")
    return bool(_WRITE_CALLS.fullmatch(last))


def _opens_to_write(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return any(not isinstance(mode, ast.Constant) or set(str(mode.value)) & set("wax+") for mode in modes)


def _spells_path(call: ast.Call) -> bool:
    """Whether a call that reads a file names it: `open("a.txt")`, `Path("a.txt").read_text()`."""
    first = call.args[0] if call.args else None
    if first is None and isinstance(call.func, ast.Attribute) and isinstance(made := call.func.value, ast.Call):
        first = made.args[0] if len(made.args) == 1 else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str)


def _texts(call: ast.Call) -> Iterator[str]:
    """The texts that are arguments of a call, its object included: `Path("a.txt").write_text(…)`."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Attribute):
        values = [*values, call.func.value]
    for node in (node for value in values for node in ast.walk(value)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) < 300:
            yield node.value


def _imports(parsed: ast.Module) -> dict[str, str]:
    """The names of modules and of what was imported out of them, with their full names."""
    found: dict[str, str] = {}
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
    return found


def _roots(node: ast.AST) -> Iterator[str]:
    """The names that an expression begins with: `a` of `a.b[c].d()`; of a tuple, those of its parts."""
    while True:
        match node:
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
                node = value
            case ast.Call(func=func):
                node = func
            case ast.Name(id=name):
                yield name
                return
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                for item in items:
                    yield from _roots(item)
                return
            case ast.Dict(values=items):
                for item in items:
                    yield from _roots(item)
                return
            case ast.IfExp(body=body, orelse=other):
                yield from _roots(body)
                yield from _roots(other)
                return
            case _:
                return


def _stored(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _own_of(node: ast.AST) -> Iterator[str]:
    """The variables that a statement sets in its function. What functions and comprehensions in it set is theirs."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, _Comprehension):
        yield from (each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
    elif not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _own_of(child)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that code may give a value in the session. Locals of functions are not included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).partition(".")[0]
        elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and child.name:
            yield child.name
        elif isinstance(child, ast.MatchMapping) and child.rest:
            yield child.rest
        if not isinstance(child, _SCOPES):
            yield from _bound(child)


def _surely(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value whenever it runs."""
    match statement:
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in plain_names(target))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case _:
            return


def plain_names(target: ast.AST) -> Iterator[str]:
    """The names that an assignment gives a value: those of `a`, `a, b` and `*a`, not of `a[0]` or `a.b`."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from plain_names(item)
        case ast.Starred(value=value):
            yield from plain_names(value)
        case _:
            return


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
