"""Seven workspaces, made byte by byte, and how each was searched.

`openclaw/<case>.json` holds what OpenClaw 2026.2.26 stored and found in them.
"""

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

BASE_URL = "http://127.0.0.1:18999/v1"
UNIT_URL = "http://127.0.0.1:18999/unit/v1"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to search: what `memorySearch.query` says, and what the command line adds."""

    query: Mapping[str, Any] = field(default_factory=dict)
    max_results: int | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """`write` fills a folder; `{ROOT}` in `memory_search` stands for that folder."""

    name: str
    write: Callable[[Path], None]
    memory_search: Json
    queries: Sequence[str]
    variants: Mapping[str, Variant]

    def settings(self, root: Path, variant: Variant | None = None) -> Json:
        """`memorySearch` as the config file of this case has it."""
        text = json.dumps(self.memory_search).replace("{ROOT}", str(root))
        query = {"query": dict(variant.query)} if variant is not None and variant.query else {}
        return {**json.loads(text), **query}


def expected_of(case: Case) -> Json:
    """What OpenClaw stored and found."""
    plain = Path(__file__).parent / "openclaw" / f"{case.name}.json"
    packed = plain.with_suffix(".json.gz")
    data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    loaded: Json = json.loads(data)
    return loaded


def _memory_search(base_url: str = BASE_URL, **more: object) -> Json:
    remote = {"baseUrl": base_url, "apiKey": "test-key", "batch": {"enabled": False}}
    return {
        "provider": "openai",
        "model": "text-embedding-3-small",
        "fallback": "none",
        "remote": remote,
        **more,
    }


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


# --- basic --------------------------------------------------------------------------------------

_BASIC_FILES = {
    "MEMORY.md": """# Long-term memory

## People
- Martine leads the client side; she signs off on every invoice.
- Peter owns the gateway and is on call in even weeks.
- The accountant, Ms. Okafor, answers mail on Tuesdays only.

## Preferences
- Blue over green for anything the client sees.
- Dark mode everywhere, 14 pt font, no ligatures.
- Coffee after nine, meetings after ten.

## Machines
- The gateway runs on the Mac Studio in the hall closet.
- Backups go to the NAS (`nas.local:/volume1/backup`) at 03:15.
- `OPENCLAW_STATE_DIR` is set only on the laptop.

## Decisions
- 2026-01-12: keep SQLite, no server database before ten agents.
- 2026-01-19: commit a828e60 is the last one before the rename.
- 2026-02-02: the error string "sqlite-vec unavailable" must stay greppable.
""",
    "memory/2026-01-12.md": """# 2026-01-12

Talked with Martine about the deadline: the due date moves to March 6.
She wants the summary on one page, with the risk table first.

- [x] call the bank
- [ ] renew the domain (expires 2026-02-11)
- [ ] ask Peter about debounce of file updates; indexing on every write is too much
""",
    "memory/2026-01-30.md": """# 2026-01-30

## Morning
Index rebuilt twice, because the embedding model changed under us.
`memorySearch.query.hybrid` weights went back to 0.7 / 0.3.

## Afternoon
Watched the sync: the watcher fires after 1.5 seconds of quiet.
Commit b3b9895a fixes the dimension check.

## Evening
Dinner with Noor and Eli. Noor moves to Lisbon in April.
""",
    "memory/2026-02-14.md": """# 2026-02-14

The flush ran before compaction and wrote three lines. Good.
Token count at that time: 176,204 of 200,000.

Gift idea for Eli: a map of the night sky over Lisbon.

```json5
{ memory: { citations: "auto", backend: "builtin" } }
```
""",
    "memory/2026-02-14-lisbon-trip.md": """# Session: 2026-02-14 18:20

user: When do we fly to Lisbon?
assistant: On 18 April, from terminal 2, at 07:45.
user: And the hotel?
assistant: Casa do Largo, two nights, breakfast included.
""",
    "memory/topics/network.md": """# Network notes

The router hands out 10.0.8.0/24. Static leases live in `leases.toml`.

## VLANs
- 10: people
- 20: machines (the Mac Studio gateway host is here)
- 30: guests, no route to 20

## Trouble
When the machine running the gateway sleeps, the watcher loses its events.
Fix: `caffeinate -s`, or turn sleep off.
""",
    "memory/topics/recipes.md": """# Recipes

## Lentil soup
Red lentils, carrots, cumin, a lemon at the end. Twenty-five minutes.

