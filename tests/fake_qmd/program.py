# The program itself: the first line, which names the interpreter, is added when it is installed.
import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

HERE = Path(os.environ["FAKE_QMD"])
LEFT_OUT = {"node_modules", "vendor", "dist", "build"}
OPTIONS = {"--index", "-n", "-c", "--name", "--mask"}
SCHEMA = """
    CREATE TABLE IF NOT EXISTS store_collections (name TEXT PRIMARY KEY, path TEXT, pattern TEXT);
    CREATE TABLE IF NOT EXISTS documents (
        id INTEGER PRIMARY KEY, collection TEXT, path TEXT, hash TEXT, doc TEXT, active INTEGER);
    CREATE TABLE IF NOT EXISTS content_vectors (hash TEXT, total_chunks INTEGER);
"""


class Refusal(Exception):
    pass


def parsed(argv: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    words: list[str] = []
    options: dict[str, list[str]] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return words + rest, options
        if word in OPTIONS:
            options.setdefault(word, []).append(rest.pop(0))
        elif word.startswith("-"):
            options.setdefault(word, [])
        else:
            words.append(word)
    return words, options


def opened() -> sqlite3.Connection:
    folder = Path(os.environ["XDG_CACHE_HOME"], "qmd")
    folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
    db.executescript(SCHEMA)
    return db


def indexed(db: sqlite3.Connection, name: str, root: str, pattern: str) -> None:
    import hashlib

    before = dict(db.execute("SELECT path, hash FROM documents WHERE collection = ?", (name,)))
    after = {}
    for path in sorted(Path(root).glob(pattern)) if Path(root).is_dir() else []:
        parts = path.relative_to(root).parts
        is_left_out = any(part.startswith(".") or part in LEFT_OUT for part in parts)
        if path.is_symlink() or not path.is_file() or is_left_out:
            continue
        if path.read_text().strip():
            after[path.relative_to(root).as_posix()] = path.read_text()
    hashes = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in after.items()}
    db.execute("DELETE FROM documents WHERE collection = ?", (name,))
    for inner, text in after.items():
        row = (name, inner, hashes[inner], text)
        db.execute("INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, 1)", row)
    new = len(set(after) - set(before))
    same = sum(before.get(path) == hash for path, hash in hashes.items())
    print(
        f"Indexed: {new} new, {len(after) - new - same} updated, {same} unchanged, "
        f"{len(set(before) - set(after))} removed"
    )


def collection(db: sqlite3.Connection, words: list[str], options: dict[str, list[str]]) -> None:
    rows = db.execute("SELECT name, path, pattern FROM store_collections").fetchall()
    if words[0] == "add":
        root, name, mask = os.path.realpath(words[1]), options["--name"][0], options["--mask"][0]
        if not Path(root).is_dir():
            raise Refusal(f"Collection path does not exist.\n  Received: {words[1]}")
        if name in [row[0] for row in rows]:
            raise Refusal(f"Collection '{name}' already exists.\nUse a different name")
        if (root, mask) in [row[1:] for row in rows]:
            raise Refusal("A collection already exists for this path and pattern:")
        db.execute("INSERT INTO store_collections VALUES (?, ?, ?)", (name, root, mask))
        indexed(db, name, root, mask)
    elif words[0] == "remove":
        if words[1] not in [row[0] for row in rows]:
            raise Refusal(f"Collection not found: {words[1]}")
        db.execute("DELETE FROM store_collections WHERE name = ?", (words[1],))
        db.execute("DELETE FROM documents WHERE collection = ?", (words[1],))
    elif words[0] == "list":
        print(f"Collections ({len(rows)}):\n")
        for name, _, pattern in rows:
            print(f"{name} (qmd://{name}/)\n  Pattern:  {pattern}\n  Files:    1\n")
    else:
        found = [row for row in rows if row[0] == words[1]]
        if not found:
            raise Refusal(f"Collection not found: {words[1]}")
        print(f"Collection: {words[1]}\n  Path:     {found[0][1]}\n  Pattern:  {found[0][2]}")


