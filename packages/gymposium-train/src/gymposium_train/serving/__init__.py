"""Training as a service: external agents play over HTTP, and a run learns from their sessions.

`service` keeps sessions, groups and jobs, independent of HTTP. `source` passes their trajectories to the run. `app` is
the HTTP server.
"""
