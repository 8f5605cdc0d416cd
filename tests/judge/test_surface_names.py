"""Names in a surface: what differs between equal runs has become a word, and nothing else has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.judge import surface_names
from steno.judge.surface_names import directory_of, domain_name, endpoint, host_of, path_name
from support.spools import RUN_ID


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (b"/etc/passwd", "/etc/passwd"),
        (b"/", "/"),
        (b"/a//b/./c/", "/a/b/c"),
        (b"/a/.", "/a"),
        (b"/.", "/"),
        (b"/a/./.", "/a"),
        (b"//", "/"),
        (b"/dev/pts/4\n", "/dev/pts/4\n"),
        (b"/a/.hidden/..b", "/a/.hidden/..b"),
        (b"/proc/123/status", "/proc/PID/status"),
        (b"/proc/123", "/proc/PID"),
        (b"/proc/self/maps", "/proc/PID/maps"),
        (b"/proc/thread-self/stat", "/proc/PID/stat"),
        (b"/proc/1/task/22/comm", "/proc/PID/task/TID/comm"),
        (b"/proc/1/task/22/fd/3", "/proc/PID/task/TID/fd/N"),
        (b"/proc/9/fd/3", "/proc/PID/fd/N"),
        (b"/proc/9/fdinfo/3", "/proc/PID/fdinfo/N"),
        (b"/proc/9/map_files/12-34", "/proc/PID/map_files/RANGE"),
        (b"/proc/cpuinfo", "/proc/cpuinfo"),
        (b"/proc/sys/kernel/pid_max", "/proc/sys/kernel/pid_max"),
        (b"/home/proc/12/x", "/home/proc/12/x"),
        (b"/dev/pts/4", "/dev/pts/N"),
        (b"/dev/pts/ptmx", "/dev/pts/ptmx"),
        (
            f"/dev/shm/steno-intake-{RUN_ID}/policy.4-900.ndjson".encode(),
            "/dev/shm/steno-intake-RUN_ID/policy.PID.ndjson",
        ),
        (b"/tmp/policy.4-900.ndjson", "/tmp/policy.4-900.ndjson"),
        (b"pipe:[8812]", "pipe:[N]"),
        (b"/proc/7/fd/socket:[8812]", "/proc/PID/fd/socket:[N]"),
        (b"/memfd:code (deleted)", "/memfd:code"),
        (b"/a (deleted)", "/a (deleted)"),
        (b"/\xff\xc3\xa9", "/\\xff\u00e9"),
        (f"/runs/{RUN_ID}/x".encode(), "/runs/RUN_ID/x"),
    ],
)
def test_a_path_has_its_name(path: bytes, name: str) -> None:
    assert path_name(path, RUN_ID, other_root=False) == name


def test_a_path_of_another_root_says_so() -> None:
    assert path_name(b"/etc", RUN_ID, other_root=True) == "other-root:/etc"


@pytest.mark.parametrize(
    ("path", "directory"), [("/a/b", "/a/"), ("/a", "/"), ("/", "/"), ("other-root:/a/b", "other-root:/a/")]
)
def test_the_directory_of_a_path_ends_in_a_slash(path: str, directory: str) -> None:
    assert directory_of(path) == directory


@pytest.mark.parametrize(
    ("address", "resolved", "name"),
    [
        (b"inet:127.0.0.1:80", None, "127.0.0.1:80"),
        (b"inet6:[::1]:80", None, "[::1]:80"),
        (b"inet6:[::ffff:1.2.3.4]:443", None, "1.2.3.4:443"),
        (b"unix:sock", b"/run/sock", "/run/sock"),
        (b"unix:/run/sock", None, "/run/sock"),
        (b"unix:@name", None, "@name"),
        (b"family:40", None, "family:40"),
    ],
)
def test_an_endpoint_has_its_name(address: bytes, resolved: bytes | None, name: str) -> None:
    found = endpoint(address, resolved, RUN_ID, other_root=False)
    assert found is not None
    assert found.name == name
    assert found.is_unix == address.startswith(b"unix")
    assert found.is_internet == address.startswith(b"inet")


@pytest.mark.parametrize("address", [b"unix:", b"netlink:", b"family:0", b"family:?"])
def test_what_has_no_peer_is_no_endpoint(address: bytes) -> None:
    assert endpoint(address, None, RUN_ID, other_root=False) is None


def test_the_address_of_an_endpoint_and_a_domain_name_are_plain() -> None:
    assert [host_of(name) for name in ("1.2.3.4:80", "[::1]:80")] == ["1.2.3.4", "::1"]
    assert domain_name(b"Example.ORG.") == "example.org"


PIECES = [b"/", b".", b"proc", b"self", b"12", b"fd", b"task", b"dev/pts", b"pipe:[3]", b"\n", b"\xff", b"a"]


@given(st.binary(max_size=60) | st.lists(st.sampled_from(PIECES)).map(b"".join), st.booleans())
def test_any_bytes_have_a_name_and_a_name_has_itself(path: bytes, other_root: bool) -> None:
    name = path_name(path, RUN_ID, other_root=other_root)
    name.encode()
    plain = name.removeprefix(surface_names.OTHER_ROOT) if other_root else name
    assert path_name(plain.encode(), RUN_ID, other_root=other_root) == name


@given(st.binary(max_size=60), st.none() | st.binary(max_size=20))
def test_any_bytes_are_an_endpoint_or_none(address: bytes, resolved: bytes | None) -> None:
    found = endpoint(address, resolved, RUN_ID, other_root=False)
    assert found is None or found.name.encode() is not None


@pytest.mark.parametrize(
    "name",
    [
        "/dev/tty", "/dev/null", "/dev/pts/N", "/dev/ttyS0", "/dev/hvc0",
        "/proc/PID/oom_score_adj", "pipe:[N]", "/memfd:x",
        "/dev/shm/steno-intake-RUN_ID/hooks.ndjson", "/store/RUN_ID/spool/intake/policy.PID.ndjson",
    ],
)  # fmt: skip
def test_terminals_sinks_and_the_recorders_own_logs_are_no_files(name: str) -> None:
    assert not surface_names.is_file(name)


@pytest.mark.parametrize(
    "name", ["/dev/shm/x", "/tmp/steno-intake-RUN_ID.txt", "/dev/shm/steno-intake-RUN_ID/x"]
)
def test_other_names_are_files(name: str) -> None:
    assert surface_names.is_file(name)


_PARTS = ["/", ".", "//", "/./", "/proc/", "self", "7", "fd", "task", "map_files", "/dev/pts/", "socket:[9]"]


@given(
    st.lists(st.sampled_from([*_PARTS, "/steno-intake-RUN_ID/policy.1-2", ".ndjson", "\n", "a"]), max_size=6)
)
def test_a_name_that_is_told_as_it_is_has_nothing_that_a_word_would_stand_for(parts: list[str]) -> None:
    told = name = "".join(parts)
    for pattern, words in surface_names._NUMBERED:  # noqa: SLF001 - all of them, one by one
        told = pattern.sub(words, told)
    assert path_name(name.encode(), RUN_ID, other_root=False) == told
