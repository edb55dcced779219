#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`host_demo mcp` as its clients see it.

    mcp_demo.py HOST_DEMO PLUGIN_FOLDER

Each test starts a server on the executor of plugin_echo.c and talks to it line by line. A server that does not
answer is killed, and the test fails."""

import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

PROGRAM, PLUGINS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PATIENCE = 60
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Server:
    """One host_demo mcp."""

    def __init__(self, *arguments):
        self.folder = tempfile.mkdtemp()
        environment = {**os.environ, "CODE_EXECUTOR_PLUGIN_PATH": PLUGINS, "TMPDIR": self.folder, "LANG": "C.UTF-8"}
        self.process = subprocess.Popen([PROGRAM, "mcp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)
        self.lines, self.words = queue.Queue(), []
        self.pumps = [threading.Thread(target=self.pump, args=pair, daemon=True)
                      for pair in ((self.process.stdout, self.lines.put), (self.process.stderr, self.words.append))]
        for pump in self.pumps:
            pump.start()
        self.next_id = 1

    @staticmethod
    def pump(stream, take):
        for line in stream:
            take(line.decode())

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def receive(self):
        line = self.lines.get(timeout=PATIENCE)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and line.endswith("\n"), line
        return message

    def begin(self, method, params=None):
        request_id, self.next_id = self.next_id, self.next_id + 1
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, **({} if params is None else {"params": params})})
        return request_id

    def ask(self, method, params=None):
        request_id = self.begin(method, params)
        answer = self.receive()
        assert answer["id"] == request_id, answer
        return answer

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def shake_hands(self, version="2025-11-25"):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized", {})
        return answer["result"]

    def begin_code(self, code, **more):
        return self.begin("tools/call", {"name": "run_code", "arguments": {"language": "echo", "code": code}, **more})

    def run_code(self, code, **arguments):
        return self.ask("tools/call", {"name": "run_code",
                                       "arguments": {"language": "echo", "code": code, **arguments}})["result"]

    def end(self):
        """Closes stdin; the exit status, when all that was written has been read."""
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        for pump in self.pumps:
            pump.join(PATIENCE)
        return status

    def clean(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


def text(result):
    (item,) = result["content"]
    assert item["type"] == "text", item
    return item["text"]


class McpTest(unittest.TestCase):
    def serve(self, *arguments):
        server = Server(*(arguments or ("-e", "echo")))
        self.addCleanup(server.clean)
        return server

    def ready(self):
        server = self.serve()
        server.shake_hands()
        return server

    def assert_error(self, answer, code, words):
        self.assertEqual(answer["error"]["code"], code, answer)
        self.assertIn(words, answer["error"]["message"])

    def assert_serves(self, server):
        self.assertEqual(text(server.run_code("print still here")), "still here\n")

    # ---- versions ----

    def test_a_version_that_is_known_is_agreed_on(self):
        for version in ("2024-11-05", "2025-06-18", "2025-11-25"):
            result = self.serve().shake_hands(version)
            self.assertEqual(result["protocolVersion"], version)
            self.assertEqual(result["capabilities"], {"tools": {}})
            self.assertEqual(result["serverInfo"]["name"], "host_demo")

    def test_another_version_gets_one_that_such_a_client_may_know(self):
        for asked, given in (("2025-03-26", "2024-11-05"), ("2099-01-01", "2025-11-25"), ("1.0.0", "2025-11-25")):
            self.assertEqual(self.serve().shake_hands(asked)["protocolVersion"], given)

    def test_without_a_handshake_each_request_says_its_version(self):
        server = self.serve()
        result = server.ask("server/discover", {"_meta": MODERN})["result"]
        self.assertEqual(result["resultType"], "complete")
        self.assertIn("2026-07-28", result["supportedVersions"])
        result = server.ask("tools/list", {"_meta": MODERN})["result"]
        self.assertEqual((result["resultType"], result["cacheScope"]), ("complete", "private"))
        result = server.ask("tools/call", {"_meta": MODERN, "name": "run_code",
                                           "arguments": {"language": "echo", "code": "print modern"}})["result"]
        self.assertEqual((result["resultType"], text(result)), ("complete", "modern\n"))
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "host_demo")

    def test_a_version_without_a_handshake_that_is_not_known_is_refused_with_those_that_are(self):
        meta = {**MODERN, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}
        answer = self.serve().ask("tools/list", {"_meta": meta})
        self.assert_error(answer, -32022, "Unsupported protocol version")
        self.assertEqual(answer["error"]["data"]["requested"], "1900-01-01")
        self.assertIn("2026-07-28", answer["error"]["data"]["supported"])

    def test_a_request_that_lacks_what_each_must_have_is_refused(self):
        server = self.serve()
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        self.assert_error(server.ask("tools/list", {"_meta": meta}), -32602, "clientCapabilities")
        self.assert_error(server.ask("server/discover"), -32602, "protocolVersion")
        self.assert_error(server.ask("initialize", {}), -32602, "protocolVersion")
        self.assert_error(server.ask("initialize", {"_meta": MODERN}), -32601, "initialize")

    def test_nothing_but_ping_comes_before_the_handshake(self):
        server = self.serve()
        self.assertEqual(server.ask("ping")["result"], {})
        self.assert_error(server.ask("tools/list"), -32600, "before initialize")
        self.assert_error(server.ask("tools/call", {"name": "run_code"}), -32600, "before initialize")

    # ---- tools ----

    def test_tools_are_listed_with_what_they_take(self):
        tools = {tool["name"]: tool for tool in self.ready().ask("tools/list")["result"]["tools"]}
        self.assertEqual(sorted(tools), ["run_code", "run_message"])
        self.assertEqual(tools["run_code"]["inputSchema"]["required"], ["language", "code"])
        self.assertIn("On echo these languages run: echo.", tools["run_code"]["description"])

    def test_code_runs_and_its_output_comes_back(self):
        result = self.ready().run_code("print out\nerror err\nsay words")
        self.assertEqual(text(result), "out\nerr\nwords\n")
        self.assertFalse(result["isError"])

    def test_an_exit_code_is_an_error_for_the_model_to_read(self):
        result = self.ready().run_code("print out\nexit 3")
        self.assertEqual(text(result), "out\n[exit code 3]\n")
        self.assertTrue(result["isError"])

    def test_no_output_is_said(self):
        self.assertEqual(text(self.ready().run_code("")), "(no output)\n")

    def test_code_that_is_only_saved_is_said_not_to_have_run(self):
        server = self.serve("-e", "local")
        server.shake_hands()
        result = server.ask("tools/call", {"name": "run_code", "arguments": {"language": "css", "code": "a {}"}})["result"]
        self.assertRegex(text(result), r"\ACode saved to [^\n]*\n\[saved, not run\]\n\Z")

    def test_time_that_is_up_is_said(self):
        result = self.ready().run_code("sleep 1000000", timeout=1)
        self.assertEqual(text(result), "[timed_out, exit code 124]\n")
        self.assertTrue(result["isError"])

    def test_a_failure_of_the_executor_is_told_beside_the_output(self):
        result = self.ready().run_code("print begun\nfail the disk is gone")
        self.assertEqual(text(result), "begun\nThe executor failed (unavailable): the disk is gone\n")
        self.assertTrue(result["isError"])

    def test_output_is_bounded(self):
        result = text(self.ready().run_code("print first\nflood 500000\nprint last"))
        self.assertLess(len(result), 70000)
        self.assertTrue(result.startswith("first\n") and result.endswith("last\n"))
        self.assertIn("bytes left out ...]", result)

    def test_bytes_that_are_no_text_are_replaced(self):
        self.assertEqual(text(self.ready().run_code("raw 61ff62")), "a\ufffdb")

    def test_a_message_runs_block_by_block(self):
        message = "Do:\n```echo\nprint a\n```\nand\n```repeat\nprint b\nexit 2\n```\n```echo\nprint never\n```\n"
        result = self.ready().ask("tools/call", {"name": "run_message", "arguments": {"message": message}})["result"]
        self.assertEqual(text(result), "a\nb\n[exit code 2]\n")

    def test_a_block_that_was_cut_off_is_not_run(self):
        message = "```echo\nprint a\n```\n```echo\nprint b"
        result = self.ready().ask("tools/call", {"name": "run_message", "arguments": {"message": message}})["result"]
        self.assertTrue(text(result).startswith("a\nBlock 2 (from line 4 on) is not complete"))
        self.assertTrue(result["isError"])

    def test_a_message_without_code_is_an_error_for_the_model(self):
        result = self.ready().ask("tools/call", {"name": "run_message", "arguments": {"message": "Hello"}})["result"]
        self.assertEqual((text(result), result["isError"]), ("No code blocks to execute.", True))

    def test_arguments_that_are_wrong_are_named_to_the_model(self):
        server = self.ready()
        for arguments, words in (({"language": "echo"}, 'the key "code" is missing'),
                                 ({"language": "echo", "cod": ""}, 'did you mean "code"'),
                                 ({"language": 3, "code": ""}, '"language" must be a string'),
                                 ({"language": "", "code": ""}, '"language"'),
                                 ({"language": "a\0b", "code": ""}, "holds a NUL"),
                                 ({"language": "echo", "code": "", "timeout": 0.5}, '"timeout"')):
            result = server.ask("tools/call", {"name": "run_code", "arguments": arguments})["result"]
            self.assertIn(words, text(result))
            self.assertTrue(result["isError"])
        self.assert_serves(server)

    def test_a_call_that_is_malformed_or_of_no_tool_is_a_protocol_error(self):
        server = self.ready()
        self.assert_error(server.ask("tools/call", {"name": "fly"}), -32602, "Unknown tool: fly")
        self.assert_error(server.ask("tools/call", {}), -32602, "needs")
        self.assert_error(server.ask("tools/call", {"name": "run_code", "arguments": []}), -32602, "an object")
        self.assert_error(server.ask("tools/call"), -32602, "needs")
        self.assert_serves(server)

    # ---- messages ----

    def test_what_is_no_request_is_refused_and_the_next_one_served(self):
        server = self.ready()
        for line, code, words in ((b"nonsense", -32700, "no JSON"), (b'{"jsonrpc":"2.0","id":1', -32700, "no JSON"),
                                  (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700, "no JSON"),
                                  (b"\xff\xfe", -32700, "no JSON"), (b"[" * 100, -32700, "no JSON"),
                                  (b"[]", -32600, "Batches"), (b"null", -32600, "object"), (b"7", -32600, "object"),
                                  (b"{}", -32600, "object"), (b'{"id":1,"method":"ping"}', -32600, "jsonrpc"),
                                  (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, "id"),
                                  (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, "id"),
                                  (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, "method"),
                                  (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, "params"),
                                  (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601, "resources/list")):
            server.send_bytes(line + b"\n")
            self.assert_error(server.receive(), code, words)
        server.send_bytes(b"\n  \r\n")
        server.notify("notifications/unheard_of", {"a": 1})
        server.send({"jsonrpc": "2.0", "id": 77, "result": {}})
        server.notify("notifications/cancelled", {"requestId": "never sent"})
        server.notify("notifications/cancelled", {})
        self.assert_serves(server)

    def test_a_line_that_is_far_too_long_is_dropped_and_the_next_one_served(self):
        server = self.ready()
        for _ in range(40):
            server.send_bytes(b"x" * (1 << 20))
        server.send_bytes(b"\n")
        self.assert_error(server.receive(), -32600, "longer than 16 MiB")
        self.assert_serves(server)

    def test_ids_come_back_as_they_were(self):
        server = self.ready()
        for request_id in ("text", "", 0, -5, 2**53):
            server.send({"jsonrpc": "2.0", "id": request_id, "method": "ping"})
            self.assertEqual(server.receive()["id"], request_id)

    # ---- while calls run ----

    def test_calls_overlap_and_others_are_answered_meanwhile(self):
        server = self.ready()
        waiting = server.begin_code("sleep 1000000")
        self.assertEqual(server.ask("ping")["result"], {})
        self.assert_serves(server)
        server.send({"jsonrpc": "2.0", "id": waiting, "method": "ping"})
        self.assert_error(server.receive(), -32600, "not been answered yet")
        server.notify("notifications/cancelled", {"requestId": waiting})
        self.assert_serves(server)

    def test_a_cancelled_call_is_not_answered(self):
        server = self.ready()
        one, other = server.begin_code("print one\nsleep 1000000"), server.begin_code("sleep 1000\nprint other")
        server.notify("notifications/cancelled", {"requestId": one, "reason": "no longer wanted"})
        answer = server.receive()
        self.assertEqual((answer["id"], text(answer["result"])), (other, "other\n"))
        self.assertEqual(server.end(), 0)
        self.assertTrue(server.lines.empty())

    def test_progress_is_told_where_it_was_asked_for(self):
        server = self.ready()
        message = "```echo\nprint a\n```\n```echo\nprint b\n```\n"
        call = server.begin("tools/call", {"name": "run_message", "arguments": {"message": message},
                                           "_meta": {"progressToken": "token"}})
        for step in range(2):
            told = server.receive()
            self.assertEqual(told["method"], "notifications/progress")
            self.assertEqual(told["params"], {"progressToken": "token", "progress": step, "total": 2,
                                              "message": f"block {step + 1} of 2: echo"})
        self.assertEqual(server.receive()["id"], call)

    def test_the_end_of_stdin_ends_what_runs(self):
        server = self.ready()
        server.begin_code("sleep 1000000")
        self.assertEqual(server.end(), 0)
        self.assertTrue(server.lines.empty())

    def test_the_end_of_stdin_within_a_message_is_an_end(self):
        server = self.ready()
        server.send_bytes(b'{"jsonrpc":"2.0","id":1,"meth')
        self.assertEqual(server.end(), 0)
        self.assertTrue(server.lines.empty())

    def test_signals_end_what_runs(self):
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            server = self.ready()
            server.begin_code("sleep 1000000")
            self.assertEqual(server.ask("ping")["result"], {})
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(PATIENCE), status)

    def test_a_client_that_reads_no_more_is_an_end(self):
        reader, writer = os.pipe()
        os.close(reader)
        environment = {**os.environ, "CODE_EXECUTOR_PLUGIN_PATH": PLUGINS}
        with subprocess.Popen([PROGRAM, "mcp", "-e", "echo"], stdin=subprocess.PIPE, stdout=writer,
                              stderr=subprocess.DEVNULL, env=environment) as process:
            os.close(writer)
            process.stdin.write(b"nonsense\n" * 2)
            process.stdin.flush()
            self.assertEqual(process.wait(PATIENCE), 141)

    def test_a_client_that_does_not_read_does_not_outlast_signals(self):
        environment = {**os.environ, "CODE_EXECUTOR_PLUGIN_PATH": PLUGINS}
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            with subprocess.Popen([PROGRAM, "mcp", "-e", "echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=environment) as process:
                # Far more answers than a pipe takes, and the server is in the midst of them.
                fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
                process.stdin.write(b"nonsense\n" * 500)
                process.stdin.flush()
                while process.poll() is None and fcntl.ioctl(process.stdout, termios.FIONREAD, b"....")[:2] == b"\0\0":
                    time.sleep(0.01)
                time.sleep(0.2)
                process.send_signal(number)
                try:
                    self.assertEqual(process.wait(PATIENCE), status)
                finally:
                    process.kill()

    # ---- the command ----

    def test_nothing_is_left_in_the_folder_for_temporary_files(self):
        server = self.ready()
        self.assert_serves(server)
        self.assertEqual(server.end(), 0)
        self.assertEqual(os.listdir(server.folder), [])

    def test_what_cannot_be_served_is_said_on_stderr(self):
        for arguments, status, words in ((("-e", "nowhere"), 125, 'no plugin "nowhere"'),
                                         (("-e", "echo", "-c", "{"), 125, "not JSON"),
                                         (("--json",), 2, "not for `mcp`"), (("file",), 2, "too many"),
                                         (("--probes", "{}"), 2, "not for `mcp`")):
            server = self.serve(*arguments)
            self.assertEqual(server.end(), status)
            self.assertTrue(server.lines.empty())
            self.assertIn(words, "".join(server.words))

    def test_local_runs_only_where_it_was_named(self):
        server = self.serve("-e", "local")
        server.shake_hands()
        result = server.ask("tools/call", {"name": "run_code", "arguments": {
            "language": "sh", "code": "cat; echo; pwd >&2", "stdin": "given"}})["result"]
        self.assertTrue(text(result).startswith("given\n"))
        self.assertEqual(server.end(), 0)


unittest.main(argv=sys.argv[:1] + sys.argv[3:], warnings="ignore")
