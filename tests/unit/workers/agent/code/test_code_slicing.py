"""A slice has every cell that a result needs: in doubt too many, never too few."""

from __future__ import annotations

import contextlib
import decimal
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workers.agent.code.slicing import slice_cells, uses_in
from workers.agent.code.uses import MOST_CHARS, uses_of

ALL = "all"
"""Every cell up to the wanted one."""

CASES: dict[str, tuple[list[str], str]] = {
    # name: (cells, the places that the last one needs, from 1)
    "a value": (["x = 1", "y = 2", "print(x)"], "1 3"),
    "a chain": (["a = 1", "b = a + 1", "c = 5", "print(b)"], "1 2 4"),
    "nothing": (["x = 1", "print(2)"], "2"),
    "a value that was set anew": (["x = 1", "x = 2", "print(x)"], "2 3"),
    "a value that is counted up": (["x = 1", "x += 1", "print(x)"], "1 2 3"),
    "a value that was made from itself": (["x = 1", "x = x + 1", "print(x)"], "1 2 3"),
    "set in a condition": (["x = 1", "if len('ab') > 5:\n    x = 2", "print(x)"], "1 2 3"),
    "set in a loop": (["x = 1", "for x in range(3):\n    pass", "print(x)"], "1 2 3"),
    "set in a try": (["x = 1", "try:\n    x = int('a')\nexcept ValueError:\n    pass", "print(x)"], "1 2 3"),
    "set in a with": (["import contextlib", "with contextlib.suppress(KeyError):\n    x = 1", "print(x)"], "1 2 3"),
    "set by a walrus": (["if (n := 4) > 2:\n    pass", "m = 1", "print(n)"], "1 3"),
    "set by unpacking": (["a, (b, *c) = 1, (2, 3)", "d = 4", "print(c)"], "1 3"),
    "set with a type": (["x: int = 4", "y: int", "print(x)"], "1 3"),
    "an unpacking that sets it anew": (["x = 1", "x, y = 3, 4", "print(x)"], "2 3"),
    "a list that grows": (["x = []", "x.append(1)", "y = [2]", "print(x)"], "1 2 4"),
    "a list that is only read": (["x = [1]", "print(len(x))", "x.index(1)", "print(x)"], "1 4"),
    "an item that is set": (["d = {}", "d['a'] = 1", "e = {}", "print(d)"], "1 2 4"),
    "an item that is deleted": (["d = {'a': 1}", "del d['a']", "print(d)"], "1 2 3"),
    "an attribute that is set": (["class A:\n    n = 1", "A.n = 2", "print(A.n)"], "1 2 3"),
    "a slice that is set": (["x = [1, 2]", "x[:1] = [5]", "print(x)"], "1 2 3"),
    "an item in an item": (["d = {'a': {}}", "d['a']['b'] = 1", "print(d)"], "1 2 3"),
    "a name that was deleted": (["x = 1", "del x", "print('x' in dir())"], ALL),
    "an alias that is changed": (["x = [1]", "y = x", "y.append(2)", "print(x)"], "1 2 3 4"),
    "an alias of an alias": (["x = [1]", "y = x", "z = y", "z.append(2)", "print(x)"], "1 2 3 4 5"),
    "an alias in a container": (["x = [1]", "box = {'x': x}", "box['x'].append(2)", "print(x)"], "1 2 3 4"),
    "an alias by a method": (["x = [1]", "box = []", "box.append(x)", "box[0].append(2)", "print(x)"], "1 2 3 4 5"),
    "an alias in a loop": (["xs = [[1], [2]]", "for x in xs:\n    x.append(0)", "print(xs)"], "1 2 3"),
    "an alias by a choice": (["x = [1]", "y = x or []", "y.append(2)", "print(x)"], "1 2 3 4"),
    "an alias that is made later": (["x = [1]", "x.append(2)", "y = x", "print(y)"], "1 2 3 4"),
    "an alias that is counted up": (["x = [1]", "y = x", "y += [2]", "print(x)"], "1 2 3 4"),
    "a copy that is changed": (["x = [1]", "y = x.copy()", "y.append(2)", "print(x)"], "1 4"),
    "a sum that is changed": (["x = [1]", "y = sum(x)", "y += 1", "print(x)"], "1 4"),
    "a function": (["def f():\n    return 1", "x = 2", "print(f())"], "1 3"),
    "a function that reads a global": (["rate = 2", "def f(x):\n    return x * rate", "y = 1", "print(f(1))"], "1 2 4"),
    "a global that is set after the function": (
        ["def f(x):\n    return x * rate", "rate = 2", "y = 1", "print(f(1))"],
        "1 2 4",
    ),
    "a global that is set anew after the function": (
        ["rate = 1", "def f(x):\n    return x * rate", "rate = 2", "print(f(1))"],
        "1 2 3 4",
    ),
    "a function that calls a function": (
        ["k = 3", "def g():\n    return k", "def f():\n    return g()", "print(f())"],
        "1 2 3 4",
    ),
    "a function that is used by another cell": (
        ["k = 3", "def g():\n    return k", "v = g()", "w = 1", "print(v)"],
        "1 2 3 5",
    ),
    "a function that sets a global": (
        ["n = 0", "def up():\n    global n\n    n += 1", "up()", "print(n)"],
        "1 2 3 4",
    ),
    "a function that changes a global": (
        ["xs = []", "def add(v):\n    xs.append(v)", "add(1)", "print(xs)"],
        "1 2 3 4",
    ),
    "a function that changes what it is given": (
        ["def add(v):\n    v.append(1)", "xs = []", "add(xs)", "print(xs)"],
        "1 2 3 4",
    ),
    "a function under another name": (
        ["xs = []", "def add(v):\n    xs.append(v)", "put = add", "put(1)", "print(xs)"],
        "1 2 3 4 5",
    ),
    "a function that was defined anew": (
        ["def f():\n    return 1", "def f():\n    return 2", "print(f())"],
        "2 3",
    ),
    "a lambda that reads a global": (["k = 2", "f = lambda x: x * k", "k = 3", "print(f(1))"], "1 2 3 4"),
    "a partial function": (
        ["from functools import partial", "def f(a, b):\n    return a + b", "g = partial(f, 1)", "print(g(2))"],
        "1 2 3 4",
    ),
    "a decorator": (
        ["def twice(f):\n    return lambda: f() * 2", "@twice\ndef g():\n    return 4", "print(g())"],
        "1 2 3",
    ),
    "a default that was computed": (["k = 7", "def f(x=k):\n    return x", "k = 8", "print(f())"], "1 2 3 4"),
    "a class that reads a global": (
        ["k = 2", "class A:\n    def go(self):\n        return k", "a = A()", "print(a.go())"],
        "1 2 3 4",
    ),
    "an object that changes itself": (
        [
            "class A:\n    n = 0\n    def go(self):\n        self.n += 1",
            "a = A()",
            "a.go()",
            "b = 1",
            "print(a.n)",
        ],
        "1 2 3 5",
    ),
    "an object whose method is called like a harmless one": (
        [
            "class A:\n    n = 0\n    def count(self):\n        self.n += 1",
            "a = A()",
            "a.count()",
            "b = 1",
            "print(a.n)",
        ],
        "1 2 3 5",
    ),
    "a subclass": (["class A:\n    n = 4", "class B(A):\n    pass", "print(B.n)"], "1 2 3"),
    "a generator that is used up": (
        ["def g():\n    yield 1\n    yield 2", "it = g()", "first = list(it)[:1]", "print(list(it))"],
        "1 2 3 4",
    ),
    "an iterator that is used up": (["it = iter([1, 2, 3])", "a = next(it)", "print(list(it))"], "1 2 3"),
    "a generator expression that is used up": (
        ["it = (n for n in [1, 2])", "total = sum(it)", "print(sum(it))"],
        "1 2 3",
    ),
    "an import": (["import math", "import json", "print(math.pi)"], "1 3"),
    "an import under another name": (["import math as m", "x = 1", "print(m.pi)"], "1 3"),
    "an import from": (["from math import pi, tau", "x = 1", "print(tau)"], "1 3"),
    "an import that is never used": (["import math", "x = 1", "print(x)"], "2 3"),
    "an import of a submodule": (["import os.path", "x = 1", "print(os.path.join('a', 'b'))"], "1 3"),
    "an import inside a function": (["def f():\n    import math\n    return math.pi", "x = 1", "print(f())"], "1 3"),
    "an import of all": (["from math import *", "x = 1", "print(pi)"], ALL),
    "a seed": (["import random", "random.seed(4)", "x = 1", "print(random.random())"], "1 2 4"),
    "a draw between": (
        ["import random\nrandom.seed(4)", "a = random.random()", "x = 1", "print(random.random())"],
        "1 2 4",
    ),
    "a seed of numpy": (
        ["import numpy as np", "np.random.seed(1)", "y = 1", "print(np.random.rand() < 2)"],
        "1 2 4",
    ),
    "a generator of its own": (
        ["import numpy as np", "rng = np.random.default_rng(1)", "y = 1", "a = rng.random()", "print(rng.random())"],
        "1 2 4 5",
    ),
    "an option": (
        ["import decimal", "decimal.getcontext().prec = 4", "x = 1", "print(decimal.Decimal(1) / 3)"],
        "1 2 4",
    ),
    "an option that is called": (
        ["import decimal", "decimal.setcontext(decimal.Context(prec=4))", "x = 1", "print(decimal.Decimal(1) / 3)"],
        "1 2 4",
    ),
    "an environment variable": (
        ["import os", "os.environ['SLICE_TEST'] = 'a'", "x = 1", "print(os.environ.get('SLICE_TEST'))"],
        "1 2 4",
    ),
    "a shuffle": (
        ["import random\nrandom.seed(1)", "xs = [1, 2, 3]", "random.shuffle(xs)", "print(xs)"],
        "1 2 3 4",
    ),
    "a heap": (["import heapq", "h = [3]", "heapq.heappush(h, 1)", "z = 1", "print(h)"], "1 2 3 5"),
    "a file": (
        ["open('a.txt', 'w').write('1')", "open('b.txt', 'w').write('2')", "print(open('a.txt').read())"],
        "1 3",
    ),
    "a file by a path": (
        [
            "from pathlib import Path",
            "Path('a.txt').write_text('1')",
            "x = 1",
            "print(Path('a.txt').read_text())",
        ],
        "1 2 4",
    ),
    "a file by a name in a variable": (
        ["name = 'a.txt'", "open(name, 'w').write('1')", "x = 1", "print(open(name).read())"],
        "1 2 4",
    ),
    "a file that is made from parts": (
        ["open('a.txt', 'w').write('1')", "stem = 'a'", "print(open(stem + '.txt').read())"],
        "1 2 3",
    ),
    "files that are listed": (
        ["open('a.txt', 'w').write('1')", "import os", "x = 1", "print(sorted(os.listdir()))"],
        "1 2 4",
    ),
    "a file that is written twice": (
        ["open('a.txt', 'w').write('1')", "open('a.txt', 'a').write('2')", "print(open('a.txt').read())"],
        "1 2 3",
    ),
    "a file that is renamed": (
        ["open('a.txt', 'w').write('1')", "import os", "os.rename('a.txt', 'c.txt')", "print(open('c.txt').read())"],
        "1 2 3 4",
    ),
    "a file that is opened by with": (
        ["with open('a.txt', 'w') as f:\n    f.write('1')", "x = 1", "with open('a.txt') as f:\n    print(f.read())"],
        "1 3",
    ),
    "exec": (["exec('x = 4')", "y = 1", "print(x)"], ALL),
    "eval": (["x = 4", "y = 1", "print(eval('x'))"], ALL),
    "globals": (["x = 4", "y = 1", "print(globals()['x'])"], ALL),
    "a look for a name": (["x = 4", "y = 1", "if 'x' in globals():\n    print('there')"], "1 3"),
    "a look for a name that is gone": (["x = 4", "del x", "print('x' not in globals())"], "1 2 3"),
    "exec after the result": (["x = 4", "y = 1", "print(x)", "exec('y = 2')"], "1 3"),
    "an import by name": (["import importlib", "m = importlib.import_module('math')", "y = 1", "print(m.pi)"], ALL),
    "code that cannot be read": (["x = 4", "y = (", "print(x)"], ALL),
    "magic": (["x = 4", "%time y = 1", "print(x)"], ALL),
    "a shell escape": (["x = 4", "!ls", "print(x)"], ALL),
    "a name that each cell has for itself": (
        [
            "a = [1]\nfor i in a:\n    a.append(i) if i < 0 else None",
            "b = [2]\nfor i in b:\n    b.append(i) if i < 0 else None",
            "b.append(3)",
            "print(a)",
        ],
        "1 4",
    ),
    "an import that two cells make": (["from math import pi as p", "x = 1", "from math import e as p\nprint(p)"], "3"),
    "a name that a cell sets before it reads it": (["n = 1", "print(n)", "n = 2\nprint(n)"], "3"),
    "a name that a cell reads before it sets it": (["n = 1", "x = 2", "print(n)\nn = 2"], "1 3"),
    "a name of a loop that is read behind it": (
        ["i = 0\na = [1]", "for i in a:\n    pass", "print(i, a)"],
        "1 2 3",
    ),
    "a name of a loop that may not run": (["a = []", "i = 7", "for i in a:\n    pass\nprint(i)"], "1 2 3"),
    "a name that one cell reads first": (["n = [1]", "m = n\nn = [2]", "m.append(3)", "n = [4]\nprint(m)"], "1 2 3 4"),
    "a name that a condition may set": (["n = 1", "if n > 5:\n    k = 2", "k = 3\nprint(k)"], "3"),
    "a name that a function reads": (["k = 1\ndef f():\n    return k", "k = 5\nk += 1", "k = 7\nprint(f())"], "1 2 3"),
    "a local of a function": (
        ["n = [1]", "def f(a):\n    n = [a]\n    n.append(2)\n    return n", "print(f(1))"],
        "2 3",
    ),
    "a name that a lambda reads later": (["k = 1\nf = lambda: k", "k = 2", "print(f())"], "1 2 3"),
    "a parameter of a function": (["n = [1]", "def f(n):\n    return len(n)", "print(f([2]))"], "2 3"),
    "a local of one function and a global of another": (
        ["n = [1]", "def f():\n    n = 2\n    def g():\n        global n\n        n = [3]\n    g()", "f()", "print(n)"],
        "1 2 3 4",
    ),
    "a default that is named as the parameter": (
        ["k = 7", "y = 1", "def f(k=k):\n    return k", "print(f())"],
        "1 3 4",
    ),
    "an alias through a name of its own": (["a = [1]", "t = a\nt.append(2)", "t = [0]\nprint(a)"], "1 2 3"),
    "a comprehension": (["xs = [1]", "n = 3", "print([n for n in xs])"], "1 3"),
    "a comprehension that sets a name of its own": (["n = 3", "xs = [n for n in [1, 2]]", "print(n)"], "1 3"),
    "a comprehension over what has the name of its variable": (["x = [1]", "y = 2", "print([x for x in x])"], "1 3"),
    "a comprehension in a comprehension": (
        ["xs = [[1]]", "k = 2", "row = 3", "print([n * k for row in xs for n in row if [n for n in row]])"],
        "1 2 4",
    ),
    "a dictionary made by a comprehension": (["v = 2", "k = 3", "print({k: v for k in [1]})"], "1 3"),
    "a variable of a comprehension in a function that reads a global": (
        ["k = 1", "y = 2", "def f():\n    return [k for k in [5]] + [k]", "print(f())"],
        "1 3 4",
    ),
    "a variable of a function in a function that reads a global": (
        ["k = 1", "y = 2", "def f():\n    def g():\n        k = 5\n        return k\n    return g() + k", "print(f())"],
        "1 3 4",
    ),
    "an attribute of a class in a function that reads a global": (
        ["k = 1", "y = 2", "def f():\n    class A:\n        k = 5\n    return A.k + k", "print(f())"],
        "1 3 4",
    ),
    "a name that an error may leave as it was": (
        ["import contextlib", "x = 1", "y = 2", "with contextlib.suppress(ValueError):\n    x = int('a')\nprint(x)"],
        "1 2 4",
    ),
    "a name that is set while a file is open": (
        ["open('a.txt', 'w').write('7')", "x = 1", "with open('a.txt') as f:\n    x = f.read()\nprint(x)"],
        "1 3",
    ),
    "a method of the thread that has the name of one that copies": (
        [
            "class A:\n    def merge(self, n):\n        self.n = n\n        return self",
            "a = A()",
            "b = a.merge(1)",
            "b.n = 2",
            "print(a.n)",
        ],
        "1 2 3 4 5",
    ),
    "a walrus in a comprehension": (["last = 0", "xs = [(last := n) for n in [1, 2]]", "print(last)"], "1 2 3"),
    "what a comprehension changes": (["xs = [[1]]", "_ = [n.append(2) for n in xs]", "print(xs)"], "1 2 3"),
    "what a comprehension over several names changes": (
        ["x = [1]", "y = [2]", "_ = [n.append(3) for n in (x, y)]", "print(x)"],
        "1 2 3 4",
    ),
    "what a function gives out and a later cell changes": (
        ["x = [1]", "def get():\n    return x", "y = get()\ny.append(2)", "z = 1", "print(x)"],
        "1 2 3 5",
    ),
    "a parameter of a lambda": (["x = 3", "xs = [2, 1]", "print(sorted(xs, key=lambda x: -x))"], "2 3"),
    "a default of a lambda": (["x = 3", "y = 1", "print((lambda x=x: x)())"], "1 3"),
    "what a lambda changes": (["xs = [[1]]", "f = lambda n: n.append(2)", "f(xs[0])", "print(xs)"], "1 2 3 4"),
    "a formatted text": (["x = 1", "y = 2", "print(f'{x:>4}')"], "1 3"),
    "a builtin that was replaced": (["len = lambda x: 7", "y = 1", "print(len([]))"], "1 3"),
    "a global read in a comprehension of a function": (
        ["k = 2", "def f(xs):\n    return [x * k for x in xs]", "z = 0", "print(f([1]))"],
        "1 2 4",
    ),
    "a match": (["x = 4", "match x:\n    case int(n):\n        pass", "y = 1", "print(n)"], "1 2 4"),
    "setattr": (["class A:\n    pass", "a = A()", "setattr(a, 'n', 3)", "print(a.n)"], "1 2 3 4"),
    "the value of an error": (
        ["try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    why = str(e)", "x = 1", "print(why)"],
        "1 3",
    ),
}

