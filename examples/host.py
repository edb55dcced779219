#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host in Python, with nothing but ctypes: the executor ABI as Python sees it, and a block that runs over it.

    host.py PLUGIN.so [CONFIGURATION] < script.sh

The classes and prototypes below are code_executor.h (plugin_api), field by field; any language with a foreign function
interface does the same. Each call lets other threads run, so executions overlap, and a callback may cancel.
"""
import concurrent.futures
import ctypes as c
import itertools
import sys

Pointer = c.POINTER
STDERR = 2


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("status", c.c_int32), ("reserved", c.c_int32), ("message", c.c_char * 2048)]


class Block(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("language", c.c_char_p), ("code", c.c_char_p), ("code_length", c.c_size_t)]


ON_BEGIN = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_size_t)
ON_OUTPUT = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_size_t, c.c_int32, Pointer(c.c_char), c.c_size_t)


class Request(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("blocks", Pointer(Pointer(Block))), ("block_count", c.c_size_t),
                ("execution_id", c.c_uint64), ("timeout", c.c_double), ("stdin_bytes", c.c_char_p),
                ("stdin_length", c.c_size_t), ("environment", Pointer(c.c_char_p)), ("environment_count", c.c_size_t),
                ("user_data", c.c_void_p), ("on_begin", ON_BEGIN), ("on_output", ON_OUTPUT)]


class Result(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("exit_code", c.c_int32), ("outcome", c.c_int32), ("output", Pointer(c.c_char)),
                ("output_length", c.c_size_t), ("code_file", c.c_char_p), ("blocks", c.c_void_p),
                ("block_count", c.c_size_t)]


class Table(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("abi_version", c.c_uint32), ("reserved", c.c_uint32), ("name", c.c_char_p),
                ("version", c.c_char_p), ("description", c.c_char_p), ("config_schema", c.c_char_p),
                ("create", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_char_p, Pointer(c.c_void_p), Pointer(Error))),
                ("start", c.CFUNCTYPE(c.c_int32, c.c_void_p, Pointer(Error))),
                ("stop", c.CFUNCTYPE(c.c_int32, c.c_void_p, Pointer(Error))),
                ("restart", c.CFUNCTYPE(c.c_int32, c.c_void_p, Pointer(Error))),
                ("execute", c.CFUNCTYPE(c.c_int32, c.c_void_p, Pointer(Request), Pointer(Pointer(Result)), Pointer(Error))),
                ("cancel", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_uint64, Pointer(Error))),
                ("describe", c.CFUNCTYPE(c.c_int32, c.c_void_p, Pointer(c.c_void_p), Pointer(Error))),
                ("result_free", c.CFUNCTYPE(None, Pointer(Result))),
                ("string_free", c.CFUNCTYPE(None, c.c_void_p)),
                ("destroy", c.CFUNCTYPE(None, c.c_void_p)),
                ("get_extension", c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p))]


class ExecutorError(Exception):
    """A call of the executor failed: its status and words."""


class Executor:
    """An instance of the executor in a shared object. For `with`; any thread may call run and cancel."""

    def __init__(self, path, configuration="{}"):
        entry = c.CDLL(path).code_executor_plugin_v1
        entry.restype = Pointer(Table)
        table = entry()
        if not table or table.contents.abi_version != 1:
            raise ExecutorError(f"{path} has no executor of version 1 that works here")
        self._table, self._instance, self._numbers = table.contents, c.c_void_p(), itertools.count(1)
        self._call(self._table.create, None, configuration.encode(), c.byref(self._instance))

    def _call(self, function, *arguments):
        error = Error(c.sizeof(Error))
        if function(*arguments, c.byref(error)) != 0:
            raise ExecutorError(error.message.decode(errors="replace"))

    def run(self, language, code, on_output=None, timeout=0.0):
        """Runs one block: its exit code and all it wrote. ON_OUTPUT(stream, bytes) sees that as it comes; where it
        returns True, the block is cancelled, and where it raises, that too; run raises the same then."""
        raised = []

        def relay(_user_data, _block, stream, data, length):
            try:
                return 1 if on_output and on_output(stream, c.string_at(data, length)) else 0
            except BaseException as exception:  # has no way through the executor
                raised.append(exception)
                return 1
        code = code if isinstance(code, bytes) else code.encode()
        block = Block(c.sizeof(Block), language.encode(), code, len(code))
        request = Request(c.sizeof(Request), c.pointer(c.pointer(block)), 1, next(self._numbers), timeout,
                          on_output=ON_OUTPUT(relay))
        result = Pointer(Result)()
        try:
            self._call(self._table.execute, self._instance, c.byref(request), c.byref(result))
            if raised:
                raise raised[0]
            return result.contents.exit_code, c.string_at(result.contents.output, result.contents.output_length)
        finally:
            self._table.result_free(result)

    def cancel(self):
        """Ends all that runs, also a start."""
        self._call(self._table.cancel, self._instance, 0)

    def close(self):
        """Stops it; whatever runs in it ends."""
        self._table.destroy(self._instance)
        self._instance = c.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def show(stream, data):
    out = sys.stderr.buffer if stream == STDERR else sys.stdout.buffer
    out.write(data)
    out.flush()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        with Executor(*sys.argv[1:3]) as executor, concurrent.futures.ThreadPoolExecutor(1) as thread:
            running = thread.submit(executor.run, "sh", sys.stdin.buffer.read(), show)
            try:
                sys.exit(running.result()[0])
            except KeyboardInterrupt:  # which Python would keep back until a call in this thread returned
                executor.cancel()
                sys.exit(running.result()[0])
    except (ExecutorError, OSError) as error:
        sys.exit(f"host.py: {error}")


if __name__ == "__main__":
    main()
