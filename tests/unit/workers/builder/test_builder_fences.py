"""Files come out of a reply whole, whatever fences their code holds."""

from __future__ import annotations

import pytest
from builder_kit import FENCE

from workers.builder.critics.format import reads_as
from workers.builder.fences import MOST_BLOCKS, MOST_ENDS, files_of, quoted
from workers.builder.requirements.languages import language_of

PYTHON = language_of("python")
CODE = 'print("hello")\n'
FENCED = 'HELP = """\nUse it so:\n```\nrun me\n```\n"""\nprint(HELP)\n'


def found(reply: str, *wanted: str, language: str = "python") -> dict[str, str]:
    row = language_of(language)
    return dict(files_of(reply, wanted or ("a.py",), row, lambda text: reads_as(row, text)))


FORMS = {
    "the form that is asked for": f"File: a.py\n{FENCE}python\n{CODE}{FENCE}\n",
    "three backticks and prose around": f"Sure!\n\n```python\n{CODE}```\nRun it with:\n```bash\npython a.py\n```\n",
    "tildes": f"~~~py\n{CODE}~~~",
    "no name of a language": f"```\n{CODE}```",
    "a heading as name": f"### `a.py`\n```python\n{CODE}```",
    "the name behind the fence": f"```python a.py\n{CODE}```",
    "never closed": f"```python\n{CODE}",
    "no fence at all": f"import sys\n{CODE}",
    "after thoughts": f"<think>```python\nwrong()\n```</think>\n```python\n{CODE}```",
    "windows line ends": f"```python\r\n{CODE.strip()}\r\n```\r\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_found_in_each_form_that_models_use(form: str) -> None:
    expected = f"import sys\n{CODE}" if form == "no fence at all" else CODE
    assert found(FORMS[form]) == {"a.py": expected}


@pytest.mark.parametrize("fence", ["```", "````", FENCE])
def test_code_that_holds_fences_survives(fence: str) -> None:
    assert found(f"Here:\n{fence}python\n{FENCED}{fence}\nDone.") == {"a.py": FENCED}


def test_fences_in_the_code_of_two_files_survive() -> None:
    reply = f"File: a.py\n```python\n{FENCED}```\n\nFile: b.py\n```python\n{CODE}```\n"
    assert found(reply, "a.py", "b.py") == {"a.py": FENCED, "b.py": CODE}


def test_prose_alone_is_no_file() -> None:
    assert found("I am sorry, I cannot write this program.\nPlease tell me more.") == {}


def test_of_two_wanted_files_an_unnamed_one_is_the_missing_one() -> None:
    reply = f"File: a.py\n```python\n{CODE}```\nand\n```python\nx = 1\n```"
    assert found(reply, "a.py", "b.py") == {"a.py": CODE, "b.py": "x = 1\n"}


def test_a_file_that_nobody_asked_for_is_left_out() -> None:
    assert found(f"File: /etc/passwd\n```\nx\n```\nFile: a.py\n```python\n{CODE}```") == {"a.py": CODE}


def test_bash_with_a_heredoc_of_markdown_survives() -> None:
    script = "cat <<'END'\n```\ncode\n```\nEND\n"
    assert found(f"```bash\n{script}```\n", "a.sh", language="bash") == {"a.sh": script}


@pytest.mark.parametrize("reply", ["```\n" * 3_000, "`" * 50_000, "File: a.py\n```python\n" * 3_000, "a/" * 30_000])
def test_a_reply_of_nothing_but_fences_is_given_up_soon(reply: str) -> None:
    reads: list[str] = []
    files_of(reply, ("a.py",), PYTHON, lambda text: bool(reads.append(text)))
    assert len(reads) <= MOST_BLOCKS * MOST_ENDS + 1


@pytest.mark.parametrize("text", ["plain", FENCED, f"{FENCE}\n{FENCE}x", "`" * 20])
def test_what_is_quoted_cannot_close_its_fence(text: str) -> None:
    lines = quoted(text).split("\n")
    assert lines[0] == lines[-1]
    assert not any(line.strip("`") == "" and len(line) >= len(lines[0]) for line in lines[1:-1] if line)