PANDAS: dict[str, tuple[list[str], str]] = {
    "a frame": (["df = pd.DataFrame({'a': [1, 2]})", "other = 1", "print(df.a.sum())"], "1 3"),
    "a look at a frame": (
        ["df = pd.DataFrame({'a': [1, 2]})", "df.head()", "df.describe()", "print(df.a.sum())"],
        "1 4",
    ),
    "a column": (["df = pd.DataFrame({'a': [1, 2]})", "df['b'] = df.a * 2", "x = 1", "print(df.b.sum())"], "1 2 4"),
    "inplace": (
        ["df = pd.DataFrame({'a': [2, 1]})", "df.sort_values('a', inplace=True)", "x = 1", "print(df.a.iloc[0])"],
        "1 2 4",
    ),
    "not inplace": (
        ["df = pd.DataFrame({'a': [2, 1]})", "s = df.sort_values('a')", "x = 1", "print(df.a.iloc[0])"],
        "1 4",
    ),
    "by loc": (["df = pd.DataFrame({'a': [2, 1]})", "df.loc[0, 'a'] = 9", "x = 1", "print(df.a.sum())"], "1 2 4"),
    "columns that are renamed": (["df = pd.DataFrame({'a': [2]})", "df.columns = ['b']", "print(list(df))"], "1 2 3"),
    "a group": (
        [
            "df = pd.DataFrame({'k': ['x', 'y'], 'v': [1, 2]})",
            "g = df.groupby('k').v.sum()",
            "h = 1",
            "print(g.to_dict())",
        ],
        "1 2 4",
    ),
    "a table that was made of a frame and is changed": (
        [
            "df = pd.DataFrame({'k': ['y', 'x'], 'v': [1, 2]})",
            "t = df.groupby('k').agg(n=('v', 'sum')).sort_values('n')\nt.index.name = 'K'\nt['m'] = 0",
            "m = df.merge(df, on='k').rename(columns={'v_x': 'v'})\nm['v'] = 0",
            "s = df.sort_values('k').dropna().reset_index(drop=True).assign(w=1)\ns.loc[0, 'v'] = 9",
            "print(df.v.tolist())",
        ],
        "1 5",
    ),
    "a query that names a variable": (
        ["df = pd.DataFrame({'a': [1, 5]})", "limit = 3", "x = 1", "print(len(df.query('a > @limit')))"],
        "1 2 4",
    ),
    "a query before its variable is set anew": (
        ["df = pd.DataFrame({'a': [1, 5]})", "limit = 3", "print(len(df.query('a > @limit')))\nlimit = 9"],
        "1 2 3",
    ),
    "a merge": (
        [
            "a = pd.DataFrame({'k': [1], 'v': [2]})",
            "b = pd.DataFrame({'k': [1], 'w': [3]})",
            "m = a.merge(b)",
            "c = 1",
            "print(m.w.sum())",
        ],
        "1 2 3 5",
    ),
    "a helper that changes a frame": (
        ["def tax(d):\n    d['t'] = d.a * 2", "df = pd.DataFrame({'a': [1]})", "tax(df)", "print(df.t.sum())"],
        "1 2 3 4",
    ),
    "apply with a function of the thread": (
        [
            "k = 3",
            "def f(v):\n    return v * k",
            "df = pd.DataFrame({'a': [1]})",
            "x = 1",
            "print(df.a.apply(f).sum())",
        ],
        "1 2 3 5",
    ),
    "a frame in pieces": (
        [
            "open('a.csv', 'w').write('v\\n1\\n2\\n3\\n')",
            "parts = pd.read_csv('a.csv', chunksize=1)",
            "first = parts.get_chunk()",
            "print(sum(p.v.sum() for p in parts))",
        ],
        "1 2 3 4",
    ),
    "a sample of the global state": (
        ["np.random.seed(1)", "df = pd.DataFrame({'a': range(9)})", "df.sample(2)", "print(df.sample(2).a.tolist())"],
        "1 2 3 4",
    ),
    "a sample of its own": (
        [
            "df = pd.DataFrame({'a': range(9)})",
            "df.sample(2, random_state=1)",
            "print(df.sample(2, random_state=2).a.tolist())",
        ],
        "1 3",
    ),
    "a csv": (
        ["pd.DataFrame({'a': [1]}).to_csv('o.csv')", "z = 1", "print(pd.read_csv('o.csv').a.sum())"],
        "1 3",
    ),
    "an option of pandas": (
        ["pd.set_option('display.precision', 2)", "z = 1", "print(pd.Series([1.23456]))"],
        "1 3",
    ),
    "a view of numpy": (["a = np.zeros(3)", "b = a[:2]", "b[0] = 5", "c = 1", "print(a.sum())"], "1 2 3 5"),
    "out": (["a = np.zeros(2)", "np.add(1, 2, out=a)", "c = 1", "print(a.sum())"], "1 2 4"),
    "a plot between": (
        ["import matplotlib.pyplot as plt", "s = pd.Series([1, 2])", "plt.plot(s)", "print(s.sum())"],
        "2 4",
    ),
}


