"""`python -m steno` is `steno`."""

from steno.cli.main import main

main()
