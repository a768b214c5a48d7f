"""The `gymposium` command as `python -m gymposium`."""

import sys


def main() -> None:
    """Run the command after removing the working directory from `sys.path`, where `python -m` puts it first."""
    if not sys.flags.safe_path:
        del sys.path[0]
    from gymposium.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
