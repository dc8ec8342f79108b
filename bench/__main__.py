"""`python -m bench [NAME …]`: run the benches, all of them or those named."""

from __future__ import annotations

import importlib
import sys
import time

NAMES = ("start_up", "first_sync", "growth", "random_histories")


def main() -> None:
    chosen = sys.argv[1:] or list(NAMES)
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        sys.exit(f"error: there is no bench {', '.join(unknown)}\nhint: use {', '.join(NAMES)}")
    missed = []
    for name in chosen:
        began = time.monotonic()
        missed += importlib.import_module(f"bench.{name}").run()
        print(f"({name} took {time.monotonic() - began:.0f} s)\n", flush=True)
    if missed:
        print("targets missed: " + "; ".join(missed))
        sys.exit(1)
    print("all targets met")


if __name__ == "__main__":
    main()
