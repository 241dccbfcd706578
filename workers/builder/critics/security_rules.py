"""Rules of our own over code that is about to be handed to people. Nothing is run.

They find things that a reader of the code should know: code made at run time, shell lines, downloads, secrets in the
source, and text that addresses a reviewer. A rule has a kind; `[security] allow` names the kinds that are intended.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workers.agent.code.source import tree
from workers.builder.critics.verdicts import Finding, finding
from workers.builder.requirements.requirement import Severity

LINE_CHARS = 2_000
"""What is longer is looked at up to here: rules are patterns over lines."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over lines of source. It counts only in a file that has `beside` somewhere."""

    id: str
    kind: str
    severity: Severity
    pattern: re.Pattern[str]
    message: str
    beside: re.Pattern[str] | None = None


def _rule(name: str, kind: str, severity: Severity, pattern: str, message: str, *, beside: str = "") -> Rule:
    return Rule(
        name, kind, severity, re.compile(pattern, re.IGNORECASE), message, re.compile(beside) if beside else None
    )


_ANYWHERE = (
    _rule(
        "secret",
        "secrets",
        "high",
        r"\bsk-[A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bgh[pousr]_[A-Za-z0-9]{30,}"
        r"|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY",
        "A secret stands in the source. Read it from the environment.",
    ),
    _rule(
        "password",
        "secrets",
        "medium",
        r"\b(?:password|passwd|secret|api_?key|auth_?token)\b[\"']?\s*[:=]\s*[\"'](?![\"'<$%{]|your|example|change|test|dummy|fake|xxx)[^\"'\s]{6,}[\"']",
        "It looks like a password in the source. Read it from the environment.",
    ),
    _rule(
        "reviewer",
        "review",
        "high",
        r"(?:ignore|disregard|forget) (?:\w+ ){0,3}(?:previous|prior|above|earlier) (?:instruct|rule|prompt)"
        r"|(?:dear|note to|attention|as an?) (?:the )?(?:reviewer|judge|critic|auditor|grader|ai model|language model)"
        r"|(?:mark|rate|report|judge|treat) (?:this|it|the (?:code|program)) as (?:safe|secure|passed|met|final)"
        r"|\"?(?:verdict|is_final|met|passed|safe)\"?\s*:\s*true\b.{0,80}(?:reviewer|judge|verdict)",
        "The source has text that speaks to a reviewer or a model.",
    ),
    _rule(
        "metadata",
        "network",
        "high",
        r"169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200",
        "It asks a cloud's metadata service, where credentials are.",
    ),
    _rule(
        "host-secrets",
        "files",
        "high",
        r"/etc/shadow|\.ssh/|\.aws/credentials|\.netrc|\.kube/config|/proc/(?:1|self)/environ|\.docker/config\.json",
        "It names a file that holds secrets of the machine.",
    ),
)
_BASH = (
    _rule(
        "download-and-run",
        "network",
        "high",
        r"\b(?:curl|wget)\b[^#\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\b(?:ba|z)?sh\s+<\(\s*(?:curl|wget)|source\s+<\(\s*(?:curl|wget)",
        "It downloads something and runs it.",
    ),
    _rule("eval", "code", "high", r"(?:^|[;&|(]\s*)eval\b", "It runs a text as code (eval)."),
    _rule(
        "remove",
        "files",
        "high",
        r"\brm\s+(?:-\w+\s+)+[\"']?(?:/(?:\s|$|\*|[\"'])|~|\$HOME\b(?!/)|\$\{?\w+\}?/(?:\s|$|\*))",
        "It may remove far more than its own files.",
    ),
    _rule("device", "files", "high", r"/dev/(?:tcp|udp)/", "It opens a network connection through /dev."),
    _rule("download", "network", "medium", r"\b(?:curl|wget|nc|ssh|scp|rsync|ftp)\b", "It uses the network."),
    _rule(
        "insecure-tls",
        "network",
        "medium",
        r"\bcurl\b[^#\n]*\s(?:-k|--insecure)\b|--no-check-certificate",
        "It does not check whom it talks to.",
    ),
    _rule("chmod", "files", "medium", r"\bchmod\s+(?:-R\s+)?(?:0?777|a\+rwx)", "It lets everybody write a file."),
    _rule("privileges", "processes", "high", r"(?:^|[;&|]\s*)(?:sudo|su|doas)\b", "It becomes another user."),
)
_JAVASCRIPT = (
    _rule("eval", "code", "high", r"\beval\s*\(|\bnew\s+Function\s*\(|\bvm\.run", "It runs a text as code."),
    _rule(
        "shell",
        "processes",
        "high",
        r"(?<!\.)\bexec\s*\(|\bexecSync\s*\(|require\s*\([^)]*\)\s*\??\.\s*exec\s*\(",
        "It runs a shell line (child_process.exec).",
    ),
    # A method of this name is that of a pattern, too: /(\d+)/.exec(text). A module that is computed may be any.
    _rule(
        "shell",
        "processes",
        "high",
        r"\.\s*exec\s*\(",
        "It runs a shell line (child_process.exec). For a pattern use text.match(pattern).",
        beside=r"child_process|\brequire\s*\(\s*(?![\"'][^\"']*[\"']\s*\))|\bimport\s*\(|\bprocess\s*\.\s*binding",
    ),
    _rule("process", "processes", "medium", r"child_process", "It starts other programs."),
    _rule(
        "network",
        "network",
        "medium",
        r"\bfetch\s*\(|require\(\s*['\"](?:node:)?(?:https?|net|tls|dgram)['\"]|from\s+['\"](?:node:)?(?:https?|net|tls|dgram)['\"]",
        "It uses the network.",
    ),
    _rule(
        "insecure-tls",
        "network",
        "medium",
        r"rejectUnauthorized\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED",
        "It does not check whom it talks to.",
    ),
)
_HTML = (
    _rule(
        "remote-script",
        "network",
        "medium",
        r"<script[^>]+src\s*=\s*[\"']?(?:https?:)?//",
        "The page loads code from elsewhere.",
    ),
    _rule("inline-eval", "code", "high", r"\beval\s*\(|\bdocument\.write\s*\(", "The page runs a text as code."),
)
_SQL = (
    _rule("drop-database", "files", "high", r"\bdrop\s+(?:database|schema)\b", "It drops a whole database."),
    _rule(
        "load-extension",
        "code",
        "high",
        r"\bload_extension\s*\(|^\s*\.(?:load|shell|system)\b|\bcopy\b.+\bprogram\b",
        "It runs code outside the database.",
    ),
)
_C = (
    _rule("shell", "processes", "high", r"\b(?:system|popen)\s*\(", "It runs a shell line."),
    _rule(
        "unbounded", "code", "high", r"\b(?:gets|strcpy|strcat|sprintf)\s*\(", "It writes into memory without a bound."
    ),
)
_BY_LANGUAGE: Mapping[str, tuple[Rule, ...]] = {
    "bash": _BASH,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "html": (*_HTML, *_JAVASCRIPT[:1]),
    "sql": _SQL,
    "c": _C,
}
_COMMENTS = {"bash": "#", "javascript": "//", "typescript": "//", "sql": "--", "c": "//", "go": "//", "rust": "//"}


