#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_oom.py GPUTRACE DEFAULT_FOLDER

Holds `gputrace explain-oom` against real out-of-memory messages: the verdict of each wording, the
ranks of a log, and the cause of every line of a job whose GPUs were shared. Also what the command
owes its user: JSON and text agree, standard input works, nothing found is no success. Exit status 77
without recordings.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
MIB, GIB = 1 << 20, 1 << 30

# One per message of texts/oom_messages_given.txt, in its order: verdict, would pass, request.
GIVEN = [("GT402", False, 10.73 * GIB),  # larger than the card
         ("GT403", False, 1.69 * GIB),   # 1.01 of 14.56 GiB are ours
         ("GT403", False, 30.00 * GIB),  # 31.90 of 55 GiB in use are ours
         ("GT401", True, 1.70 * GIB),    # 2.30 GiB unallocated
         ("GT401", True, 158 * MIB),     # the process named is this one
         ("GT401", False, 22.78 * GIB),  # half is unallocated, yet 0.70 GiB are missing
         ("GT401", True, 258 * MIB)]


def run(gputrace, *arguments, text=None):
    return subprocess.run([gputrace, "explain-oom", *arguments], input=text, capture_output=True,
                          text=True)


def messages_of(gputrace, path):
    done = run(gputrace, "--json", str(path))
    if done.returncode:
        sys.exit(f"{path.name}: exit {done.returncode}: {done.stderr.strip()}")
    document = json.loads(done.stdout)
    assert document["schema"] == "gputrace.explain-oom/1"
    return document["messages"]


def check_given(gputrace, path):
    messages = messages_of(gputrace, path)
    assert len(messages) == len(GIVEN), f"{len(messages)} messages"
    for message, (verdict, passes, requested) in zip(messages, GIVEN):
        where = f"{path.name}:{message['line']}"
        numbers = message["numbers"]
        assert message["verdict"] == verdict, f"{where}: {message['verdict']}, not {verdict}"
        assert numbers["expandable_segments_would_pass"] is passes, f"{where}: {numbers}"
        assert abs(numbers["requested_bytes"] - requested) <= 1, f"{where}: {numbers}"
        assert ("would have let" in message["summary"]) == passes, where
    own = messages[4]["processes"]
    assert [p["is_this_process"] for p in own] == [True] and own[0]["pid"] == 21422, own
    assert messages[4]["rank"] == 0 and messages[0]["rank"] is None


def check_log(gputrace, path):
    """Eight ranks of one job, all really full; the launcher repeats what rank 0 said."""
    messages = messages_of(gputrace, path)
    assert [m["rank"] for m in messages] == list(range(8)), [m["rank"] for m in messages]
    assert [m["gpu"] for m in messages] == list(range(8))
    assert {m["verdict"] for m in messages} == {"GT404"}
    assert messages[0]["repeated"] == 1
    assert all(not m["numbers"]["expandable_segments_would_pass"] for m in messages)


def check_lines(gputrace, path):
    """60 lines: where another process holds more than a tenth of the card it is the cause, and
    fragmentation is never."""
    messages = messages_of(gputrace, path)
    assert sum(1 + m["repeated"] for m in messages) == 60
    for message in messages:
        held = sum(p["bytes"] for p in message["processes"] if not p["is_this_process"])
        wanted = "GT403" if held * 10 > message["numbers"]["capacity_bytes"] else "GT404"
        assert message["verdict"] == wanted, f"{path.name}:{message['line']}: {message}"
    assert sum(1 + m["repeated"] for m in messages if m["processes"]) == 25


def check_command(gputrace, path):
    text = path.read_text()
    done = run(gputrace, "-", text=text)
    assert done.returncode == 0 and done.stdout == run(gputrace, text=text).stdout
    assert done.stdout == run(gputrace, str(path)).stdout
    for message in messages_of(gputrace, path):
        assert message["summary"] in done.stdout and message["fix"] in done.stdout
    done = run(gputrace, text="all is well\n")
    assert done.returncode == 3 and not done.stdout and len(done.stderr.splitlines()) == 1
    assert run(gputrace, str(path.parent / "no-such-file")).returncode == 4
    assert run(gputrace, str(path), str(path)).returncode == 2


def main():
    gputrace, default = sys.argv[1:3]
    folder = Path(os.environ.get("GPUTRACE_RECORDINGS") or default)
    if not folder.is_dir():
        print(f"skipped: the real recordings are not in {folder} (set GPUTRACE_RECORDINGS)")
        return SKIPPED
    check_given(gputrace, folder / "texts/oom_messages_given.txt")
    check_log(gputrace, folder / "torchtitan-b200/run111_oom.log")
    check_lines(gputrace, folder / "torchtitan-b200/oom_lines_given.txt")
    check_command(gputrace, folder / "texts/oom_messages_given.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
