"""One question, to the provider or to its fallback, and what people should know of the answer."""

from collections.abc import Callable, Iterator

from ocmem.backends.answer import Answer
from ocmem.errors import EmbedderError
from ocmem.settings import Settings

# The settings with the fallback in place of what failed; raises the error where there is none.
Second = Callable[[Settings, EmbedderError], Settings]


def answered(
    settings: Settings, ask: Callable[[Settings], Answer], second: Second
) -> tuple[Settings, Answer]:
    """The answer, and the settings it was found with: those of a fallback, if one steps in."""
    answer = None
    try:
        answer = ask(settings)
        if answer.failure is None:
            return settings, answer
        failure = answer.failure
    except EmbedderError as error:
        failure = error
    try:
        others = second(settings, failure)
    except EmbedderError:
        if answer is None:
            raise
        return settings, answer
    # A search does not build a second index for what keywords can answer.
    if answer is not None and not others.index_path.exists():
        return settings, answer
    return others, ask(others)


def remarks(answer: Answer, settings: Settings) -> Iterator[str]:
    yield from answer.warnings
    if answer.backend != "builtin":
        return
    fallback = settings.provider.fallback
    if fallback is not None and not settings.provider.missing:
        yield f"using {settings.provider.id} in place of {fallback.origin}: {fallback.reason}"
    if answer.degraded:
        is_told = any(answer.degraded in text for text in answer.warnings)
        if not is_told:
            yield f"keyword results only: {answer.degraded}"
        elif answer.hits:
            yield "keyword results only"
