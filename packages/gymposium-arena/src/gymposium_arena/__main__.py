"""The `gymposium` command as `python -m gymposium_arena`."""

from gymposium.__main__ import main

if __name__ == "__main__":
    main()
