# SPDX-License-Identifier: Apache-2.0
"""Where the job runs: many threads, namespaces, limits, clocks."""
import os
import shutil
import subprocess
import time

from survival_kills import tell_tails
from survival_run import Job, Skip, Trace, await_file, expect, rounds_of
from survival_storage import own_mounts

CALLS = 20000
PLAIN = ["--calls", CALLS, "--pace", 4000]
CGROUP_V2 = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
CGROUP_MEMORY = "/sys/fs/cgroup/memory"


def whole_run(case, arguments, calls, seconds=2, **how):
    """A run to its end, with all of its calls in the file or counted."""
    job = Job(case, arguments, **how)
    result = job.wait()
    how = {name: value for name, value in how.items() if name not in ("extra", "preload")}
    case.expect_unchanged(arguments, result, seconds, **how)
    path = job.trace()
    expect(path, "no file")
    await_file(path, case.gputrace)
    trace = Trace(case, path)
    case.expect_counted(trace, calls)
    return trace


def permitted(launcher, what):
    done = subprocess.run([*launcher, "true"], capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"{what} is not permitted: {done.stderr.strip()}")


# ---- threads ----

def threads_1024(case):
    trace = whole_run(case, ["--threads", 1024, "--calls", 60, "--pace", 1000000], 1024 * 60, 4)
    case.note(f"{len(trace.calls)} threads in the file")
    expect(len(trace.calls) >= 256, "fewer threads than the memory has rings for")


def short_threads_10000(case):
    """Rings go from thread to thread before they are drained: all of it fits, however slow the
    collector is."""
    arguments = ["--threads", 8, "--rounds", 1250, "--calls", 20]
    job = Job(case, arguments)
    result = job.wait()
    case.expect_unchanged(arguments, result, 4)
    trace = Trace(case, job.trace())
    written = 2 * 8 * 1250 * 20
    # The first call of a first thread may have come while the session was being opened.
    expect(trace.events == written and trace.lost <= 8,
           f"{trace.events} events and {trace.lost} lost of {written}")
    case.count(written, trace.events, trace.lost)


def fork_storm(case):
    whole_run(case, PLAIN + ["--forks", 500], CALLS, 4)


def one_cpu(case):
    if not shutil.which("taskset"):
        raise Skip("no taskset")
    whole_run(case, PLAIN, CALLS, launcher=["taskset", "--cpu-list", "0"])


# ---- processes ----

def process_one(case):
    launcher = ["unshare", "--pid", "--fork", "--mount-proc"]
    permitted(launcher, "a PID namespace")
    trace = whole_run(case, PLAIN, CALLS, launcher=launcher)
    mode = trace.info["session"]["collector.mode"]
    expect(mode.startswith("thread"), f"PID 1 was recorded by a {mode}")


def below_process_one(case):
    launcher = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]
    permitted(launcher, "a PID namespace")
    whole_run(case, PLAIN, CALLS, launcher=launcher)


def subreaper(case):
    whole_run(case, PLAIN + ["--subreaper"], CALLS)


def namespace_ends(case):
    """PID 1 of a container is killed, and the job and its collector in the same instant."""
    launcher = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", "sh", "-c",
                '"$@"; exit $?', "sh"]
    permitted(launcher, "a PID namespace")
    cut_runs(case, launcher, lambda job: job.kill())


