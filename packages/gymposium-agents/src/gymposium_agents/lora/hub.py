"""Push an adapter or a merged model to a repository on the Hugging Face hub."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import CommitOperationAdd, HfApi, get_token
from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError is that of the client's HTTP library
    HfHubHTTPError,
    HTTPError,
    OfflineModeIsEnabled,
)

from gymposium.errors import GymposiumError
from gymposium.runs.links import escapes_directory
from gymposium.runs.run import Run
from gymposium_agents.lora.card import make_model_card, read_player_settings
from gymposium_agents.lora.files import CONFIG, read_adapter
from gymposium_agents.lora.trained import TrainingSummary

_SHARED = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "README.md", "LICENSE*")
"""The files to push for an adapter or a model: weights, settings, tokenizer, card. Pickles are excluded."""
_CARD = "README.md"


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of a push."""

    url: str
    """The page of the commit."""
    files: tuple[str, ...]
    """The names of the pushed files."""
    left_out: tuple[str, ...]
    """Names in the directory that were not pushed: markers, pickles, folders."""


def push_to_hub(
    directory: str | Path,
    repo: str,
    *,
    private: bool = False,
    revision: str | None = None,
    message: str | None = None,
    base: str | None = None,
    game: str | None = None,
    run: str | Path | None = None,
) -> PushResult:
    """Push the adapter or model in `directory` to the hub repository `repo`, which is created if it does not exist. All
    files go unchanged into one commit on the branch `revision`. A `README.md` in the directory is pushed, too. Without
    one, a card is made from the files, from `base` (the base model's name on the hub), from `game`, and from `run`, the
    training run's directory. By default, `run` is the run that wrote the adapter or model.

    The token comes from `hf auth login` or HF_TOKEN. HF_ENDPOINT selects another hub.

    Raises `GymposiumError` with the fix if there is nothing to push or no token, or if the hub refuses."""
    directory = Path(directory)
    files, left_out = _list_files(directory)
    adapter = read_adapter(directory) if (directory / CONFIG).is_file() else None
    if adapter is None and not (directory / "config.json").is_file():
        raise GymposiumError(
            f"{str(directory)!r} contains neither an adapter nor a model. Name a directory saved by training."
        )
    operations = [CommitOperationAdd(file.name, file) for file in files]
    if not (directory / _CARD).is_file():
        beneath = base if base is not None or adapter is None else adapter.base
        trained = (
            TrainingSummary.around(directory) if run is None else TrainingSummary.in_run(Run(Path(run).name, Path(run)))
        )
        card = make_model_card(repo, adapter, read_player_settings(directory), base=beneath, game=game, trained=trained)
        operations.append(CommitOperationAdd(_CARD, card.encode()))
    if get_token() is None:
        raise GymposiumError("No token for the hub. Run hf auth login, or set HF_TOKEN, and push again.")
    api = HfApi()
    try:
        name = api.create_repo(repo, private=private, exist_ok=True).repo_id
        if private and not api.model_info(name).private:
            raise GymposiumError(
                f"{name} already exists and is public, so nothing was pushed. Make it private on the hub, push to "
                f"another repository, or omit --private."
            )
        if revision is not None:
            api.create_branch(name, branch=revision, exist_ok=True)
        commit = api.create_commit(
            name,
            operations,
            commit_message=message or f"Push {'an adapter' if adapter else 'a model'} of gymposium",
            revision=revision,
        )
    except (HTTPError, OSError, ValueError) as error:
        raise GymposiumError(f"The hub rejected {str(directory)!r} as {repo}: {_explain_error(error)}") from error
    return PushResult(commit.commit_url, tuple(sorted(one.path_in_repo for one in operations)), left_out)


def _list_files(directory: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files of a directory to push, and the names of all other files.

    Raises `GymposiumError` for a link that leads out of the directory, because it may expose another file."""
    if not directory.is_dir():
        raise GymposiumError(f"{str(directory)!r} is not a directory. Name the directory of an adapter or a model.")
    entries = sorted(directory.iterdir())
    files = [file for file in entries if file.is_file() and any(fnmatch(file.name, form) for form in _SHARED)]
    if link := next((file for file in files if escapes_directory(file, directory)), None):
        raise GymposiumError(
            f"{link} is a symbolic link to {os.path.realpath(link)}, which would be published. Replace it with a copy "
            f"if that is what you want."
        )
    return files, tuple(entry.name for entry in entries if entry not in files)


def _explain_error(error: Exception) -> str:
    """Describe the cause of an error, and the fix if known."""
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    advice = {
        401: " The token is invalid. Run hf auth login again, or set HF_TOKEN.",
        403: " The token cannot write to that repository. Use one with write access.",
    }
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set. Unset it to push."
    return f"{str(error).strip()}{advice.get(status or 0, '')}"