@pytest.fixture(autouse=True)
def _own_precision() -> Iterator[None]:
    """Code of these tests runs in this process; the precision that it sets is not for later tests."""
    with decimal.localcontext():
        yield


def needed(cells: list[str]) -> list[int]:
    """The places, from 1, of the cells that the one that prints last needs."""
    wanted = max(place for place, code in enumerate(cells) if "print" in code)
    ids = [f"c{place}" for place in range(len(cells))]
    found = slice_cells(list(zip(ids, cells, strict=True)), {ids[wanted]})
    return [ids.index(cell_id) + 1 for cell_id in found.cells]


def shown(cells: list[str], folder: Path, **names: Any) -> str:
    """What the last of these cells prints when all of them run; cells that are no Python are left out."""
    folder.mkdir()
    before, names = os.getcwd(), {"__name__": "__main__", **names}
    os.chdir(folder)
    try:
        for code in cells:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.suppress(SyntaxError):
                exec(compile(code, "cell", "exec"), names)
    finally:
        os.chdir(before)
        os.environ.pop("SLICE_TEST", None)
    return printed.getvalue()


def check(cells: list[str], expected: str, folder: Path, **names: Any) -> None:
    found = needed(cells)
    wanted = [*range(1, max(found) + 1)] if expected == ALL else [int(place) for place in expected.split()]
    assert found == wanted
    whole = cells[: max(found)]
    assert shown([cells[place - 1] for place in found], folder / "slice", **names) == shown(
        whole, folder / "all", **names
    )


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_slice_has_the_cells_that_a_result_needs_and_prints_the_same(name: str, tmp_path: Path) -> None:
    check(*CASES[name], tmp_path)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:The inplace keyword")
