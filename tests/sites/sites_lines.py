# SPDX-License-Identifier: Apache-2.0
"""Every construct of Python that changes how frames look, each with an event inside.

The expected stack is what the interpreter itself reports at the same line (sys._getframe), compared
frame by frame: function, file and line. The innermost line is also compared with a mark in this
source, so that the check does not rest on the interpreter alone.

usage: sites_lines.py libsite_probe.so
"""

import atexit
import contextlib
import ctypes
import gc
import os
import sys
import threading
import time
import unittest

if not (3, 8) <= sys.version_info[:2] <= (3, 14) or sys.implementation.name != "cpython":
    print("skipped: Python %d.%d is not one whose frames are read" % sys.version_info[:2])
    sys.exit(77)

HERE = os.path.abspath(__file__)
LIBRARY = os.path.abspath(sys.argv.pop(1))
COPY, SYNC, LAUNCH = 1, 2, 4


def declare(library):
    library.probe_call.restype = ctypes.c_uint64
    library.probe_call_on_native_thread.restype = ctypes.c_uint64
    library.probe_call_deep.restype = ctypes.c_uint64
    library.probe_site.restype = ctypes.c_size_t
    library.probe_site.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
    library.probe_fact.restype = ctypes.c_size_t
    library.probe_fact.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.probe_records.restype = ctypes.c_uint64
    library.probe_walk_rounds.restype = ctypes.c_uint64
    library.probe_walk_rounds.argtypes = [ctypes.c_uint64]
    return library


released = declare(ctypes.CDLL(LIBRARY))  # calls without the GIL, as torch does
held = declare(ctypes.PyDLL(LIBRARY))  # calls with the GIL held


def fact(key):
    text = ctypes.create_string_buffer(256)
    size = released.probe_fact(key.encode(), text, 256)
    return text.raw[:size].decode()


def read_site(site):
    text = ctypes.create_string_buffer(1 << 18)
    size = released.probe_site(site, text, len(text))
    return [line.split("\t") for line in text.raw[:size].decode().splitlines()]


def python_frames(site):
    return [(f[1], f[2], int(f[3])) for f in read_site(site) if f[0] == "P"]


