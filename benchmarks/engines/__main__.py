"""How fast the engines are, as ratios inside one run.

in-process: the transformers engine against a bare key-value-cache loop and against transformers' `generate`, with a
shared prefix and a LoRA too; and what 64 matches at once cost beside the model.

pretrained: SmolLM2-135M, 64 matches at once: the transformers engine, `generate`, vLLM and llama.cpp.

vllm: 64 matches at once through a vLLM server, against independent requests to it.

served-demo: no figures; a language model plays five games through a vLLM server that is killed on the way.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers.utils import logging as transformers_logging

from benchmarks.engines import in_process, pretrained, served, served_demo
from benchmarks.report import RESULTS


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = parser.add_subparsers(dest="table", required=True)
    for module in (in_process, pretrained, served, served_demo):
        table = tables.add_parser(
            module.NAME,
            help=(module.__doc__ or "").splitlines()[0],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.options(table)
        table.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
        table.set_defaults(main=module.main)
    given = parser.parse_args()
    torch.set_num_threads(1)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    given.main(given)


if __name__ == "__main__":
    main()
