"""Unified diffs, applied strictly: every line must stand where the patch says, or nothing is changed at all."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from threadbook_tools.archives import why_unsafe

MOST_CHARS = 400_000
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SHOWN = 120
_NOTHING = "/dev/null"
_NO_END = "\\ No newline at end of file"
_HEADS = ("diff --git ", "index ")
_REFUSED_HEADS = ("rename ", "copy ", "similarity ", "old mode", "new mode", "GIT binary patch", "Binary files")
_NEW, _DELETED = "new file mode ", "deleted file mode "
_PLAIN_MODES = ("100644", "100755")


class PatchRefused(ValueError):
    """The patch does not fit. The message says which line is wrong and what stands there; nothing was changed."""


@dataclass
class _Hunk:
    start: int
    """The first of its old lines, from 1; 0 in a new file."""
    counts: tuple[int, int]
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class _FilePatch:
    old: str
    new: str
    hunks: list[_Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.old if self.new == _NOTHING else self.new


def apply_patch(files: Mapping[str, bytes], patch: str) -> dict[str, bytes | None]:
    """What the files that a patch names become; None for one that it deletes. Raises PatchRefused; changes nothing."""
    if len(patch) > MOST_CHARS:
        raise PatchRefused(f"the patch is longer than {MOST_CHARS:,} characters; make smaller edits")
    changed: dict[str, bytes | None] = {}
    for part in _parsed(patch):
        if why := why_unsafe(part.name):
            raise PatchRefused(f"{part.name!r} is refused: {why}")
        if part.name in changed:
            raise PatchRefused(f"{part.name} stands in the patch twice; put its hunks behind one another")
        is_new, known = part.old == _NOTHING, part.name in files
        if is_new and known:
            raise PatchRefused(f"{part.name} is there already, and the patch makes it anew")
        if not is_new and not known:
            raise PatchRefused(f"there is no file {part.name}{_similar(part.name, files)}")
        if is_new:
            _refuse_clash(part.name, files)
        before = "" if is_new else _text(part.name, files[part.name])
        after = _patched(part, before)
        if part.new == _NOTHING and after:
            raise PatchRefused(f"the patch deletes {part.name} and leaves lines of it; it must remove them all")
        changed[part.name] = None if part.new == _NOTHING else after.encode()
    if not changed:
        raise PatchRefused("there is no '--- a/FILE' line: a unified diff is wanted, as `git diff` writes it")
    return changed


def make_patch(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """The unified diff from one state to the other, as `git apply` takes it; "" when they are equal."""
    pieces = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        tab = "\t" if " " in name else ""  # as git does it: the name ends there
        pieces.append(f"diff --git a/{name} b/{name}")
        if old is None:
            pieces.append(f"{_NEW}100644")
        if new is None:
            pieces.append(f"{_DELETED}100644")
        lines = list(_diff(_lines(_text(name, old or b"")), _lines(_text(name, new or b""))))
        if lines:
            pieces.append(f"--- {_NOTHING}" if old is None else f"--- a/{name}{tab}")
            pieces.append(f"+++ {_NOTHING}" if new is None else f"+++ b/{name}{tab}")
            pieces += lines
    return "\n".join(pieces) + "\n" if pieces else ""


def _diff(old: list[str], new: list[str]) -> Iterator[str]:
    for line in list(difflib.unified_diff(old, new, n=3))[2:]:
        if line.endswith("\n"):
            yield line[:-1]
        else:
            yield from (line, _NO_END)


def _lines(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends a line: a form feed in a source file does not."""
    found = text.split("\n")
    return [line + "\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise PatchRefused(f"{name} is no UTF-8 text, so it cannot be patched") from None


# --- reading a patch


def _parsed(patch: str) -> list[_FilePatch]:
    parts: list[_FilePatch] = []
    lines = patch.split("\n")
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 1
        if line.startswith("--- "):
            if at + 1 >= len(lines) or not lines[at + 1].startswith("+++ "):
                raise PatchRefused(f"line {number} of the patch has no '+++' line behind it")
            parts.append(_FilePatch(*_names(line, lines[at + 1], number)))
            at += 2
        elif line.startswith("@@"):
            if not parts:
                raise PatchRefused(f"line {number} of the patch: a hunk without a '--- a/FILE' line before it")
            hunk, at = _hunk(lines, at)
            parts[-1].hunks.append(hunk)
        elif any(line.startswith(head) for head in _REFUSED_HEADS):
            raise PatchRefused(f"line {number} of the patch: {_quoted(line)} is not supported; edit lines of text only")
        elif line.startswith((_NEW, _DELETED)):
            if line.rpartition(" ")[2] not in _PLAIN_MODES:
                raise PatchRefused(f"line {number} of the patch: only regular files, no links ({_quoted(line)})")
            parts += _empty_file(lines, at)
            at += 1
        elif not line.strip() or line.startswith(_HEADS):
            at += 1
        else:
            raise PatchRefused(f"line {number} of the patch belongs to no hunk: {_quoted(line)}")
    return parts


def _empty_file(lines: list[str], at: int) -> list[_FilePatch]:
    """The file that is made or deleted at line `at` of the patch when it is empty: then no '---' line follows."""
    follows = next((line for line in lines[at + 1 :] if not line.startswith("index ")), "")
    head = lines[at - 1] if at else ""
    if not head.startswith(_HEADS[0]) or follows.startswith("--- "):
        return []
    both = head.removeprefix(_HEADS[0])
    name = both[2 : len(both) // 2]
    return [_FilePatch(_NOTHING, name) if lines[at].startswith(_NEW) else _FilePatch(name, _NOTHING)]


def _names(old_line: str, new_line: str, number: int) -> tuple[str, str]:
    old, new = (line[4:].partition("\t")[0].strip() for line in (old_line, new_line))
    old = old if old == _NOTHING else old.removeprefix("a/")
    new = new if new == _NOTHING else new.removeprefix("b/")
    if old == new == _NOTHING:
        raise PatchRefused(f"line {number} of the patch names no file")
    if _NOTHING not in (old, new) and old != new:
        raise PatchRefused(f"line {number} of the patch renames {old} to {new}, which is not supported")
    return old, new


def _hunk(lines: list[str], at: int) -> tuple[_Hunk, int]:
    """The hunk whose head is at `at`, and where the next line is."""
    head, number = _HUNK.match(lines[at]), at + 1
    if head is None:
        raise PatchRefused(f"line {number} of the patch is no '@@ -LINE,COUNT +LINE,COUNT @@': {_quoted(lines[at])}")
    counts = int(head[2] or 1), int(head[4] or 1)
    hunk = _Hunk(int(head[1]), counts)
    at += 1
    while at < len(lines) and (len(hunk.old), len(hunk.new)) != counts:
        sign, text = lines[at][:1], lines[at][1:] + "\n"
        if sign not in ("", " ", "+", "-", "\\") or (sign == "" and at == len(lines) - 1):
            break
        if sign == "\\":
            _cut_end(hunk, lines[at - 1][:1])
        if sign in ("", " ", "-"):
            hunk.old.append(text)
        if sign in ("", " ", "+"):
            hunk.new.append(text)
        at += 1
    if at < len(lines) and lines[at].startswith("\\"):
        _cut_end(hunk, lines[at - 1][:1])
        at += 1
    found = len(hunk.old), len(hunk.new)
    if found != counts or (at < len(lines) and lines[at][:1] in (" ", "+") and not lines[at].startswith("+++ ")):
        raise PatchRefused(
            f"line {number} of the patch announces {counts[0]} old and {counts[1]} new lines, "
            f"and its hunk has {'more' if found == counts else f'{found[0]} and {found[1]}'}: correct the counts"
        )
    return hunk, at


def _cut_end(hunk: _Hunk, sign: str) -> None:
    """The line before has no line feed at its end."""
    for side, signs in ((hunk.old, (" ", "-", "")), (hunk.new, (" ", "+", ""))):
        if side and sign in signs:
            side[-1] = side[-1].removesuffix("\n")


# --- applying one


def _patched(part: _FilePatch, before: str) -> str:
    lines = _lines(before)
    ends = "\r\n" if lines and all(line.endswith("\r\n") for line in lines) else "\n"
    result: list[str] = []
    done = 0
    for number, hunk in enumerate(part.hunks, 1):
        old, new = (_with_ends(side, ends) for side in (hunk.old, hunk.new))
        start = hunk.start - 1 if old else hunk.start  # without old lines the number is that of the line before
        where = f"hunk {number} of {part.name}"
        if start < done or start > len(lines):
            raise PatchRefused(
                f"{where} begins at line {hunk.start}; "
                + (f"the file has {len(lines)} lines" if start > len(lines) else "the hunk before it ends behind that")
            )
        _refuse_mismatch(where, lines, start, old)
        result += [*lines[done:start], *new]
        done = start + len(old)
    return "".join([*result, *lines[done:]])


def _with_ends(lines: list[str], ends: str) -> list[str]:
    """Lines as the file ends them: a model writes no carriage return."""
    if ends == "\n":
        return lines
    return [line[:-1] + ends if line.endswith("\n") and not line.endswith("\r\n") else line for line in lines]


def _refuse_mismatch(where: str, lines: list[str], start: int, wanted: list[str]) -> None:
    for place, line in enumerate(wanted):
        found = lines[start + place] if start + place < len(lines) else None
        if found == line:
            continue
        has = "the end of the file" if found is None else _quoted(found)
        if found is not None and found.rstrip("\r\n") == line.rstrip("\r\n"):
            has += " with another line end"
        places = [at + 1 for at in range(len(lines)) if lines[at : at + len(wanted)] == wanted]
        hint = f"; its old lines stand at line {', '.join(map(str, places[:3]))}" if places else ""
        raise PatchRefused(f"{where}: line {start + place + 1} is {has}, the patch expects {_quoted(line)}{hint}")


def _refuse_clash(name: str, files: Mapping[str, bytes]) -> None:
    parts = name.split("/")
    above = next((path for n in range(1, len(parts)) if (path := "/".join(parts[:n])) in files), None)
    if above is not None:
        raise PatchRefused(f"{name} cannot be made: {above} is a file")
    if any(other.startswith(f"{name}/") for other in files):
        raise PatchRefused(f"{name} cannot be made: it is a folder")


def _similar(name: str, files: Mapping[str, bytes]) -> str:
    near = difflib.get_close_matches(name, list(files)[:5_000], 1) or [
        other for other in files if other.endswith("/" + name)
    ]
    return f"; did you mean {near[0]}?" if near else ""


def _quoted(line: str) -> str:
    text = line.rstrip("\r\n")
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
