"""Videos of games with Gymnasium's own recorder: `tox run -e video` installs what it needs."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest
from gymnasium.wrappers import RecordVideo

import gymposium  # noqa: F401  (registers the environments)

moviepy = pytest.importorskip("moviepy", reason="moviepy is not installed: tox run -e video")
pytest.importorskip("resvg_py", reason='resvg-py is not installed: pip install "gymposium[images]"')

pytestmark = pytest.mark.filterwarnings("default")  # moviepy's own


def test_record_video_writes_one_frame_for_each_position(tmp_path: Path) -> None:
    env = RecordVideo(gymnasium.make("TextTicTacToe-v0", render_mode="rgb_array"), str(tmp_path))
    env.reset(seed=0)
    steps, over = 0, False
    while not over:
        _, _, over, _, _ = env.step(int(env.unwrapped.action_masks().argmax()))
        steps += 1
    env.close()
    (file,) = tmp_path.glob("*.mp4")
    with moviepy.VideoFileClip(str(file)) as video:
        assert video.size == [512, 512]
        assert video.fps == gymnasium.spec("TextTicTacToe-v0").make().metadata["render_fps"]
        assert video.reader.n_frames == steps + 1
