"""The commands' front: names, help, errors, exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from warmstart.cli.audit import audit
from warmstart.cli.check import check
from warmstart.cli.choose import choose
from warmstart.cli.compare import compare
from warmstart.cli.compare_propensities import compare_propensities
from warmstart.cli.demo import demo
from warmstart.cli.evaluate import evaluate
from warmstart.cli.exit_codes import INTERRUPTED
from warmstart.cli.explain import explain
from warmstart.cli.export import export
from warmstart.cli.fit import fit
from warmstart.cli.group import group
from warmstart.cli.import_ import app as import_app
from warmstart.cli.init import init
from warmstart.cli.join import join
from warmstart.cli.monitor import monitor
from warmstart.cli.options import StrictCommand
from warmstart.cli.plan import plan
from warmstart.cli.simulate import simulate
from warmstart.core import (
    EngineError,
    OutputError,
    UsageError,
    WarmstartError,
    WarmstartWarning,
    __version__,
    check_address_space,
    is_exhausted,
    is_unicode,
    quoted,
)

HELP = """Off-policy evaluation and learning from logs in which nobody recorded the probability of what was shown.

\b
Examples:
  warmstart demo
  warmstart init log.parquet --yes
  warmstart audit log.parquet --context page --action ad --reward click --time shown_at
  warmstart fit log.parquet --context page --action ad --reward click --time shown_at \\
      --contexts pages.parquet --train-fraction 0.65 --out policy
  warmstart evaluate log.parquet --context page --action ad --reward click --time shown_at \\
      --policy policy --policy uniform --select
  warmstart choose policy --contexts new-pages.parquet --explore 0.05 --out shown-today.parquet
"""

# What is raised where options and arguments cannot be read; typer has no name of its own for it.
WRONG_COMMAND: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="warmstart",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (init, join, group, audit, compare_propensities, evaluate, check, compare, plan, monitor, fit, choose):
    app.command(cls=StrictCommand)(verb)
app.add_typer(import_app, name="import")
for verb in (export, simulate, demo, explain):
    app.command(cls=StrictCommand)(verb)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"warmstart {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Off-policy evaluation and learning from logs without recorded propensities."""


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning of ours as a note; others as Python does."""
    what = "note" if issubclass(category, WarmstartWarning) else category.__name__
    typer.echo(f"{what}: {message}", err=True)


def _run() -> int:
    """Run the command that is asked for; return its exit code."""
    check_address_space()
    if odd := [word for word in sys.argv[1:] if not is_unicode(word)]:
        raise UsageError(f"{quoted(odd[0])} is not UTF-8.", "Rename the file, or set a UTF-8 locale.")
    try:
        return int(app(prog_name="warmstart", standalone_mode=False) or 0)
    except WRONG_COMMAND as error:
        wrong: Any = error
        call = wrong.ctx.command_path if wrong.ctx else "warmstart"
        if type(error).__name__ == "NoArgsIsHelpError":
            wrong.show()
            return UsageError.exit_code
        text = wrong.format_message().rstrip(".")
        raise UsageError(f"{text}.", f"'{call} --help' says what can be given.") from None
    except typer.Abort:
        typer.echo("Aborted!", err=True)
        return 1
    except Exception as error:
        if is_exhausted(error):
            raise MemoryError("no further thread could be started") from error
        raise


def main(signals: Sequence[float] = ()) -> NoReturn:
    """Run the command line. Exit codes: 0 done, 1 something in the data, 2 wrong command, 3 a condition of check is
    not met, 130 interrupted.

    ``signals``: not empty once a signal has stopped the command; errors that follow from it are not reported.
    """
    warnings.showwarning = _show_warning
    try:
        code = _run()
    except WarmstartError as error:
        if signals:
            raise
        typer.echo(f"error: {error.message} ({error.code})", err=True)
        if error.hint:
            typer.echo(f"hint: {error.hint}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except MemoryError as error:
        typer.echo(f"error: Out of memory: {str(error) or 'nothing is free'}. ({EngineError.code})", err=True)
        typer.echo("hint: Free some, work on fewer columns or a shorter span, or try --memory-limit.", err=True)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if signals:
            raise
        # What is written to a file has an error of its own; this is what was printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        typer.echo(f"error: Cannot write the output: {error.strerror or error}. ({OutputError.code})", err=True)
        sys.exit(1)
    sys.exit(code)