## Flat bread
Flour 300 g, water 190 g, salt 6 g. Rest an hour, hot pan.
""",
    "memory/ignored.txt": "not markdown\n",
    "notes.md": "outside memory/, never indexed\n",
}
_BASIC_QUERIES = (
    "gateway host",
    "machine running the gateway",
    "debounce file updates",
    "a828e60",
    "b3b9895a",
    "sqlite-vec unavailable",
    "memorySearch.query.hybrid",
    "deadline",
    "Martine",
    "Lisbon hotel",
    "when does Noor move",
    "soup with lemon",
    "OPENCLAW_STATE_DIR",
    "what did we decide about the database?",
    "zzz-nothing-matches-this",
)


def _basic(root: Path) -> None:
    for name, text in _BASIC_FILES.items():
        _put(root / "workspace" / name, text)


# --- long lines ---------------------------------------------------------------------------------

_LONG_LINE_WORDS = (
    "river stone lantern orbit maple copper window signal harbor violet engine ladder "
    "meadow anchor ribbon falcon quartz summit candle thunder"
).split()


def _long_lines(root: Path) -> None:
    workspace = root / "workspace"
    memory = workspace / "memory"
    chance = random.Random(20260226)

    def sentence(words: int) -> str:
        return " ".join(chance.choice(_LONG_LINE_WORDS) for _ in range(words)) + "."

    def paragraph(sentences: int, words: int) -> str:
        return " ".join(sentence(words) for _ in range(sentences))

    lines = [sentence(chance.randint(4, 18)) for _ in range(160)]
    _put(workspace / "MEMORY.md", "\n".join(lines) + "\n")
    _put(memory / "one-huge-line.md", paragraph(120, 12))
    mixed = [sentence(9) if at % 7 else paragraph(30, 14) for at in range(60)]
    _put(memory / "mixed.md", "# Mixed\n\n" + "\n\n".join(mixed) + "\n")
    _put(memory / "exact-1600.md", "x" * 1600 + "\n" + "y" * 1599 + "\n" + "z" * 1601 + "\n")
    _put(memory / "no-newline-at-end.md", "alpha\nbeta\ngamma")
    _put(memory / "blank-runs.md", "top\n" + "\n" * 400 + "bottom\n")
    _put(memory / "empty.md", "")
    _put(memory / "only-blank.md", "\n\n   \n\t\n")


# --- unicode ------------------------------------------------------------------------------------

_UNICODE_MEMORY = """# 메모리

- 마르틴은 초록색보다 파란색을 좋아한다.
- 게이트웨이는 복도 옷장의 맥 스튜디오에서 돌아간다.
- 프로젝트 마감 기한은 3월 6일이다.

# 记忆

- 数据库迁移安排在二月底，由彼得负责。
- 索引可以随时删除并重建，不影响源数据。
- 会议改到每周三下午三点。

# 記憶

