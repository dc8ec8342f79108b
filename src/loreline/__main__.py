"""`lore`, and `python -m loreline`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in ([], ["--help"], ["-h"]) and "_LORE_COMPLETE" not in os.environ:
        # The page people ask for most is kept ready: importing click alone takes longer than this command may.
        # A test compares it with what click makes.
        sys.stdout.write(help_page())
        return
    from loreline.faces.cli.main import run  # noqa: PLC0415

    sys.exit(run(sys.argv[1:]))


def help_page() -> str:
    # importlib.resources would cost more than everything else here.
    with open(f"{os.path.dirname(__file__)}/faces/cli/help.txt", encoding="utf-8") as page:  # noqa: PTH120, PTH123
        return page.read()


if __name__ == "__main__":
    main()
