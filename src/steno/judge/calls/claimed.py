"""What a call says it does, and which program that was: a path, a command, an exit status, tests that pass.

Only fixed lists and forms, which docs/calls.md names; nothing is guessed from prose, and all of it is
foreign.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, AnyStr, NamedTuple

import msgspec

from steno.agents.known import launchers, of_all, shell_forms
from steno.judge.calls.attribution import Exec
from steno.judge.calls.processes import SHELLS, Processes
from steno.judge.calls.tool_calls import MCP_TOOL

# What tools do, by the names that agents give them, and common servers.
_READING_ONE = of_all(lambda agent: agent.tools.read_one) | {
    *("read_text_file", "read_media_file", "read_multiple_files"),
}
READING = (
    _READING_ONE
    | of_all(lambda agent: agent.tools.read)
    | {
        *("list_directory_with_sizes", "directory_tree", "search_files", "get_file_info"),
        "list_allowed_directories",
    }
)
# The ones that leave what is in `content`, and those that change what is there.
_WRITING_CONTENT = of_all(lambda agent: agent.tools.write) | {"create_file"}
EDITING = of_all(lambda agent: agent.tools.edit) | {"edit_file"}
REMOVING = of_all(lambda agent: agent.tools.patch)  # and those of which a file may be gone afterwards
WRITING = _WRITING_CONTENT | EDITING | REMOVING
COMMANDING = of_all(lambda agent: agent.tools.run) | {"BashTool", "bash", "run_command", "execute_command"}
_SHELL_OPTIONS = frozenset({b"-c", b"-l", b"-lc", b"-cl"})
_PATH_KEYS = ("file_path", "path", "notebook_path", "filePath", "absolute_path")
_PATHS_KEY, _FILES_KEY = "paths", "files"  # several: texts, and objects that have a path
_COMMAND_KEYS = ("command", "cmd")
_COMMANDS_KEY = "commands"  # several texts
_CONTENT_KEY, _DRY_RUN_KEY = "content", "dryRun"
_PATCH = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_PATCH_BEGIN = "*** Begin Patch"
_MASKS = (b"[REDACTED:", b"***")
_CODE_KEYS = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code")
_ERROR_KEYS = ("is_error", "isError")
_ERROR_TEXT = "error"  # of a hook that tells of a failure
_CODE_LINE = re.compile(r"^(?:Exit code|Exit Code|Process exited with code)[: ] ?(-?[0-9]{1,10})\s*$")
_OUTPUT_LINE = "Output:"
_TEXT_KEYS = frozenset({"output", "text", "content", "error", "first"})
_DEEPEST = 3
_MOST_LINES = 20
# Only what can mean nothing else than that all tests pass. "8 tests passed" does not say how many failed.
_PASSING = re.compile(
    r"\b(?:all(?: of)?(?: the| our| my)?(?: [0-9]+)? tests (?:now )?"
    r"(?:pass|passed|are passing|are green|succeed)"
    r"|(?:the )?tests (?:now |all |are now |are all |are )*(?:pass|passed|passing|succeeded)"
    r"|(?:the )?(?:entire |full |whole )?test suite (?:now )?"
    r"(?:passes|passed|is passing|is green|succeeds))\b",
    re.IGNORECASE,
)
# What may stand before the phrase in its sentence: a word such as "most", "unit" or "8" limits it.
_LEADING = re.compile(
    r"(?:.*[,:*_`(\u2013\u2014-]|.*\b(?:and|so|now|that|done|yes|great|perfect))?\W*",
    re.IGNORECASE | re.DOTALL,
)
# Before such words, in the same sentence, the phrase is no claim.
_UNSAID = re.compile(
    r"\b(?:not|no|n't|never|none|if|once|until|unless|when|whether|should|would|could|will|may|might|must|cannot"
    r"|make|making|ensure|ensures|so that|need|needs|want|verify that|check that|to have|before|far from"
    r"|most|some|many|few|half|almost|nearly|only|other|remaining|rest|except|of|without"
    r"|check|see|believe|think|guess|assum\w*|suppos\w*|presum\w*|apparently|probably|perhaps|expect\w*|hope\w*"
    r"|previously|earlier|originally|initially|yesterday|last|said|says|told|claim\w*|report\w*|provided)\b"
    r"|n['\u2019]t\b|[\"\u201c]\Z",
    re.IGNORECASE,
)
# Right behind the phrase comes its end, a figure, or a word that takes nothing away:
# "all tests pass the flag" and "all tests passed before my change" say something else.
_CLOSED = re.compile(
    r"[*_`)\]]*[ \t]*(?:\Z|\n|[.!,;]|-\s|[(:]\s*[0-9]|[^\x00-\u1fff\w\u2018-\u201f]"
    r"|(?:now|again|and|so|after|successfully)\b|(?:in|with) (?:[0-9]|no\b))",
    re.IGNORECASE,
)
# Behind the phrase, there or in what follows, such words take something away from it.
_LIMITED = re.compile(
    r"\b(?:except|but|besides|apart|aside|other than|save for|only|however|although|though|unless|if"
    r"|once|when|until|while|still|not|without|locally|should|would|will|fail\w*|broken|breaks?|error\w*"
    r"|skip\w*|flak\w*|times? out|timed out|crash\w*"
    r"|nearly|almost|[0-9]+ (?:out )?of [0-9]+)\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
_NOTHING_FAILED = re.compile(
    r"\b(?:no|0|zero|without(?: any)?) (?:tests? )?(?:fail\w*|errors?|skip\w*)(?: tests?)?", re.IGNORECASE
)
_WHOLE = ("all ", "the ")
_SENTENCE = 200  # letters; no further is looked back
_SENTENCE_END = re.compile(r"[.!?\n;]")


class ExitClaim(NamedTuple):
    """A status, or only whether it was one of success."""

    code: int | None
    failed: bool


def bare(tool: str) -> str:
    """The tool's own name, without the server that an agent writes before it."""
    return tool.rpartition("__")[2] if tool.startswith(MCP_TOOL) else tool


