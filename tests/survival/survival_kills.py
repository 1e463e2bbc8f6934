# SPDX-License-Identifier: Apache-2.0
"""Jobs and collectors that are killed or stopped at random moments."""
import os
import random
import statistics
import time

from survival_run import (CONTINUE, KILL, STOP, Job, Trace, await_file, collector_of, expect, rounds_of,
                          send)

ROUNDS = 12
LATEST_S = 0.35
PACE_NS = 4000
# Committed records are on disk 50 ms later. These bounds are for a machine that others use too.
MEDIAN_TAIL_MS = 120
WORST_TAIL_MS = 2000
FOREVER = ["--calls", 0, "--pace", PACE_NS]
CALLS = 60000
FINITE = ["--calls", CALLS, "--pace", PACE_NS]


def check_prefix(case, job, ledger, killed_ns, tails):
    """A file without an end: a prefix of what happened, as far as it states."""
    path = job.trace()
    calls = ledger.calls() if ledger else 0
    if not path or not os.path.getsize(path):  # killed before or just after the file was made
        early = ledger.calls_at(killed_ns - WORST_TAIL_MS * 1_000_000) if ledger else 0
        expect(not early, f"no file although {early} calls had returned 2 s before")
        case.count(2 * calls, 0, 0)
        return None
    trace = Trace(case, path)
    have = trace.all_calls()
    trace.expect_in_order()
    if not trace.lost:
        trace.expect_prefix()
    if trace.complete_ns():
        sure = ledger.calls_at(trace.complete_ns() - 2_000_000)
        expect(have + trace.lost >= sure,
               f"{sure} calls had returned when the file says it is complete, it has {have}")
        if calls:
            tails.append((killed_ns - trace.complete_ns()) / 1e6)
    elif calls:
        early = ledger.calls_at(killed_ns - WORST_TAIL_MS * 1_000_000)
        expect(not early, f"nothing of {early} calls was written in 2 s")
    case.count(2 * calls, trace.events, trace.lost)
    return trace


def tell_tails(case, tails):
    if not tails:
        return
    median, worst = statistics.median(tails), max(tails)
    case.note(f"tail not on disk: median {median:.0f} ms, worst {worst:.0f} ms")
    expect(median <= MEDIAN_TAIL_MS, f"the tail is {median:.0f} ms in the median")
    expect(worst <= WORST_TAIL_MS, f"the tail was {worst:.0f} ms")


def kill_job(case):
    """Everything that was recorded is there: the collector lives on."""
    for _ in range(rounds_of(20)):
        job = Job(case, FOREVER)
        time.sleep(random.uniform(0, LATEST_S))
        job.kill()
        job.wait()
        ledger = job.ledger()
        path = job.wait_for_late_file()
        if not path:
            expect(not ledger or not ledger.calls(), "no file although calls returned")
            case.count(0, 0, 0)
            continue
        await_file(path, case.gputrace)
        trace = Trace(case, path)
        calls = ledger.calls() if ledger else 0
        trace.expect_in_order()
        expect(trace.all_calls() + trace.lost >= calls,
               f"{calls} calls returned, the file has {trace.all_calls()} and {trace.lost} lost")
        expect(trace.all_calls() <= calls + 1, "more calls than there were")
        if not trace.lost:
            trace.expect_prefix()
        expect(not calls or trace.ending == "killed", f"the ending is {trace.ending}")
        case.count(2 * calls, trace.events, trace.lost)


