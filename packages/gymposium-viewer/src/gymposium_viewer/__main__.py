"""The `gymposium` command as `python -m gymposium_viewer`."""

from gymposium.__main__ import main

if __name__ == "__main__":
    main()
