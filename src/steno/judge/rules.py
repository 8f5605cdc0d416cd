"""The rules by which evidence is judged: one number for all of them, and what changed with each.

What follows from a record is made by whoever reads it, by the rules of the Steno that reads. A change of a
rule, a name of a tool or a word included, gets a new number and a line here.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    rules: int
    what: str


CHANGES = [
    Change(1, "the rules by which bundles of the first format were made"),
    Change(2, "what is concluded has names of its own; of a run, the streams that were recorded are named"),
    Change(3, "what a probe found gone only after it was removed was there before"),
    Change(4, "that tests pass is claimed only by words that limit it to no time and no part"),
    Change(5, "the terminals of containers and serial lines, and random devices, are no files that change"),
    Change(6, "surface, health and correlation have schemas of our own, and no more those of a contract"),
    Change(
        7, "qwen and cline are agents, with their tools and places; so are the places of opencode and iflow"
    ),
    Change(8, "the processes of Steno's own hooks are no part of what a run did; each process has a role"),
    Change(9, "of an agent whose calls nobody tells, its own stream does; tools take `files` and `commands`"),
]
RULES = CHANGES[-1].rules
