"""main(): parse, dispatch, turn errors into exit codes."""

import contextlib
import gc
import os
import sys
from typing import Any

from ocmem.errors import OcmemError, ReaderLeft


def main() -> int:
    """Run the command line and return its exit code; the only place that prints a failure."""
    # Imports make many objects and no garbage; looking for some would cost a tenth of a search.
    gc.set_threshold(50_000, 20, 20)
    _open_streams()
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except OcmemError as error:
        from ocmem.cli.common import complain

        complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except (BrokenPipeError, ReaderLeft):
        _silence()  # the reader left (`ocmem search x | head -1`)
        return 0
    except OSError as error:
        # Core code names what it expects to fail; left over is an answer nobody can take.
        named = f": {error.filename}" if error.filename else ""
        with contextlib.suppress(OSError):
            print(f"ocmem failed: {error.strerror}{named}", file=sys.stderr)
        _silence()
        return 1
    return code


def _open_streams() -> None:
    # `>&-` leaves no stream at all, and its number to whatever file is opened next.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]


def _silence() -> None:
    """Point the streams at nothing, or the interpreter's flush at exit complains once more."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nothing, stream.fileno())


def _run(args: list[str]) -> int:
    from ocmem.cli.app import app

    _leave_out_others(app, args)
    try:
        result = app(args, prog_name="ocmem", standalone_mode=False)
    except SystemExit:
        raise ReaderLeft from None  # how Typer ends when nobody reads its help
    except Exception as error:
        # Typer's own usage errors: they carry a message, but would exit with 2.
        if not hasattr(error, "format_message"):
            if type(error).__name__ == "Abort":
                raise KeyboardInterrupt from None
            raise
        print(_usage_message(error), file=sys.stderr)
        return 1
    return result if isinstance(result, int) else 0


def _leave_out_others(app: Any, args: list[str]) -> None:  # noqa: ANN401
    """Typer builds every command that there is for each run; one is enough if it comes first."""
    named = args[0] if args else ""
    commands = [
        command
        for command in app.registered_commands
        if (command.name or command.callback.__name__.replace("_", "-")) == named
    ]
    groups = [group for group in app.registered_groups if group.name == named]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups


def _usage_message(error: Exception) -> str:
    """What is wrong with the command line, in the words of the reference where it has any."""
    kind, option = type(error).__name__, getattr(error, "option_name", "")
    message: str = error.format_message()  # type: ignore[attr-defined]
    if kind == "NoArgsIsHelpError":
        return message
    if kind == "NoSuchOption":
        return f"error: unknown option '{option}'"
    if message.startswith("No such command"):
        return f"error: {message.replace('No such', 'unknown').rstrip('.')}"
    if kind == "BadOptionUsage" and message.endswith("requires an argument."):
        if option == "--profile":
            return "--profile requires a value"
        return f"error: option '{_with_value(option)}' argument missing"
    return f"error: {message[:1].lower()}{message[1:]}"


def _with_value(option: str) -> str:
    """An option and the name of its value, as the help shows them: `--agent <id>`."""
    import typer

    from ocmem.cli.app import app

    commands: list[Any] = [typer.main.get_command(app)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    params = [param for command in commands for param in command.params]
    named = (param.metavar for param in params if option in param.opts and param.metavar)
    return f"{option} {next(named, '<value>')}"