def is_masked(text: str | bytes) -> bool:
    """Texts say that something was masked; paths are masked at equal length."""
    found = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return any(mask in found for mask in _MASKS)


def written_paths(tool: str, given: Any) -> list[str]:
    """A dry run of an edit claims no write."""
    if tool not in WRITING or (isinstance(given, dict) and given.get(_DRY_RUN_KEY) is True):
        return []
    return _paths(given)


def written_bytes(tool: str, given: Any) -> int | None:
    """How long the file is to be; None: not told, or a part of it is masked."""
    content = given.get(_CONTENT_KEY) if tool in _WRITING_CONTENT and isinstance(given, dict) else None
    if not isinstance(content, str) or is_masked(content):
        return None
    return len(content.encode("utf-8", "surrogatepass"))


def holds_mask(value: Any) -> bool:
    """Whether a part of it was masked."""
    if isinstance(value, dict):
        return any(holds_mask(inner) for pair in value.items() for inner in pair)
    if isinstance(value, list):
        return any(map(holds_mask, value))
    return isinstance(value, str) and is_masked(value)


def read_paths(tool: str, given: Any) -> list[str]:
    return _paths(given) if tool in _READING_ONE else []


def absolute(path: str, cwd: str) -> bytes:
    return posixpath.normpath(posixpath.join(cwd, path)).encode("utf-8", "surrogatepass")


def command(tool: str, given: Any) -> str | None:
    """The text that a shell is asked to run."""
    if tool not in COMMANDING or not isinstance(given, dict):
        return None
    for key in _COMMAND_KEYS:
        match given.get(key):
            case str() as text if text.strip():
                return text
            case [str() as first, *rest] as words if all(isinstance(word, str) for word in rest):
                name = first.rpartition("/")[2].encode("utf-8", "surrogatepass")
                told = text_for_shell(words) if name in SHELLS else None
                return told if told is not None and told.strip() else shlex.join(words)
    match given.get(_COMMANDS_KEY):
        case [str() as text] if text.strip():
            return text
    return None


def text_for_shell(argv: Sequence[AnyStr]) -> AnyStr | None:
    """TEXT of `sh -c TEXT`; None for a shell that was started in another way."""
    is_told = False
    for place, word in enumerate(argv[1:], 1):
        option = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
        if option not in _SHELL_OPTIONS:
            return argv[place] if is_told else None
        is_told = is_told or b"c" in option
    return None


def first_program(text: str) -> str | None:
    """The program that a command begins with, without its directory; None where that takes a shell to say."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    plain = [word for word in words if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", word, re.DOTALL)]
    return plain[0].rpartition("/")[2] or None if plain else None


def letters(text: bytes) -> bytes:
    """A command without what quoting adds and takes away: quotes, backslashes, white space."""
    return text.translate(None, b"'\"\\ \t\r\n")


def exit_claim(answer: Any) -> ExitClaim | None:
    """What an answer says of an exit status; a number is better than a word."""
    parts = list(_parts(answer, 0))
    for said in (_code_in, _error_in):
        for part in parts:
            if (found := said(part)) is not None:
                return found
    return None


def says_tests_pass(message: str) -> str | None:
    """The words by which a message says that all tests pass; None where it may mean anything else."""
    for found in _PASSING.finditer(message):
        start = found.start()
        before = _SENTENCE_END.split(message[max(0, start - _SENTENCE) : start])[-1]
        after = _NOTHING_FAILED.sub("", message[found.end() : found.end() + _SENTENCE])
        is_whole = found.group().lower().startswith(_WHOLE) or _LEADING.fullmatch(before)
        is_closed = is_whole and _CLOSED.match(message, found.end())
        if is_closed and not _UNSAID.search(before) and not _LIMITED.search(after):
            return found.group()
    return None


def _paths(given: Any) -> list[str]:
    if not isinstance(given, dict):
        return _patched(given) if isinstance(given, str) else []
    named = [given[key] for key in _PATH_KEYS if isinstance(given.get(key), str) and given[key]]
    several = given.get(_PATHS_KEY)
    if isinstance(several, list):
        named += [path for path in several if isinstance(path, str) and path]
    files = given.get(_FILES_KEY)
    if isinstance(files, list):
        paths = (file.get("path") for file in files if isinstance(file, dict))
        named += [path for path in paths if isinstance(path, str) and path]
    texts = (value for value in given.values() if isinstance(value, str))
    return named or [path for text in texts for path in _patched(text)]


def _patched(text: str) -> list[str]:
    if _PATCH_BEGIN not in text:
        return []
    return [path for found in _PATCH.finditer(text) if (path := found.group(1).strip())]


def _parts(answer: Any, depth: int) -> Iterator[dict[Any, Any] | str]:
    """An answer's objects and texts, from the outside in."""
    if depth > _DEEPEST:
        return
    if isinstance(answer, str):
        yield answer
        if answer.startswith("{"):
            with suppress(msgspec.DecodeError, RecursionError, UnicodeError):
                yield from _parts(msgspec.json.decode(answer), depth + 1)
    elif isinstance(answer, dict):
        yield answer
        for key, value in answer.items():
            if isinstance(value, dict | list) or key in _TEXT_KEYS:
                yield from _parts(value, depth + 1)
    elif isinstance(answer, list):
        for value in answer:
            yield from _parts(value, depth + 1)


