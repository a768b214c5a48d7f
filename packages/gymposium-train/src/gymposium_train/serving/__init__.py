"""Training as a service: external agents play over HTTP, and a run learns from their sessions.

`service` has the agents' `sessions`, the training `jobs` made of them, and the `learner` that both wait for. None of
them knows HTTP. `source` passes the trajectories to the run. `app` is the HTTP server.
"""