@pytest.mark.parametrize("name", PANDAS)
def test_a_slice_over_frames_prints_the_same(name: str, tmp_path: Path) -> None:
    import matplotlib as mpl
    import numpy as np
    import pandas as pd

    mpl.use("Agg")
    cells, expected = PANDAS[name]
    places = "1 " + " ".join(str(int(place) + 1) for place in expected.split())
    with pd.option_context("display.precision", 6):
        check(["import pandas as pd, numpy as np", *cells], places, tmp_path, pd=pd, np=np)


def test_a_frame_that_a_statement_of_duckdb_names_is_needed_whichever_cell_imported_duckdb() -> None:
    assert needed(["import duckdb", "df = 1", "x = 2", "print(duckdb.sql('select sum(a) from df'))"]) == [1, 2, 4]
    assert needed(["from duckdb import sql", "df = 1", "x = 2", "print(sql('select sum(a) from df'))"]) == [1, 2, 4]
    anew = "df = duckdb.sql('select * from df where a > 1').df()\nprint(df)"
    assert needed(["import duckdb", "df = 1", "x = 2", anew]) == [1, 2, 4]


def test_a_name_that_a_cell_looks_for_before_it_sets_it_is_needed() -> None:
    assert needed(["df = 1", "x = 2", "print('df' in globals())\ndf = 3"]) == [1, 3]


