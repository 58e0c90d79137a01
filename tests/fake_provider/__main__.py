"""The fake as a process of its own: one line of JSON with its port, then service until a signal."""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from tests.fake_provider.server import FakeProvider


def main() -> int:
    args = _parser().parse_args()
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    fake = FakeProvider(
        dims=args.dims,
        mode=args.mode,
        latency_s=args.latency,
        strict=not args.lenient,
        auth=args.auth,
        log=args.log,
    )
    for options in args.fault:
        fake.add_fault(**json.loads(options))
    with fake:
        sys.stdout.write(json.dumps({"port": fake.port, "openai": fake.base_url("openai")}) + "\n")
        sys.stdout.flush()
        over.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fake_provider", description=__doc__)
    parser.add_argument("--mode", choices=["hash", "words", "unit", "golden"], default="words")
    parser.add_argument("--dims", type=int)
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--log", type=Path, metavar="FILE", help="append requests as JSON lines")
    parser.add_argument("--auth", choices=["strict", "any"], default="strict")
    parser.add_argument("--lenient", action="store_true", help="check nothing but the key")
    parser.add_argument("--fault", action="append", default=[], metavar="JSON", help="a fault rule")
    return parser


if __name__ == "__main__":
    sys.exit(main())