def look(path: str, text: str, language: str) -> list[Finding]:
    """What the rules find in one file."""
    found = list(_by_line(path, text, (*_ANYWHERE, *_BY_LANGUAGE.get(language, ())), _COMMENTS.get(language, "")))
    if language == "python":
        parsed = tree(text)
        found += _Python(path).found(parsed) if parsed else []
    return found


KINDS: dict[str, str] = {}
"""Rule → kind, filled below: what `[security] allow` is compared with."""


def _by_line(path: str, text: str, rules: tuple[Rule, ...], comment: str) -> Iterator[Finding]:
    rules = tuple(rule for rule in rules if rule.beside is None or rule.beside.search(text))
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole[:LINE_CHARS]
        is_comment = bool(comment) and line.lstrip().startswith(comment)
        for rule in rules:
            if (not is_comment or rule in _ANYWHERE) and rule.pattern.search(line):
                yield finding(rule.message, rule.severity, file=path, line=number, rule=rule.id)


_CALLS: Mapping[str, tuple[str, Severity, str]] = {
    "eval": ("eval", "high", "It runs a text as code (eval)."),
    "exec": ("eval", "high", "It runs a text as code (exec)."),
    "compile": ("eval", "medium", "It makes code from a text."),
    "__import__": ("import", "medium", "It imports by a name that is computed."),
    "os.system": ("shell", "high", "It runs a shell line. Use subprocess.run with a list of words."),
    "os.popen": ("shell", "high", "It runs a shell line. Use subprocess.run with a list of words."),
    "subprocess.getoutput": ("shell", "high", "It runs a shell line. Use subprocess.run with a list of words."),
    "subprocess.getstatusoutput": ("shell", "high", "It runs a shell line. Use subprocess.run with a list of words."),
    "pickle.load": ("unpickle", "high", "Unpickling runs code of whoever wrote the data. Use JSON."),
    "pickle.loads": ("unpickle", "high", "Unpickling runs code of whoever wrote the data. Use JSON."),
    "marshal.loads": ("unpickle", "high", "Unmarshalling trusts the data blindly. Use JSON."),
    "yaml.load": ("unpickle", "high", "yaml.load may run code. Use yaml.safe_load."),
    "tempfile.mktemp": ("temporary", "medium", "The name may be taken by somebody else. Use NamedTemporaryFile."),
    "urllib.request.urlopen": ("network", "medium", "It uses the network."),
    "urllib.request.urlretrieve": ("download", "medium", "It downloads a file."),
    "socket.socket": ("network", "medium", "It opens a network connection."),
    "ctypes.CDLL": ("native", "high", "It calls native code."),
    "shutil.rmtree": ("remove", "medium", "It removes a whole folder."),
}
_NETWORK = ("requests.", "httpx.", "aiohttp.", "http.client.", "ftplib.", "smtplib.", "paramiko.", "websockets.")
KINDS |= {rule.id: rule.kind for rules in (_ANYWHERE, *_BY_LANGUAGE.values()) for rule in rules}
KINDS |= {"shell": "processes", "process": "processes", "network": "network", "download": "network", "remove": "files"}
KINDS |= {"insecure-tls": "network", "native": "processes"}
SQL_BY_FORMAT = re.compile(
    r"\b(?:select|insert|update|delete)\b.+\b(?:from|into|set|where)\b", re.IGNORECASE | re.DOTALL
)


