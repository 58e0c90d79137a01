"""What options with a choice may say."""

from enum import StrEnum


class Ranker(StrEnum):
    auto = "auto"
    openclaw = "openclaw"
    fused = "fused"


class Citations(StrEnum):
    auto = "auto"
    on = "on"
    off = "off"


class ConfigPart(StrEnum):
    settings = "settings"
    paths = "paths"


class SourceName(StrEnum):
    memory = "memory"
    sessions = "sessions"


class Backend(StrEnum):
    builtin = "builtin"
    qmd = "qmd"


class Access(StrEnum):
    rw = "rw"
    ro = "ro"
    none = "none"


class ToolName(StrEnum):
    memory_search = "memory_search"
    memory_get = "memory_get"


class ProviderName(StrEnum):
    auto = "auto"
    openai = "openai"
    gemini = "gemini"
    voyage = "voyage"
    mistral = "mistral"
    local = "local"
    builtin = "builtin"
    none = "none"


class Color(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"
