"""Scenes: a home, a provider, and a transcript of everything typed and printed there."""

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.cli.program import Outcome, Program
from tests.fake_provider import FakeProvider

# What differs from run to run or from machine to machine, and nothing else.
_VARYING: Final = (
    (re.compile(r"[^\s\"]*/sqlite_vec/vec0[^\s\"]*"), "<vec0>"),
    (re.compile(r"(127\.0\.0\.1):\d+"), r"\1:{PORT}"),
    (re.compile(r"\b\d+\.\d s$", re.MULTILINE), "{S} s"),
    (re.compile(r"\b\d+\.\d\d s ·"), "{S} s ·"),
    (re.compile(r"^(Updated: )\d[\d :-]+$", re.MULTILINE), r"\1{TIME}"),
    (re.compile(r'("lastUpdateAt": )\d+'), r"\1{TIME}"),
    (re.compile(r'("bytes": )\d+'), r"\1{N}"),
    (re.compile(r"\(\d+ bytes\)"), "({N} bytes)"),
    (re.compile(r"(not asked again for )\d+ s"), r"\1{S} s"),
    (re.compile(r"retrying in \d+ms"), "retrying in {MS}ms"),
    (re.compile(r'("seconds": )[\d.e-]+'), r"\1{S}"),
    (re.compile(r'((?:-> |"targetFile": ")memory/)[\d-]{10}'), r"\1{TODAY}"),
    (re.compile(r"(\.broken-)\d{8}-\d{6}"), r"\1{TIME}"),
)
_FUTURE_S: Final = 4_102_444_800
_NO_NEWLINE: Final = "\n\\ no newline at the end\n"


@dataclass(slots=True)
class Stage:
    """Where a scene is played. What `run` prints goes into the transcript, and so does `say`."""

    ocmem: Program
    fake: FakeProvider
    transcript: list[str] = field(default_factory=list)

    def run(self, *args: str, bound: bool = False, stdin: str = "", **env: str) -> Outcome:
        """Run the program. `bound`: file permissions hold for it, even if we are root."""
        done = self.ocmem(*args, bound=bound, stdin=stdin, **env)
        typed = [*(f"{name}={shlex.quote(value)}" for name, value in env.items()), "ocmem"]
        fed = f" <<< {shlex.quote(stdin)}" if stdin else ""
        text = f"$ {' '.join([*typed, *map(shlex.quote, args)])}{fed}\n{_ended(done.out)}"
        if done.err:
            text += f"--- stderr\n{_ended(done.err)}"
        self.transcript.append(self._steady(f"{text}--- exit {done.code}\n"))
        return done

    def say(self, text: str) -> None:
        """What happens behind the program's back, for those who read the transcript."""
        self.transcript.append("".join(f"# {line}\n" for line in text.splitlines()))

    # --- props -----------------------------------------------------------------------------------

    def three_notes(self) -> None:
        self.ocmem.note(
            "MEMORY.md",
            "# Long-term memory\n\n- The gateway runs on the Mac Studio in the office.\n"
            "- Prefers tea over coffee.\n",
        )
        self.ocmem.note(
            "memory/2026-02-10.md",
            "# 2026-02-10\n\nDeployed version 1.4 of the gateway. Router IP is 192.168.1.1.\n",
        )
        self.ocmem.note("memory/2026-02-11.md", "# 2026-02-11\n\nWatered the plants.\n")

    def no_provider(self) -> None:
        self.ocmem.configure_own(provider="none")

    def transcripts(self) -> None:
        """One session of the main agent."""
        said = {"role": "user", "content": "Where did we leave the umbrella?"}
        answer = {"role": "assistant", "content": [{"type": "text", "text": "At the harbour."}]}
        lines = [json.dumps({"type": "message", "message": each}) for each in (said, answer)]
        folder = self.ocmem.state / "agents" / "main" / "sessions"
        folder.mkdir(parents=True)
        (folder / "monday.jsonl").write_text("\n".join(lines) + "\n")

    def rest(self) -> None:
        """Let every file have the same time, from which on it always is `now`."""
        for path in self.ocmem.home.rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.utime(path, (_FUTURE_S, _FUTURE_S))

    @property
    def remote(self) -> dict[str, object]:
        return {"baseUrl": self.fake.base_url("openai"), "apiKey": self.fake.key("openai")}

    @property
    def openai(self) -> dict[str, object]:
        """Settings that make the fake the provider."""
        return {"provider": "openai", "remote": self.remote}

    def _steady(self, text: str) -> str:
        text = text.replace(str(self.ocmem.home), "{HOME}")
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)
        return text


@dataclass(frozen=True, slots=True)
class Scene:
    """One golden file. `needs_refusal`: pointless where nobody can be refused a file."""

    name: str
    title: str
    play: Callable[[Stage], None]
    needs_refusal: bool

    def transcript(self, stage: Stage) -> str:
        stage.say(self.title)
        self.play(stage)
        return "\n".join(stage.transcript)


SCENES: Final[dict[str, Scene]] = {}


def scene(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
    """Make a golden file of a function: its name is the file's, its docstring the first line."""
    return _scene(play, needs_refusal=False)


def scene_with_refusal(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
    """The same, for scenes in which a file or folder may not be read."""
    return _scene(play, needs_refusal=True)


def _scene(play: Callable[[Stage], None], *, needs_refusal: bool) -> Callable[[Stage], None]:
    name, title = play.__name__, play.__doc__ or ""
    if name in SCENES:
        raise ValueError(f"two scenes are called {name}")
    SCENES[name] = Scene(name, title, play, needs_refusal)
    return play


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + _NO_NEWLINE
