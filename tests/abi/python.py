#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/host.py: its structures are those of the header, and it does what a host does.

    python.py SOURCE_FOLDER PLUGIN_FOLDER
"""
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

SOURCE, PLUGINS = map(os.path.abspath, sys.argv[1:3])
PROGRAM = os.path.join(SOURCE, "examples/host.py")
LOCAL = os.path.join(PLUGINS, "local.so")
sys.path.insert(0, os.path.dirname(PROGRAM))
sys.dont_write_bytecode = True
import host  # noqa: E402


def golden_layout():
    """Of each structure: its size, and the place and size of each member."""
    layout = {}
    with open(os.path.join(SOURCE, "tests/abi/layout.txt"), encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"(\w+): (\d+) bytes", line):
                members = {}
                layout[match[1]] = (int(match[2]), members)
            elif match := re.match(r" +(\w+) +at +(\d+), +(\d+) bytes", line):
                members[match[1]] = (int(match[2]), int(match[3]))
    return layout


class HostTest(unittest.TestCase):
    def test_structures_are_those_of_the_header(self):
        layout = golden_layout()
        for name, structure in {"error": host.Error, "block": host.Block, "request": host.Request,
                                "result": host.Result, "v1": host.Table}.items():
            members = {field: (getattr(structure, field).offset, getattr(structure, field).size)
                       for field, *_ in structure._fields_}
            self.assertEqual((ctypes.sizeof(structure), members), layout[f"code_executor_{name}"], name)

    def test_block_gives_its_output_and_exit_code(self):
        with host.Executor(LOCAL) as executor:
            self.assertEqual(executor.run("sh", "echo one; exit 3"), (3, b"one\n"))
            self.assertEqual(executor.run("sh", b"printf 'a\\000b'"), (0, b"a\0b"))

    def test_output_is_seen_while_it_comes(self):
        seen = []
        with host.Executor(LOCAL) as executor:
            executor.run("sh", "echo out; sleep 0.1; echo err >&2", lambda *piece: seen.append(piece))
        self.assertEqual(seen, [(1, b"out\n"), (2, b"err\n")])

    def test_callback_cancels(self):
        with host.Executor(LOCAL) as executor:
            self.assertEqual(executor.run("sh", "echo begun; sleep 1000", lambda *_: True)[0], 130)

    def test_exception_in_a_callback_cancels_and_is_raised(self):
        with host.Executor(LOCAL) as executor:
            with self.assertRaisesRegex(ValueError, "of the host"):
                executor.run("sh", "echo begun; sleep 1000", self.fail_of_the_host)

    @staticmethod
    def fail_of_the_host(*_):
        raise ValueError("of the host")

    def test_time_ends_a_block(self):
        with host.Executor(LOCAL) as executor:
            self.assertEqual(executor.run("sh", "sleep 1000", timeout=1.0)[0], 124)

    def test_blocks_overlap_and_are_cancelled_from_another_thread(self):
        codes, begun = [], threading.Barrier(9)
        with host.Executor(LOCAL) as executor:
            def run():
                codes.append(executor.run("sh", "echo begun; sleep 1000", lambda *_: begun.wait() < 0)[0])
            threads = [threading.Thread(target=run) for _ in range(8)]
            for thread in threads:
                thread.start()
            begun.wait(60)
            executor.cancel()
            for thread in threads:
                thread.join()
        self.assertEqual(codes, [130] * 8)

    def test_error_says_what_was_wrong(self):
        with self.assertRaisesRegex(host.ExecutorError, 'unknown key "tmeout"'):
            host.Executor(LOCAL, '{"tmeout": 1}')
        with self.assertRaises(OSError):
            host.Executor(PROGRAM)

    def test_program_relays_streams_and_exit_code(self):
        ended = subprocess.run([sys.executable, PROGRAM, LOCAL], input=b"echo out; echo err >&2; exit 7",
                               capture_output=True, timeout=120, check=False)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (7, b"out\n", b"err\n"))

    def test_program_ends_what_runs_at_an_interrupt(self):
        program = subprocess.Popen([sys.executable, PROGRAM, LOCAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with program:
            program.stdin.write(b"echo begun; sleep 1000")
            program.stdin.close()
            self.assertEqual(program.stdout.readline(), b"begun\n")
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.wait(60), 130)


with tempfile.TemporaryDirectory() as folder:  # the workspace
    os.chdir(folder)
    unittest.main(argv=sys.argv[:1], verbosity=2)
