"""An agent that plays tic-tac-toe with the model of `gymposium serve`, and trains this model.

python play_tic_tac_toe.py [STEPS] [ADDRESS]
"""

import sys

from openai import OpenAI

import gymposium
from gymposium.http.client import URL, Server, Session

MODEL = OpenAI(api_key="none", base_url=URL, max_retries=40)


def agent(session: Session[Server]) -> float:
    """Play one match. All sessions in a group have the same seed and therefore the same seat, but their opponents'
    moves differ."""
    model, seat = MODEL.with_options(base_url=session.base_url), session.seed % 2
    table = gymposium.Table(
        "tic_tac_toe",
        seats=seat,
        opponents="random",
        seed=session.seed,
        player_seed=1000 * session.seed + session.member,
        on_illegal="penalty(0.5,3)",
        prompt="compact",
    )
    while table.asked:
        (asked,) = table.asked
        answer = model.chat.completions.create(model="any", messages=[{"role": "user", "content": asked.text}])
        table.answer(seat, answer.choices[0].message.content or "")
    return table.get_return(seat)


if __name__ == "__main__":
    steps, address = int([*sys.argv, "30"][1]), [*sys.argv, "", URL][2] or URL
    with Server(address) as server:
        for step in range(steps):
            server.play(agent, groups=32, size=4)
            print(f"step {step + 1}: reward {server.train()['rollout/reward']:+.2f}", flush=True)