def test_each_wanted_cell_has_its_own_needs() -> None:
    cells = [("a", "x = 1"), ("b", "y = 2"), ("c", "print(x)"), ("d", "print(y)")]
    found = slice_cells(cells, {"c", "d"})
    assert found.cells == ("a", "b", "c", "d")
    assert found.needs == {"c": frozenset({"a", "c"}), "d": frozenset({"b", "d"})}
    assert found.opaque == ""


def test_what_cannot_be_told_is_named() -> None:
    cells = [("a", "x = 1"), ("b", "exec('y = 2')"), ("c", "print(x)")]
    found = slice_cells(cells, {"c"})
    assert (found.cells, found.opaque) == (("a", "b", "c"), "b")


def test_a_cell_that_nobody_knows_is_no_need() -> None:
    assert slice_cells([("a", "x = 1")], {"z"}).cells == ()
    assert slice_cells([], set()).cells == ()


@pytest.mark.parametrize("code", ["x = 1\n" * MOST_CHARS, "(" * 5_000 + "1" + ")" * 5_000, "x = '\0'", "\ud800"])
def test_code_that_is_too_long_or_hostile_is_opaque(code: str) -> None:
    assert uses_of(code).opaque


def test_a_thousand_cells_are_sliced() -> None:
    cells = [("c0", "x = 0"), *((f"c{n}", f"x = x + {n}\ny{n} = [x]") for n in range(1, 1_000)), ("end", "print(x)")]
    assert len(slice_cells(cells, {"end"}).cells) == 1_001


def test_a_new_cell_lets_no_other_cell_be_read_anew_that_has_nothing_to_do_with_it() -> None:
    codes = [f"n{n} = {n}\nfor at in range(3):\n    print(at)" for n in range(50)]
    uses_in(codes)
    before = uses_of.cache_info().misses
    uses_in([*codes, "print(n7)"])
    assert uses_of.cache_info().misses - before == 2
