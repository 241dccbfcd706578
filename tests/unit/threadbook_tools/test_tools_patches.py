"""Patches are applied as they stand, or not at all and with the reason; what `make_patch` writes, git takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadbook_tools.patches import PatchRefused, apply_patch, make_patch

SHOP = b"def total(items):\n    result = 0\n    for item in items:\n        result += item\n    return result\n"
FILES = {"src/shop.py": SHOP, "README.md": b"# Shop\n"}
FIX = """\
--- a/src/shop.py
+++ b/src/shop.py
@@ -1,3 +1,4 @@
 def total(items):
+    \"\"\"The sum.\"\"\"
     result = 0
     for item in items:
"""


def test_a_patch_that_fits_changes_what_it_says() -> None:
    (name, content), *others = apply_patch(FILES, FIX).items()
    assert (name, others) == ("src/shop.py", [])
    assert content == SHOP.replace(b":\n", b':\n    """The sum."""\n', 1)


def test_files_are_made_and_deleted() -> None:
    made = "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1,2 @@\n+a = 1\n+b = 2\n"
    gone = "--- a/README.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# Shop\n"
    assert apply_patch(FILES, made + gone) == {"src/new.py": b"a = 1\nb = 2\n", "README.md": None}


def test_a_file_with_windows_line_ends_keeps_them() -> None:
    files = {"src/shop.py": SHOP.replace(b"\n", b"\r\n")}
    content = apply_patch(files, FIX)["src/shop.py"] or b""
    assert content.count(b"\r\n") == content.count(b"\n") == 6


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (FIX.replace(" result", " outcome"), "line 2 is '    result = 0', the patch expects '    outcome = 0'"),
        (FIX.replace("-1,3 +1,4", "-2,3 +2,4"), "its old lines stand at line 1"),
        (FIX.replace("-1,3 +1,4", "-1,4 +1,5"), "announces 4 old and 5 new lines, and its hunk has 3 and 4"),
        (FIX.replace("-1,3 +1,4", "-1,2 +1,3"), "announces 2 old and 3 new lines, and its hunk has more"),
        (FIX.replace("-1,3 +1,4", "-1,3 +1,4 oops").replace("@@\n", "\n"), "is no '@@ -LINE,COUNT"),
        (FIX.replace("-1,3 +1,4", "-90,3 +90,4"), "begins at line 90; the file has 5 lines"),
        (FIX.replace("src/shop.py", "shop.py"), "there is no file shop.py; did you mean src/shop.py?"),
        (FIX.replace("src/shop.py", "../../etc/passwd"), "its name leads outside"),
        (FIX.replace("src/shop.py", "/etc/passwd"), "its name leads outside"),
        (FIX.replace("src/shop.py", ".git/hooks/pre-commit"), "it belongs to git itself"),
        ("--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+x\n", "README.md is there already"),
        ("--- /dev/null\n+++ b/README.md/x\n@@ -0,0 +1 @@\n+x\n", "README.md is a file"),
        ("--- /dev/null\n+++ b/src\n@@ -0,0 +1 @@\n+x\n", "it is a folder"),
        ("--- a/README.md\n+++ b/OTHER.md\n@@ -1 +1 @@\n-# Shop\n+# X\n", "renames README.md to OTHER.md"),
        ("--- a/src/shop.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def total(items):\n", "leaves lines of it"),
        (
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n",
            "only regular files, no links",
        ),
        ("diff --git a/a b/b\nrename from a\nrename to b\n", "is not supported"),
        (FIX + FIX, "stands in the patch twice"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a hunk without a '--- a/FILE' line"),
        ("--- a/README.md\nnothing\n", "has no '+++' line"),
        ("I would change line 3.", "belongs to no hunk"),
        ("", "a unified diff is wanted"),
        ("x" * 500_000, "make smaller edits"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_with_the_reason(patch: str, why: str) -> None:
    with pytest.raises(PatchRefused) as refused:
        apply_patch(FILES, patch)
    assert why in str(refused.value)


def test_one_bad_hunk_refuses_the_whole_patch() -> None:
    files = dict(FILES)
    with pytest.raises(PatchRefused, match="hunk 1 of README"):
        apply_patch(files, FIX + "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Store\n+# Storage\n")
    assert files == FILES


def test_bytes_that_are_no_text_are_not_patched() -> None:
    with pytest.raises(PatchRefused, match="no UTF-8 text"):
        apply_patch({"a": b"\xff\n"}, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n")


CONTENT = st.one_of(
    st.lists(st.sampled_from(["a", "b", "", "-- c", "++ d", "\\ e", "@@", "f\r", "\x0c"]), max_size=12).map("\n".join),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40),
).map(str.encode)
STATES = st.dictionaries(st.sampled_from(["a", "b/c.py", "b/two words", "ü.md"]), CONTENT, max_size=4)


@given(STATES, STATES)
def test_applying_what_was_made_gives_the_other_state(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    patch = make_patch(before, after)
    changed = apply_patch(before, patch) if patch else {}
    merged = {**before, **changed}
    assert {name: content for name, content in merged.items() if content is not None} == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a b.py": b"1\n2\n3\n"}, {"a b.py": b"1\n2\n4"}),
        ({"a": b"1"}, {"b/c": b"-- x\n", "b/empty": b""}),
        ({"a": b"", "c": b"x\r\ny\r\n"}, {"c": b"x\r\nz\r\n"}),
        ({"a": b"1\n" * 30}, {"a": b"0\n" + b"1\n" * 29 + b"2\n"}),
    ],
)
def test_git_applies_what_was_made(before: dict[str, bytes], after: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in before.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    patch = make_patch(before, after).encode()
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=tmp_path, check=True)
    left = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == after
