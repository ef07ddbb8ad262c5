# SPDX-License-Identifier: MIT
"""The magics of IPython: %toll measures a statement, %%toll a cell."""

from __future__ import annotations

import contextlib
import importlib
import re
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from . import _marks

if TYPE_CHECKING:
    from ._tracker import Track

# Each option, and whether a value follows it.
_OPTIONS = {
    "-q": ("quiet", False), "--quiet": ("quiet", False), "--system": ("system", False),
    "-i": ("interval", True), "--interval": ("interval", True),
    "-n": ("name", True), "--name": ("name", True),
    "-o": ("outputs", True), "--output": ("outputs", True),
    "-t": ("variable", True), "--to": ("variable", True),
}
_KNOWN = "-q, -i SECONDS, -n NAME, -o FILE, -t VARIABLE, --system"
_VALUE = re.compile(r"""('[^']*'|"[^"]*"|\S+)(?:\s+|$)""")


def _usage(sentence: str) -> Exception:
    """As IPython shows mistakes in its magics: one line, without a traceback."""
    error: Exception = importlib.import_module("IPython.core.error").UsageError(f"toll: {sentence}")
    return error


def _split(line: str) -> Tuple[Dict[str, Any], str]:
    """The options, and the statement after them as it was written."""
    options: Dict[str, Any] = {"outputs": []}
    rest = line.strip()
    while rest.startswith("-"):
        word = re.match(r"[^\s=]+", rest)
        name = word[0] if word else rest
        rest = rest[len(name) :]
        if name == "--":
            return options, rest.strip()
        if name not in _OPTIONS:
            raise _usage(f"unknown option {name} (known options: {_KNOWN}; `--` ends the options)")
        key, has_value = _OPTIONS[name]
        value = _VALUE.match(rest.lstrip(" \t=")) if has_value else None
        if has_value and value is None:
            raise _usage(f"option {name} needs a value (known options: {_KNOWN})")
        if value is not None:
            rest = rest.lstrip(" \t=")[value.end() :]
            text = value[1][1:-1] if value[1][0] in "'\"" else value[1]
            options[key] = [*options[key], text] if key == "outputs" else text
        else:
            options[key] = True
            rest = rest.lstrip()
    return options, rest


def _compiled(shell: Any, source: str) -> Tuple[Any, Any]:
    """The statements, and the expression at the end whose value is the result; each may be None."""
    import ast
    import inspect

    text = shell.transform_cell(source)
    tree = shell.transform_ast(shell.compile.ast_parse(text))
    name = shell.compile.cache(text)  # tracebacks show its lines
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    if compile(tree, name, "exec", flags, dont_inherit=True).co_flags & inspect.CO_COROUTINE:
        raise _usage("await at the top level of a cell is not supported "
                     "(use `async with toll.track() as t:` around it)")
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = shell.compile(ast.Expression(tree.body.pop().value), name, "eval")
    return shell.compile(tree, name, "exec") if tree.body else None, last


def _is_silenced(shell: Any, source: str) -> bool:
    """Whether its last character is a semicolon, as IPython asks for no result."""
    import io
    import tokenize

    text = shell.transform_cell(source)
    kinds = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in kinds]
    return bool(tokens) and tokens[-1].string == ";"


def _new_track(options: Dict[str, Any], cell: int) -> "Track":
    from ._track import track

    interval = options.get("interval", "auto")
    if interval != "auto":
        try:
            interval = float(interval)
        except ValueError:
            raise _usage(f"-i {interval}: invalid interval (expected seconds or auto)") from None
    try:
        return track(interval=interval, name=options.get("name", f"cell {cell}"), outputs=options["outputs"],
                     system=bool(options.get("system"))).start()
    except Exception as error:  # a file that cannot be written, for example: nothing has run yet
        raise _usage(str(error)) from None


def _show(t: "Track") -> None:
    """Never raises: the exception of the cell is more important."""
    try:
        summary = t.summary
        shown = {"text/plain": str(summary).rstrip("\n"), "text/html": summary._repr_html_()}
        importlib.import_module("IPython.display").display(shown, raw=True)
    except Exception as error:
        from ._warn import warn

        warn(f"toll: the figures of this cell cannot be shown: {error}", error)


def toll(line: str, cell: Optional[str] = None, local_ns: Optional[Dict[str, Any]] = None) -> Any:
    """Measure a statement or a cell: CPU, memory, disk, GPUs, with everything it starts.

        %toll [options] STATEMENT
        %%toll [options]

    The result, the output and the exceptions of the statement or the cell stay the same; what it used
    is shown below. `_toll` is the measurement, as of toll.track(): `_toll.summary`, `_toll.frames.plot()`,
    `_toll.to_pandas()`. Marks in the cell (`with toll.phase("load"):`) belong to it.

    -q, --quiet             show nothing
    -i, --interval SECONDS  time between samples (default: auto, 10 ms at first, up to 1 s)
    -n, --name NAME         name of the run (default: cell and its number)
    -o, --output FILE       write a record, a report, …; may be repeated
    -t, --to VARIABLE       bind the measurement to this variable too
    --system                measure the machine too
    """
    __tracebackhide__ = True  # a traceback shows the cell
    shell: Any = importlib.import_module("IPython").get_ipython()
    options, statement = _split(line)
    if cell is not None and statement:
        raise _usage(f"unexpected text after %%toll: {statement} (the cell begins on the next line)")
    source = statement if cell is None else cell
    if not source.strip():
        raise _usage("nothing to measure (expected a statement after %toll, or a cell after %%toll)")
    variable = options.get("variable", "_toll")
    if not variable.isidentifier():
        raise _usage(f"-t {variable}: invalid name of a variable")
    statements, last = _compiled(shell, source)
    t = _new_track(options, shell.execution_count)
    shell.user_ns["_toll"] = shell.user_ns[variable] = t
    _marks.listeners.append(t._mark)
    result = None
    try:
        with contextlib.ExitStack() as stack:
            stack.push(t)  # it was started already
            if statements is not None:
                exec(statements, shell.user_ns, local_ns)
            if last is not None:
                result = eval(last, shell.user_ns, local_ns)
    finally:
        _marks.listeners.remove(t._mark)
        if not options.get("quiet") and t.is_ours:
            _show(t)
    return None if _is_silenced(shell, source) else result


# What the decorators of IPython set: {x} in a statement is left as it is, and names of an embedding
# function are found.
toll._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]
toll.needs_local_scope = True  # type: ignore[attr-defined]


def load(shell: Any) -> None:
    """Add both magics."""
    shell.register_magic_function(toll, magic_kind="line_cell", magic_name="toll")


def unload(shell: Any) -> None:
    """Remove them."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("toll", None)
