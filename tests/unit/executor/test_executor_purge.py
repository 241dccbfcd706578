"""A purge leaves nothing of a thread on the disk of its host."""

from __future__ import annotations

from pathlib import Path

from hosts import bare_host
from planted import places

WORD = "Nightingale"


def test_nothing_of_a_purged_thread_is_in_any_file_of_the_host(tmp_path: Path) -> None:
    home, given = tmp_path / "home", tmp_path / "given.csv"
    given.write_text(f"name\n{WORD}-given\n")
    with bare_host(home) as host:
        host.put("T1:C1:1.0", f"{WORD}.csv", given)
        host.put("T1:C1:2.0", "other.csv", given)
        code = f"a = '{WORD}-value'\nprint(a)\nbig = a * 400_000\nopen('{WORD}-made.txt', 'w').write(a)"
        host.run("T1:C1:1.0", "c1", code)
        host.run("T1:C1:1.0", "c2", f"b = 2  # {WORD}\nbig += 'x'")
        host.export_session("T1:C1:1.0")
        assert len(places(WORD, folders=(home,))) > 3
        host.purge("T1:C1:1.0")
        (left,) = places(WORD, folders=(home,))
        assert Path(left).read_text() == given.read_text()  # another thread was given the same file
        host.purge("T1:C1:2.0")
        assert places(WORD, folders=(home,)) == []


def test_a_reset_deletes_what_cells_made_from_the_hosts_disk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with bare_host(home) as host:
        host.run("T1:C1:1.0", "c1", "w = 'Nightin' + 'gale'\nopen('made.txt', 'w').write(w)")
        host.run("T1:C1:1.0", "c2", "open('made.txt', 'a').write(' twice'); None")
        host.export_session("T1:C1:1.0")
        assert places(WORD, folders=(home,)) != []
        host.reset("T1:C1:1.0")
        assert places(WORD, folders=(home,)) == []


def test_a_thread_whose_folder_takes_no_list_of_files_fails_alone_and_can_be_purged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with bare_host(home) as host:
        host.run("T1:C1:2.0", "c1", "x = 1")
        host.run("T1:C1:1.0", "c1", "x = 1")
        (home / "threads" / "T1%3AC1%3A1.0" / "files.json.new").mkdir()
        refused = host.run("T1:C1:1.0", "c2", f"x = 2\nopen('{WORD}.txt', 'w').write('{WORD}'); None")
        assert (refused.status, [said.code for said in refused.notices]) == ("died", ["result_refused"])
        assert host.run("T1:C1:1.0", "c3", "print(x)").stdout == "1\n"
        assert host.run("T1:C1:2.0", "c2", "print(x)").stdout == "1\n"
        assert host.ping().counters.started == 3
        host.purge("T1:C1:1.0")
        assert not (home / "threads" / "T1%3AC1%3A1.0").exists()
