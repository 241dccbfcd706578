"""Source code in a thread: given as an archive or a link, explored, edited, undone, and handed back as a patch."""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from git_server import GitServer, git, git_server
from turn_world import Death, Meanwhile, World, cell, finish

from core.values import ThreadKey
from executor.sandbox import landlock
from threadbook_tools.bundles import BRANCH
from workers.models.scripted import ScriptedModel

needs_jail = pytest.mark.skipif(landlock.version() < 4, reason="this kernel has no Landlock that knows TCP")

CODE = 'def total(items):\n    """The sum."""\n    return 0\n'
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
FILES = {"pyproject.toml": b"[project]\n", "shop.py": CODE.encode(), "test_shop.py": TEST.encode()}
OPEN = "from threadbook_tools import Repository\nrepo = Repository('shop.zip')\n"
FIX = """--- a/shop.py
+++ b/shop.py
@@ -1,3 +1,3 @@
 def total(items):
     \"\"\"The sum.\"\"\"
-    return 0
+    return sum(items)
"""
EDIT = cell(f"{OPEN}print(repo.edit({FIX!r}))", "Return the sum")
REPORT = finish("total() returned nothing; it now returns the sum.")


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"shop-main/{name}", content)
    return packed.getvalue()


def asked(world: World, *replies: Any, text: str = "why is the total wrong?") -> ThreadKey:
    world.model = ScriptedModel(turns=[list(replies)])
    key = world.say(text, files={"shop.zip": zipped(FILES)})
    world.settle(key)
    return key


def posted(world: World, name: str) -> list[bytes]:
    return [world.slack.content(file["id"]) for file in world.slack._files.values() if file["name"] == name]


def outputs(world: World, key: ThreadKey) -> list[str]:
    return [step["stdout"] + step["error"] for step in world.steps(key, "cell")]


# --- an archive


def test_the_model_is_told_the_outline_and_how_to_work_with_it(world: World) -> None:
    model = Meanwhile(ScriptedModel([EDIT, REPORT]), {})
    world.model = model
    key = world.say("why is the total wrong?", files={"shop.zip": zipped(FILES)})
    world.settle(key)
    told = str(model.requests[0].messages[-1]["content"])
    assert "1: def total(items)  # The sum." in told
    assert "repo = Repository('shop.zip')" in told
    assert "Nothing is pushed" in told


def test_an_edit_leaves_the_thread_as_a_patch_that_git_applies(world: World, tmp_path: Path) -> None:
    key = asked(world, EDIT, REPORT)
    assert world.statuses(key) == ["done"]
    (patch,) = posted(world, "shop.changes.patch")
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert (tmp_path / "shop.py").read_text() == CODE.replace("return 0", "return sum(items)")


def test_a_question_that_changes_nothing_leaves_no_patch(world: World) -> None:
    key = asked(world, cell(f"{OPEN}print(repo.search('return'))"), finish("It returns nothing."))
    assert "shop.py:3: return 0" in outputs(world, key)[0]
    assert posted(world, "shop.changes.patch") == []


def test_a_follow_up_goes_on_from_the_edits_also_in_a_new_session(world: World) -> None:
    world.model = ScriptedModel(turns=[[EDIT, REPORT], [cell(f"{OPEN}print(repo.read('shop.py', 3))"), REPORT]])
    key = world.say("why is the total wrong?", files={"shop.zip": zipped(FILES)})
    world.settle(key)
    world.sessions.restart()
    world.say("and now?", thread=key)
    world.settle(key)
    assert "3     return sum(items)" in outputs(world, key)[-1]


def test_undo_takes_the_last_edit_back_and_keeps_those_before(world: World) -> None:
    more = "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+# Notes\n"
    look = cell("print(Repository('shop.zip').changes())")
    world.model = ScriptedModel(turns=[[EDIT, cell(f"repo.edit({more!r})", "Add notes"), REPORT], [look, REPORT]])
    key = world.say("why is the total wrong?", files={"shop.zip": zipped(FILES)})
    world.settle(key)
    assert b"NOTES.md" in posted(world, "shop.changes.patch")[-1]
    for text in ("undo", "what is left?"):
        world.say(text, thread=key)
        world.settle(key)
    assert "“Add notes”" in world.text(key)
    left = outputs(world, key)[-1]
    assert "+    return sum(items)" in left
    assert "NOTES.md" not in left


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # death in a helper thread
@pytest.mark.parametrize("at", range(1, 27, 5))
def test_a_worker_that_dies_anywhere_leaves_one_patch(at: int, world: World) -> None:
    world.model = ScriptedModel(turns=[[EDIT, REPORT]])
    key = world.say("why is the total wrong?", files={"shop.zip": zipped(FILES)})
    death = Death(at)
    world.settle(key, death)
    assert death.dead
    assert world.statuses(key) == ["done"]
    shown = [file["name"] for message in world.messages(key, ours=True) for file in message.get("files", ())]
    assert shown.count("shop.changes.patch") == 1


