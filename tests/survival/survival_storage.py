# SPDX-License-Identifier: Apache-2.0
"""Where the trace goes: disks that are full, slow, frozen, read-only or gone. Mounts are made in a
mount namespace of the test's own, so nothing is left behind whatever happens."""
import ctypes
import os
import shutil
import subprocess
import time

from survival_run import Job, Skip, Trace, await_file, expect

CALLS = 60000
PACED = ["--calls", CALLS, "--pace", 4000]
CLONE_NEWNS = 0x20000


def own_mounts():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise Skip("no right to a mount namespace: " + os.strerror(ctypes.get_errno()))
    mount(["--make-rprivate", "/"])


def mount(arguments):
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"mount {' '.join(arguments)} is not permitted: {done.stderr.strip()}")


def small_disk(case, size):
    own_mounts()
    folder = os.path.join(case.work, "disk")
    os.makedirs(folder)
    mount(["-t", "tmpfs", "-o", f"size={size}", "survival", folder])
    return folder


def fill(folder, leave_bytes=0):
    """A file that takes all room but that."""
    path = os.path.join(folder, "filler")
    room = os.statvfs(folder)
    with open(path, "wb") as file:
        left = max(0, room.f_bavail * room.f_frsize - leave_bytes)
        file.write(b"\1" * left)
    return path


def ext4_disk(case, size_mib=32):
    """A file system in a file, by a loop device."""
    own_mounts()
    image, folder = os.path.join(case.work, "image"), os.path.join(case.work, "disk")
    os.makedirs(folder)
    with open(image, "wb") as file:
        file.truncate(size_mib << 20)
    if not shutil.which("mkfs.ext4"):
        raise Skip("no mkfs.ext4")
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mount(["-o", "loop", image, folder])
    return folder


def release(folder):
    subprocess.run(["umount", "--lazy", folder], capture_output=True)


def run_in(case, folder, arguments=None, seconds=2, **how):
    """A whole run whose traces go to that folder; the trace's path or None."""
    arguments = arguments or PACED
    # What cannot be written is waited for as long as users wait.
    job = Job(case, arguments, extra={"GPUTRACE_OUT": folder, "GPUTRACE_START_MS": "200"}, **how)
    job.traces = folder
    result = job.wait()
    case.expect_unchanged(arguments, result, seconds)
    return job.trace() if os.path.isdir(folder) else None


def nothing_recorded(case, path, why):
    expect(not path, f"a file: {path}")
    case.count(2 * CALLS, 0, 0)
    case.note("no file: " + why)


def disk_gets_full(case):
    folder = small_disk(case, "1m")
    fill(folder, 160 * 1024)
    path = run_in(case, folder)
    await_file(path, case.gputrace)
    trace = Trace(case, path)
    # The end may have found room again, or the file stops where the disk was full.
    if trace.ending == "cut_short":
        trace.expect_in_order()
        case.count(2 * CALLS, trace.events, trace.lost)
        case.note("cut short where the disk was full")
    else:
        case.expect_counted(trace, CALLS)
    expect(trace.events > 100, "nothing of what had room is there")
    release(folder)


def disk_was_full_for_a_while(case):
    folder = small_disk(case, "1m")
    job = Job(case, PACED, extra={"GPUTRACE_OUT": folder})
    job.traces = folder
    job.wait_for_file()
    filler = fill(folder)
    time.sleep(0.1)
    os.unlink(filler)
    result = job.wait()
    case.expect_unchanged(PACED, result, 2)
    trace = Trace(case, job.trace())
    expect(trace.ending == "exited", f"the ending is {trace.ending}")
    case.expect_counted(trace, CALLS)
    release(folder)


def disk_is_full_from_the_start(case):
    folder = small_disk(case, "64k")
    fill(folder)
    path = run_in(case, folder)
    expect(not path, f"a file of {os.path.getsize(path) if path else 0} bytes is left over")
    case.count(2 * CALLS, 0, 0)
    case.note("no room for a head: no trace")
    release(folder)


def directory_is_read_only(case):
    folder = small_disk(case, "1m")
    mount(["-o", "remount,ro", folder])
    nothing_recorded(case, run_in(case, folder), "the folder takes none")
    release(folder)


def directory_is_missing(case):
    nothing_recorded(case, run_in(case, os.path.join(case.work, "no", "such")), "there is no folder")


