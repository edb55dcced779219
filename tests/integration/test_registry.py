#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_registry.py FOLDER: registries for the tests of pulls, in the namespaces of the tests' engine.

    engine ──▶ :5000 docker-registry, open to all ─────────┐
           ──▶ :5001 docker-registry, asks for ann's word ──┴─ FOLDER/registry
           ──▶ :5002 relay to the first, which has bad days

All three are there once "ready" is printed. Each line of standard input changes what the relay is like
from then on, and is answered with "ok":

    pass        passes everything on
    cut BYTES   breaks off all connections after so many bytes of answers, and refuses new ones
    slow BYTES  passes on so many bytes a second

Its end is the end of all three.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

CONFIG = """version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/registry}}}}
http: {{addr: "localhost:{port}", secret: test}}
{auth}"""
AUTH = "auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}\n"
# ann, se>?cret
HTPASSWD = "ann:$2b$04$H..xtJSNIG83Vj4nGQct4O6vALq8VSnVp5xF6s7z8Qm0u7BYAsXzW\n"


def start_registry(folder, port, auth):
    path = f"{folder}/{port}.yml"
    with open(path, "w") as config:
        config.write(CONFIG.format(folder=folder, port=port, auth=auth.format(folder=folder)))
    environment = {"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"}
    with open(f"{folder}/{port}.log", "w") as log:
        return subprocess.Popen(
            ["docker-registry", "serve", path], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def await_registry(port):
    for _ in range(300):
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://localhost:{port}/v2/")
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"no registry answers on port {port}")


class Relay:
    def __init__(self, port, target):
        self.target = target
        self.lock = threading.Lock()
        self.connections = set()
        self.left = None
        self.rate = None
        listener = socket.create_server(("localhost", port))
        threading.Thread(target=self.listen, args=(listener,), daemon=True).start()

    def become(self, left=None, rate=None):
        with self.lock:
            self.left, self.rate = left, rate

    def listen(self, listener):
        while True:
            near, _ = listener.accept()
            with self.lock:
                refused = self.left == 0
            if refused:
                near.close()
                continue
            far = socket.create_connection(("localhost", self.target))
            self.connections |= {near, far}
            threading.Thread(target=self.pump, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, True), daemon=True).start()

    def allowed(self, wanted):
        """How many of the bytes may pass, and how many seconds that is to take."""
        with self.lock:
            if self.left is not None:
                wanted = min(wanted, self.left)
                self.left -= wanted
            return wanted, wanted / self.rate if self.rate else 0

    def pump(self, source, target, is_answer):
        try:
            while data := source.recv(16384):
                passed, seconds = self.allowed(len(data)) if is_answer else (len(data), 0)
                target.sendall(data[:passed])
                if passed < len(data):
                    self.cut()
                time.sleep(seconds)
        except OSError:
            pass
        for end in (source, target):
            self.connections.discard(end)
            end.close()

    def cut(self):
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def main():
    folder = sys.argv[1]
    with open(f"{folder}/htpasswd", "w") as file:
        file.write(HTPASSWD)
    registries = [start_registry(folder, 5000, ""), start_registry(folder, 5001, AUTH)]
    try:
        for port in (5000, 5001):
            await_registry(port)
        relay = Relay(5002, 5000)
        print("ready", flush=True)
        for line in sys.stdin:
            word, *number = line.split()
            number = int(number[0]) if number else None
            relay.become(left=number if word == "cut" else None, rate=number if word == "slow" else None)
            print("ok", flush=True)
    finally:
        for registry in registries:
            registry.kill()


main()
