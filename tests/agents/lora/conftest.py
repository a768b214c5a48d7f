"""A stand-in for the hub on loopback, with the part of its HTTP API that its own client uses."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

TOKEN = "hf_" + "canary" * 5
"""The token with write access to the stand-in. It may appear only in the Authorization header of requests to it."""


@dataclass
class Repository:
    """Branches with their commits' files."""

    private: bool
    branches: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {}})
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str) -> str:
        """The branch whose newest commit this is, or that is so called; and its oid."""
        content = b"".join(name.encode() + data for name, data in sorted(self.branches[branch].items()))
        return hashlib.sha1(branch.encode() + content).hexdigest()

    def find_branch(self, revision: str) -> str | None:
        return next((name for name in self.branches if revision in (name, self.commit(name))), None)


@dataclass
class Hub:
    """The stand-in's state, and the requests to it."""

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    """Large files by SHA-256."""
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    """Method, path, and whether the request had the token."""
    forbidden: set[str] = field(default_factory=set)
    """Names to which the token may not write."""

    def environment(self, home: Path, token: str | None = TOKEN) -> dict[str, str]:
        """The environment of a process for which this server is the hub."""
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        mine = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
        return {**keep, **mine, **({"HF_TOKEN": token} if token else {}), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


class Handler(BaseHTTPRequestHandler):
    """The handler of one request."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def answer(self, status: int, data: Any = None, *, raw: bytes | None = None, **headers: str) -> None:
        body = raw if raw is not None else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status: int, code: str, message: str) -> None:
        self.answer(status, {"error": message}, X_Error_Code=code, X_Error_Message=message)

    def handle_any(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                sent += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        path = unquote(urlsplit(self.path).path)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.hub.asked.append((self.command, path, bool(token)))
        if path.startswith("/objects/"):
            self.hub.objects[path.removeprefix("/objects/")] = sent
            return self.answer(200)
        if token != TOKEN:
            return self.refuse(401, "", "Invalid username or password.")
        for method, form, act in self.routes():
            found = re.fullmatch(form, path)
            if found and method == self.command.replace("HEAD", "GET"):
                return act(sent, **found.groupdict())
        return self.refuse(404, "", f"no such route: {self.command} {path}")

    do_GET = do_HEAD = do_POST = do_PUT = handle_any  # noqa: N815

    def routes(self) -> list[tuple[str, str, Callable[..., None]]]:
        repo = r"(?P<repo>[\w-]+/[\w.-]+)"
        return [
            ("POST", "/api/repos/create", self.create),
            ("POST", "/api/validate-yaml", lambda sent: self.answer(200, {})),
            ("GET", rf"/api/models/{repo}(/revision/(?P<revision>.+))?", self.info),
            ("GET", rf"/api/models/{repo}/tree/(?P<revision>[^/]+)", self.tree),
            ("POST", rf"/api/models/{repo}/branch/(?P<branch>.+)", self.branch),
            ("POST", rf"/api/models/{repo}/preupload/(?P<revision>.+)", self.preupload),
            ("POST", rf"/{repo}.git/info/lfs/objects/batch", self.batch),
            ("POST", rf"/api/models/{repo}/commit/(?P<revision>.+)", self.commit),
            ("GET", rf"/{repo}/resolve/(?P<revision>[^/]+)/(?P<file>.+)", self.resolve),
        ]

    def create(self, sent: bytes) -> None:
        asked = json.loads(sent)
        repo = f"{asked.get('organization') or 'alice'}/{asked['name']}"
        if repo in self.hub.forbidden:
            return self.refuse(403, "", "You don't have the rights to create a model under this namespace.")
        known = repo in self.hub.repositories
        if not known:
            private = asked.get("private") is True or asked.get("visibility") == "private"
            self.hub.repositories[repo] = Repository(private)
        return self.answer(409 if known else 200, {"url": f"{self.hub.url}/{repo}", "name": repo})

    def known(self, repo: str, revision: str = "main") -> tuple[Repository, str] | None:
        found = self.hub.repositories.get(repo)
        branch = found.find_branch(revision) if found else None
        if found is None or branch is None:
            self.refuse(404, "RepoNotFound" if found is None else "RevisionNotFound", "Not found")
            return None
        return found, branch

    def info(self, sent: bytes, repo: str, revision: str | None) -> None:
        if known := self.known(repo, revision or "main"):
            found, branch = known
            siblings = [{"rfilename": name} for name in found.branches[branch]]
            data = {"id": repo, "sha": found.commit(branch), "private": found.private, "siblings": siblings, "tags": []}
            self.answer(200, data)

    def tree(self, sent: bytes, repo: str, revision: str) -> None:
        if known := self.known(repo, revision):
            files = known[0].branches[known[1]].items()
            oids = {name: hashlib.sha1(data).hexdigest() for name, data in files}
            self.answer(200, [{"type": "file", "path": n, "size": len(d), "oid": oids[n]} for n, d in files])

    def branch(self, sent: bytes, repo: str, branch: str) -> None:
        if known := self.known(repo):
            there = branch in known[0].branches
            known[0].branches.setdefault(branch, dict(known[0].branches["main"]))
            self.answer(409 if there else 200, {})

    def preupload(self, sent: bytes, repo: str, revision: str) -> None:
        if self.known(repo, revision):
            modes = {True: "lfs", False: "regular"}
            paths = [file["path"] for file in json.loads(sent)["files"]]
            files = [{"path": p, "uploadMode": modes[p.endswith(".safetensors")], "shouldIgnore": False} for p in paths]
            self.answer(200, {"files": files})

    def batch(self, sent: bytes, repo: str) -> None:
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.hub.url}/objects/{one['oid']}"}}}
            for one in json.loads(sent)["objects"]
        ]
        self.answer(200, {"transfer": "basic", "objects": objects})

    def commit(self, sent: bytes, repo: str, revision: str) -> None:
        if known := self.known(repo, revision):
            found, branch = known
            for line in map(json.loads, sent.splitlines()):
                value = line["value"]
                if line["key"] == "header":
                    found.messages.append(value["summary"])
                elif line["key"] == "file":
                    found.branches[branch][value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "lfsFile":
                    data = self.hub.objects[value["oid"]]
                    assert hashlib.sha256(data).hexdigest() == value["oid"]
                    found.branches[branch][value["path"]] = data
            oid = found.commit(branch)
            self.answer(200, {"commitUrl": f"{self.hub.url}/{repo}/commit/{oid}", "commitOid": oid})

    def resolve(self, sent: bytes, repo: str, revision: str, file: str) -> None:
        if known := self.known(repo, revision):
            data = known[0].branches[known[1]].get(file)
            if data is None:
                return self.refuse(404, "EntryNotFound", "Entry not found")
            etag = f'"{hashlib.sha256(data).hexdigest()}"'
            return self.answer(200, raw=data, ETag=etag, X_Repo_Commit=known[0].commit(known[1]))
        return None

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    state = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": state}))
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()
