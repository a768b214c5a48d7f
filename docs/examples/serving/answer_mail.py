"""An agent that answers questions about a mailbox with the model of `gymposium serve`, and trains this model.

python answer_mail.py [STEPS] [ADDRESS]
"""

import sys

from openai import BadRequestError, OpenAI
from openai.types.chat import ChatCompletionMessageParam

import gymposium
from gymposium.http.client import URL, Server, Session
from gymposium.records.trajectories import Trajectory
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS

GAME = "mail(kinds=look_up+absent,mails=20,max_calls=3)"
MODEL = OpenAI(api_key="none", base_url=URL, max_retries=40)
REWARD = gymposium.make_reward("weighted(accuracy=1,report.read=0.3)")


def agent(session: Session[Server]) -> dict[str, float | bool]:
    """Answer one question, in a growing conversation with the rules only in the first message."""
    model, game = MODEL.with_options(base_url=session.base_url), gymposium.load_game(GAME)
    table = gymposium.Table(game, seed=session.seed, on_illegal="penalty(0.5,3)", prompt="compact")
    prompt, messages = get_prompt(game, "compact", READERS["move"]), list[ChatCompletionMessageParam]()
    while table.asked:
        ask = table.asked[0].ask
        text = prompt(ask.observe("compact"), ask.reason, rules=not messages)
        messages.append({"role": "user", "content": text})
        try:
            said = model.chat.completions.create(model="any", messages=messages).choices[0].message.content or ""
        except BadRequestError as error:
            if error.code != "context_length_exceeded":
                raise
            return {"reward": 0.0, "truncated": True}
        messages.append({"role": "assistant", "content": said})
        table.answer(0, said)
    assert table.played is not None, "nothing is asked any more"
    return {"reward": REWARD([Trajectory.from_match(table.played, 0)])[0].total}


if __name__ == "__main__":
    steps, address = int([*sys.argv, "12"][1]), [*sys.argv, "", URL][2] or URL
    with Server(address) as server:
        for step in range(steps):
            server.play(agent, groups=16, size=8)
            print(f"step {step + 1}: reward {server.train()['rollout/reward']:+.2f}", flush=True)