def cut_runs(case, launcher, kill, preexec=None):
    tails = []
    for _ in range(max(3, rounds_of(12) // 4)):
        job = Job(case, ["--calls", 0, "--pace", 4000], launcher=launcher, preexec=preexec)
        ledger = job.wait_for_calls(30000)
        while os.path.getsize(job.trace() or os.devnull) < 4096:
            time.sleep(0.01)
        time.sleep(0.1)
        killed_ns = time.monotonic_ns()
        kill(job)
        job.wait()
        time.sleep(0.05)
        trace = Trace(case, job.trace())
        trace.expect_in_order()
        if not trace.lost:
            trace.expect_prefix()
        complete_ns = trace.complete_ns()
        expect(complete_ns, "the file does not say how far it goes")
        sure = ledger.calls_at(complete_ns - 2_000_000)
        expect(trace.all_calls() + trace.lost / 2 >= sure,
               f"states {sure} calls, has {trace.all_calls()} and {trace.lost} lost events")
        expect(trace.ending != "exited", "says that the job exited")
        tails.append((killed_ns - complete_ns) / 1e6)
        case.count(2 * ledger.calls(), trace.events, trace.lost)
    tell_tails(case, tails)


def cgroup_kill(case):
    group = None
    for root in CGROUP_V2:
        path = f"{root}/gputrace-survival-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(path + "/cgroup.kill"):
            group = path
            break
        os.rmdir(path)
    if not group:
        raise Skip("no cgroup v2 that can be written to, or no cgroup.kill")

    def enter():
        with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    def kill(_job):
        with open(group + "/cgroup.kill", "w", encoding="ascii") as file:
            file.write("1")

    try:
        cut_runs(case, [], kill, preexec=enter)
    finally:
        for _ in range(100):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.02)


def out_of_memory_error_then_abort(case):
    """The failed allocation is the last event, 5 ms before everything ends."""
    arguments = ["--calls", 2000, "--pace", 4000, "--oom"]
    launcher = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                'ulimit -c 0; "$@" 2>/dev/null; exit $?', "sh"]
    permitted(launcher, "a PID namespace")
    for _ in range(max(2, rounds_of(12) // 3)):
        job = Job(case, arguments, launcher=launcher)
        result = job.wait()
        case.expect_unchanged(arguments, result, 2, launcher=launcher)
        path = job.trace()
        time.sleep(0.05)
        dump = subprocess.run([case.gputrace, "dump", "--format", "tsv", "--kind", "memory", path],
                              capture_output=True, text=True)
        failed = [line for line in dump.stdout.splitlines()
                  if "cudaMalloc" in line and line.split("\t")[7] == "2"]
        expect(len(failed) == 1, f"the failed allocation is not in the file: {dump.stdout}")
        trace = Trace(case, path)
        case.expect_counted(trace, 2000)


# ---- what is refused ----

def without_shm(size):
    """Covers /dev/shm in a mount namespace of the test's own."""
    own_mounts()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", "/dev/shm"],
                          capture_output=True, text=True)
    if done.returncode:
        raise Skip("/dev/shm cannot be covered: " + done.stderr.strip())


def no_dev_shm(case):
    without_shm("ro,size=4k,mode=000")
    try:
        whole_run(case, PLAIN, CALLS)
    finally:
        subprocess.run(["umount", "/dev/shm"], check=False)


def refused(case):
    launcher = [f"{case.build}/tests/survival-refuse", "memfd"]
    if subprocess.run([*launcher, "true"]).returncode == 77:
        raise Skip("seccomp filters are not permitted")
    return launcher


def memfd_refused(case):
    """A nameless file in /dev/shm takes its place, with a collector process as ever."""
    before = set(os.listdir("/dev/shm"))
    trace = whole_run(case, PLAIN, CALLS, launcher=refused(case))
    session = trace.info["session"]
    expect(session["session.memory"].startswith("a file in /dev/shm"), "says what the memory is")
    expect(session["collector.mode"] == "process", f"recorded by a {session['collector.mode']}")
    left = [name for name in set(os.listdir("/dev/shm")) - before if name.startswith("gputrace")]
    expect(not left, f"left over: {left}")
    case.note("a file in /dev/shm instead")


def memfd_refused_and_killed(case):
    """The collector lives on there too, and leaves nothing in /dev/shm."""
    job = Job(case, ["--calls", 0, "--pace", 4000], launcher=refused(case))
    ledger = job.wait_for_calls(5000)
    job.kill()
    job.wait()
    await_file(job.trace(), case.gputrace)
    trace = Trace(case, job.trace())
    calls = ledger.calls()
    trace.expect_in_order()
    expect(trace.ending == "killed", f"the ending is {trace.ending}")
    expect(trace.all_calls() + trace.lost >= calls, f"{trace.all_calls()} of {calls} calls")
    case.count(2 * calls, trace.events, trace.lost)


def memfd_refused_and_little_shm(case):
    """Of what is free there, which the job may need, at most a quarter is taken."""
    launcher = refused(case)
    without_shm("size=8m")
    try:
        trace = whole_run(case, ["--threads", 16, "--calls", 2000], 16 * 2000, 4, launcher=launcher)
        expect(trace.info["session"]["session.memory"].startswith("a file in /dev/shm"),
               "another kind of memory")
        expect(int(trace.info["session"]["collector.ring_bytes"]) > 0, "nothing went through a ring")
    finally:
        subprocess.run(["umount", "/dev/shm"], check=False)


def memfd_and_shm_refused(case):
    """A thread of the job collects from the job's own memory."""
    launcher = refused(case)
    without_shm("ro,size=4k,mode=000")
    try:
        trace = whole_run(case, PLAIN, CALLS, launcher=launcher)
    finally:
        subprocess.run(["umount", "/dev/shm"], check=False)
    session = trace.info["session"]
    expect(session["session.memory"].startswith("memory of the process"), "says what the memory is")
    expect(session["collector.mode"].startswith("thread"), f"recorded by a {session['collector.mode']}")
    expect("shared" in session["collector.fallback"], "says why")
    case.note("the job's own memory, collected by a thread")


def file_size_limit(case):
    """Hard limits, which hold for the collector too: no SIGXFSZ, and what has no room is counted."""
    for limit in (32 << 10, 512 << 10, 4 << 20):
        arguments = PLAIN + ["--fsize", limit]
        job = Job(case, arguments)
        result = job.wait()
        case.expect_unchanged(arguments, result, 2)
        path = job.trace()
        if limit < 192 << 10:
            expect(not path, "a trace without room for a ring")
            case.count(2 * CALLS, 0, 0)
            case.note(f"{limit >> 10} KiB: no file, there is no room for a ring")
            continue
        expect(path and os.path.getsize(path) <= limit, "no file, or one beyond the limit")
        case.expect_counted(Trace(case, path), CALLS)


def memory_limit(case):
    """A memory cgroup with little more than what the job needs without the shim."""
    group = f"{CGROUP_MEMORY}/gputrace-survival-{os.getpid()}"
    try:
        os.mkdir(group)
        with open(group + "/memory.limit_in_bytes", "w", encoding="ascii") as file:
            file.write(str(48 << 20))
    except OSError as error:
        raise Skip(f"no memory cgroup that can be written to: {error}") from None

    def enter():
        with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    try:
        whole_run(case, PLAIN, CALLS, 4, preexec=enter)
        with open(group + "/memory.max_usage_in_bytes", encoding="ascii") as file:
            case.note(f"{int(file.read()) / 1048576:.0f} MiB of 48 used")
    finally:
        for _ in range(100):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.02)


