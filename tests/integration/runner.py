"""A stand-in for `lore sync -J` as a process of its own."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from loreline import settings as configuration
from loreline.errors import LoreError
from loreline.services.mirror.progress import Silent
from loreline.services.mirror.sync import Options, partial_failure, run_sync


def main():
    arguments = sys.argv[1:]
    file = Path(arguments[arguments.index("--config") + 1])
    places = configuration.Places(working=file.parent, config=file.parent, data=file.parent)
    flags = {name: f"--{name}" in arguments for name in ("full", "reconcile", "force")}
    try:
        wanted = configuration.load(file=file, environ=os.environ, flags={}, places=places)
        options = Options(**flags, events="--no-events" not in arguments)
        report = uvloop.run(run_sync(wanted, os.environ, options, lambda: time.time_ns() // 1_000_000, Silent()))
        failure = partial_failure(report)
        if failure is not None:
            raise failure
    except LoreError as error:
        print(json.dumps({"ok": False, "error": {"code": error.code, "message": error.message, "hint": error.hint}}))
        raise SystemExit(error.exit_code) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise SystemExit(130) from None
    print(json.dumps({"ok": True, "data": msgspec.to_builtins(report)}))


if __name__ == "__main__":
    main()