class _Python:
    """The rules over a syntax tree: names are followed through imports."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._names: dict[str, str] = {}

    def found(self, module: ast.Module) -> list[Finding]:
        """All findings of a module."""
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                self._names |= {
                    alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
                    for alias in node.names
                }
            elif isinstance(node, ast.ImportFrom) and node.module:
                self._names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return [one for node in ast.walk(module) if isinstance(node, ast.Call) for one in self._call(node)]

    def _call(self, node: ast.Call) -> Iterator[Finding]:
        name = self._dotted(node.func)
        keywords = {one.arg: one.value for one in node.keywords if one.arg}
        if name in _CALLS and not (name == "yaml.load" and "Safe" in ast.dump(keywords.get("Loader", node.func))):
            rule, severity, message = _CALLS[name]
            yield self._at(node, message, severity, rule)
        elif name.startswith("subprocess."):
            if _is(keywords.get("shell"), True):
                yield self._at(node, "It runs a shell line (shell=True). Give a list of words.", "high", "shell")
            else:
                yield self._at(node, "It starts another program.", "low", "process")
        elif name.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
            yield self._at(node, "It starts another program.", "medium", "process")
        elif name.startswith(_NETWORK):
            yield self._at(node, "It uses the network.", "medium", "network")
        if _is(keywords.get("verify"), False):
            yield self._at(node, "It does not check whom it talks to (verify=False).", "high", "insecure-tls")
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("execute", "executemany", "executescript")
            and node.args
        ):
            text = node.args[0]
            formatted = isinstance(text, ast.JoinedStr | ast.BinOp) or (
                isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr == "format"
            )
            words = " ".join(
                one.value for one in ast.walk(text) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )
            if formatted and SQL_BY_FORMAT.search(words[:LINE_CHARS]):
                yield self._at(node, "A value is put into SQL as text. Use parameters.", "high", "sql-injection")

    def _dotted(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self._dotted(node.value)}.{node.attr}"
        if isinstance(node, ast.Name):
            return self._names.get(node.id, node.id)
        return ""

    def _at(self, node: ast.Call, message: str, severity: Severity, rule: str) -> Finding:
        return finding(message, severity, file=self._path, line=node.lineno, rule=rule)


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