# ---- clocks ----

def calendar_clock_steps(case):
    """In the process itself, with its collector on a thread: the machine's clock is not touched."""
    trace = whole_run(case, PLAIN, CALLS, extra={"GPUTRACE_COLLECTOR": "none"},
                      preload=[f"{case.build}/tests/survival-step.so"])
    dump = subprocess.run([case.gputrace, "dump", "--format", "tsv", "--kind", "set", trace.info["path"]],
                          capture_output=True, text=True)
    times = [tuple(map(int, line.split("\t")[1:3])) for line in dump.stdout.splitlines()[2:]]
    longest_s = (max(t[1] for t in times) - min(t[0] for t in times)) / 1e9
    expect(all(end >= begin for begin, end in times) and longest_s < 30,
           f"the calls lie within {longest_s:.1f} s")
    case.note("faked in the process: +1 h and -2 h every 50 ms")


def time_namespace(case):
    launcher = ["unshare", "--time", "--monotonic", "86400", "--boottime", "86400"]
    permitted(launcher, "a time namespace")
    whole_run(case, PLAIN, CALLS, launcher=launcher)
    case.note("CLOCK_MONOTONIC a day ahead of the machine's")


CASES = [threads_1024, short_threads_10000, fork_storm, one_cpu, process_one, below_process_one,
         subreaper, namespace_ends, cgroup_kill, out_of_memory_error_then_abort, no_dev_shm,
         memfd_refused, memfd_refused_and_killed, memfd_refused_and_little_shm, memfd_and_shm_refused,
         file_size_limit, memory_limit, calendar_clock_steps, time_namespace]
