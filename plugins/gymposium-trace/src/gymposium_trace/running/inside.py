"""Code of the subprocess: it limits itself, makes the debug print importable, and runs the program as `__main__`. It is
passed to `python -c` as text, with the limits and the paths of the two files as arguments. It imports only built-in
modules. The interpreter runs without `site` (-S), so installed packages cannot change a result. `exit` and `quit`,
which `site` would add, are added here.
"""


def _prepare() -> tuple[str, str]:
    """Set limits and make `dbg` importable. Return the program and its file name."""
    import _sitebuiltins
    import builtins
    import resource
    import sys

    limits, debug, program = sys.argv[1:]
    for limit in limits.split(","):
        name, _, value = limit.partition("=")
        resource.setrlimit(getattr(resource, name), (int(value), int(value)))
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    module = type(sys)("dbg")
    with open(debug, encoding="utf-8") as file:
        exec(compile(file.read(), "dbg.py", "exec"), module.__dict__)  # noqa: S102  # running code is its purpose
    sys.modules["dbg"] = module
    for name in ("resource", "_sitebuiltins"):
        del sys.modules[name]
    sys.argv[:] = ["program.py"]
    with open(program, encoding="utf-8") as file:
        return file.read(), "program.py"


_program, __file__ = _prepare()
_code = compile(_program, __file__, "exec", dont_inherit=True)
del _prepare, _program
globals()["__doc__"] = None
exec(globals().pop("_code"))  # noqa: S102  # running code is its purpose
