"""Number of statements in the packages and plugins of a checkout, without docstrings.

python -m benchmarks.statements [CHECKOUT ...]
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path


def statements(file: Path) -> int:
    """Return the number of statements of a source file; bare strings, which are docstrings, do not count."""
    return sum(isinstance(node, ast.stmt) and not _is_text(node) for node in ast.walk(ast.parse(file.read_bytes())))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def main() -> None:
    """Print the statements of each distribution of each checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path()])
    for checkout in parser.parse_args().checkouts:
        for group in ("packages", "plugins"):
            counts = {
                folder.name: sum(map(statements, folder.rglob("src/**/*.py")))
                for folder in sorted((checkout / group).iterdir())
                if (folder / "src").is_dir()
            }
            for name, count in counts.items():
                print(f"{checkout}  {name:20} {count:6}")
            print(f"{checkout}  {group:20} {sum(counts.values()):6}")


if __name__ == "__main__":
    main()
