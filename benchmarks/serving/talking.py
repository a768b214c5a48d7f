"""Clients in a process of their own: sessions whose messages grow, many at once.

    python -m benchmarks.serving.talking ADDRESS SESSIONS AT_ONCE

Prints the CPU seconds of all of them and the number of errors, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import OpenAI, OpenAIError

from gymposium.http.client import Server, Session

TURNS = 5
"""Number of requests of a session."""


def talk(session: Session[Server], model: OpenAI) -> int:
    """Play a session. Returns the number of errors, 0 or 1."""
    one, messages = model.with_options(base_url=session.base_url), list[Any]()
    try:
        for turn in range(TURNS):
            messages.append({"role": "user", "content": f"Turn {turn}: x . o . x . o . ."})
            answer = one.chat.completions.create(model="m", messages=messages)
            messages.append({"role": "assistant", "content": answer.choices[0].message.content})
    except OpenAIError:
        return 1
    session.end(0.0)
    return 0


def main(address: str, sessions: int, at_once: int) -> None:
    """Play all sessions."""
    with Server(address) as server, ThreadPoolExecutor(at_once) as threads:
        client = OpenAI(base_url=address, api_key="none", max_retries=0)
        talk(server.session(), client)
        begun = time.process_time()
        errors = sum(threads.map(lambda n: talk(server.session(), client), range(sessions)))
        print(json.dumps({"cpu": time.process_time() - begun, "errors": errors}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