- 東京の会議は四月十八日、朝の七時四十五分に出発。
- カフェラテはオートミルクで。
"""
_FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
_SOUTH_KOREA = "\U0001f1f0\U0001f1f7"
_COMBINING = (
    "e\u0301cole fran\u00e7aise \u1100\u1161\u11a8 "
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea\n"
)


def _unicode(root: Path) -> None:
    workspace = root / "workspace"
    memory = workspace / "memory"
    _put(workspace / "MEMORY.md", _UNICODE_MEMORY)
    bom = "\ufeff# BOM at the start\n\nThe first three bytes of this file are a byte order mark.\n"
    _put(memory / "2026-02-10.md", bom)
    crlf = "# Windows\r\n\r\nLines end with CR LF here.\r\nSecond line.\r\n"
    _put(memory / "crlf.md", crlf)
    days = [
        f"{at:03d} 🦞🦞🦞 lobster day {_FAMILY} family {_SOUTH_KOREA} flag — naïve café Ünïcödé"
        for at in range(60)
    ]
    _put(memory / "emoji.md", "# Emoji\n\n" + "\n".join(days) + "\n")
    _put(memory / "long-korean.md", "가나다라마바사아자차카타파하 " * 400 + "\n")
    _put(memory / "long-emoji-line.md", "🦞" * 1700 + "\n" + "b🦞" * 1100 + "\n")
    _put(memory / "combining.md", _COMBINING * 30)


# --- extra paths --------------------------------------------------------------------------------

_EXTRA_FILES = {
    "workspace/MEMORY.md": "# Root\n\nThe team handbook lives elsewhere.\n",
    "workspace/memory/deep/er/nested.md": "# Nested\n\nThree folders down: parrots.\n",
    "workspace/docs/inside.md": "# Inside\n\nInside the workspace, outside memory: pelicans.\n",
    "team-docs/handbook.md": "# Handbook\n\nHolidays: 28 days. Travel by train: toucans.\n",
    "team-docs/sub/policy.md": "# Policy\n\nTwo keys for production: ospreys.\n",
    "team-docs/sub/data.csv": "a,b\n1,2\n",
    "shared-notes/overview.md": "# Overview\n\nOne file by absolute path: kestrels.\n",
    "shared-notes/other.md": "# Other\n\nNever listed: ravens.\n",
}


def _extra_paths(root: Path) -> None:
    for name, text in _EXTRA_FILES.items():
        _put(root / name, text)
    memory = root / "workspace" / "memory"
    (memory / "linked.md").symlink_to(root / "shared-notes" / "other.md")
    (memory / "linked-dir").symlink_to(root / "team-docs")


# --- sessions -----------------------------------------------------------------------------------

_FIRST = "5a1d9a52-0000-4000-8000-000000000001"
_SECOND = "5a1d9a52-0000-4000-8000-000000000002"
_TRAVEL_WORDS = "tram ferry bridge ticket castle museum garden bakery".split()


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _message(
    id: str, role: str, content: object, *, parent: str | None = None, at: str = ""
) -> Json:
    """A transcript record; the order of its keys is part of the file."""
    message = {"role": role, "content": content}
    if not at:
        return {"type": "message", "id": id, "message": message}
    return {
        "type": "message",
        "id": id,
        "parentId": parent,
        "timestamp": f"2026-02-20T{at}.000Z",
        "message": message,
    }


def _session(id: str, day: str, **more: str) -> Json:
    at = f"{day}T09:00:00.000Z"
    return {"type": "session", "version": 3, "id": id, "timestamp": at, **more}


def _short_session() -> list[Json]:
    question = [_text("Book the train to Porto\nfor Friday, please.")]
    answer = [
        {"type": "thinking", "thinking": "Look up trains first."},
        _text("Booked: 08:39 from Oriente,   seat 14A."),
    ]
    output = [_text("TOOL OUTPUT never indexed")]
    plain = "A plain string content: the cat is called Biscuit."
    return [
        _session(_FIRST, "2026-02-20", cwd="~/ws"),
        _message("a1", "user", question, at="09:00:01"),
        _message("a2", "assistant", answer, parent="a1", at="09:00:05"),
        _message("a3", "toolResult", output, parent="a2", at="09:00:06"),
        {"type": "custom", "customType": "x", "data": {}},
        _message("a4", "user", plain, parent="a3", at="09:01:00"),
        {"type": "compaction", "summary": "compacted away", "tokensBefore": 1000},
        _message("a5", "assistant", [_text("NO_REPLY")], parent="a4", at="09:02:00"),
    ]


def _long_session() -> list[Json]:
    chance = random.Random(7)
    records = [_session(_SECOND, "2026-02-21")]
    for at in range(80):
        text = f"turn {at}: " + " ".join(chance.choice(_TRAVEL_WORDS) for _ in range(25))
        records.append(_message(f"b{at}", "assistant" if at % 2 else "user", [_text(text)]))
    return records


def _sessions(root: Path) -> None:
    workspace = root / "workspace"
    _put(workspace / "MEMORY.md", "# Memory\n\n- Flights are booked by Eli.\n")
    _put(workspace / "memory" / "2026-02-20.md", "# 2026-02-20\n\nQuiet day, one call.\n")
    transcripts = {
        _FIRST: (_short_session(), "\nnot json at all\n\n"),
        _SECOND: (_long_session(), "\n"),
    }
    for id, (records, end) in transcripts.items():
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
        _put(root / "sessions" / f"{id}.jsonl", "\n".join(lines) + end)


# --- ranking ------------------------------------------------------------------------------------

_DAYS = (
    "2025-03-01",
    "2025-11-30",
    "2026-01-01",
    "2026-01-30",
    "2026-02-15",
    "2026-02-25",
    "2026-02-28",
)
_RANKING_QUERIES = ("release checklist", "sign before publish", "build checklist item 7")


def _ranking(root: Path) -> None:
    """Near-duplicates over many dates: for diversity, decay, weights and limits."""
    workspace = root / "workspace"
    memory = workspace / "memory"
    evergreen = "# Evergreen\n\nRelease checklist: tag, build, sign, publish, announce.\n"
    _put(workspace / "MEMORY.md", evergreen)
    for at, day in enumerate(_DAYS):
        run = f"Release checklist run {at}: tag, build, sign, publish. Blocked on step {at % 3}."
        _put(memory / f"{day}.md", f"# {day}\n\n{run}\n")
    notes = "The release checklist lives in MEMORY.md; sign before you publish."
    _put(memory / "release-notes.md", f"# Release notes\n\n{notes}\n")
    nested = "# Nested date\n\nRelease checklist in a nested folder: tag and build.\n"
    _put(memory / "projects" / "2026-02-27.md", nested)
    for at in range(30):
        item, step = at * 7 % 11, at % 5
        line = f"build artefact number {at} with checklist item {item} and sign step {step}"
        _put(memory / "filler" / f"f{at:02d}.md", f"# Filler {at}\n\n{line}\n")


# --- unit vectors -------------------------------------------------------------------------------

_BULK_WORDS = (
    "tag build sign publish release checklist gateway host lisbon soup map token index commit"
).split()


def _unit_vectors(root: Path) -> None:
    """Vectors of length one, as the real services give, and enough of them to need a search."""
    _ranking(root)
    _basic(root)
    chance = random.Random(64)
    for at in range(200):
        lines = [
            " ".join(chance.choice(_BULK_WORDS) for _ in range(chance.randint(3, 14)))
            for _ in range(chance.randint(2, 60))
        ]
        text = f"# Bulk {at}\n\n" + "\n".join(lines) + "\n"
        _put(root / "workspace" / "memory" / "bulk" / f"b{at:03d}.md", text)


# --- all ----------------------------------------------------------------------------------------


def _hybrid(**values: object) -> Json:
    return {"hybrid": values}


_DEFAULT = Variant()
_WIDE = Variant(max_results=20, min_score=0.0)
_WIDER = Variant(max_results=50, min_score=0.0)
_DECAY = {"enabled": True}

CASES: Sequence[Case] = (
    Case(
        "basic",
        _basic,
        _memory_search(),
        _BASIC_QUERIES,
        {
            "default": _DEFAULT,
            "wide": _WIDE,
            "text-heavy": Variant(_hybrid(vectorWeight=0.3, textWeight=0.7), min_score=0.1),
            "no-hybrid": Variant(_hybrid(enabled=False), min_score=0.0),
        },
    ),
    Case(
        "long_lines",
        _long_lines,
        _memory_search(),
        ("river stone lantern", "copper window", "alpha beta", "bottom", "thunder"),
        {"wide": _WIDER},
    ),
    Case(
        "unicode",
        _unicode,
        _memory_search(),
        (
            "프로젝트 마감 기한",
            "파란색",
            "데이터베이스",
            "数据库迁移",
            "索引 重建",
            "会议",
            "東京の会議",
            "lobster family",
            "naïve café",
            "école",
            "カフェラテ",
            "byte order mark",
            "Windows lines",
        ),
        {"default": _DEFAULT, "wide": _WIDE},
    ),
    Case(
        "extra_paths",
        _extra_paths,
        _memory_search(
            extraPaths=["../team-docs", "docs", "{ROOT}/shared-notes/overview.md", "missing-dir"]
        ),
        ("parrots", "pelicans", "toucans", "ospreys", "kestrels", "ravens"),
        {"wide": _WIDE},
    ),
    Case(
        "sessions",
        _sessions,
        _memory_search(experimental={"sessionMemory": True}, sources=["memory", "sessions"]),
        (
            "train to Porto",
            "cat called Biscuit",
            "who books flights",
            "ferry bridge ticket",
            "TOOL OUTPUT",
        ),
        {"wide": _WIDE},
    ),
    Case(
        "ranking",
        _ranking,
        _memory_search(),
        _RANKING_QUERIES,
        {
            "default": _DEFAULT,
            "wide": _WIDER,
            "decay": Variant(_hybrid(temporalDecay=_DECAY), max_results=50, min_score=0.0),
            "decay-7d": Variant(
                _hybrid(temporalDecay={**_DECAY, "halfLifeDays": 7}), min_score=0.05
            ),
            "mmr": Variant(_hybrid(mmr={"enabled": True}), max_results=12, min_score=0.0),
            "mmr-0.2": Variant(
                _hybrid(mmr={"enabled": True, "lambda": 0.2}), max_results=12, min_score=0.0
            ),
            "mmr+decay": Variant(
                _hybrid(mmr={"enabled": True, "lambda": 0.5}, temporalDecay=_DECAY),
                max_results=12,
                min_score=0.0,
            ),
            "pool-1": Variant(_hybrid(candidateMultiplier=1), max_results=3, min_score=0.0),
        },
    ),
    Case(
        "unit_vectors",
        _unit_vectors,
        _memory_search(UNIT_URL),
        _RANKING_QUERIES + _BASIC_QUERIES,
        {"default": _DEFAULT, "wide": _WIDER},
    ),
)
