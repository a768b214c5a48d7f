"""Ray errors keep their cause, in one line."""

from __future__ import annotations

from gymposium_ray.causes import describe_cause

CREATION = (
    "The actor died because of an error raised in its creation task, \x1b[36mray::Worker.__init__()\x1b[39m (pid=4545, "
    "ip=10.0.0.2, actor_id=2045419add29e8f132d3ec3401000000, repr=<gymposium_ray.workers.FunctionActorManager."
    "_create_fake_actor_class.<locals>.TemporaryActor object at 0x7fb68dd2e490>)\n"
    "  At least one of the input arguments for this task could not be computed:\n"
    "ray.exceptions.RaySystemError: System error: No module named 'gymposium_ray'\n"
    "traceback: Traceback (most recent call last):\n"
    '  File "/opt/lib/ray/serialization.py", line 12, in load\n'
    "    return pickle.loads(data)\n"
    "          ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
    "ModuleNotFoundError: No module named 'gymposium_ray'"
)
DIED = (
    "The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tactor_id: 2045\n\tpid: 4545\n"
    "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR"
)


def test_exception_at_the_end_of_a_long_text_is_kept() -> None:
    found = describe_cause(RuntimeError(CREATION))
    assert len(CREATION.split("traceback:")[0]) > 300
    assert found.endswith("ModuleNotFoundError: No module named 'gymposium_ray'")
    assert "serialization.py" not in found
    assert "\x1b" not in found
    assert "\n" not in found


def test_table_of_ids_is_omitted() -> None:
    assert describe_cause(RuntimeError(DIED)) == (
        "The actor died unexpectedly before finishing this task. The actor is dead because its worker process has "
        "died. Worker exit type: SYSTEM_ERROR"
    )


def test_task_exception_replaces_its_text() -> None:
    error = RuntimeError("ray::answer() (pid=1) and much more")
    error.cause = ValueError("the first line\n  the second one")  # type: ignore[attr-defined] # as RayTaskError has it
    assert describe_cause(error) == "ValueError: the first line the second one"


def test_errors_without_text_show_their_name() -> None:
    assert describe_cause(TimeoutError()) == "TimeoutError"
