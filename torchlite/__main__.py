"""Run a PyTorch program on torchlite: `python -m torchlite script.py args…`, or `… -m module args…`."""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import io
import os
import re
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any

from . import alias, set_default_device

_SIGNS_OF_MPI = frozenset({"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
_LIBRARY = re.compile(r"\blib(torch|c10)\w*\.|undefined symbol: \w*(c10|torch|at[0-9])")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m torchlite",
        usage="python -m torchlite [options] (script.py | -m module | -c code) [args…]",
        description="Run a PyTorch program with torchlite as its torch.",
        allow_abbrev=False,
    )
    parser.add_argument("--device", metavar="NAME", help="the device that tensors are made on: cpu, cuda, cuda:1, …")
    parser.add_argument("--lazy", action="store_true", help="missing names are placeholders, which fail when called")
    parser.add_argument("--strict-names", action="store_true", help="run nothing if the program names what is missing")
    parser.add_argument("--report", action="store_true", help="print at exit what was used, missing, and slow")
    parser.add_argument("--info", action="store_true", help="print versions, backends, BLAS, threads and devices")
    parser.add_argument("--check", metavar="PACKAGE", help="list the names of torch that its files lack; run nothing")
    parser.add_argument("--shell", action="store_true", help='for eval "$(…)": programs of this shell see torchlite')
    parser.add_argument("--install", action="store_true", help="let this environment honour TORCHLITE_ALIAS=1")
    parser.add_argument("--uninstall", action="store_true", help="undo --install")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="the module to run, and its arguments")
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, help="the code to run, and its arguments")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the script to run, and its arguments")
    return parser


def main(arguments: list[str]) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    asked = options.check or options.info or options.shell or options.install or options.uninstall
    if not asked and (options.script or options.module or options.code):
        run(options)
        return
    try:
        try:
            if asked:
                tell(options)
            else:
                parser.print_help()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # who reads has read enough: `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where Python flushes to at its end


def tell(options: argparse.Namespace) -> None:
    """Print what is asked of torchlite itself."""
    if options.check:
        from .alias.check import check

        sys.exit(check(options.check))
    elif options.info:
        from .alias import info

        print(info.describe())
    else:
        from .alias import setup

        print(setup.shell() if options.shell else setup.install() if options.install else setup.uninstall())


def run(options: argparse.Namespace) -> None:
    """Run a program as `python` would: as `__main__`, with its own arguments and search path."""
    if not _SIGNS_OF_MPI.isdisjoint(os.environ):
        from .distributed import guard
        from .distributed.engines.launched import tell_as_torchrun

        if not guard.on_guard():
            os.execv(sys.executable, guard.guarded([sys.executable, *sys.orig_argv[1:]]))
        tell_as_torchrun()
    alias.enable(lazy=options.lazy, report=options.report)
    if options.device:
        set_default_device(options.device)
    if options.script:
        program = _script(*options.script)
    elif options.module:
        program = _module(*options.module)
    else:
        program = _Program(options.code[0], "<string>", ["-c", *options.code[1:]], "", {})
    if options.strict_names:
        from .alias.names import complaints

        found = complaints(program.source, program.file)
        if found:
            sys.exit("\n".join(found))
    try:
        program.run()
    except SystemExit as end:
        if mpi := sys.modules.get(f"{__package__}.distributed.engines.mpi"):
            mpi.leave(end)
        raise


@dataclass
class _Program:
    source: str | bytes
    file: str
    argv: list[str]
    folder: str
    attributes: dict[str, Any]

    def run(self) -> None:
        sys.argv = self.argv
        if not sys.flags.safe_path:
            sys.path[0] = self.folder
        sys.excepthook = _show
        main = sys.modules["__main__"] = ModuleType("__main__")
        vars(main).update(self.attributes, __builtins__=builtins)
        exec(compile(self.source, self.file, "exec", dont_inherit=True), vars(main))


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show an exception as if Python had run the program by itself."""
    if isinstance(error, ImportError) and _LIBRARY.search(str(error)):
        error.add_note(
            f"{error.name or 'This package'} is compiled against PyTorch's own C++ library, which torchlite has not: "
            "only what is written in Python runs here."
        )
    while trace is not None and trace.tb_frame.f_globals is not vars(sys.modules["__main__"]):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def _script(path: str, *args: str) -> _Program:
    file = os.path.abspath(path)
    try:
        with io.open_code(file) as stream:
            source = stream.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {file!r}: {error}", file=sys.stderr)
        sys.exit(2)
    attributes = {"__file__": file, "__loader__": SourceFileLoader("__main__", file), "__cached__": None}
    return _Program(source, file, [path, *args], os.path.dirname(os.path.realpath(file)), attributes)


def _module(name: str, *args: str) -> _Program:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        sys.exit(f"{sys.executable}: {error}")
    loader = spec and spec.loader
    if not isinstance(loader, SourceFileLoader):
        sys.exit(f"{sys.executable}: No module named {name}, or none that can be run")
    attributes = {"__file__": loader.path, "__loader__": loader, "__spec__": spec, "__package__": spec and spec.parent}
    return _Program(loader.get_data(loader.path), loader.path, [loader.path, *args], os.getcwd(), attributes)


if __name__ == "__main__":
    main(sys.argv[1:])
