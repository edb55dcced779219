#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
port_relay.py SOCKET [--address ADDRESS] [--tls CERT KEY [CLIENT_CA]]: stands at a TCP port of the loopback
for an engine that listens on the unix socket SOCKET. Prints the port, and ends when its standard input does.

With --tls it is what dockerd --tls is; with CLIENT_CA, dockerd --tlsverify. Whom it refuses, it lets speak
to the end before it closes, so that its own last words are not lost; with --abrupt it does not.
"""
import argparse
import os
import socket
import ssl
import sys
import threading


def pump(source, sink):
    """One direction, and its end."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def refuse(client, abrupt):
    try:
        if not abrupt:
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
    except OSError:
        pass
    client.close()


# What an HTTP server in Go answers when it is spoken to without TLS.
WITHOUT_TLS = (b"HTTP/1.0 400 Bad Request\r\n\r\n"
               b"Client sent an HTTP request to an HTTPS server.\n")


def serve(client, arguments, context):
    plain = client
    try:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            plain = client.dup()
            client = context.wrap_socket(client, server_side=True)
            plain.close()
        engine = socket.socket(socket.AF_UNIX)
        engine.connect(arguments.socket)
    except OSError as why:
        if getattr(why, "reason", "") == "HTTP_REQUEST":
            plain.sendall(WITHOUT_TLS)
        refuse(plain, arguments.abrupt)
        return
    threading.Thread(target=pump, args=(engine, client), daemon=True).start()
    pump(client, engine)


def make_context(paths):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths[0], paths[1])
    if len(paths) > 2:
        context.load_verify_locations(paths[2])
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def accept(listener, arguments, context):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, arguments, context), daemon=True).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--tls", nargs="+")
    parser.add_argument("--abrupt", action="store_true")
    arguments = parser.parse_args()
    context = make_context(arguments.tls) if arguments.tls else None
    family = socket.AF_INET6 if ":" in arguments.address else socket.AF_INET
    listener = socket.create_server((arguments.address, 0), family=family, backlog=64)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=accept, args=(listener, arguments, context), daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)


main()
