"""The two prompts of a flush, with the user's date and time in them."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ocmem.core import flush_prompt, user_time
from ocmem.core.flush_prompt import FlushPrompts
from ocmem.settings import flush

SEOUL = ZoneInfo("Asia/Seoul")
EVENING = datetime(2026, 2, 20, 18, 5, tzinfo=SEOUL)


def prompts(*, is_12_hour: bool = False, **memory_flush: str) -> FlushPrompts:
    defaults = {"compaction": {"memoryFlush": memory_flush}}
    settings = flush.resolve({"agents": {"defaults": defaults}}, "main")
    return flush_prompt.prompts(settings, at=EVENING, zone_name="Asia/Seoul", is_12_hour=is_12_hour)


def test_the_defaults_say_what_is_to_be_done() -> None:
    found = prompts()

    assert found.user.endswith(
        "answer NO_REPLY.\nCurrent time: Friday, February 20th, 2026 — 18:05 (Asia/Seoul)"
    )
    assert "memory/2026-02-20.md" in found.user
    assert "YYYY" not in found.user
    assert all(word in found.user for word in ("compacted", "add to its end", "create memory/"))
    assert all(word in found.system for word in ("compaction", "on disk", "NO_REPLY"))
    assert "Current time" not in found.system


def test_every_date_in_the_user_prompt_is_filled_in_and_none_in_the_system_prompt() -> None:
    found = prompts(
        prompt="YYYY-MM-DD and memory/YYYY-MM-DD.md NO_REPLY", systemPrompt="YYYY-MM-DD NO_REPLY"
    )

    assert found.user.startswith("2026-02-20 and memory/2026-02-20.md NO_REPLY\nCurrent time: ")
    assert found.system == "YYYY-MM-DD NO_REPLY"


def test_a_text_without_the_silent_answer_gets_a_hint_of_it() -> None:
    found = prompts(prompt=" Save it. \n", systemPrompt="Flush.")

    user, hint, time = found.user.split("\n\n")[0], *found.user.split("\n\n")[1].split("\n")
    assert user == "Save it."
    assert "NO_REPLY" in hint
    assert time.startswith("Current time: ")
    assert found.system == f"Flush.\n\n{hint}"


def test_a_time_that_is_there_is_left_alone() -> None:
    assert prompts(prompt="Current time: late. NO_REPLY").user == "Current time: late. NO_REPLY"


@pytest.mark.parametrize(("is_12_hour", "clock"), [(True, "6:05 PM"), (False, "18:05")])
def test_the_clock_has_12_or_24_hours(is_12_hour: bool, clock: str) -> None:
    assert f"— {clock} (Asia/Seoul)" in prompts(is_12_hour=is_12_hour).user


@pytest.mark.parametrize(
    ("time_format", "env", "is_12_hour"),
    [
        ("12", {"LANG": "de_DE.UTF-8"}, True),
        ("24", {"LANG": "en_US.UTF-8"}, False),
        ("auto", {}, True),
        ("auto", {"LANG": "C.UTF-8"}, True),
        ("auto", {"LANG": "en_US.UTF-8"}, True),
        ("auto", {"LANG": "en_GB.UTF-8"}, False),
        ("auto", {"LANG": "en_US.UTF-8", "LC_ALL": "de_DE.UTF-8"}, False),
        ("auto", {"LANG": "de_DE", "LC_ALL": ""}, False),
    ],
)
def test_auto_leaves_the_clock_to_the_language(
    time_format: str, env: dict[str, str], is_12_hour: bool
) -> None:
    assert user_time.is_12_hour(time_format, env) is is_12_hour


@pytest.mark.parametrize(
    ("hour", "clock"), [(0, "12:05 AM"), (9, "9:05 AM"), (12, "12:05 PM"), (23, "11:05 PM")]
)
def test_noon_and_midnight(hour: int, clock: str) -> None:
    at = EVENING.replace(hour=hour)

    assert user_time.long_form(at, is_12_hour=True).endswith(f"— {clock}")


@pytest.mark.parametrize(
    ("day", "written"),
    [
        (1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (10, "10th"), (11, "11th"), (12, "12th"),
        (13, "13th"), (20, "20th"), (21, "21st"), (22, "22nd"), (23, "23rd"), (30, "30th"),
        (31, "31st"),
    ],
)  # fmt: skip
def test_days_are_counted_in_english(day: int, written: str) -> None:
    at = datetime(2026, 1, day, tzinfo=UTC)

    assert f"January {written}, 2026 — 00:00" in user_time.long_form(at, is_12_hour=False)


def test_the_note_is_the_one_of_the_users_day() -> None:
    late = datetime(2026, 2, 20, 20, 0, tzinfo=UTC)

    assert flush_prompt.target_file(late) == "memory/2026-02-20.md"
    assert flush_prompt.target_file(late.astimezone(SEOUL)) == "memory/2026-02-21.md"


@pytest.mark.parametrize(
    ("configured", "system", "name", "told"),
    [
        (" Asia/Seoul ", "Europe/Berlin", "Asia/Seoul", None),
        (None, "Europe/Berlin", "Europe/Berlin", None),
        ("europe/berlin", None, "europe/berlin", None),
        ("posix/Europe/Berlin", None, "UTC", "UTC is used"),
        ("localtime", None, "UTC", "UTC is used"),
        ("Mars/Base", "Europe/Berlin", "Europe/Berlin", "Mars/Base is known here; Europe/Berlin"),
        ("Mars/Base", None, "UTC", "Mars/Base is known here; UTC is used"),
        ("../etc/passwd", None, "UTC", "UTC is used"),
        ("America", None, "UTC", "UTC is used"),
        ("a\0b", None, "UTC", "UTC is used"),
        ("x" * 5000, None, "UTC", "UTC is used"),
        (None, "EST5EDT4,M3", "UTC", "EST5EDT4,M3 is known here; UTC is used"),
        (None, None, "UTC", None),
    ],
)
def test_the_zone_is_the_users_the_systems_or_utc(
    configured: str | None, system: str | None, name: str, told: str | None
) -> None:
    found = user_time.user_zone(configured, system)

    assert found.name == name
    assert str(found.zone).lower() == name.lower()
    assert (found.warning is None) if told is None else (told in (found.warning or ""))


def test_the_systems_zone_is_found(tmp_path: Path) -> None:
    link, named = tmp_path / "localtime", tmp_path / "timezone"
    link.symlink_to("/usr/share/zoneinfo/Asia/Seoul")
    named.write_text("Europe/Berlin\n")

    def found(env: dict[str, str], localtime: Path = link) -> str | None:
        return user_time.system_zone_name(env, localtime=localtime, timezone=named)

    assert found({"TZ": ":Asia/Tokyo"}) == "Asia/Tokyo"
    assert found({}) == "Asia/Seoul"
    assert found({}, tmp_path / "absent") == "Europe/Berlin"
    (tmp_path / "utc").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    assert found({}, tmp_path / "utc") == "UTC"
    named.unlink()
    assert found({}, tmp_path / "absent") is None
