"""Today and now, as the user's calendar and clock have them. The time itself is an argument."""

import os
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

_WITH_12_HOURS = ("en_US", "en_CA", "en_AU", "en_NZ", "en_IN", "en_PH", "hi", "ko", "ar", "es_MX")
_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")


@dataclass(frozen=True, slots=True)
class UserZone:
    """A time zone and its name; `warning` where it is not the one that was asked for."""

    name: str
    zone: tzinfo
    warning: str | None = None


def user_zone(configured: str | None, system: str | None) -> UserZone:
    """The configured zone if there is such a one, else the system's, else UTC."""
    asked = (configured or "").strip()
    warning = None
    if asked:
        zone = _zone(asked)
        if zone is not None:
            return UserZone(asked, zone)
        warning = f"userTimezone: no time zone {asked} is known here"
    if system:
        zone = _zone(system)
        if zone is not None:
            return UserZone(system, zone, warning and f"{warning}; {system} is used")
        warning = warning or f"no time zone {system} is known here"
    return UserZone("UTC", UTC, warning and f"{warning}; UTC is used")


def system_zone_name(
    env: Mapping[str, str], *, localtime: Path = _LOCALTIME, timezone: Path = _TIMEZONE
) -> str | None:
    """The name of the zone that this machine keeps, if it tells."""
    if named := env.get("TZ", "").strip().removeprefix(":"):
        return named
    _, found, name = os.path.realpath(localtime).rpartition("/zoneinfo/")
    if found:
        name = name.removeprefix("posix/").removeprefix("right/")
        return "UTC" if name == "Etc/UTC" else name
    try:
        return timezone.read_text(errors="replace").strip() or None
    except OSError:
        return None


def date_stamp(at: datetime) -> str:
    """`2026-02-20`."""
    return at.date().isoformat()


def long_form(at: datetime, *, is_12_hour: bool) -> str:
    """`Friday, February 20th, 2026 — 18:05`, or `… — 6:05 PM`."""
    time = f"{at:%H:%M}"
    if is_12_hour:
        time = f"{at.hour % 12 or 12}:{at:%M} {'AM' if at.hour < 12 else 'PM'}"
    return f"{at:%A, %B} {at.day}{_ordinal_suffix(at.day)}, {at.year} — {time}"


def _ordinal_suffix(day: int) -> str:
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def is_12_hour(time_format: str, env: Mapping[str, str]) -> bool:
    """Whether a clock says 6 PM; `auto` leaves that to the language of the environment."""
    if time_format != "auto":
        return time_format == "12"
    names = (env.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    language = next(filter(None, names), "C").partition(".")[0]
    return language in ("C", "POSIX") or language.startswith(_WITH_12_HOURS)


def _zone(name: str) -> tzinfo | None:
    """The zone of that name, whatever its case; JavaScript knows no copies and no placeholders."""
    if name.startswith(("posix/", "right/")) or name in ("localtime", "posixrules", "Factory"):
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; no name of a zone; a folder of zones
        known = {each.lower(): each for each in zoneinfo.available_timezones()}
        exact = known.get(name.lower())
        return None if exact is None else zoneinfo.ZoneInfo(exact)
