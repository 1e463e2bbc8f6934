# SPDX-License-Identifier: Apache-2.0
"""Jobs in summary mode: their sums are exact whatever happens, or what is missing has a bound."""
import json
import os
import random
import subprocess
import time

from survival_run import KILL, WINDOW, Job, Trace, await_file, expect, rounds_of, send

SUMMARY = {"GPUTRACE_MODE": "summary"}
SAMPLED = {"GPUTRACE_SAMPLE_LAUNCHES": "10"}
FOREVER = ["--calls", 0, "--pace", 4000]
# The collector reads the sums every second, and may have to wait for its turn.
UNREAD_S = 4
NESTED, CAPTURED, OTHER = 1, 2, 4


def bytes_of(calls):
    """What the first calls of a thread set: call number i sets 1 + i / WINDOW bytes."""
    whole, rest = divmod(calls, WINDOW)
    return WINDOW * whole * (whole + 1) // 2 + rest * (whole + 1)


def report_of(case, path):
    """The totals of gputrace report, and the sentence about the file's end, or None."""
    report = subprocess.run([case.gputrace, "report", "--json", path], capture_output=True, text=True)
    expect(report.returncode == 0, f"gputrace report gave {report.returncode}: {report.stderr}")
    run = json.loads(report.stdout)["runs"][0]
    return run["totals"], next((line["text"] for line in run["quality"] if line["id"] == "GT904"), None)


class Totals:
    """The sums of cudaMemset in a file, all threads together."""

    def __init__(self, case, path):
        check = subprocess.run([case.gputrace, "check", path], capture_output=True, text=True)
        expect("undamaged" in check.stdout + check.stderr or check.returncode == 0,
               f"gputrace check: {check.stdout} {check.stderr}")
        dump = subprocess.run([case.gputrace, "dump", "--format", "tsv", "--kind", "total", path],
                              capture_output=True, text=True)
        expect(dump.returncode == 0, f"gputrace dump gave {dump.returncode}: {dump.stderr}")
        lines = [line.split("\t") for line in dump.stdout.splitlines() if not line.startswith("#")]
        self.rows = [dict(zip(lines[0], fields)) for fields in lines[1:]] if lines else []
        self.rows = [row for row in self.rows if row["api"] == "cudaMemset" and
                     not int(row["flags"], 0) & NESTED]
        self.calls = sum(int(row["count"]) for row in self.rows)
        self.failed = sum(int(row["failed"]) for row in self.rows)
        self.bytes = sum(int(row["size_bytes"]) for row in self.rows)


def expect_exact(case, job, calls, size_bytes):
    path = job.wait_for_late_file()
    expect(path, "no file")
    await_file(path, case.gputrace)
    totals = Totals(case, path)
    expect((totals.calls, totals.bytes, totals.failed) == (calls, size_bytes, 0),
           f"{calls} calls set {size_bytes} bytes, the sums say {totals.calls}, {totals.bytes} and "
           f"{totals.failed} failed")
    case.count(calls, totals.calls, 0)
    return totals


def totals_kill_job(case):
    """The sums lie in memory that outlives the job: not one call is missing."""
    for _ in range(rounds_of(8)):
        job = Job(case, FOREVER, extra=SUMMARY)
        job.wait_for_calls()
        time.sleep(random.uniform(0, 1.5))
        job.kill()
        job.wait()
        calls = job.ledger().calls()
        path = job.wait_for_late_file()
        expect(path, f"no file although {calls} calls returned")
        await_file(path, case.gputrace)
        totals = Totals(case, path)
        # The last one may have been under way, or summed but not yet counted by the job.
        expect(calls <= totals.calls <= calls + 1, f"{calls} calls returned, the sums say {totals.calls}")
        expect(totals.bytes in (bytes_of(totals.calls), bytes_of(totals.calls - 1)),
               f"{totals.calls} calls set {bytes_of(totals.calls)} bytes, the sums say {totals.bytes}")
        told, ending = report_of(case, path)
        expect(told and told["is_complete"] if calls else True,
               f"the report takes them for incomplete: {ending}, lost {Trace(case, path).lost_by_kind}")
        case.count(calls, totals.calls, 0)


