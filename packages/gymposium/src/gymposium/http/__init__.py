"""Servers for programs: a guard before every request, the socket, and games as environments over a network.

All servers of the project use `gymposium.http.guard` and `gymposium.http.listening`. Needs the extra
`gymposium[serve]`.
"""
