"""A project in an archive: what is taken of a hostile one, what its outline says, edits that stay, tests that run."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from threadbook_tools.archives import MARK, NoArchive, is_source, read_archive
from threadbook_tools.outlines import outline, symbols_in
from threadbook_tools.patches import PatchRefused
from threadbook_tools.repository import Repository, described

pytestmark = pytest.mark.process

SHOP = '''"""A shop."""

RATE = 0.19


class Shop(dict):
    """Sells things.

    And more.
    """

    def total(self, items: list[float], *, tax: bool = True) -> float:
        """The sum of the prices."""
        return sum(items)
'''
TEST = "from shop import Shop\n\n\ndef test_total() -> None:\n    assert Shop().total([1, 2]) == 3\n"
PROJECT = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "src/shop.py": SHOP,
    "tests/test_shop.py": TEST,
    "web/app.ts": "export class App {\n  run(): void {}\n}\nexport const start = async (n: number) => {\n};\n",
    "main.go": "package main\n\nfunc main() {\n}\n\ntype Cart struct {\n}\n",
    "README.md": "# Shop\n\ntext\n",
}
BREAK = (
    "--- a/src/shop.py\n+++ b/src/shop.py\n@@ -13,2 +13,2 @@\n"
    '         """The sum of the prices."""\n-        return sum(items)\n+        return 0\n'
)


def zipped(files: dict[str, str | bytes], top: str = "shop-main/") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(top + name, content)
    return packed.getvalue()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.chdir(tmp_path)
    Path("shop.zip").write_bytes(zipped({**PROJECT}))
    return Repository("shop.zip")


# --- archives


def test_the_folder_around_a_download_is_taken_away(repo: Repository) -> None:
    assert sorted(repo.current()) == sorted(PROJECT)


def test_links_devices_and_names_that_lead_outside_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.tar.gz"
    with tarfile.open(path, "w:gz") as tar:

        def add(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", data: bytes = b"x = 1\n") -> None:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            info.size = len(data) if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(data))

        add("good.py")
        add("link.py", tarfile.SYMTYPE, "/etc/passwd")
        add("hard.py", tarfile.LNKTYPE, "good.py")
        add("null", tarfile.CHRTYPE)
        add("../out.py")
        add("/abs.py")
        add("a\nb.py")
        add(".git/hooks/post-checkout")
        add("sub/.GIT/config")
        add("good.py", data=b"x = 2\n")
        add("good.py/below.py")
    archive = read_archive(str(path))
    assert archive.files == {"good.py": b"x = 1\n"}
    assert archive.left_out == {
        "link.py": "it is a link",
        "hard.py": "it is a link",
        "null": "it is no regular file",
        "../out.py": "its name leads outside",
        "/abs.py": "its name leads outside",
        "a\nb.py": "its name is empty, too long, or has characters that no source file's name has",
        "sub/.GIT/config": "it belongs to git itself",
        "good.py": "its name was there before",
        "good.py/below.py": "a file has the name of its folder",
    }


def test_links_in_a_zip_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("a.py", "x = 1\n")
    found = read_archive(str(path))
    assert (list(found.files), found.left_out) == (["a.py"], {"link": "it is a symbolic link"})


def test_an_archive_that_unpacks_to_more_than_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"{number}.py", b"\0" * 400_000)
    monkeypatch.setattr("threadbook_tools.archives.MOST_BYTES", 1_000_000)
    with pytest.raises(NoArchive, match="unpacks to more than 1 MB"):
        read_archive(str(path))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"\x1f\x8b\x08 no", b"a,b\n1,2\n"])
def test_what_is_no_archive_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(NoArchive):
        read_archive(str(tmp_path / "a.zip"))


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (["shop/pyproject.toml", "shop/data.csv", "shop/b.csv"], True),
        (["a.py", "b.csv"], False),
        (["a.py", "b.py", "c.csv"], True),
        (["a.csv", "node_modules/x.js", "node_modules/y.js"], False),
        (["notes.txt"], False),
    ],
)
def test_source_code_is_told_from_data(names: list[str], outcome: bool) -> None:
    assert is_source(names) is outcome


# --- the outline


def test_python_is_shown_with_signatures_docstrings_and_lines() -> None:
    assert outline({"src/shop.py": SHOP.encode()}, 1_000) == (
        "src/shop.py (14 lines)\n"
        "  3: RATE\n"
        "  6: class Shop(dict)  # Sells things.\n"
        "    12: def total(self, items: list[float], *, tax: bool=True) -> float  # The sum of the prices."
    )


def test_other_languages_have_a_plain_outline(repo: Repository) -> None:
    text = repo.outline()
    for line in ("1: export class App", "4: export const start = async", "3: func main()", "6: type Cart struct"):
        assert line in text
    assert "1: # Shop" in text


@pytest.mark.parametrize("source", ["def broken(:\n", "x = " + "(" * 5_000, "def f():\n\0", "\x0c\ndef f(): pass\n"])
def test_a_file_that_cannot_be_parsed_does_not_stop_the_outline(source: str) -> None:
    assert outline({"a.py": source.encode()}, 1_000).startswith("a.py (")


@pytest.mark.parametrize("chars", [2_000, 1_000, 700, 400, 200, 60, 20])
def test_an_outline_keeps_to_its_budget_and_says_less_of_each(chars: int) -> None:
    files = {f"pkg{number % 3}/module_{number}.py": SHOP.encode() for number in range(12)}
    assert 0 < len(outline(files, chars)) <= chars


def test_what_is_no_text_has_its_size_alone() -> None:
    assert symbols_in("a.py", b"\0def f(): pass") == []
    assert outline({"a.png": b"\0" * 2_000}, 100) == "a.png (2,000 bytes)"


def test_a_description_names_commit_size_and_what_was_left_out(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    (tmp_path / "l.py").symlink_to("/etc/passwd")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    subprocess.run([*git, "archive", "-o", "r.tar", "HEAD"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    text = described(str(tmp_path / "r.tar"), 500)
    assert text == (
        f"1 file, 18 bytes, commit {commit}\nleft out: 1 (l.py: it is a link)\na.py (2 lines)\n  1: def f()"
    )


def test_a_description_names_the_files_whose_content_stays_in_git_lfs(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n"
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("a.py", "def f():\n    pass\n")
        archive.writestr("data/sales.csv", pointer)
    text = described(str(tmp_path / "r.zip"), 500)
    assert "no content, only pointers of Git LFS: 1 (data/sales.csv)" in text.splitlines()


# --- exploring


def test_files_are_listed_searched_and_opened_by_range(repo: Repository) -> None:
    assert repo.files("*.ts") == "web/app.ts (85 bytes)"
    assert repo.search("DEF TOTAL") == (
        "src/shop.py:12: def total(self, items: list[float], *, tax: bool = True) -> float:"
    )
    assert repo.search(r"^package \w+$", regex=True) == "main.go:1: package main"
    assert repo.search("nowhere to be seen") == "not found"
    assert repo.read("src/shop.py", 3, 4) == "    3 RATE = 0.19\n    4 \n… 14 lines in all"
    assert repr(repo.read("README.md")) == "    1 # Shop\n    2 \n    3 text"
    with pytest.raises(FileNotFoundError, match=r"there is no file \.\./x"):
        repo.read("../x")


def test_much_is_cut(repo: Repository) -> None:
    assert repo.search("e", most=2).count("\n") == 2
    assert "more; narrow the pattern" in repo.search("e", most=2)


# --- edits


def test_an_edit_stays_in_a_patch_that_git_applies(repo: Repository, tmp_path: Path) -> None:
    assert repo.edit(BREAK).startswith("changed src/shop.py\nAll changes so far are in shop.changes.patch.")
    repo.edit("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n")
    again = Repository("shop.zip")
    assert "return 0" in again.read("src/shop.py")
    assert again.changes() == Path("shop.changes.patch").read_text()
    tree = tmp_path / "tree"
    for name, content in PROJECT.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    subprocess.run(["git", "apply", str(tmp_path / "shop.changes.patch")], cwd=tree, check=True)
    assert (tree / "new.py").read_text() == "x = 1\n"


def test_a_refused_edit_changes_nothing(repo: Repository) -> None:
    repo.edit(BREAK)
    before = Path("shop.changes.patch").read_text()
    with pytest.raises(PatchRefused, match="line 14 is '        return 0'"):
        repo.edit(BREAK)
    assert Path("shop.changes.patch").read_text() == before
    assert sorted(os.listdir()) == ["shop.changes.patch", "shop.zip"]


def test_taking_an_edit_back_leaves_no_patch(repo: Repository) -> None:
    repo.edit(BREAK)
    taken, put = "-        return sum(items)\n", "+        return 0\n"
    back = BREAK.replace(taken + put, "-        return 0\n+        return sum(items)\n")
    assert repo.edit(back) == "changed src/shop.py\nNo change is left."
    assert not os.path.exists("shop.changes.patch")
    assert repo.changes() == ""


def test_a_patch_that_was_spoilt_is_told_and_not_guessed(repo: Repository) -> None:
    repo.edit(BREAK)
    Path("shop.changes.patch").write_text("--- a/src/shop.py\n+++ b/src/shop.py\n@@ -1 +1 @@\n-no\n+yes\n")
    with pytest.raises(PatchRefused, match="was changed by hand"):
        repo.read("src/shop.py")


def test_a_session_keeps_the_path_alone(repo: Repository) -> None:
    stored = pickle.dumps(repo)
    assert len(stored) < 200
    assert pickle.loads(stored).files("*.go") == "main.go (52 bytes)"


# --- tests


def run_apart(folder: Path, code: str) -> str:
    """In a Python of its own, as a session has it: a fork of pytest would run pytest twice."""
    root = Path(__file__).parents[3]
    source = (
        f"import sys; sys.path.insert(0, {str(root)!r})\nfrom threadbook_tools.repository import Repository\n{code}"
    )
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=folder, env=own, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_its_tests_pass_and_fail_with_what_they_print(repo: Repository, tmp_path: Path) -> None:
    repo.edit(BREAK)
    said = run_apart(tmp_path, "print(Repository('shop.zip').run_tests())")
    assert said.startswith("The tests failed (pytest ended with 1).")
    assert "assert 0 == 3" in said
    assert str(tmp_path) not in said
    os.remove("shop.changes.patch")
    said = run_apart(tmp_path, "print(Repository('shop.zip').run_tests('tests', '-k', 'total'))")
    assert said.startswith("The tests passed.\n.")


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("import time\ndef test_it(): time.sleep(60)\n", "The tests were stopped after 2 s."),
        ("import os\ndef test_it(): os._exit(7)\n", "The tests failed (pytest ended with 7)."),
        ("import os, signal\ndef test_it(): os.kill(os.getpid(), signal.SIGSEGV)\n", "The tests failed (pytest ended"),
        ("import os\nif os.fork() == 0:\n    import time; time.sleep(60)\ndef test_it(): pass\n", "The tests passed."),
        ("def test_it(: pass\n", "The tests failed (pytest ended with 2)."),
        ("x = 1\n", "No test was found."),
    ],
)
def test_whatever_tests_do_the_session_goes_on(test: str, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(zipped({"pyproject.toml": "", "test_bad.py": test}))
    seconds = 2 if "stopped" in outcome else 60
    code = f"print(Repository('bad.zip').run_tests(seconds={seconds}))\nprint('goes on')"
    said = run_apart(tmp_path, code)
    assert said.startswith(outcome), said
    assert said.endswith("goes on\n")


def test_what_tests_write_and_import_stays_with_them(tmp_path: Path) -> None:
    test = "import json\nopen('left.txt', 'w')\ndef test_it(): assert json.mine\n"
    (tmp_path / "bad.zip").write_bytes(zipped({"json.py": "mine = True\n", "test_bad.py": test, "Makefile": ""}))
    code = "import json, os\nprint(Repository('bad.zip').run_tests())\nprint(json.loads('1'), os.listdir())"
    said = run_apart(tmp_path, code)
    assert said.endswith("1 ['bad.zip']\n")
    assert list(tmp_path.iterdir()) == [tmp_path / "bad.zip"]


# --- patches in the checkout that the archive was made of

MANY = {"README.md": "# Shop\n", "src/shop.py": "def total():\n    return 1\n"}
FOLDER = {"src/shop.py": MANY["src/shop.py"], "src/more/__init__.py": ""}
PACKAGE = {"shop/__init__.py": "", "shop/total.py": MANY["src/shop.py"]}
CHECKOUTS = {
    "a download of a project": (MANY, "src/shop.py", "shop.zip", ["--format=zip", "--prefix=shop-main/"]),
    "the same of a commit": (MANY, "src/shop.py", "0123abc.tar.gz", ["--format=tar.gz", "--prefix=ana-shop-0123abc/"]),
    "an archive without a folder around it": (MANY, "src/shop.py", "shop.tar", ["--format=tar"]),
    "a project of one folder": (FOLDER, "src/shop.py", "shop.tar", ["--format=tar"]),
    "a project of one package": (PACKAGE, "shop/total.py", "shop.zip", ["--format=zip"]),
    "a download of a project of one folder": (FOLDER, "src/shop.py", "shop.zip", ["--format=zip", "--prefix=shop-1/"]),
    "a clone of a project of one odd folder": ({"odd/total.py": MANY["src/shop.py"]}, "odd/total.py", "clone.tar", []),
}


@pytest.mark.parametrize("name", CHECKOUTS)
@pytest.mark.parametrize("tool", ["git apply", "patch"])
def test_a_patch_applies_at_the_top_of_the_checkout(
    tool: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, path, archive, options = CHECKOUTS[name]
    checkout = tmp_path / "checkout"
    for each, text in files.items():
        (checkout / each).parent.mkdir(parents=True, exist_ok=True)
        (checkout / each).write_text(text)

    def git(*words: str) -> None:
        who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]
        subprocess.run(["git", *who, *words], cwd=checkout, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    git("archive", *options, f"--output={tmp_path / archive}", "HEAD")
    if archive == "clone.tar":
        with (tmp_path / archive).open("ab") as file:
            file.write(MARK + b"tree of no matter\n")
    monkeypatch.chdir(tmp_path)
    repo = Repository(archive)
    inside = next(each for each in repo.current() if path.endswith(each))
    repo.edit(f"--- a/{inside}\n+++ b/{inside}\n@@ -1,2 +1,2 @@\n def total():\n-    return 1\n+    return 2\n")
    if tool == "patch" and shutil.which("patch") is None:
        pytest.skip("there is no patch here")
    words = ["git", "apply"] if tool == "git apply" else ["patch", "-p1", "-i"]
    subprocess.run([*words, str(tmp_path / repo.patch_path)], cwd=checkout, check=True)
    assert (checkout / path).read_text() == "def total():\n    return 2\n"


def test_an_edit_says_in_which_folder_of_the_archive_its_paths_begin(repo: Repository) -> None:
    assert "Its paths begin inside the folder shop-main of the archive: apply it there." in repo.edit(BREAK)
