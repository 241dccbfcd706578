"""Tests of Go and Rust in a real session: built behind the walls, and started there from their bytes."""

from __future__ import annotations

import itertools
import json
import platform
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolchains import toolchain_of

from executor.client import SessionClient
from executor.launch import running_host

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="programs are started on 64-bit x86 alone"),
]

OPEN = "from threadbook_tools import Repository\nprint(Repository('p.zip').run_tests())"
GO = {
    "go.mod": "module example.com/shop\n\ngo 1.16\n",
    "shop.go": "package shop\n\nfunc Total(a, b int) int { return a + b }\n",
    "shop_test.go": """package shop

import "testing"

func TestTotal(t *testing.T) {
	if got := Total(1, 2); got != 3 {
		t.Fatalf("it gave %d", got)
	}
}
""",
    "inner/inner_test.go": """package inner

import (
	"os"
	"testing"
)

func TestFolder(t *testing.T) {
	if _, err := os.Stat("inner_test.go"); err != nil {
		t.Fatal(err)
	}
}
""",
}
RUST = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2018"\n',
    "src/lib.rs": """/// ```
/// assert_eq!(shop::total(1, 2), 3);
/// ```
pub fn total(a: i64, b: i64) -> i64 {
    a + b
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        let got = super::total(1, 2);
        assert!(got == 3, "it gave {}", got);
    }

    #[test]
    #[should_panic]
    fn panics() {
        panic!("boom");
    }
}
""",
    "tests/outside.rs": "#[test]\nfn from_outside() {\n    assert_eq!(shop::total(0, 0), 0);\n}\n",
}
PROJECTS = {"go": (GO, "go.mod (go test ./...)"), "cargo": (RUST, "Cargo.toml (cargo test --offline)")}
THREADS = itertools.count(1)
Told = Callable[[dict[str, str]], str]


@pytest.fixture(scope="module", params=PROJECTS)
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def sessions(tool: str) -> Iterator[SessionClient]:
    with running_host(bash=True, toolchains=toolchain_of(tool)) as client:
        yield client


@pytest.fixture
def told(sessions: SessionClient, tmp_path: Path) -> Told:
    """What the shell says of the tests of a project, once a cell has named the line for it."""

    def ask(files: dict[str, str]) -> str:
        with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        thread = f"T:C:{next(THREADS)}"
        sessions.put(thread, "p.zip", tmp_path / "p.zip")
        refused = sessions.run(thread, "1", OPEN).stdout.strip().splitlines()
        assert refused[0].startswith("Not run: "), refused
        assert "a cell starts no programs. Where there is run_bash, give it this line:" in refused[0]
        return sessions.bash(thread, "2", refused[-1], approve=lambda _: True).stdout

    return ask


def test_tests_of_compiled_projects_pass_and_fail_with_what_they_print(told: Told, tool: str) -> None:
    files, suite = PROJECTS[tool]
    said = told(files)
    assert said.startswith(f"{suite}: passed\n"), said
    wanted = (
        ["ok  \texample.com/shop/inner"] if tool == "go" else ["2 passed", "from_outside ... ok", "(line 1) ... ok"]
    )
    assert [each for each in wanted if each not in said] == []
    broken = {name: text.replace("a + b", "a - b") for name, text in files.items()}
    said = told(broken)
    assert said.startswith(f"{suite}: failed with exit code "), said
    assert "it gave -1" in said


NEEDS = {
    "go": {
        "go.mod": GO["go.mod"] + "\nrequire example.com/dep v1.0.0\n",
        "shop.go": 'package shop\n\nimport "example.com/dep"\n\nfunc Total(a, b int) int { return dep.Add(a, b) }\n',
        "shop_test.go": GO["shop_test.go"],
    },
    "cargo": {
        "Cargo.toml": RUST["Cargo.toml"] + '\n[dependencies]\ndep = "1"\n',
        "src/lib.rs": RUST["src/lib.rs"].replace("a + b", "dep::add(a, b)"),
    },
}
VENDORED = {
    "go": {
        "vendor/modules.txt": "# example.com/dep v1.0.0\n## explicit\nexample.com/dep\n",
        "vendor/example.com/dep/dep.go": "package dep\n\nfunc Add(a, b int) int { return a + b }\n",
    },
    "cargo": {
        "vendor/dep/Cargo.toml": '[package]\nname = "dep"\nversion = "1.0.0"\n',
        "vendor/dep/src/lib.rs": "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n",
        "vendor/dep/.cargo-checksum.json": json.dumps({"files": {}, "package": None}),
    },
}


def test_packages_that_are_not_in_the_archive_are_asked_for_and_those_that_are_suffice(told: Told, tool: str) -> None:
    suite, vendor = PROJECTS[tool][1], {"go": "go mod vendor", "cargo": "cargo vendor"}[tool]
    said = told(NEEDS[tool])
    why = f"packages that it needs are not here, and nothing is fetched. Put them into the archive ({vendor})"
    assert said.startswith(f"{suite}: failed with exit code "), said
    assert why in said.splitlines()[0], said
    said = told(NEEDS[tool] | VENDORED[tool])
    assert said.startswith(f"{suite}: passed\n"), said


RUN_BUILT = {
    "go": {
        "own_test.go": """package shop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestOwn(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, program, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(own).Run(); err != nil {
		t.Fatal(err)
	}
}
""",
    },
    "cargo": {"build.rs": "fn main() {}\n"},
}


def test_what_would_be_executed_as_a_file_is_refused_and_the_reason_is_told(
    told: Told, tool: str, sessions: SessionClient
) -> None:
    if sessions.ping().sandbox.level == "none":
        pytest.skip("there are no walls here")
    said = told(PROJECTS[tool][0] | RUN_BUILT[tool])
    assert "something of it was to be executed that was built here, which the walls refuse" in said, said


REACH = {
    "go": {
        "go.mod": GO["go.mod"],
        "reach_test.go": """package shop

import (
	"net"
	"os"
	"testing"
)

func TestReach(t *testing.T) {
	if _, err := os.ReadFile("SECRET"); err == nil {
		t.Error("BREACHED: a file")
	}
	if _, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		t.Error("BREACHED: a socket")
	}
	if err := os.WriteFile("TOOLCHAIN/left", nil, 0o600); err == nil {
		t.Error("BREACHED: the toolchain")
	}
}
""",
    },
    "cargo": {
        "Cargo.toml": RUST["Cargo.toml"],
        "src/lib.rs": """#[test]
fn reach() {
    assert!(std::fs::read("SECRET").is_err(), "BREACHED: a file");
    assert!(std::net::TcpListener::bind("127.0.0.1:0").is_err(), "BREACHED: a socket");
    assert!(std::fs::write("TOOLCHAIN/left", "x").is_err(), "BREACHED: the toolchain");
}
""",
    },
}


def test_such_tests_meet_the_walls_that_every_program_meets(
    told: Told, tool: str, sessions: SessionClient, tmp_path: Path
) -> None:
    if sessions.ping().sandbox.level == "none":
        pytest.skip("there are no walls here")
    (tmp_path / "secret").write_text("s3cret")
    places = {"SECRET": str(tmp_path / "secret"), "TOOLCHAIN": str((toolchain_of(tool) or [Path("/usr")])[0])}
    files = dict(REACH[tool])
    for name, place in places.items():
        files = {path: text.replace(name, place) for path, text in files.items()}
    said = told(files)
    assert "BREACHED" not in said
    assert said.startswith(f"{PROJECTS[tool][1]}: passed\n"), said
