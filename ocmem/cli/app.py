"""The Typer app: signatures and help only; each body imports its command module when it runs."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, cast

import typer

from ocmem import __version__
from ocmem.errors import ReaderLeft, UsageError
from ocmem.model import Source

app = typer.Typer(
    help="Search an AI agent's memory: Markdown notes and transcripts, by meaning and by keyword.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Color(StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


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


# Accepted before and after the command; the later one wins.
_GLOBAL_OPTIONS: dict[str, Any] = {
    "workspace": Annotated[
        str | None,
        typer.Option(
            metavar="<dir>", help="Folder of notes to use instead of the agent's workspace."
        ),
    ],
    "agent": Annotated[
        list[str] | None,
        typer.Option(metavar="<id>", help="Agent id; status, index, ls and search take several."),
    ],
    "state_dir": Annotated[
        str | None, typer.Option(metavar="<dir>", help="State directory of OpenClaw.")
    ],
    "config": Annotated[str | None, typer.Option(metavar="<file>", help="Another openclaw.json.")],
    "profile": Annotated[str | None, typer.Option(metavar="<name>", help="Profile name.")],
    "dev": Annotated[bool | None, typer.Option("--dev", help="The same as --profile dev.")],
    "offline": Annotated[bool | None, typer.Option("--offline", help="Use no network.")],
    "color": Annotated[Color | None, typer.Option(help="When to use colour.")],
    "no_color": Annotated[
        bool | None, typer.Option("--no-color", help="The same as --color never.")
    ],
    "quiet": Annotated[bool | None, typer.Option("--quiet", help="No progress, no summary.")],
    "verbose": Annotated[bool | None, typer.Option("--verbose", help="Say more.")],
}


def _with_globals(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """`function` with the global options added to its signature and merged into its context."""
    own = inspect.signature(function, eval_str=True)
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _GLOBAL_OPTIONS.items()
    ]

    def wrapped(ctx: typer.Context, **values: Any) -> int | None:  # noqa: ANN401
        given = {name: values.pop(name) for name in _GLOBAL_OPTIONS}
        before = ctx.obj or {}
        said = {name: value for name, value in given.items() if value not in (None, [])}
        if said.pop("no_color", False):
            said["color"] = Color.never
        ctx.obj = {**before, **said}
        _check_count(ctx)
        try:
            return function(ctx, **values)
        except BrokenPipeError as error:
            # Typer would exit with 1 on its own; main() knows that this is no failure.
            raise ReaderLeft from error

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own.parameters.values()
    ]
    signature = inspect.Signature([*parameters, *shared])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    wrapped.__doc__ = function.__doc__
    wrapped.__name__ = function.__name__
    return wrapped


def _command(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Make a command of `function`. Words too many are left to `_check_count`."""
    return app.command(context_settings={"allow_extra_args": True})(_with_globals(function))


