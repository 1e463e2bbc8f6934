# SPDX-License-Identifier: Apache-2.0
"""Imports one real recording for the checks of this folder: its traces, one per process."""
import json
import subprocess
from pathlib import Path

NO_RECORDING = 4  # exit status of `gputrace import`


def import_recording(gputrace, recording, folder):
    """Traces in order of their names; None when the file is no recording."""
    for old in Path(folder).glob("*.gtrace"):
        old.unlink()
    done = subprocess.run([gputrace, "import", "-f", "-d", folder, recording],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode == NO_RECORDING:
        return None
    if done.returncode:
        raise RuntimeError(f"import exits with {done.returncode}: {done.stderr.strip()}")
    return sorted(Path(folder).glob("*.gtrace"))


def report_of(gputrace, trace):
    done = subprocess.run([gputrace, "report", "--json", trace], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"report exits with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def reported_devices(gputrace, recording, folder):
    """(run, device) of all processes; None when the file is no recording."""
    traces = import_recording(gputrace, recording, folder)
    if traces is None:
        return None
    return [(run, device) for trace in traces for run in report_of(gputrace, trace)["runs"]
            for device in run["devices"]]
