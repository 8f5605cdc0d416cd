"""`python -m steno` is `steno`."""

from steno.cli.entry import main

main()
