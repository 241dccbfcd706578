"""What people use the data libraries for, as one cell each: the load under which the allow-list of system calls is
recorded (`tests/attacks/record_calls.py`), and the proof that it lets them work (`test_attacks_allowed.py` there).

Each cell prints "done" when the library did its work.
"""

from __future__ import annotations

LIBRARY_JOBS = {
    "python": """
import asyncio, csv, datetime, glob, gzip, json, mmap, multiprocessing, os, pathlib, queue, random, shutil, signal
import sqlite3, subprocess, sys, tarfile, tempfile, threading, time, zipfile, concurrent.futures as futures
pathlib.Path("a/b").mkdir(parents=True)
pathlib.Path("a/b/c.txt").write_text("x" * 100_000)
os.rename("a/b/c.txt", "a/b/d.txt"), shutil.copytree("a", "e"), shutil.rmtree("a")
os.stat("e"), os.lstat("e"), os.access("e", os.R_OK), list(os.scandir("e")), list(os.walk("."))
with open("m.bin", "wb+") as file:
    file.truncate(8192)
    os.posix_fallocate(file.fileno(), 0, 8192)
    with mmap.mmap(file.fileno(), 8192) as mapped:
        mapped[:2] = b"ab"
        mapped.flush()
    os.fsync(file.fileno()), os.fdatasync(file.fileno())
    os.pread(file.fileno(), 2, 0), os.pwrite(file.fileno(), b"c", 0)
    os.lseek(file.fileno(), 0, os.SEEK_END), os.fstat(file.fileno()), os.ftruncate(file.fileno(), 0)
with open("m.bin", "rb") as source, open("n.bin", "wb") as target:
    os.sendfile(target.fileno(), source.fileno(), 0, 10)
    os.copy_file_range(source.fileno(), target.fileno(), 10)
with sqlite3.connect("t.db") as base:
    base.execute("pragma journal_mode=wal")
    base.execute("create table t (x)")
    base.executemany("insert into t values (?)", [(n,) for n in range(1000)])
base.close()
with zipfile.ZipFile("z.zip", "w") as packed: packed.write("t.db")
with tarfile.open("t.tar.gz", "w:gz") as packed: packed.add("e")
with gzip.open("g.gz", "wb") as packed: packed.write(b"x" * 100_000)
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file: file.write(b"x")
with futures.ThreadPoolExecutor(4) as pool: list(pool.map(lambda n: time.sleep(0.001), range(20)))
async def wait(): await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(10)))
asyncio.run(wait())
child = os.fork()
if child == 0: os._exit(0)
os.waitpid(child, 0)
signal.signal(signal.SIGALRM, lambda *_: None), signal.setitimer(signal.ITIMER_REAL, 0.01), time.sleep(0.05)
os.getpid(), os.getppid(), os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getlogin if 0 else None, os.times()
os.sched_getaffinity(0), os.cpu_count(), os.getloadavg() if 0 else None, os.uname(), os.umask(0o22), os.getcwd()
os.getpgrp(), os.getsid(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_yield(), os.urandom(8), os.getrandom(8)
import resource; resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_NOFILE)
os.pipe(), os.dup(1), os.dup2(1, 90), os.eventfd(0), os.statvfs("."), time.clock_gettime(time.CLOCK_MONOTONIC)
import select; select.select([0], [], [], 0), select.poll().poll(0), select.epoll().poll(0)
import fcntl
with open("l", "w") as file: fcntl.flock(file, fcntl.LOCK_EX), fcntl.lockf(file, fcntl.LOCK_EX)
os.chmod("l", 0o600), os.utime("l"), os.chown("l", -1, -1), os.unlink("l")
print("done")
""",
    "multiprocessing": """
import multiprocessing, os
def square(n, into): into.send(n * n)
from_it, into = multiprocessing.Pipe(duplex=False)
one = multiprocessing.get_context("fork").Process(target=square, args=(3, into))
one.start(), one.join()
assert from_it.recv() == 9
with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(abs, range(10))[3] == 3
print("done")
""",
    "numpy": """
import numpy as np
a = np.random.default_rng(1).normal(size=(600, 600))
np.linalg.svd(a), np.linalg.inv(a), np.fft.fft(a), a @ a
np.save("a.npy", a), np.savez_compressed("a.npz", a=a), np.savetxt("a.txt", a[:9])
assert np.load("a.npy", mmap_mode="r").shape == np.load("a.npz")["a"].shape and np.loadtxt("a.txt").shape == (9, 600)
with np.errstate(all="ignore"): np.memmap("b.npy", dtype="f8", mode="w+", shape=(10, 10)).flush()
print("done")
""",
    "pandas": """
import pandas as pd, numpy as np, sqlite3
frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=5000), "n": np.arange(5000)})
frame["k"] = list("abcde") * 1000
frame.to_csv("f.csv", index=False), frame.to_parquet("f.parquet"), frame.to_json("f.json")
frame.to_feather("f.feather")
frame.to_excel("f.xlsx", index=False), frame.to_pickle("f.pkl"), frame.to_csv("f.csv.gz")
with sqlite3.connect("f.db") as base: frame.to_sql("f", base), pd.read_sql("select k, sum(n) from f group by k", base)
for one in (pd.read_csv("f.csv"), pd.read_parquet("f.parquet"), pd.read_json("f.json"), pd.read_excel("f.xlsx")):
    assert one.groupby("k").n.sum().shape == (5,)
frame.merge(frame, on="day").pivot_table(index="k_x", values="n_x"), frame.set_index("day").resample("W").n.mean()
frame.n.rolling(7).mean(), pd.read_csv("f.csv", engine="pyarrow"), frame.info(), frame.describe()
print("done")
""",
    "matplotlib": """
import matplotlib.pyplot as plt, numpy as np
figure, axes = plt.subplots(1, 2)
axes[0].plot(np.arange(100)), axes[1].hist(np.random.normal(size=1000)), axes[0].set_title("Umsatz 売上 $x^2$")
for kind in ("png", "svg", "pdf"): figure.savefig(f"f.{kind}")
plt.show()
print("done")
""",
    "seaborn": """
import pandas as pd, seaborn as sns, matplotlib.pyplot as plt
frame = pd.DataFrame({"x": range(50), "y": [n % 7 for n in range(50)], "k": list("ab") * 25})
sns.boxplot(frame, x="k", y="y"), plt.show()
sns.heatmap(frame[["x", "y"]].corr()), plt.show()
print("done")
""",
    "scipy": """
import numpy as np
from scipy import integrate, interpolate, linalg, optimize, signal, sparse, stats
stats.ttest_ind(np.arange(9), np.arange(9) + 1), optimize.minimize(lambda x: (x ** 2).sum(), np.ones(5))
linalg.eigh(np.eye(50)), sparse.linalg.spsolve(sparse.eye(50).tocsc(), np.ones(50)), signal.welch(np.arange(256.0))
interpolate.CubicSpline(range(9), range(9)), integrate.quad(np.sin, 0, 1)
print("done")
""",
    "scikit-learn": """
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
x = np.random.default_rng(1).normal(size=(500, 8)); y = (x[:, 0] > 0).astype(int)
RandomForestClassifier(20, n_jobs=2).fit(x, y), HistGradientBoostingClassifier(max_iter=5).fit(x, y)
KMeans(3, n_init=2).fit(x), PCA(2).fit_transform(x), cross_val_score(LogisticRegression(), x, y, n_jobs=2)
GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, n_jobs=2).fit(x, y)
import joblib; joblib.dump(x, "x.joblib"), joblib.load("x.joblib", mmap_mode="r")
print("done")
""",
    "statsmodels": """
import numpy as np, pandas as pd, statsmodels.api as sm, statsmodels.formula.api as smf
from statsmodels.tsa.arima.model import ARIMA
frame = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0) * 2 + np.random.default_rng(1).normal(size=100)})
smf.ols("y ~ x", frame).fit().summary(), sm.GLM(frame.y, sm.add_constant(frame.x)).fit().summary()
ARIMA(frame.y, order=(1, 0, 0)).fit().forecast(3)
sm.tsa.seasonal_decompose(frame.y, period=12)
print("done")
""",
    "duckdb": """
import duckdb, pandas as pd
frame = pd.DataFrame({"k": list("abcde") * 2000, "n": range(10000)})
base = duckdb.connect("d.duckdb")
base.sql("create table t as select * from frame"), base.sql("copy t to 't.parquet'"), base.sql("copy t to 't.csv'")
base.sql("checkpoint")
assert base.sql("select k, sum(n) from 't.parquet' p join 't.csv' c using (k, n) group by k").df().shape == (5, 2)
base.sql("set memory_limit='64MB'"), base.sql("select x.n from t x, t y order by x.n + y.n limit 5").fetchall()
base.close()
print("done")
""",
    "pyarrow": """
import pyarrow as pa, pyarrow.csv as csv, pyarrow.compute as pc, pyarrow.dataset as ds, pyarrow.feather as feather
import pyarrow.parquet as pq
table = pa.table({"k": list("abcde") * 2000, "n": range(10000)})
pq.write_table(table, "t.parquet"), csv.write_csv(table, "t.csv"), feather.write_feather(table, "t.feather")
ds.write_dataset(table, "parts", format="parquet", partitioning=["k"])
assert ds.dataset("parts").to_table().num_rows == pq.read_table("t.parquet", memory_map=True).num_rows == 10000
csv.read_csv("t.csv"), feather.read_table("t.feather"), pc.sum(table["n"])
table.group_by("k").aggregate([("n", "sum")])
print("done")
""",
    "polars": """
import polars as pl
frame = pl.DataFrame({"k": list("abcde") * 2000, "n": range(10000)})
frame.write_csv("p.csv"), frame.write_parquet("p.parquet"), frame.write_ipc("p.arrow")
assert pl.scan_parquet("p.parquet").group_by("k").agg(pl.col("n").sum()).collect().height == 5
pl.scan_csv("p.csv").sort("n").collect(engine="streaming"), pl.read_ipc("p.arrow"), frame.join(frame, on="n")
pl.scan_csv("p.csv").sink_parquet("q.parquet"), frame.to_pandas()
print("done")
""",
    "openpyxl": """
import openpyxl
book = openpyxl.Workbook()
book.active.append(["a", 1])
book.save("b.xlsx")
assert openpyxl.load_workbook("b.xlsx", read_only=True).active["B1"].value == 1
print("done")
""",
    "PDF": """
import fpdf, pdfplumber, pypdfium2
page = fpdf.FPDF()
page.add_page(), page.set_font("Helvetica", size=12), page.cell(text="hello"), page.output("p.pdf")
with pdfplumber.open("p.pdf") as file: assert "hello" in file.pages[0].extract_text()
pypdfium2.PdfDocument("p.pdf")[0].render().to_pil().save("p.png")
print("done")
""",
    "sqlalchemy": """
import sqlalchemy as sa
engine = sa.create_engine("sqlite:///s.db")
with engine.begin() as base:
    base.execute(sa.text("create table t (x int)")), base.execute(sa.text("insert into t values (1)"))
with engine.connect() as base: assert base.execute(sa.text("select x from t")).scalar() == 1
print("done")
""",
}
"""Library → a cell that prints "done"."""
NEED_NAMESPACES = {"multiprocessing", "scikit-learn", "duckdb"}
"""Without namespaces these fail whatever the list: /dev/shm, /proc/self/maps and cgroups are out of reach there."""

