"""A store of a million replies: opened, read and added to without holding them in memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import surgvalid
from surgvalid.asking.store import hashed

pytestmark = pytest.mark.slow
REPLIES = 1_000_000

READER = """
import resource, sys
sys.path.insert(0, {source!r})
from surgvalid.asking.store import ContentStore, hashed
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
store = ContentStore({path!r})
assert len(store) == {replies}
assert store.get(hashed({replies} - 1), lambda row: row["number"]) == {replies} - 1
for number in range(100_000):
    store.put(hashed(["new", number]), {{"number": number}})
assert store.get(hashed(["new", 7]), lambda row: row["number"]) == 7
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_million_replies_take_the_room_of_their_places_alone(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with open(tmp_path / "store" / "segment-001.jsonl", "w") as handle:
        for number in range(REPLIES):
            row = {"key": hashed(number), "kind": "answer", "number": number, "text": "x" * 400}
            handle.write(json.dumps(row) + "\n")
    source = str(Path(surgvalid.__file__).parents[1])
    code = READER.format(source=source, path=str(tmp_path / "store"), replies=REPLIES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 200 * 2**20
