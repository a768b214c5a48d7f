"""Servers for programs: the guard before every request, the socket, and games as environments over a network.

`gymposium.http.guard` and `gymposium.http.listening` are for any server of the project. Needs the extra
`gymposium[serve]`.
"""
