"""The `gymposium` command as `python -m gymposium`."""

import sys


def main() -> None:
    """Run the command without the working directory, which `python -m` puts first on the path."""
    if not sys.flags.safe_path:
        del sys.path[0]
    from gymposium.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
