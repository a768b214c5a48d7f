"""The coding agent mini-swe-agent. Argument: the session's address."""

import sys

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel


def coder(base_url: str) -> DefaultAgent:
    options = {"api_base": base_url, "api_key": "none", "drop_params": True}
    model = LitellmModel(model_name="openai/policy", model_kwargs=options, cost_tracking="ignore_errors")
    return DefaultAgent(
        model,
        LocalEnvironment(),
        system_template="You work in a shell. Submit by echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT.",
        instance_template="{{task}}",
        step_limit=5,
    )


print(coder(sys.argv[1]).run("What do a, b and c add up to?")["submission"])