# --- a model that behaves badly


@pytest.mark.parametrize(
    ("diff", "why"),
    [
        (FIX.replace("return 0", "return 1"), "line 3 is '    return 0', the patch expects '    return 1'"),
        (FIX.replace("shop.py", "../../outside.py"), "its name leads outside"),
        (FIX.replace("shop.py", "/etc/passwd"), "its name leads outside"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n", "no links"),
        ("Change line 3 to return sum(items).", "belongs to no hunk"),
    ],
)
def test_a_patch_that_is_refused_goes_back_with_the_reason_and_is_written_anew(
    diff: str, why: str, world: World
) -> None:
    key = asked(world, cell(f"{OPEN}repo.edit({diff!r})", "Edit"), EDIT, REPORT)
    assert world.statuses(key) == ["done"]
    refused, mended = outputs(world, key)
    assert why in refused
    assert "changed shop.py" in mended
    assert len(posted(world, "shop.changes.patch")) == 1


def test_a_patch_that_was_written_past_edit_is_not_believed(world: World) -> None:
    forged = cell("open('shop.changes.patch', 'w').write('--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-a\\n+b\\n')", "Forge")
    key = asked(world, forged, cell(f"{OPEN}print(repo.files())"), REPORT)
    assert "was changed by hand and does not fit" in outputs(world, key)[1]


def test_links_in_an_archive_are_left_out_and_said(world: World) -> None:
    packed = io.BytesIO(zipped(FILES))
    with zipfile.ZipFile(packed, "a") as archive:
        link = zipfile.ZipInfo("shop-main/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    model = Meanwhile(ScriptedModel([cell(f"{OPEN}print('link' in repo.current())"), REPORT]), {})
    world.model = model
    key = world.say("what is in it?", files={"shop.zip": packed.getvalue()})
    world.settle(key)
    assert "left out: 1 (link: it is a symbolic link)" in str(model.requests[0].messages[-1]["content"])
    assert outputs(world, key) == ["False\n"]


# --- a link


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as found:
        found.add("team/shop", FILES)
        yield found


def allowed(world: World, server: GitServer, **more: object) -> None:
    settings = {"private_hosts": (server.host,), "ca_file": str(server.trusted), **more}
    repositories = world.settings.repositories.model_copy(update=settings)
    world.settings = world.settings.model_copy(update={"repositories": repositories})


@needs_jail
def test_a_link_to_an_allowed_host_brings_the_repository_and_a_branch_goes_back(
    world: World, server: GitServer, tmp_path: Path
) -> None:
    allowed(world, server)
    edit = cell(f"{OPEN.replace('zip', 'tar')}print(repo.edit({FIX!r}))")
    world.model = ScriptedModel([edit, REPORT])
    key = world.say(f"why is the total of {server.url('team/shop')} wrong?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    (file,) = world.steps(key, "briefed")[0]["files"]
    assert (file["path"], file["format"]) == ("shop.tar", "repository")
    assert "commit " in file["text"]
    assert b"+    return sum(items)" in posted(world, "shop.changes.patch")[0]
    (bundle,) = posted(world, "shop.changes.bundle")
    (tmp_path / "made.bundle").write_bytes(bundle)
    git(server.folder / "team/shop.git", "fetch", "-q", str(tmp_path / "made.bundle"), f"{BRANCH}:{BRANCH}")
    assert "return sum(items)" in git(server.folder / "team/shop.git", "show", f"{BRANCH}:shop.py")
    assert not [path for path in server.paths if "receive-pack" in path], "nothing is ever pushed"


@needs_jail
def test_a_link_that_leads_to_a_private_address_is_refused_and_said(world: World, server: GitServer) -> None:
    allowed(world, server, hosts=(server.host,), private_hosts=())
    key = world.say(f"what does {server.url('team/shop')} do?")
    world.settle(key)
    assert "leads into a private network" in world.text(key)
    assert server.paths == []


@needs_jail
def test_a_link_to_another_host_is_said_to_be_not_allowed(world: World, server: GitServer) -> None:
    allowed(world, server)
    key = world.say("what does https://elsewhere.example/ana/shop.git do?")
    world.settle(key)
    assert "it is on elsewhere.example, and I may not clone from there" in world.text(key)


def test_where_no_host_is_allowed_a_link_is_only_a_text(world: World) -> None:
    world.model = ScriptedModel([finish("It is a link.")])
    key = world.say("what is https://github.com/ana/shop.git?")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "briefed" not in world.kinds(key)