SHELL_JOBS = {
    "programs": r"""
set -e
mkdir -p d/e && cd d
printf 'a,1\nb,2\n' > t.csv
cp t.csv u.csv && mv u.csv v.csv
ln v.csv w.csv 2>/dev/null || true
sort -t, -k2 t.csv | uniq -c | head -1
cut -d, -f1 t.csv | tr a-z A-Z
wc -l t.csv && grep -c a t.csv
sed -i s/a/z/ t.csv
awk -F, '{s+=$2} END {print s}' t.csv
find . -name '*.csv' -exec stat -c %s {} +
tar czf t.tgz t.csv && tar tzf t.tgz
gzip -k t.csv && zcat t.csv.gz
xz -k v.csv 2>/dev/null || true
ls -la --color=never
du -sh . && df . >/dev/null 2>&1 || true
date >/dev/null && touch n && chmod 600 n && rm n
cat t.csv | xargs -n1 echo
split -l1 t.csv part
diff t.csv v.csv || true
sleep 0.01 & wait
timeout 5 true
head -c 10 /dev/urandom | od -c >/dev/null
tee x < t.csv
truncate -s 10 y
tail -n1 t.csv
dd if=/dev/zero of=z bs=1k count=2 2>/dev/null || true
mktemp -p . m.XXXX >/dev/null
seq 3 | paste -sd+
nice true || true
nproc
env >/dev/null
python3 -c 'import os, json, subprocess; subprocess.run(["true"])' || true
perl -e 'print 1' 2>/dev/null || true
git --version >/dev/null 2>&1 || true
trap : INT
kill -0 $$
if command -v make >/dev/null; then printf 'all:\n\t@true\n' > Makefile; make all; fi
ulimit -n >/dev/null
read -t 0.01 x < /dev/null || true
echo $(( $(date +%s) > 0 ))
for each in rsync sqlite3 jq; do $each --version >/dev/null 2>&1 || true; done
echo done
""",
}
"""The same for a shell."""