def directory_vanishes(case):
    """The file has no name any more, but it is written to its end through its descriptor."""
    folder = os.path.join(case.work, "gone")
    os.makedirs(folder)
    job = Job(case, PACED, extra={"GPUTRACE_OUT": folder})
    job.traces = folder
    path = job.wait_for_file()
    held = os.open(path, os.O_RDONLY)
    shutil.rmtree(folder)
    case.expect_unchanged(PACED, job.wait(), 2)
    copy = os.path.join(case.work, "held.gtrace")
    with open(copy, "wb") as file:
        while block := os.read(held, 1 << 20):
            file.write(block)
    os.close(held)
    case.expect_counted(Trace(case, copy), CALLS)
    case.note("read through a descriptor that was open before")


def storage_hangs(case):
    """Every write waits for half a second, twice: what NFS does when its server restarts."""
    folder = ext4_disk(case)
    job = Job(case, PACED, extra={"GPUTRACE_OUT": folder})
    job.traces = folder
    job.wait_for_file()
    for _ in range(2):
        frozen = subprocess.run(["fsfreeze", "--freeze", folder], capture_output=True, text=True)
        if frozen.returncode:
            job.kill()
            raise Skip("fsfreeze is not permitted: " + frozen.stderr.strip())
        time.sleep(0.1)
        subprocess.run(["fsfreeze", "--unfreeze", folder], check=True)
        time.sleep(0.02)
    result = job.wait()
    case.expect_unchanged(PACED, result, 4)
    trace = Trace(case, job.trace())
    expect(trace.ending == "exited", f"the ending is {trace.ending}")
    case.expect_counted(trace, CALLS)
    release(folder)


def storage_hangs_for_good(case):
    """The file system stays frozen until the job has ended: it waits for a bounded time."""
    folder = ext4_disk(case)
    job = Job(case, PACED, extra={"GPUTRACE_OUT": folder})
    job.traces = folder
    job.wait_for_file()
    frozen = subprocess.run(["fsfreeze", "--freeze", folder], capture_output=True, text=True)
    if frozen.returncode:
        job.kill()
        raise Skip("fsfreeze is not permitted: " + frozen.stderr.strip())
    try:
        result = job.wait()
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", folder], check=True)
    case.expect_unchanged(PACED, result, 4)
    path = job.trace()
    await_file(path, case.gputrace)
    case.expect_counted(Trace(case, path), CALLS)
    release(folder)


def writes_are_slow(case):
    """Every write takes 150 ms more, as on a busy network file system: longer than rings hold. What
    comes meanwhile waits in the collector's memory."""
    launcher = [f"{case.build}/tests/survival-slow", "150"]
    if subprocess.run([*launcher, "true"]).returncode == 77:
        raise Skip("seccomp listeners are not permitted")
    job = Job(case, PACED, launcher=launcher)
    result = job.wait()
    # At its end the job waits for its file, for a bounded time.
    case.expect_unchanged(PACED, result, 4, launcher=launcher)
    path = job.wait_for_late_file()
    expect(path, "no file")
    await_file(path, case.gputrace)
    trace = Trace(case, path)
    expect(trace.ending == "exited", f"the ending is {trace.ending}")
    case.expect_counted(trace, CALLS)
    waited = int(trace.info["session"]["collector.waited_bytes"])
    expect(waited > 1 << 20, f"only {waited} bytes have waited")
    expect(trace.lost < CALLS / 10, f"{trace.lost} events are lost, for which memory had room")
    case.note(f"{waited / 1048576:.1f} MiB waited in the collector")


def quota_is_used_up(case):
    """Writes beyond 256 KiB fail with EDQUOT: a quota itself does not hold for root, as whom these
    tests run."""
    limit = 256 * 1024
    launcher = [f"{case.build}/tests/survival-refuse", str(limit)]
    if subprocess.run([*launcher, "true"]).returncode == 77:
        raise Skip("seccomp filters are not permitted")
    job = Job(case, PACED, launcher=launcher)
    result = job.wait()
    case.expect_unchanged(PACED, result, 2, launcher=launcher)
    path = job.trace()
    expect(path, "no file")
    await_file(path, case.gputrace)
    expect(os.path.getsize(path) < limit + (64 << 10), "a file beyond the quota")
    trace = Trace(case, path)
    expect(trace.ending == "exited", f"the ending is {trace.ending}")
    expect(trace.events > 100, "nothing of what had room is there")
    case.expect_counted(trace, CALLS)
    case.note("EDQUOT by seccomp, for writes beyond 256 KiB")


CASES = [disk_gets_full, disk_was_full_for_a_while, disk_is_full_from_the_start,
         directory_is_read_only, directory_is_missing, directory_vanishes, storage_hangs,
         storage_hangs_for_good, writes_are_slow, quota_is_used_up]