def totals_kill_both(case):
    """What was read last is in the file, a second's worth is missing at most; and the report does not call
    that exact, but says up to when it is."""
    missing_ms = []
    for round_number in range(rounds_of(4)):
        job = Job(case, FOREVER, extra=SUMMARY)
        job.wait_for_calls()
        # Late enough for a look at the sums in every other round.
        time.sleep(random.uniform(1.5 if round_number % 2 else 0, 3))
        collector = job.collector()
        killed_ns = time.monotonic_ns()
        job.kill()
        if collector:
            send(collector, KILL)
        job.wait()
        ledger, path = job.ledger(), job.trace()
        calls = ledger.calls()
        early = ledger.calls_at(killed_ns - UNREAD_S * 1_000_000_000)
        have = Totals(case, path).calls if path else 0
        expect(early <= have <= calls + 1, f"{calls} calls returned, {early} of them {UNREAD_S} s before, "
               f"the sums say {have}")
        case.count(calls, have, 0)
        if not path or not os.path.getsize(path):
            continue
        trace = Trace(case, path)
        totals, ending = report_of(case, path)
        if trace.ending == "killed":  # so early that the collector was not to be found, and lived on
            continue
        expect(ending and "total" in ending, f"nothing is said of totals that are missing: {ending}")
        if not totals:
            expect(not have, "there are totals that the report does not show")
            continue
        expect(not totals["is_complete"], "totals without an end are called complete")
        if totals["complete_up_to_s"] is None:
            continue
        until_ns = trace.at_ns(totals["complete_up_to_s"] * 1e9)
        sure = ledger.calls_at(until_ns - 2_000_000)
        expect(have >= sure, f"{sure} calls had returned when the totals are said to be complete, they have {have}")
        expect(until_ns <= killed_ns + 2_000_000, "complete up to a time after the end")
        missing_ms.append((killed_ns - until_ns) / 1e6)
    expect(missing_ms or rounds_of(4) < 2, "not one file says up to when its totals are complete")
    if missing_ms:
        case.note(f"the file says from when on sums are missing: at most {max(missing_ms):.0f} ms before the kill")


def totals_many_threads(case):
    """Threads with tables of their own, while the job forks children."""
    threads, calls = 64, 2000
    arguments = ["--threads", threads, "--calls", calls, "--forks", 20]
    for extra in (SUMMARY, SAMPLED):
        job = Job(case, arguments, extra=extra)
        case.expect_unchanged(arguments, job.wait(), 4)
        expect_exact(case, job, threads * calls, threads * bytes_of(calls))


def totals_short_threads(case):
    """Tables are handed on from thread to thread."""
    arguments = ["--threads", 50, "--rounds", 40, "--calls", 20]
    job = Job(case, arguments, extra=SUMMARY)
    case.expect_unchanged(arguments, job.wait(), 4)
    expect_exact(case, job, 50 * 40 * 20, 50 * 40 * bytes_of(20))


def totals_many_sites(case):
    """More sites than a table can tell apart: what finds no row is summed in one for all others."""
    case.job = f"{case.build}/tests/survival-sites"
    job = Job(case, [], extra=SUMMARY)
    result = job.wait()
    case.expect_unchanged([], result, 4)
    calls, size_bytes = map(int, result.stdout.split()[:2])
    totals = expect_exact(case, job, calls, size_bytes)
    # A row per look at the sums: on a slow machine there is more than one.
    others = [row for row in totals.rows if int(row["flags"], 0) & OTHER]
    sites = {row["site"] for row in totals.rows if not int(row["flags"], 0) & OTHER}
    expect(len({(row["thread"], row["site"], row["detail"]) for row in others}) == 1,
           f"{len(others)} rows for all others")
    expect(len(sites) > 5000, f"only {len(sites)} sites are told apart")
    case.note(f"{len(sites)} sites and {sum(int(row['count']) for row in others)} calls of others")


CASES = (totals_kill_job, totals_kill_both, totals_many_threads, totals_short_threads,
         totals_many_sites)
