"""Renaming without overwriting, and two names changing places: one step of the kernel, where it can.

In: names in open directories. Out: nothing; `FileExistsError` when the new name is taken. Some file systems
know neither: there the name is looked at first, and places are changed by way of a third name.
"""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress

_NOREPLACE = 1
_EXCHANGE = 2
_UNABLE = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
_SUFFIX = b".steno-exchange"


def rename_to_free(parent: int, name: bytes, new_parent: int, new_name: bytes) -> None:
    if _renameat2(parent, name, new_parent, new_name, _NOREPLACE):
        return
    with suppress(FileNotFoundError):
        os.stat(new_name, dir_fd=new_parent, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(name, new_name, src_dir_fd=parent, dst_dir_fd=new_parent)


def exchange(parent: int, name: bytes, other_parent: int, other_name: bytes) -> None:
    if _renameat2(parent, name, other_parent, other_name, _EXCHANGE):
        return
    between = name + _SUFFIX
    rename_to_free(parent, name, parent, between)
    try:
        rename_to_free(other_parent, other_name, parent, name)
    except OSError:
        rename_to_free(parent, between, parent, name)
        raise
    rename_to_free(parent, between, other_parent, other_name)


def _renameat2(parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> bool:
    """Whether it is done; no: it cannot be done this way here."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if call(parent, name, new_parent, new_name, ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number))
