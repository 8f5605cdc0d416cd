"""Many cases of one requirement in one test: each is tried, and the test names those that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Case = Callable[[object], AbstractContextManager[None]]


@contextmanager
def cases() -> Iterator[Case]:
    """`with cases() as case:` around the loop, `with case(name):` around what must hold for each."""
    tried = 0
    failed: list[str] = []

    @contextmanager
    def case(name: object) -> Iterator[None]:
        nonlocal tried
        tried += 1
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are tried as well
            failed.append(f"{name}: {type(error).__name__}: {error}")

    yield case
    assert tried, "there was no case"
    assert not failed, f"{len(failed)} of {tried} cases failed\n" + "\n".join(failed)