def _code_in(part: dict[Any, Any] | str) -> ExitClaim | None:
    if isinstance(part, str):
        return _code_in_text(part)
    codes = [part[key] for key in _CODE_KEYS if type(part.get(key)) is int]
    return ExitClaim(codes[0], failed=codes[0] != 0) if codes else None


def _code_in_text(text: str) -> ExitClaim | None:
    """The head that an agent puts before what a command printed; what was printed is not looked at."""
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        if line.startswith(_OUTPUT_LINE):
            return None
        if found := _CODE_LINE.match(line):
            code = int(found.group(1))
            return ExitClaim(code, failed=code != 0)
    return None


def _error_in(part: dict[Any, Any] | str) -> ExitClaim | None:
    if isinstance(part, str):
        return None
    errors = [part[key] for key in _ERROR_KEYS if type(part.get(key)) is bool]
    if not errors and isinstance(part.get(_ERROR_TEXT), str | dict):
        return ExitClaim(None, failed=bool(part[_ERROR_TEXT]))
    return ExitClaim(None, failed=errors[0]) if errors else None


# With these a text takes a shell.
_FOR_SHELLS = frozenset("\n;&|<>$`*?~(){}[]#!=\\'\"")
_MOST_ABOVE = 64  # processes between a program and the agent; beyond that nobody looks


def running(command: str, execs: Sequence[Exec], processes: Processes, root: int | None) -> list[Exec]:
    """The programs of the window that are this command, as the agent or server itself started them."""
    wanted = command.encode("utf-8", "surrogatepass")
    words = _words(command)
    found: list[Exec] = []
    settled: set[int] = set()  # processes that are the command, or something else
    for one in execs:
        if _is_below(one.process, settled, processes, root):
            continue
        if _is_command(one, wanted, words):
            found.append(one)
        elif _launches(one, wanted):
            continue
        settled.add(one.process)
    return found


def resembles(command: str, execs: Iterable[Exec]) -> bool:
    """Whether a shell was given this among other things, or the program was started that it begins with."""
    wanted = letters(command.encode("utf-8", "surrogatepass"))
    first = first_program(command)
    name = None if first is None else first.encode("utf-8", "surrogatepass")
    return any(
        name in one.names or (one.names & SHELLS and any(wanted in letters(word) for word in one.argv[1:]))
        for one in execs
    )


def _is_below(process: int, settled: set[int], processes: Processes, root: int | None) -> bool:
    for steps, number in enumerate(processes.line(process)):
        if number == root:
            return False
        if number in settled or steps > _MOST_ABOVE:
            return True
    return False


def _is_command(one: Exec, wanted: bytes, words: list[bytes] | None) -> bool:
    if one.names & SHELLS and (text := text_for_shell(one.argv)) is not None:
        return _is_wanted(text, wanted)
    return words is not None and words[0].rpartition(b"/")[2] in one.names and [*one.argv[1:]] == words[1:]


def _launches(one: Exec, wanted: bytes) -> bool:
    """Whether it is a program of an agent that was told to start the shell with this command."""
    if not one.names & launchers():
        return False
    shells = [place for place, word in enumerate(one.argv) if word.rpartition(b"/")[2] in SHELLS]
    text = text_for_shell(one.argv[shells[-1] :]) if shells else None
    return text is not None and _is_wanted(text, wanted)


def _is_wanted(text: bytes, wanted: bytes) -> bool:
    if text == wanted:
        return True
    return any(form(text, wanted) for form in shell_forms())


def _words(command: str) -> list[bytes] | None:
    """The arguments of a program that can be started without a shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or (_FOR_SHELLS & set(command) and shlex.join(words) != command):
        return None
    return [word.encode("utf-8", "surrogatepass") for word in words]