def search(db: sqlite3.Connection, query: str, options: dict[str, list[str]]) -> None:
    known = [name for (name,) in db.execute("SELECT name FROM store_collections")]
    for name in options["-c"]:
        if name not in known:
            raise Refusal(f"Collection not found: {name}")
    found = []
    for name, path, hash, text in db.execute("SELECT collection, path, hash, doc FROM documents"):
        lines = text.split("\n")
        at = next((n for n, line in enumerate(lines) if query.lower() in line.lower()), None)
        if name in options["-c"] and at is not None:
            first, last = max(0, at - 1), min(len(lines), at + 3)
            head = f"@@ -{first + 1},{last - first} @@ ({first} before, {len(lines) - last} after)"
            entry = {
                "docid": f"#{hash[:6]}",
                "score": round(1 / (1 + len(text) / 100), 2),
                "file": f"qmd://{name}/{path}",
                "line": at + 1,
                "title": path,
                "snippet": "\n".join([head, *lines[first:last]]),
            }
            found.append(entry)
    found.sort(key=lambda entry: -entry["score"])
    print(json.dumps(found[: int(options["-n"][0])], indent=2, ensure_ascii=False))


def usual(words: list[str], options: dict[str, list[str]]) -> None:
    if "--version" in options:
        print("qmd 2.8.3 (0000000)")
        return
    db = opened()
    if words[0] == "collection":
        collection(db, words[1:], options)
    elif words[0] == "update":
        for row in db.execute("SELECT name, path, pattern FROM store_collections").fetchall():
            indexed(db, *row)
    elif words[0] == "embed":
        db.execute("DELETE FROM content_vectors")
        db.execute("INSERT INTO content_vectors SELECT DISTINCT hash, 1 FROM documents")
        print("Done!")
    elif words[0] in ("search", "vsearch", "query"):
        search(db, " ".join(words[1:]), options)
    db.close()


def emit(number: int, what: object, times: int) -> None:
    """Write to a stream by its number."""
    sys.stdout.flush()
    data = bytes(what) if isinstance(what, list) else str(what).encode("utf-8", "surrogatepass")
    with open(number, "wb", closefd=False) as stream:
        stream.write(data * times)


def outlive(kind: str) -> None:
    """A process that goes on after us, with our streams in its hands."""
    import subprocess  # which takes as long as all the others

    nap = "import time; time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", nap], start_new_session=kind == "session")
    (HERE / f"child-{child.pid}").touch()


def main() -> int:
    words, options = parsed(sys.argv[1:])
    command = " ".join(words[:2]) if words[:1] == ["collection"] else "".join(words[:1])
    command = command or "--version"
    note = {
        "command": command,
        "argv": sys.argv[1:],
        "env": dict(os.environ),
        "cwd": str(Path.cwd()),
        "stdin": sys.stdin.read(),
        "pid": os.getpid(),
    }
    with (HERE / "record.jsonl").open("a") as record:
        record.write(json.dumps(note) + "\n")
    script_file = HERE / "script.json"
    script = json.loads(script_file.read_text()) if script_file.exists() else {}
    answers = script.get(command, [])
    answer = answers.pop(0) if len(answers) > 1 else (answers[:1] or [{"does": True}])[0]
    if script:
        script_file.write_text(json.dumps(script))
    code = int(answer.get("code", 0))
    if answer.get("does"):
        try:
            usual(words, options)
        except Refusal as refusal:
            print(refusal, file=sys.stderr)
            code = 1
    if answer.get("forgets"):
        db = opened()
        db.execute("DELETE FROM store_collections")
        db.close()
    if answer.get("child"):
        outlive(answer["child"])
    emit(1, answer.get("stdout", ""), answer.get("repeat", 1))
    emit(2, answer.get("stderr", ""), answer.get("repeat", 1))
    time.sleep(answer.get("delay", 0))
    if "signal" in answer:
        signal.signal(answer["signal"], signal.SIG_DFL) if answer["signal"] != 9 else None
        os.kill(os.getpid(), answer["signal"])
    return code


sys.exit(main())
