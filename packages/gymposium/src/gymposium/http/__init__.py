"""Servers for programs: the guard that checks every request, the listening socket, and games as network environments.

All servers of the project use `gymposium.http.guard` and `gymposium.http.listening`. Needs the extra
`gymposium[serve]`.
"""
