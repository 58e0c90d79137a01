"""The fake as a process of its own: one line of JSON with its port, then service until a signal."""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from tests.fake_provider.server import FakeProvider
from tests.fake_provider.services import BASES


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
        extra_keys=args.extra_key,
        query_shift=args.query_shift,
    )
    for options in args.fault:
        fake.add_fault(**json.loads(options))
    with fake:
        bases = {service: fake.base_url(service) for service in BASES}
        sys.stdout.write(json.dumps({"port": fake.port} | bases) + "\n")
        sys.stdout.flush()
        over.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fake_provider", description=__doc__)
    parser.add_argument("--mode", choices=["hash", "words", "unit", "golden"], default="words")
    parser.add_argument("--dims", type=int)
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--log", type=Path, metavar="FILE", help="append requests as JSON lines")
    parser.add_argument("--auth", choices=["strict", "any", "reference"], default="strict")
    parser.add_argument("--lenient", action="store_true", help="check nothing but the key")
    parser.add_argument("--extra-key", action="append", default=[], metavar="NAME")
    parser.add_argument("--query-shift", type=float, default=0.0)
    parser.add_argument("--fault", action="append", default=[], metavar="JSON", help="a fault rule")
    return parser


if __name__ == "__main__":
    sys.exit(main())
