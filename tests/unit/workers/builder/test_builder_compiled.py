"""Programs of compiled languages: a model makes typical mistakes, and the compiler and the tests say so.

The walls are real ones where a test says so. A toolchain that is missing skips its tests with the reason.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builder_kit import FINE, LocalWalls, ScriptedWalls, build, code, covered, model, reply
from toolchains import present_toolchains

from executor.launch import running_host
from executor.values import Limits
from threadbook_tools import native_start
from workers.builder.critics.tools import Tools
from workers.builder.critics.verdicts import Verdict
from workers.builder.history.iterations import BuiltComponent
from workers.builder.requirements.languages import LANGUAGES, language_of
from workers.builder.sandbox.session_walls import SandboxWalls
from workers.builder.sandbox.walls import Job, Ran, Walls

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="programs are started on 64-bit x86 alone"),
]

SUM = """
[file]
name = "total"
language = "{language}"
[project]
requirements = "Print the sum of the arguments."
[tests]
mutants = 1
[[tests.case]]
name = "two numbers"
arguments = ["2", "40"]
covers = ["R1"]
expect = {{ stdout = "42\\n" }}
[[tests.case]]
name = "a word is refused"
arguments = ["two"]
expect = {{ exit_code = 2, stderr_contains = ["no number"] }}
"""
C = """#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    long sum = 0;
    for (int at = 1; at < count; at++) {
        char *end;
        sum += strtol(words[at], &end, 10);
        if (*end) {
            fprintf(stderr, "%s is no number\\n", words[at]);
            return 2;
        }
    }
    printf("%ld\\n", sum);
    return 0;
}"""
RUST = """fn main() {
    let mut sum = 0i64;
    for word in std::env::args().skip(1) {
        match word.parse::<i64>() {
            Ok(number) => sum += number,
            Err(_) => {
                eprintln!("{word} is no number");
                std::process::exit(2);
            }
        }
    }
    println!("{sum}");
}"""
GO = """package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	sum := 0
	for _, word := range os.Args[1:] {
		number, err := strconv.Atoi(word)
		if err != nil {
			fmt.Fprintln(os.Stderr, word, "is no number")
			os.Exit(2)
		}
		sum += number
	}
	fmt.Println(sum)
}"""
PROGRAMS = {
    "c": ("total.c", C, "sum += strtol", "sum = strtol", "gcc"),
    "rust": ("total.rs", RUST, "sum += number", "sum = number", "rustc"),
    "go": ("total.go", GO, "sum += number", "sum = number", "go"),
}
LINES = {"c": 8, "rust": 5, "go": 17}
PLACES = ["c in a sandbox", "rust in a sandbox", "go in a sandbox", "rust without walls", "go without walls"]
JUDGES = [reply("# Requirements of", covered(("R1", True, "total:3"))), reply("You review code", FINE)]


@pytest.fixture(scope="module")
def walls() -> Iterator[SandboxWalls]:
    limits, toolchains = Limits(memory_mb=1_000), present_toolchains()
    with (
        running_host(limits=limits, bash=True, toolchains=toolchains) as sessions,
        closing(SandboxWalls(sessions)) as own,
    ):
        yield own


def verdict(built: BuiltComponent, critic: str, version: int = 1) -> Verdict:
    return next(one for one in built.versions[version - 1].verdicts if one.critic == critic)


def need(compiler: str, walls: Walls) -> None:
    """Skip a test of a toolchain that these walls do not have, with the reason."""
    language = next(one for one in LANGUAGES if one.compiler == compiler)
    if why := Tools(walls).missing(language):
        pytest.skip(why)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, walls: SandboxWalls) -> tuple[str, Walls]:
    language, _, where = request.param.partition(" ")
    compiler = PROGRAMS[language][4]
    chosen = walls if "sandbox" in where else LocalWalls(*filter(shutil.which, [compiler]))
    need(compiler, chosen)
    return language, chosen


def first_then_right(tmp_path: Path, place: tuple[str, Walls], before: str, after: str) -> BuiltComponent:
    """The build of a model whose first program has `after` in the place of `before`; the second one is right."""
    language, walls = place
    path, right, *_ = PROGRAMS[language]
    assert before in right
    first = reply("", code(path, right.replace(before, after), language))
    replies = model([first], [reply("version 2", code(path, right, language))], JUDGES)
    handed = build(tmp_path, SUM.format(language=language), replies, walls=walls)
    assert handed.iteration.state == "passed", handed.iteration.why
    assert (tmp_path / path).read_text() == right + "\n"
    assert (handed.iteration.mutation.tried, handed.iteration.mutation.found) == (1, 1)
    return handed.iteration.components[0]


def test_a_program_that_does_not_compile_is_shown_the_compilers_line(tmp_path: Path, place: tuple[str, Walls]) -> None:
    path, _, right, _, _ = PROGRAMS[place[0]]
    built = first_then_right(tmp_path, place, right, right.replace("sum", "total"))
    (found,) = verdict(built, "format").findings
    assert found.rule == "compile"
    assert found.where == f"{path}:{LINES[place[0]]}"
    assert "total" in found.message


def test_a_wrong_output_of_a_compiled_program_names_the_test_and_both_texts(
    tmp_path: Path, place: tuple[str, Walls]
) -> None:
    _, _, right, wrong, _ = PROGRAMS[place[0]]
    found = verdict(first_then_right(tmp_path, place, right, wrong), "tests")
    assert (found.state, found.good, found.total) == ("failed", 1, 2)
    assert "'40\\n', expected '42\\n'" in found.findings[0].message


def test_the_tests_that_are_handed_over_compile_the_program_themselves(
    tmp_path: Path, place: tuple[str, Walls]
) -> None:
    _, _, right, wrong, _ = PROGRAMS[place[0]]
    first_then_right(tmp_path, place, right, wrong)
    if not shutil.which("cc" if place[0] == "c" else PROGRAMS[place[0]][4]):
        pytest.skip("no compiler outside the walls")
    done = subprocess.run(
        [sys.executable, "tests/test_total.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 of 2 tests pass")


TWO = """
[file]
name = "report"
language = "c"
[[component]]
name = "stats"
requirements = "Give the mean of numbers."
files = ["stats.c", "stats.h"]
[[component]]
name = "report"
requirements = "Print the mean of 1 and 3."
depends_on = ["stats"]
[tests]
mutants = 0
[[tests.case]]
name = "the mean of two"
expect = { stdout = "2.0\\n" }
[build]
without = ["coverage", "review"]
"""


def test_components_of_c_are_compiled_into_one_program(tmp_path: Path, walls: SandboxWalls) -> None:
    need("gcc", walls)
    stats = code("stats.c", '#include "stats.h"\ndouble mean(double a, double b) { return (a + b) / 2; }', "c")
    stats += code("stats.h", "double mean(double a, double b);", "c")
    main = '#include <stdio.h>\n#include "stats.h"\nint main(void) { printf("%.1f\\n", mean(1, 3)); }'
    replies = [
        reply("# Interfaces of", '{"components": {"stats": {"exports": []}}}'),
        reply("# Component `stats`", stats),
        reply("# Component `report`", code("report.c", main, "c")),
    ]
    handed = build(tmp_path, TWO, model(replies), walls=walls)
    assert handed.iteration.state == "passed", handed.iteration.components
    assert verdict(handed.iteration.components[-1], "tests").good == 1


ENDS = {
    "a fault of memory": ("int main(void) { volatile int *at = 0; return *at; }", 139),
    "a stack that is full": ("int f(volatile int n) { volatile char a[9999]; a[0] = n; return f(n + 1) + a[0]; }\n"
                             "int main(void) { return f(1); }", 139),
    "an abort": ("#include <stdlib.h>\nint main(void) { abort(); }", 134),
    "its own exit code": ("int main(void) { return 7; }", 7),
}  # fmt: skip


def native_job(source: str, *words: str, stdin: str = "", **environment: str) -> Job:
    start = Path(native_start.__file__).read_text()
    prepare = language_of("c").compile_words("p.c", ["p.c"])
    return Job(
        ("python", "-I", ".built/start.py", ".built/program", *words),
        files={"p.c": source, ".built/start.py": start},
        prepare=prepare,
        stdin=stdin,
        environment=environment,
    )


@pytest.mark.parametrize("name", ENDS)
def test_a_compiled_program_ends_as_it_would_without_walls(name: str, walls: SandboxWalls) -> None:
    need("gcc", walls)
    source, exit_code = ENDS[name]
    assert walls.run(native_job(source)).exit_code == exit_code


def test_a_compiled_program_gets_its_words_input_and_environment_and_may_use_threads(walls: SandboxWalls) -> None:
    need("gcc", walls)
    source = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
void *inside(void *given) { puts(given); return 0; }
int main(int count, char **words) {
    char line[20];
    pthread_t thread;
    printf("%d %s %s %s", count, words[1], getenv("GIVEN"), fgets(line, 20, stdin));
    pthread_create(&thread, 0, inside, words[2]);
    pthread_join(thread, 0);
}"""
    assert walls.run(native_job(source, "a", "b c", stdin="read\n", GIVEN="x")).stdout == "3 a x read\nb c\n"


