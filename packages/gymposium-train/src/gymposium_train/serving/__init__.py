"""Training as a service: the agents of others play through HTTP, and a run learns from their sessions.

`service` keeps sessions, groups and jobs, and knows no HTTP; `source` gives their trajectories to the run; `app` is the
HTTP server.
"""
