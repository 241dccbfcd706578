"""A bundle of one commit: git itself reads it, on top of the commit that was cloned and of no other one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from git_server import git

from threadbook_tools import Repository
from threadbook_tools.bundles import BRANCH, MARK, NoBundle, NotCloned, bundle

FILES = {
    "src/shop.py": b"def total(items):\n    return 0\n",
    "src/old/note.txt": b"old\n",
    "src.d/x": b"sorts before src/\n",
    "run.sh": b"#!/bin/sh\n",
    "node_modules/left/out.js": b"left out of what is read\n",
    "data.bin": bytes(range(256)),
}
EDITS = """--- a/src/shop.py
+++ b/src/shop.py
@@ -1,2 +1,2 @@
 def total(items):
-    return 0
+    return sum(items)
--- a/src/old/note.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
--- a/run.sh
+++ b/run.sh
@@ -1 +1,2 @@
 #!/bin/sh
+echo x
--- /dev/null
+++ b/docs/new/page.md
@@ -0,0 +1 @@
+# Page
"""


def repository(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """A repository with an executable file and a link."""
    tree = folder / "tree"
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    (tree / next(iter(files))).parent.joinpath("link").symlink_to("shop.py")
    git(tree, "init", "-q")
    git(tree, "add", "--force", ".")
    if "run.sh" in files:
        git(tree, "update-index", "--chmod=+x", "run.sh")
    git(tree, "commit", "-q", "-m", "first")
    return tree


def archived(tree: Path) -> str:
    """The archive in the working folder, with its commit behind it as a clone leaves it."""
    git(tree, "archive", "--format=tar", "-o", os.path.abspath("shop.tar"), "HEAD")
    raw = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=tree, check=True, capture_output=True).stdout
    with open("shop.tar", "ab") as file:
        file.write(MARK + raw)
    return git(tree, "rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def fetched(tree: Path) -> None:
    """Fetch from the bundle and check the repository out there: git looks at each object."""
    git(tree, "bundle", "verify", os.path.abspath("shop.changes.bundle"))
    git(tree, "fetch", "-q", os.path.abspath("shop.changes.bundle"), f"{BRANCH}:{BRANCH}")
    git(tree, "fsck", "--strict")
    git(tree, "checkout", "-q", "-f", BRANCH)


def test_git_fetches_one_commit_that_makes_all_the_edits(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    base = archived(tree)
    told = Repository("shop.tar").edit(EDITS)
    assert told.endswith("shop.changes.patch, and as one commit in shop.changes.bundle.")
    fetched(tree)
    assert git(tree, "rev-list", f"{base}..HEAD").count("\n") == 0
    assert git(tree, "rev-parse", "HEAD^") == base
    rows = dict(line.split("\t")[::-1] for line in git(tree, "diff", "--name-status", base, "HEAD").splitlines())
    assert rows == {"src/shop.py": "M", "src/old/note.txt": "D", "run.sh": "M", "docs/new/page.md": "A"}
    assert git(tree, "ls-files", "-s", "run.sh").startswith("100755")
    assert git(tree, "log", "-1", "--format=%an %ct") == f"Threadbook {git(tree, 'log', '-1', '--format=%ct', base)}"


def test_the_patch_and_the_bundle_say_the_same(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    base = archived(tree)
    Repository("shop.tar").edit(EDITS)
    fetched(tree)
    by_bundle = git(tree, "rev-parse", "HEAD^{tree}")
    git(tree, "checkout", "-q", "-f", base)
    git(tree, "apply", "--index", os.path.abspath("shop.changes.patch"))
    assert git(tree, "write-tree") == by_bundle


def test_a_second_edit_makes_the_bundle_anew_and_no_edit_leaves_none(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    archived(tree)
    repo = Repository("shop.tar")
    forth = "--- a/src/shop.py\n+++ b/src/shop.py\n@@ -2 +2 @@\n-    return 0\n+    return 1\n"
    repo.edit(forth)
    first = Path("shop.changes.bundle").read_bytes()
    repo.edit(forth.replace("return 0", "return ?").replace("return 1", "return 0").replace("return ?", "return 1"))
    assert sorted(os.listdir()) == ["shop.tar"]
    repo.edit(forth)
    assert Path("shop.changes.bundle").read_bytes() == first, "the same changes give the same commit"


def test_a_repository_of_one_folder_keeps_it_in_the_bundle(tmp_path: Path) -> None:
    tree = repository(tmp_path, {"src/shop.py": FILES["src/shop.py"], "src/b.py": b""})
    archived(tree)
    Repository("shop.tar").edit("--- a/src/shop.py\n+++ b/src/shop.py\n@@ -2 +2 @@\n-    return 0\n+    return 1\n")
    fetched(tree)
    assert git(tree, "show", "HEAD:src/shop.py").endswith("return 1")


def test_an_uploaded_archive_has_a_patch_alone(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    git(tree, "archive", "--format=tar", "-o", os.path.abspath("shop.tar"), "HEAD")
    told = Repository("shop.tar").edit(EDITS)
    assert told.endswith("All changes so far are in shop.changes.patch.")
    assert sorted(os.listdir()) == ["shop.changes.patch", "shop.tar"]
    with pytest.raises(NotCloned):
        bundle("shop.tar", git(tree, "rev-parse", "HEAD"), {})


def test_a_submodule_makes_a_bundle_impossible_and_is_told(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    git(tree, "update-index", "--add", "--cacheinfo", f"160000,{git(tree, 'rev-parse', 'HEAD')},lib")
    git(tree, "commit", "-q", "-m", "submodule")
    archived(tree)
    told = Repository("shop.tar").edit(EDITS)
    assert "There is no bundle: the archive does not hold all that its commit holds" in told
    assert not os.path.exists("shop.changes.bundle")


def test_a_commit_that_somebody_put_behind_the_archive_is_not_believed(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    commit = archived(tree)
    with open("shop.tar", "ab") as file:
        file.write(MARK + b"tree 0000\ncommitter a <a> 1 +0000\n\nforged\n")
    with pytest.raises(NoBundle, match="another one"):
        bundle("shop.tar", commit, {})
