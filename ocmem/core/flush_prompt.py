"""The two texts that a flush sends: what is configured, or our own words, made ready."""

from dataclasses import dataclass
from datetime import datetime

from ocmem.core import user_time, utf16
from ocmem.settings.flush import FlushSettings

NO_REPLY = "NO_REPLY"
USER_PROMPT = (
    "This conversation will soon be compacted; this turn is for your memory alone. "
    "Write down now what should outlast it, in memory/YYYY-MM-DD.md (create memory/ if it is not "
    "there). If the file exists, add to its end and leave what it says as it is. "
    f"If nothing is worth keeping, answer {NO_REPLY}."
)
SYSTEM_PROMPT = (
    "This is a turn for saving memories: the session is near its automatic compaction. "
    "Put what should last on disk. "
    f"You may answer the user, but most often {NO_REPLY} is the right answer."
)
_HINT = f"Begin your answer with {NO_REPLY} if there is nothing that the user needs to see."
_DATE = "YYYY-MM-DD"
_TIME_LABEL = "Current time:"


@dataclass(frozen=True, slots=True)
class FlushPrompts:
    user: str
    system: str


def target_file(at: datetime) -> str:
    """The note that a flush at that time writes to, in the workspace. `at` is the user's time."""
    return f"memory/{user_time.date_stamp(at)}.md"


def prompts(
    settings: FlushSettings, *, at: datetime, zone_name: str, is_12_hour: bool
) -> FlushPrompts:
    """As they would be sent `at` that time of the user's."""
    user = _with_hint(settings.prompt or USER_PROMPT).replace(_DATE, user_time.date_stamp(at))
    if _TIME_LABEL not in user:
        time = user_time.long_form(at, is_12_hour=is_12_hour)
        user = f"{user}\n{_TIME_LABEL} {time} ({zone_name})"
    return FlushPrompts(user=user, system=_with_hint(settings.system_prompt or SYSTEM_PROMPT))


def _with_hint(text: str) -> str:
    text = utf16.trim(text)
    return text if NO_REPLY in text else f"{text}\n\n{_HINT}"