def test_nothing_of_the_workspace_is_executed_for_it(walls: SandboxWalls) -> None:
    """The wall that the start of compiled programs leaves as it is."""
    need("gcc", walls)
    ran = walls.run(
        Job(("bash", "-c", "gcc -o own p.c && ./own; echo $?"), files={"p.c": "int main(void) { return 0; }"})
    )
    if walls.level != "strong":
        pytest.skip(f"the walls here are {walls.level}")
    assert ran.stdout.strip() == "126"


REACHES = {
    "a file of the host": ('fopen("SECRET", "r")', 0),
    "a folder of the system": ('fopen("/usr/left", "w")', 0),
    "the network": ("socket(AF_INET, SOCK_STREAM, 0)", -1),
    "a program of its own": ('(chmod(".built/program", 0700), execl(".built/program", "again", "x", (char *)0))', -1),
    "its own file as code": ('mmap(0, 4096, 5, 2, open(".built/program", O_RDONLY), 0)', -1),
}


@pytest.mark.parametrize("name", REACHES)
def test_a_compiled_program_meets_the_walls_that_every_program_meets(
    name: str, walls: SandboxWalls, tmp_path: Path
) -> None:
    need("gcc", walls)
    if walls.level != "strong":
        pytest.skip(f"the walls here are {walls.level}")
    (tmp_path / "secret").write_text("s3cret")
    call, refused = REACHES[name]
    source = f"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **words) {{
    if (count > 1 || (long)({call.replace("SECRET", str(tmp_path / "secret"))}) != {refused}) puts("BREACHED");
    puts("done");
}}"""
    assert walls.run(native_job(source)).stdout == "done\n"


def test_a_file_that_is_no_program_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for path, why in ((tmp_path / "text", "no program of 64-bit x86"), (Path("/bin/true"), "link it statically")):
        done = subprocess.run(
            [sys.executable, "-I", native_start.__file__, path], capture_output=True, text=True, check=False
        )
        assert done.returncode == 126
        assert why in done.stderr


def test_a_toolchain_that_the_walls_do_not_show_is_named_with_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "rustc"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    walls = LocalWalls()
    walls.level = "strong"
    assert Tools(walls).why_not("rustc") == (
        f"rustc is installed as {tool}, which the walls do not show: install it below /usr, or have an admin name "
        "its folder in [sandbox] toolchains"
    )
    assert Tools(walls).why_not("go") == "go is not installed here"


def test_a_compiler_that_does_not_work_inside_is_no_fault_of_the_program(tmp_path: Path) -> None:
    refuses = Ran("ok", 134, stderr="Cannot create temporary file in /tmp/: Permission denied\ngcc: aborted")
    walls = ScriptedWalls({"-static-pie": refuses, "-fsyntax-only": Ran("ok", 0)})
    replies = model([reply("", code("total.c", C, "c"))], checks=JUDGES)
    handed = build(tmp_path, SUM.format(language="c"), replies, walls=walls)
    built = handed.iteration.components[0]
    assert (handed.iteration.state, len(built.versions)) == ("passed", 1)
    why = "gcc does not work inside the walls here: Cannot create temporary file in /tmp/: Permission denied"
    assert (verdict(built, "tests").state, verdict(built, "tests").note) == ("skipped", why)