def _check_count(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is not None or not ctx.args:
        return
    expected = sum(param.param_type_name == "argument" for param in ctx.command.params)
    plural = "" if expected == 1 else "s"
    raise UsageError(
        f"error: too many arguments for '{ctx.command.name}'. "
        f"Expected {expected} argument{plural} but got {expected + len(ctx.args)}."
    )


def with_value(option: str) -> str:
    """An option and the name of its value, as the help shows them: `--agent <id>`."""
    root: Any = typer.main.get_command(app)
    params = [param for command in (root, *root.commands.values()) for param in command.params]
    named = (param.metavar for param in params if option in param.opts and param.metavar)
    return f"{option} {next(named, '<value>')}"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ocmem {__version__}")
        raise typer.Exit


@app.callback()
@_with_globals
def ocmem(
    ctx: typer.Context,
    version: Annotated[
        bool | None,
        typer.Option(
            "--version", "-V", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = None,
) -> int | None:
    """Search an AI agent's memory: Markdown notes and transcripts, by meaning and by keyword."""
    return None


@_command
def search(
    ctx: typer.Context,
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    query_option: Annotated[
        str | None,
        typer.Option("--query", metavar="<text>", help="The same; wins over the argument."),
    ] = None,
    max_results: Annotated[
        int | None, typer.Option(metavar="<n>", help="Most results (default 6).")
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(metavar="<n>", help="Lowest score to show.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    ranker: Annotated[Ranker | None, typer.Option(help="Which ranking to use.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exactly the list that OpenClaw gives.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each score came about.")
    ] = False,
    decay: Annotated[
        str | None, typer.Option(metavar="<days|off>", help="Half-life of dated notes, for once.")
    ] = None,
    mmr: Annotated[
        str | None,
        typer.Option(metavar="<lambda|off>", help="Variety of results, 0 to 1, for once."),
    ] = None,
    provider: Annotated[
        ProviderName | None, typer.Option(help="Embedding provider, for once.")
    ] = None,
    source: Annotated[
        list[SourceName] | None, typer.Option(help="Only this source; may be repeated.")
    ] = None,
    no_sync: Annotated[
        bool, typer.Option("--no-sync", help="Answer from the index as it is.")
    ] = False,
    citations: Annotated[
        Citations | None, typer.Option(help="Whether to print `Source:` lines.")
    ] = None,
    session_key: Annotated[
        str | None,
        typer.Option(metavar="<key>", help="The chat that asks; no citations in groups."),
    ] = None,
    all_agents: Annotated[
        bool, typer.Option("--all-agents", help="Ask every configured agent.")
    ] = False,
) -> int:
    """Find notes by meaning and by keyword."""
    from ocmem.cli import search as command

    typed = command.Typed(
        query=query if query_option is None else query_option,
        max_results=max_results,
        min_score=min_score,
        as_json=json,
        ranker=ranker,
        strict=strict,
        explain=explain,
        decay=decay,
        mmr=mmr,
        provider=provider,
        sources=cast(tuple[Source, ...], tuple(source or ())),
        syncs=not no_sync,
        citations=citations,
        session_key=session_key,
        all_agents=all_agents,
    )
    return command.run(typed, ctx.obj)


@_command
def index(
    ctx: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Build the whole index anew.")] = False,
    provider: Annotated[
        ProviderName | None,
        typer.Option(help="The index that searches with this --provider use."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say what would be embedded, sent where, at what cost."
        ),
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Give up at once if another run holds the index.")
    ] = False,
    batch: Annotated[
        bool | None,
        typer.Option(
            "--batch/--no-batch",
            help="Embed with the provider's batch jobs, cheaper and slower, or without, for once.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Bring the index up to date with the files."""
    if dry_run:
        from ocmem.cli import dry_run as preview

        return preview.run(force=force, provider=provider, batch=batch, as_json=json, given=ctx.obj)
    from ocmem.cli import index as command

    return command.run(
        force=force,
        waits=not no_wait,
        provider=provider,
        batch=batch,
        as_json=json,
        given=ctx.obj,
    )


@_command
def get(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="A memory file, or a citation as printed.")],
    start: Annotated[
        int | None, typer.Option("--from", metavar="<n>", help="First line, from 1.")
    ] = None,
    lines: Annotated[int | None, typer.Option(metavar="<n>", help="How many lines.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Print a memory file, or the lines that a citation names."""
    from ocmem.cli import get as command

    return command.run(path, start=start, lines=lines, as_json=json, given=ctx.obj)


@_command
def tool(
    ctx: typer.Context,
    name: Annotated[ToolName | None, typer.Argument(help="The agent's tool.")] = None,
    parameters: Annotated[
        str | None, typer.Argument(help="A JSON object; without it, or with -, stdin is read.")
    ] = None,
    session_key: Annotated[
        str | None,
        typer.Option(metavar="<key>", help="The chat that asks: its agent; citations or not."),
    ] = None,
    envelope: Annotated[
        bool, typer.Option("--envelope", help="The answer as a tool hands it over.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Describe the tools instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --list; answers are JSON.")] = False,
) -> int:
    """Print what the agent's memory tools return."""
    from ocmem.cli import tool as command

    if list_:
        return command.show(as_json=json)
    return command.run(name, parameters, envelope=envelope, session_key=session_key, given=ctx.obj)


@_command
def status(
    ctx: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Also ask the embedding provider.")] = False,
    index: Annotated[bool, typer.Option("--index", help="Index first; implies --deep.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Show what is indexed, from where, and with what."""
    from ocmem.cli import status as command

    return command.run(deep=deep or index, index_first=index, as_json=json, given=ctx.obj)


@_command
def warmup(
    ctx: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Load the model, fetched if need be, for a quick search."""
    from ocmem.cli import warmup as command

    return command.run(as_json=json, given=ctx.obj)


@_command
def ls(
    ctx: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """List the memory files, and the state of each."""
    from ocmem.cli import ls as command

    return command.run(as_json=json, given=ctx.obj)


@_command
def config(
    ctx: typer.Context,
    what: Annotated[
        ConfigPart, typer.Argument(help="All settings, or only where things are.")
    ] = ConfigPart.settings,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    export: Annotated[
        bool, typer.Option("--export", help="With paths: lines for a shell to eval.")
    ] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Leave out what nobody has set.")
    ] = False,
) -> int:
    """Show the settings in force, and where each came from."""
    from ocmem.cli import config as command

    return command.run(what, as_json=json, export=export, only_set=changed, given=ctx.obj)
