"""Memory of queries that keep as many long rows as allowed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")  # what `resource` tells includes the process that started this one
MOST_MEGABYTES = 64
_SCRIPT = """
import re
from pathlib import Path

from gymposium_worlds.tables.contents import make_database
from gymposium_worlds.tables.sql.queries import QueryRunner
from gymposium_worlds.tables.sql.statements import QueryRefusal

database = make_database("train-1", 400)
queries, t, long = QueryRunner(database), database.event.name, "x" * 370


def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1])


before = peak()
for sql in (
    f"WITH r AS MATERIALIZED (SELECT '{long}' AS x FROM {t} a, {t} b, {t} c) SELECT COUNT(*) FROM r",
    f"SELECT a.id, '{long}' AS x FROM {t} a, {t} b, {t} c ORDER BY c.id + 0",
    f"WITH RECURSIVE r(s) AS (SELECT '{long}' UNION ALL SELECT s FROM r, {t} a, {t} b) SELECT COUNT(*) FROM r",
    f"SELECT MAX('{long}') OVER (PARTITION BY 1) AS x FROM {t} a, {t} b, {t} c",
    f"SELECT COUNT(*) FROM {t} WHERE id IN (SELECT '{long}' || b.id || c.id || d.id FROM {t} b, {t} c, {t} d)",
):
    try:
        queries.run(sql)
        raise SystemExit("not stopped: " + sql)
    except QueryRefusal as refused:
        assert "steps" in str(refused), refused
print((peak() - before) / 1024)
"""


@pytest.mark.skipif(not STATUS.exists(), reason="needs the memory figures of Linux")
def test_queries_use_little_memory() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) <= MOST_MEGABYTES