def kill_collector(case):
    """The job goes on as if nothing had happened; the file ends at most a tail before the kill."""
    tails = []
    for _ in range(rounds_of(ROUNDS // 2)):
        job = Job(case, FINITE)
        job.wait_for_calls()
        time.sleep(random.uniform(0, LATEST_S))
        collector = job.collector()
        killed_ns = time.monotonic_ns()
        if collector:
            send(collector, KILL)
        result = job.wait()
        # At its end the job waits up to a second for a sign of life.
        case.expect_unchanged(FINITE, result, 4)
        ledger = job.ledger()
        path = job.trace()
        if not path:  # it had not come to making one
            check_prefix(case, job, ledger, killed_ns, tails)
            continue
        trace = Trace(case, path)
        if trace.ending == "exited":  # the kill came too late
            case.expect_counted(trace, ledger.calls())
            continue
        expect(trace.ending == "cut_short", f"the ending is {trace.ending}")
        check_prefix(case, job, ledger, killed_ns, tails)
    tell_tails(case, tails)


def kill_both(case):
    tails = []
    for _ in range(rounds_of(ROUNDS)):
        job = Job(case, FOREVER)
        collector = None
        until_s = time.monotonic() + random.uniform(0, LATEST_S)
        while time.monotonic() < until_s:
            collector = collector or job.collector()
            time.sleep(0.002)
        collector = collector or job.collector()
        killed_ns = time.monotonic_ns()
        job.kill()
        if collector:
            send(collector, KILL)
        job.wait()
        late = job.collector()
        if late and late != collector:
            send(late, KILL)
        check_prefix(case, job, job.ledger(), killed_ns, tails)
    tell_tails(case, tails)


def stop_collector(case):
    """Stopped for good, as far as the job can see: rings fill, what follows is counted."""
    for _ in range(max(1, rounds_of(ROUNDS) // 4)):
        job = Job(case, FINITE)
        job.wait_for_file()
        time.sleep(random.uniform(0, LATEST_S / 3))
        collector = job.collector()
        expect(collector, "no collector")
        send(collector, STOP)
        try:
            result = job.wait()
        finally:
            send(collector, CONTINUE)
        case.expect_unchanged(FINITE, result, 4)
        path = job.trace()
        await_file(path, case.gputrace)
        for _ in range(200):
            if not collector_of(job.process.pid):
                break
            time.sleep(0.05)
        case.expect_counted(Trace(case, path), CALLS)


def stop_collector_for_a_while(case):
    job = Job(case, FINITE)
    job.wait_for_file()
    collector = job.collector()
    for _ in range(3):
        send(collector, STOP)
        time.sleep(0.05)
        send(collector, CONTINUE)
        time.sleep(0.03)
    result = job.wait()
    case.expect_unchanged(FINITE, result, 4)
    case.expect_counted(Trace(case, job.trace()), CALLS)


def stop_job(case):
    """A job that is stopped for two seconds (^Z, a scheduler that suspends it) is not taken for dead:
    its collector goes on with it when it goes on."""
    for _ in range(max(1, rounds_of(ROUNDS) // 6)):
        job = Job(case, FINITE)
        job.wait_for_file()
        time.sleep(random.uniform(0, LATEST_S / 3))
        ledger = job.ledger()
        send(job.process.pid, STOP)
        time.sleep(0.1)
        before = ledger.calls()
        time.sleep(2)
        expect(job.collector(), "the collector has left a job that is only stopped")
        expect(ledger.calls() == before, "the job was not stopped")
        send(job.process.pid, CONTINUE)
        result = job.wait()
        case.expect_unchanged(FINITE, result, 4)
        trace = Trace(case, job.trace())
        expect(trace.ending == "exited", f"the ending is {trace.ending}")
        case.expect_counted(trace, CALLS)


def stop_job_then_kill(case):
    """Killed while it is stopped: a stopped process has no last words, all of it is in the rings."""
    job = Job(case, FOREVER)
    job.wait_for_file()
    time.sleep(0.1)
    send(job.process.pid, STOP)
    time.sleep(0.5)
    job.kill()
    job.wait()
    path = job.trace()
    await_file(path, case.gputrace)
    trace = Trace(case, path)
    calls = job.ledger().calls()
    trace.expect_in_order()
    expect(trace.ending == "killed", f"the ending is {trace.ending}")
    expect(trace.all_calls() + trace.lost >= calls, f"{trace.all_calls()} of {calls} calls")
    case.count(2 * calls, trace.events, trace.lost)


CASES = [kill_job, kill_collector, kill_both, stop_job, stop_job_then_kill, stop_collector,
         stop_collector_for_a_while]
