#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_long_trace.py BUILD [EVENTS]: the viewer on the trace of a long job (make_long_trace).

Prints CPU time and memory of every command and holds the memory: a short trace with a small
GPUTRACE_MEMORY, one of more than 5 M events with the default, 512 MiB. What the job did is known, so
the report must say it: each step, each late one, every event. Without the limit a short trace must
give the same report, byte for byte. GPUTRACE_LONG_EVENTS is EVENTS when that is not given.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

MIB = 1 << 20
STEPS_PER_SLOW = 64  # make_long_trace's SLOW_STEP
SHORT = 5_000_000
# A decoded chunk per worker, names and the program itself come on top of what arrays may take.
BESIDE_ARRAYS_MIB = 72
CPU_LIMIT_US_PER_EVENT = 12  # several times what it takes: the machine may be busy


class Run:
    def __init__(self, build, events):
        self.build = build
        self.events = events
        self.folder = build / "bench" / "long-trace"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trace = self.folder / "long.gtrace"
        self.is_short = events <= SHORT
        self.memory_mib = 64 if self.is_short else 512
        self.held_mib = 64 + BESIDE_ARRAYS_MIB if self.is_short else 512
        self.failures = []

    def expect(self, is_so, sentence):
        if not is_so:
            self.failures.append(sentence)
            print(f"FAILED: {sentence}")

    def command(self, *arguments, output=os.devnull, memory=None):
        """Runs gputrace; its exit code. Memory and CPU time are printed and held."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("GPUTRACE_")}
        if memory is not None:
            environment["GPUTRACE_MEMORY"] = memory
        elif self.is_short:
            environment["GPUTRACE_MEMORY"] = f"{self.memory_mib}M"
        begin = time.monotonic()
        with open(output, "wb") as to:
            child = subprocess.Popen([self.build / "bin" / "gputrace", *arguments], stdout=to,
                                     stderr=subprocess.PIPE, env=environment)
            errors = child.stderr.read().decode()
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        resident_mib = usage.ru_maxrss / 1024
        name = " ".join(str(argument) for argument in arguments if argument != self.trace)
        name = name.replace(str(self.folder) + "/", "")
        print(f"  {name:44} {cpu_s:8.2f} s CPU {time.monotonic() - begin:8.2f} s "
              f"{resident_mib:7.0f} MiB" + (f"  GPUTRACE_MEMORY={memory}" if memory else ""))
        if errors:
            print(errors)
        if memory is None:
            self.expect(resident_mib <= self.held_mib,
                        f"{name} takes {resident_mib:.0f} MiB, {self.held_mib} are allowed")
        self.expect(cpu_s <= 1 + self.events * CPU_LIMIT_US_PER_EVENT / 1e6,
                    f"{name} takes {cpu_s:.1f} s of CPU")
        return child.returncode

    def succeed(self, *arguments, **options):
        self.expect(self.command(*arguments, **options) == 0, f"{arguments[0]} does not succeed")

    def json_of(self, *arguments):
        path = self.folder / f"{arguments[0]}.json"
        self.succeed(*arguments, output=path)
        self.expect(path.stat().st_size < MIB, f"{arguments[0]}'s JSON is {path.stat().st_size} bytes")
        return json.loads(path.read_text())

    def generate(self):
        subprocess.run([self.build / "bench" / "make_long_trace", str(self.events), self.trace],
                       check=True)
        print(f"{self.events} events, {self.trace.stat().st_size} bytes, load "
              f"{os.getloadavg()[0]:.1f}")

    def check_events(self):
        info = self.json_of("info", "--json", self.trace)["traces"][0]
        events = sum(info["events"].values())
        self.expect(events >= self.events, f"info counts {events} events")
        self.expect(info["lost_events"] == 0, "events were lost")
        self.succeed("check", self.trace)
        return info["events"]

    def check_report(self, counted):
        report = self.json_of("report", "--json", self.trace)
        steps = report["runs"][0]["steps"]
        device = report["runs"][0]["devices"][0]
        step_count = counted["sync"]  # one wait in each
        self.expect(steps["count"] == step_count, f"{steps['count']} steps of {step_count} found")
        self.expect(steps["outliers"] == step_count // STEPS_PER_SLOW,
                    f"{steps['outliers']} late steps found")
        findings = {finding["id"] for finding in device["findings"]}
        self.expect("GT504" in findings, "the stall that comes back every 64 steps is not found")
        self.expect("GT501" not in findings, "launches are called too slow, which they are not")
        self.expect(device["hta"]["operations"] ==
                    counted["gpu_kernel"] + counted["gpu_copy"] + counted["gpu_set"],
                    "not every operation is in the report")
        percent = sum(part["percent"] for part in device["ledger"]["parts"])
        self.expect(abs(percent - 100) < 1e-6, f"the ledger adds up to {percent} %")

    def check_same_without_limit(self):
        if not self.is_short:
            return
        unlimited = self.folder / "unlimited.json"
        self.succeed("report", "--json", self.trace, output=unlimited, memory="0")
        self.expect(unlimited.read_bytes() == (self.folder / "report.json").read_bytes(),
                    "the report is another one without a limit of memory")

    def check_others(self):
        page = self.folder / "report.html"
        self.succeed("report", "--html", page, self.trace)
        self.expect(page.stat().st_size < MIB, f"the page has {page.stat().st_size} bytes")
        self.succeed("gate", "--max", "step_time_ms=30", self.trace)
        self.succeed("export", "--to", "collapsed", self.trace)
        self.succeed("dump", "--kind", "gpu_copy", self.trace)
        if not self.is_short:
            self.succeed("report", self.trace)
            self.succeed("export", "--to", "chrome", self.trace)


def main():
    events = int(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("GPUTRACE_LONG_EVENTS", 2000000))
    run = Run(pathlib.Path(sys.argv[1]).resolve(), events)
    run.generate()
    run.check_report(run.check_events())
    run.check_same_without_limit()
    run.check_others()
    run.trace.unlink()
    return 1 if run.failures else 0


sys.exit(main())
