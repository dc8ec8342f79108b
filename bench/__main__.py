"""`python -m bench [name…]`: all tables, or those named."""

from __future__ import annotations

import sys
import time

from bench import mirror, search
from bench.tools import Skipped

MEASUREMENTS = mirror.MEASUREMENTS | search.MEASUREMENTS


def main() -> int:
    wanted = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in wanted if name not in MEASUREMENTS]
    if unknown:
        print(f"no measurement {unknown[0]!r}; there are: {', '.join(MEASUREMENTS)}", file=sys.stderr)
        return 2
    for name in wanted:
        begun = time.monotonic()
        try:
            MEASUREMENTS[name]()
        except Skipped as reason:
            print(f"\n{name}: skipped ({reason})")
            continue
        print(f"  ({name}: {time.monotonic() - begun:.0f} s)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
