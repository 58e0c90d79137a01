"""The Typer app: signatures and help only; each body imports its command module when it runs."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, cast

import typer

from ocmem import __version__
from ocmem.cli.choices import (
    Access,
    Backend,
    Citations,
    ConfigPart,
    ProviderName,
    Ranker,
    SourceName,
    ToolName,
)
from ocmem.cli.global_options import with_globals
from ocmem.model import Source

app = typer.Typer(
    help="Search an AI agent's memory: Markdown notes and transcripts, by meaning and by keyword.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _command(
    function: Callable[..., int | None], *, of: typer.Typer = app, name: str | None = None
) -> Callable[..., int | None]:
    """Make a command of `function`. Words too many are left to `with_globals`."""
    made = of.command(name, context_settings={"allow_extra_args": True})
    return made(with_globals(function))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ocmem {__version__}")
        raise typer.Exit


@app.callback()
@with_globals
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
    backend: Annotated[Backend | None, typer.Option(help="Who answers, for once.")] = None,
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
        backend=backend,
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
    backend: Annotated[Backend | None, typer.Option(help="Whose index, for once.")] = None,
    provider: Annotated[
        ProviderName | None,
        typer.Option(help="The index that searches with this --provider use."),
    ] = None,
    source: Annotated[
        list[SourceName] | None,
        typer.Option(help="Catch up with this source only, configured or not; may be repeated."),
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
    sources = cast(tuple[Source, ...], tuple(source or ()))
    if dry_run:
        from ocmem.cli import dry_run as preview

        return preview.run(
            force=force,
            backend=backend,
            provider=provider,
            sources=sources,
            batch=batch,
            as_json=json,
            given=ctx.obj,
        )
    from ocmem.cli import index as command

    typed = command.Typed(
        force=force,
        waits=not no_wait,
        backend=backend,
        provider=provider,
        sources=sources,
        batch=batch,
        as_json=json,
    )
    return command.run(typed, ctx.obj)


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
def watch(
    ctx: typer.Context,
    debounce: Annotated[
        int | None,
        typer.Option(metavar="<ms>", help="Quiet time before notes are indexed (default 1500)."),
    ] = None,
    source: Annotated[
        list[SourceName] | None,
        typer.Option(help="Also this source, configured or not; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> int:
    """Keep the index in step with the files until interrupted."""
    from ocmem.cli import watch as command

    sources = cast(tuple[Source, ...], tuple(source or ()))
    return command.run(debounce_ms=debounce, sources=sources, as_json=json, given=ctx.obj)


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


_sessions = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
app.add_typer(_sessions, name="sessions")


@_sessions.callback()
@with_globals
def sessions(ctx: typer.Context) -> int | None:
    """List the agent's chats, or write one down."""
    return None


@partial(_command, of=_sessions, name="list")
def sessions_list(
    ctx: typer.Context,
    archived: Annotated[
        bool, typer.Option("--archived", help="Also transcripts that were reset or deleted.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """List chats and transcripts, the latest first."""
    from ocmem.cli import sessions as command

    return command.list_all(archived=archived, as_json=json, given=ctx.obj)


@partial(_command, of=_sessions, name="export")
def sessions_export(
    ctx: typer.Context,
    session: Annotated[str, typer.Argument(help="Session key or id, or a transcript.")],
    messages: Annotated[
        int | None,
        typer.Option(metavar="<n>", help="How many messages, the last ones (default 15)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Print the Markdown that the session-memory hook would write."""
    from ocmem.cli import sessions as command

    return command.export(session, messages=messages, as_json=json, given=ctx.obj)


@_command
def flush_threshold(
    ctx: typer.Context,
    context_window: Annotated[
        int | None,
        typer.Option(metavar="<n>", help="Size of the model's context (default: as configured)."),
    ] = None,
    reserve: Annotated[
        int | None, typer.Option(metavar="<n>", help="In place of reserveTokensFloor.")
    ] = None,
    soft: Annotated[
        int | None, typer.Option(metavar="<n>", help="In place of softThresholdTokens.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(metavar="<n>", help="Suppose a context of that size.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="<key>", help="A session by its key or id.")
    ] = None,
    transcript: Annotated[
        str | None,
        typer.Option(metavar="<file>", help="A transcript: its last usage, or a count."),
    ] = None,
    all_sessions: Annotated[
        bool, typer.Option("--all", help="Every session of the agent.")
    ] = False,
    heartbeat: Annotated[
        bool, typer.Option("--heartbeat", help="Suppose that the turn is a heartbeat.")
    ] = False,
    provider: Annotated[
        str | None, typer.Option(metavar="<id>", help="Suppose that model provider.")
    ] = None,
    workspace_access: Annotated[
        Access | None, typer.Option(help="Suppose a sandbox with that access.")
    ] = None,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Print the two prompts as they would be sent now.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 if a flush is due.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Show when a session's memory is flushed, and why not."""
    from ocmem.cli import flush_threshold as command

    typed = command.Typed(
        context_window=context_window,
        reserve=reserve,
        soft=soft,
        tokens=tokens,
        session=session,
        transcript=transcript,
        all_sessions=all_sessions,
        heartbeat=heartbeat,
        provider=provider,
        workspace_access=workspace_access.value if workspace_access else None,
        prompt=prompt,
        check=check,
        as_json=json,
    )
    return command.run(typed, ctx.obj)
