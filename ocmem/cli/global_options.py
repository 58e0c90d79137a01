"""The options that every command has, before and after its name."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ocmem.cli.choices import Color
from ocmem.errors import ReaderLeft, UsageError

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


def with_globals(function: Callable[..., int | None]) -> Callable[..., int | None]:
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


def _check_count(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is not None or not ctx.args:
        return
    expected = sum(param.param_type_name == "argument" for param in ctx.command.params)
    plural = "" if expected == 1 else "s"
    raise UsageError(
        f"error: too many arguments for '{ctx.command.name}'. "
        f"Expected {expected} argument{plural} but got {expected + len(ctx.args)}."
    )
