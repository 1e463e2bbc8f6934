# SPDX-License-Identifier: Apache-2.0
"""What the cases of the survival suite share: starting survival_job with and without the shim, the
job's own ledger, what a trace holds of it, and the row of the table."""
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

LEDGER_THREADS = 1024
MOMENTS = 512
THREAD_WORDS = 4 + 2 * MOMENTS
WINDOW = 4096
FINISH_S = 15  # a collector that lives on completes the file within this
SKIPPED = 77


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def expect(claim, text):
    if not claim:
        raise Failure(text)


class Ledger:
    """survival_ledger.h, while the job runs and after it was killed."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), 0)

    def word(self, index):
        return struct.unpack_from("<Q", self.words, 8 * index)[0]

    def process_id(self):
        return self.word(2)

    def thread(self, number):
        return 4 + number * THREAD_WORDS

    def calls(self, number=0):
        return self.word(self.thread(number))

    def longest_ns(self, number=0):
        return self.word(self.thread(number) + 2)

    def total_calls(self):
        return self.word(1) + sum(self.calls(n) for n in range(LEDGER_THREADS))

    def calls_at(self, when_ns, number=0):
        """How many calls had surely returned at that time of CLOCK_MONOTONIC."""
        at = 8 * (self.thread(number) + 4)
        moments = struct.unpack_from(f"<{2 * MOMENTS}Q", self.words, at)
        return max((calls for when, calls in zip(moments[::2], moments[1::2]) if 0 < when <= when_ns),
                   default=0)


class Result:
    """One ended run of the job."""

    def __init__(self, code, stdout, stderr, wall_s):
        self.code, self.stdout, self.stderr, self.wall_s = code, stdout, stderr, wall_s


class Job:
    """One started job. `launcher` is what stands before it on the command line."""

    def __init__(self, case, arguments, traced=True, launcher=(), extra=None, folder=None,
                 preexec=None, preload=()):
        self.case = case
        self.folder = folder or os.path.join(case.work, f"run{case.runs}")
        case.runs += 1
        self.traces = os.path.join(self.folder, "traces")
        if traced and not folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)
        os.makedirs(self.traces, exist_ok=True)
        self.ledger_path = os.path.join(case.work, f"ledger{case.runs}")
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("GPUTRACE", "SIMCUDA"))}
        environment |= {"LD_LIBRARY_PATH": f"{case.build}/simcuda", "SIMCUDA_TIME_SCALE": "0"}
        environment.pop("LD_PRELOAD", None)
        libraries = list(preload)
        if traced:
            libraries.insert(0, f"{case.build}/lib/libgputrace.so")
            environment |= {"GPUTRACE_OUT": self.traces, "GPUTRACE_GPU": "off",
                            # A collector that is slow to start is not what is tested.
                            "GPUTRACE_START_MS": "5000"}
        environment |= extra or {}
        command = list(launcher)
        # Only the job itself is preloaded, not the launcher before it.
        command += ["env", "LD_PRELOAD=" + ":".join(libraries)] if libraries else []
        command += [case.job, self.ledger_path, *map(str, arguments)]
        self.started_s = time.monotonic()
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        preexec_fn=preexec, text=True)

    def ledger(self):
        for _ in range(2000):
            if os.path.exists(self.ledger_path) and os.path.getsize(self.ledger_path):
                return Ledger(self.ledger_path)
            if self.process.poll() is not None:  # killed before it made one, or before it had a size
                return None
            time.sleep(0.002)
        raise Failure("the job does not start")

    def wait_for_calls(self, count=1):
        """Until the job has made that many calls."""
        ledger = self.ledger()
        expect(ledger, "the job ended before its first call")
        for _ in range(20000):
            if ledger.calls() >= count:
                return ledger
            if self.process.poll() is not None:
                raise Failure("the job ended too early: " + self.tell())
            time.sleep(0.0005)
        raise Failure("the job makes no calls")

    def tell(self):
        out, err = self.process.communicate(timeout=5)
        return f"exit code {self.process.returncode}, {out!r} {err!r}"

    def wait(self, timeout_s=60):
        try:
            out, err = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"the job hangs: not ended after {timeout_s} s") from None
        return Result(self.process.returncode, out, err, time.monotonic() - self.started_s)

    def wait_for_file(self):
        """Until the collector runs and has written something; the file."""
        for _ in range(10000):
            path = self.trace()
            if path and os.path.getsize(path) > 0 and self.collector():
                return path
            time.sleep(0.001)
        raise Failure("no file is being written")

    def wait_for_late_file(self):
        """The file, which a collector that has lost its job may still be about to make; or None."""
        until_s = time.monotonic() + FINISH_S
        while not self.trace() and self.collector() and time.monotonic() < until_s:
            time.sleep(0.01)
        return self.trace()

    def kill(self):
        self.process.kill()

    def collector(self):
        """Process id of its collector, None when there is none (yet)."""
        return collector_of(self.process.pid)

    def trace(self):
        """The file, None when there is none."""
        found = [name for name in os.listdir(self.traces) if name.endswith(".gtrace")]
        expect(len(found) < 2, f"{len(found)} traces of one job")
        return os.path.join(self.traces, found[0]) if found else None


def collector_of(pid):
    wanted = f"--pid\0{pid}\0".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read(4096)
        except OSError:
            continue
        if line.startswith(b"gputrace-collector\0") and wanted in line:
            return int(name)
    return None


class Trace:
    """What a file holds of a job: for every thread and buffer the numbers of its calls in order."""

    def __init__(self, case, path):
        info = subprocess.run([case.gputrace, "info", "--json", path], capture_output=True, text=True)
        expect(info.returncode == 0, f"gputrace info gave {info.returncode}: {info.stderr}")
        self.info = json.loads(info.stdout)["traces"][0]
        self.lost = self.info["lost_events"]
        self.lost_by_kind = self.info["lost_events_by_kind"]
        self.ending = self.info["ending"]
        self.calls = {}
        self.events = 0
        dump = subprocess.Popen([case.gputrace, "dump", "--format", "tsv", "--kind", "set", path],
                                stdout=subprocess.PIPE, text=True)
        columns = None
        for line in dump.stdout:
            fields = line.rstrip("\n").split("\t")
            if columns is None:
                if len(fields) > 4:
                    columns = {name: at for at, name in enumerate(fields)}
                continue
            self.events += 1
            if fields[columns["api"]].startswith("cudaMemset"):
                address = int(fields[columns["destination"]], 16)
                number = (int(fields[columns["size_bytes"]]) - 1) * WINDOW + address % WINDOW
                thread = (fields[columns["thread"]], address - address % WINDOW)
                self.calls.setdefault(thread, []).append(number)
        expect(dump.wait() == 0, "gputrace dump failed")

    def at_ns(self, since_start_ns):
        """A time of the file on CLOCK_MONOTONIC."""
        start_ns = int(self.info["session"]["session.start_realtime_ns"])
        return start_ns + since_start_ns - (time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns())

    def complete_ns(self):
        """Up to when the file says that it is complete, on CLOCK_MONOTONIC; None: it says nothing."""
        if not self.info["host_complete_ns"] or "session.start_realtime_ns" not in self.info["session"]:
            return None
        return self.at_ns(self.info["host_complete_ns"])

    def all_calls(self):
        return sum(len(numbers) for numbers in self.calls.values())

    def expect_in_order(self):
        for numbers in self.calls.values():
            expect(all(a < b for a, b in zip(numbers, numbers[1:])), "calls are out of order")

    def expect_prefix(self):
        """Nothing is missing between the first call and the last that is there."""
        for numbers in self.calls.values():
            expect(numbers == list(range(len(numbers))),
                   "calls are missing in the middle although no loss is counted")


class Case:
    """Runs of one case and its row in the table."""

    def __init__(self, build, name):
        self.build = build
        self.name = name
        self.work = os.path.join(build, "survival", name)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.gputrace = f"{build}/bin/gputrace"
        self.job = f"{build}/tests/survival-job"
        self.runs = 0
        self.rounds = self.written = self.recovered = self.lost = 0
        self.slowest = 0.0
        self.bound = ""
        self.notes = []
        self.plain = {}

    def count(self, written, recovered, lost):
        self.rounds += 1
        self.written += written
        self.recovered += recovered
        self.lost += lost

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def expect_unchanged(self, arguments, result, seconds, launcher=(), factor=3, **how):
        """Result and output as without the shim; time within factor times that plus `seconds`."""
        key = (tuple(arguments), tuple(launcher))
        if key not in self.plain:
            self.plain[key] = Job(self, arguments, traced=False, launcher=launcher, **how).wait()
        plain = self.plain[key]
        expect(result.code == plain.code and result.stdout == plain.stdout and
               result.stderr == plain.stderr,
               f"the job's result changed: {plain.code} {plain.stdout!r} {plain.stderr!r} became "
               f"{result.code} {result.stdout!r} {result.stderr!r}")
        if result.wall_s > factor * plain.wall_s + seconds:
            # Perhaps the machine has become slower, for others work on it too: what does it take now?
            again = Job(self, arguments, traced=False, launcher=launcher, **how).wait()
            plain.wall_s = max(plain.wall_s, again.wall_s)
        limit_s = factor * plain.wall_s + seconds
        self.bound = f"{factor:g} x + {seconds:g} s"
        self.slowest = max(self.slowest, result.wall_s - plain.wall_s)
        expect(result.wall_s <= limit_s,
               f"the job took {result.wall_s:.2f} s instead of {plain.wall_s:.2f} s, more than "
               f"{self.bound}")

    def expect_counted(self, trace, calls):
        """Every call is in the file at both levels, or its loss is counted by kind."""
        trace.expect_in_order()
        written = 2 * calls
        expect(trace.events + trace.lost >= written,
               f"{written} events were written, {trace.events} are in the file and only "
               f"{trace.lost} are counted as lost")
        expect(trace.events + trace.lost_by_kind.get("set", 0) <= written,
               f"{trace.events} events and {trace.lost_by_kind} lost ones are more than the "
               f"{written} that were written")
        if not trace.lost:
            trace.expect_prefix()
        self.count(written, trace.events, trace.lost)

    def finish(self):
        line = [self.name, str(self.rounds), str(self.written), str(self.recovered), str(self.lost),
                f"{self.slowest:.2f} s" if self.bound else "-", self.bound or "-",
                "; ".join(self.notes)]
        folder = os.path.join(self.build, "tests", "survival-table")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, self.name), "w", encoding="utf-8") as file:
            file.write("\t".join(line) + "\n")
        print(*line, sep="\t")
        shutil.rmtree(self.work, ignore_errors=True)

    def skip(self, reason):
        self.notes = ["skipped: " + reason]
        self.rounds = 0
        self.finish()
        print("SKIPPED:", reason)
        sys.exit(SKIPPED)


def rounds_of(default):
    """GPUTRACE_SURVIVAL_ROUNDS asks for more or fewer than the default suite runs."""
    return int(os.environ.get("GPUTRACE_SURVIVAL_ROUNDS") or default)


def await_file(trace_path, gputrace):
    """Until the collector has let go of the file: viewer commands wait for it, 10 s at most."""
    deadline_s = time.monotonic() + FINISH_S
    while time.monotonic() < deadline_s:
        check = subprocess.run([gputrace, "check", trace_path], capture_output=True, text=True)
        if "is still being written" not in check.stderr:
            return
    raise Failure("the file is still being written")


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


STOP, CONTINUE, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