def api_frames(frame):
    frames = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append((name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return frames


events = []  # (site, what the interpreter says)


def here(library=None):
    """An event one frame further in; its stack without this frame is what the caller sees."""
    site = (library or released).probe_call(COPY)
    events.append((site, api_frames(sys._getframe(1))))
    return site


class Stepper:
    def step(self):
        return here()

    @property
    def as_property(self):
        return here()

    @staticmethod
    def static():
        return here()

    def __call__(self):
        return here()

    def __del__(self):
        here()


class Built:
    def __init__(self):
        here()


class BuiltWithin(Built):
    def __init__(self):
        super().__init__()


def recurse(depth):
    if depth == 0:
        return here()
    return recurse(depth - 1)


def generate():
    for _ in range(2):
        yield here()


def delegate():
    yield from generate()


@contextlib.contextmanager
def managed():
    here()
    yield
    here()


async def coroutine():
    return here()


def decorated(function):
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@decorated
def with_decorator():
    return here()


def run_coroutine():
    try:
        coroutine().send(None)
    except StopIteration as stop:
        return stop.value


class Lines(unittest.TestCase):
    def setUp(self):
        self.assertEqual(released.probe_begin(b"python"), 0)
        del events[:]

    def tearDown(self):
        for site, expected in events:
            frames = python_frames(site)
            self.assertEqual(frames[0][0], "here")
            self.assertEqual(frames[1:], expected[:63])
        self.assertNotIn("differed", fact("python.frames"))

    def expect_innermost(self, mark):
        """The last event came from the line of this file that ends in this mark."""
        with open(HERE) as source:
            lines = [n for n, text in enumerate(source, 1) if text.rstrip().endswith("# " + mark)]
        self.assertEqual(len(lines), 1, mark)
        frame = python_frames(events[-1][0])[1]
        self.assertEqual(frame[1:], (__file__, lines[0]))
        return frame[0]

    def test_plain_function(self):
        here()  # mark: plain
        name = self.expect_innermost("mark: plain")
        self.assertIn(name, ("test_plain_function", "Lines.test_plain_function"))

    def test_call_over_several_lines(self):
        max(
            1,
            here(),  # mark: second argument
        )
        self.expect_innermost("mark: second argument")

    def test_methods(self):
        stepper = Stepper()
        stepper.step()
        stepper.as_property
        Stepper.static()
        stepper()
        del stepper
        self.assertEqual(len(events), 5)

    def test_constructors_that_the_interpreter_has_specialised(self):
        """From 3.12 on a hot call of a class runs __init__ behind a frame that nobody wrote."""
        for _ in range(60):
            Built()
            BuiltWithin()
        self.assertEqual(len({site for site, _ in events}), 2)

    def test_recursion_within_the_depth_that_is_kept(self):
        recurse(10)
        self.assertFalse(any(frame[0] == "T" for frame in read_site(events[0][0])))

    def test_recursion_beyond_it_is_marked_as_cut(self):
        site = recurse(100)
        self.assertEqual(len(python_frames(site)), 64)
        self.assertEqual(read_site(site)[-1], ["T"])

    def test_different_depths_of_recursion_are_different_sites(self):
        self.assertEqual(len({recurse(depth) for depth in range(20)}), 20)

    def test_generators(self):
        list(generate())
        list(delegate())
        list(here() for _ in range(2))  # mark: generator expression
        self.expect_innermost("mark: generator expression")

    def test_comprehensions(self):
        [here() for _ in range(2)]
        {here() for _ in range(2)}
        {n: here() for n in range(2)}  # mark: dict comprehension
        self.expect_innermost("mark: dict comprehension")

    def test_lambda_map_and_sort_key(self):
        (lambda: here())()
        list(map(lambda n: here(), [1, 2]))
        sorted([2, 1], key=lambda n: here())  # mark: sort key
        self.expect_innermost("mark: sort key")

    def test_context_manager(self):
        with managed():
            here()  # mark: with body
        self.assertEqual(len(events), 3)

    def test_coroutine(self):
        run_coroutine()

    def test_decorator_and_closure(self):
        with_decorator()

    def test_exception_paths(self):
        try:
            try:
                raise ValueError
            except ValueError:
                here()
                raise KeyError
            finally:
                here()
        except KeyError:
            here()  # mark: outer except
        self.expect_innermost("mark: outer except")

    def test_an_exception_in_flight_survives_the_event(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            try:
                1 / 0
            finally:
                here(held)

    def test_loop_lines_are_different_sites(self):
        sites = set()
        for _ in range(3):
            sites.add(here())
            sites.add(here())
        self.assertEqual(len(sites), 2)

    def test_the_same_line_is_the_same_site(self):
        self.assertEqual(len({here() for _ in range(50)}), 1)

    def test_exec_and_eval(self):
        space = {"here": here}
        exec(compile("\n\n\nhere()\n", "<string-a>", "exec"), space)
        self.assertEqual(python_frames(events[-1][0])[1], ("<module>", "<string-a>", 4))
        eval(compile("\n(here())", "<string-b>", "eval"), space)
        self.assertEqual(python_frames(events[-1][0])[1][1:], ("<string-b>", 2))

    def test_notebook_cells_at_reused_addresses(self):
        """Cells are compiled, run and freed: the next one often gets the same address."""
        space = {"here": here}
        for cell in range(300):
            name = "/tmp/ipykernel_7/%09d.py" % (cell // 2)
            lines = cell % 5
            exec(compile("\n" * lines + "here()", name, "exec"), space)
            self.assertEqual(python_frames(events[-1][0])[1], ("<module>", name, lines + 1))

    def test_names_that_are_not_ascii(self):
        space = {"here": here}
        for name in ("caf\u00e9.py", "\u8bad\u7ec3.py", "run_\U0001f680.py"):
            exec(compile("def f\u00fcnf(): here()\nf\u00fcnf()", name, "exec"), space)
            self.assertEqual(python_frames(events[-1][0])[1], ("f\u00fcnf", name, 1))

    def test_long_functions_with_long_line_jumps(self):
        source = "def f():\n" + " x = 1\n" * 700 + "\n" * 400 + " here()\n" + " x = 2\n" * 300
        space = {"here": here}
        exec(compile(source + "f()\n", "<long>", "exec"), space)
        self.assertEqual(python_frames(events[-1][0])[1], ("f", "<long>", 1102))

    def test_threads(self):
        def work():
            for _ in range(20):
                here()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(events), 80)
        self.assertEqual(len({site for site, _ in events}), 1)

    def test_traced_code(self):
        sys.settrace(lambda frame, event, argument: None)
        try:
            here()  # mark: traced
        finally:
            sys.settrace(None)
        self.expect_innermost("mark: traced")

    def test_garbage_collection_inside(self):
        class Knot:
            def __del__(self):
                here()

        knot = Knot()
        knot.knot = knot
        del knot
        gc.collect()
        self.assertEqual(len(events), 1)

    def test_held_and_released_lock_give_the_same_frames(self):
        sites = {library.probe_call(COPY) for library in (released, held)}
        self.assertEqual(len(sites), 1)

    def test_the_interpreter_confirms_the_walk(self):
        here(held)
        self.assertEqual(fact("python.frames"), "read and confirmed by the interpreter")
        self.assertEqual(fact("python.version"), "%d.%d" % sys.version_info[:2])

    def test_a_forked_child_reads_its_own_frames(self):
        child = os.fork()
        if child == 0:
            released.probe_begin(b"python")
            site = here()
            os._exit(0 if python_frames(site)[1:] == events[-1][1] else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                         if hasattr(os, "waitstatus_to_exitcode")
                         else os.WEXITSTATUS(os.waitpid(child, 0)[1]), 0)

    def test_sub_interpreters_show_their_own_line_or_the_one_that_entered_them(self):
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        code = """
try:
    import ctypes
    library = ctypes.CDLL(%r)
    library.probe_call.restype = ctypes.c_uint64
    def inner():
        return library.probe_call(1)
    site = inner()
except ImportError:
    site = 0
import os
os.write(%d, str(site).encode())
"""
        reader, writer = os.pipe()
        interpreters.run_string(interpreters.create(), code % (LIBRARY, writer))  # mark: entered
        site = int(os.read(reader, 32))
        if site == 0:
            self.skipTest("this version's ctypes does not load in a sub-interpreter")
        frames = python_frames(site)
        if sys.version_info >= (3, 12):
            self.assertEqual([frame[0] for frame in frames], ["inner", "<module>"])
            self.assertLessEqual({frame[1] for frame in frames}, {"<string>", "<script>"})
        else:
            self.assertEqual(frames[0][1], __file__)
            self.assertTrue(frames[0][0].endswith("one_that_entered_them"))

    def test_off_and_native_give_no_python_frames(self):
        self.assertEqual(released.probe_begin(b"off"), 0)
        self.assertEqual(released.probe_call(COPY), 0)
        self.assertEqual(released.probe_begin(b"native"), 0)
        self.assertEqual(python_frames(released.probe_call(COPY)), [])
        self.assertEqual(released.probe_begin(b"sideways"), -1)

    def test_a_full_ring_is_tried_again(self):
        def event():
            return released.probe_call(COPY)

        released.probe_refuse(1)
        sites = [event() for _ in range(3)]
        self.assertEqual(sites[0], 0)
        self.assertNotEqual(sites[1], 0)
        self.assertEqual(sites[1], sites[2])
        self.assertIn("event", python_frames(sites[1])[0][0])

    def test_a_known_site_is_written_once(self):
        here()
        before = released.probe_records()
        for _ in range(10):
            released.probe_call(COPY)
        self.assertLessEqual(released.probe_records() - before, 3)


class Waiting(unittest.TestCase):
    """A thread without Python frames, as autograd's device threads are."""

    def setUp(self):
        self.assertEqual(released.probe_begin(b"python"), 0)

    def test_backward_line_of_the_waiting_thread(self):
        def backward():
            return released.probe_call_on_native_thread(COPY)  # mark: backward

        released.probe_call(COPY)  # the forward pass made this thread known
        site = backward()
        self.assertEqual(read_site(site)[0], ["W"])
        frames = python_frames(site)
        self.assertTrue(frames[0][0].endswith("backward"), frames)
        with open(HERE) as source:
            marked = [n for n, text in enumerate(source, 1)
                      if text.rstrip().endswith("# mark: backward")]
        self.assertEqual([frames[0][2]], marked)
        self.assertTrue(frames[1][0].endswith("test_backward_line_of_the_waiting_thread"))

    def test_no_line_when_nobody_waits_in_backward(self):
        released.probe_call(COPY)
        self.assertEqual(released.probe_call_on_native_thread(COPY), 0)

    def test_no_line_when_two_threads_wait(self):
        def backward():
            released.probe_call(COPY)
            if threading.current_thread() is threading.main_thread():
                return released.probe_call_on_native_thread(COPY)
            released.probe_wait()
            return None

        thread = threading.Thread(target=backward)
        thread.start()
        while released.probe_waiting() == 0:
            time.sleep(0.001)
        self.assertEqual(backward(), 0)
        released.probe_release()
        thread.join()
        self.assertNotEqual(backward(), 0)


@atexit.register
def at_exit():
    released.probe_begin(b"python")
    site = here()
    if python_frames(site)[1:] != events[-1][1]:
        print("frames differ in an exit handler")
        os._exit(1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
