# SPDX-License-Identifier: Apache-2.0
"""A peer of the benchmark: does what others do, and tells how long it took.

One request a line, answered with "ok NANOSECONDS" or "error WHY":

    exec COUNT CONTAINER COMMAND...  docker-py's exec_run, as executors in Python do it, COUNT at once
    run COUNT IMAGE FOLDER        docker-py's containers.run, COUNT at once; they stay for the next two
    each COMMAND...               exec_run in each of them at once
    remove                        takes them away
    create_start IMAGE FOLDER     the two bare calls of the API; what they made is removed, unmeasured
    gone CONTAINER                waits until there is no such container
"""

import concurrent.futures
import http.client
import json
import os
import socket
import sys
import time
import urllib.parse

try:
    import docker
except ImportError:
    docker = None

SOCKET = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def call(connection, method, path, body=None):
    connection.request(method, path, json.dumps(body) if body is not None else None,
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    return response.status, json.loads(content) if content.strip() else None


def client():
    if docker is None:
        raise RuntimeError("docker-py (python3-docker) is not installed")
    if client.made is None:
        client.made = docker.from_env(timeout=600, max_pool_size=64)
    return client.made


client.made = None


def at_once(work, items):
    """Nanoseconds until WORK is done with each of ITEMS, each on a thread of its own."""
    began = time.perf_counter_ns()
    if len(items) == 1:
        work(items[0])
    else:
        with concurrent.futures.ThreadPoolExecutor(len(items)) as pool:
            list(pool.map(work, items))
    return time.perf_counter_ns() - began


def execute(container, command):
    result = container.exec_run(list(command))
    if result.exit_code != 0:
        raise RuntimeError(f"exit code {result.exit_code}")


def answer_exec(count, name, *command):
    if name not in answer_exec.containers:
        answer_exec.containers[name] = client().containers.get(name)
    container = answer_exec.containers[name]
    return at_once(lambda _: execute(container, command), range(int(count)))


answer_exec.containers = {}


def answer_run(count, image, folder):
    def run(_):
        answer_run.containers.append(client().containers.run(
            image, ["sleep", "600"], detach=True, auto_remove=True,
            volumes={folder: {"bind": "/workspace", "mode": "rw"}}))

    return at_once(run, range(int(count)))


answer_run.containers = []


def answer_each(*command):
    return at_once(lambda container: execute(container, command), answer_run.containers)


def answer_remove():
    took = at_once(lambda container: container.remove(force=True), answer_run.containers)
    answer_run.containers.clear()
    return took


def answer_create_start(image, folder):
    body = {"Image": image, "Cmd": ["sleep", "600"],
            "HostConfig": {"Binds": [f"{folder}:/workspace"], "AutoRemove": True}}
    connection = UnixConnection()
    connection.connect()
    began = time.perf_counter_ns()
    status, created = call(connection, "POST", "/containers/create", body)
    if status != 201:
        raise RuntimeError(f"create: {status} {created}")
    status, answer = call(connection, "POST", f"/containers/{created['Id']}/start")
    took = time.perf_counter_ns() - began
    call(connection, "DELETE", f"/containers/{created['Id']}?force=1&v=1")
    if status != 204:
        raise RuntimeError(f"start: {status} {answer}")
    return took


def answer_gone(container):
    connection = UnixConnection()
    began = time.perf_counter_ns()
    while call(connection, "GET", f"/containers/{urllib.parse.quote(container)}/json")[0] != 404:
        if time.perf_counter_ns() - began > 60e9:
            raise RuntimeError("it is still there after a minute")
        time.sleep(0.005)
    return time.perf_counter_ns() - began


def main():
    answers = {"exec": answer_exec, "run": answer_run, "each": answer_each, "remove": answer_remove,
               "create_start": answer_create_start, "gone": answer_gone}
    for line in sys.stdin:
        word, *arguments = line.split()
        try:
            print("ok", answers[word](*arguments), flush=True)
        except Exception as problem:  # a peer that fails is reported, and the others go on
            print("error", " ".join(str(problem).split()), flush=True)


main()
