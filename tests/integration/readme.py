#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps README.md and the pages of docs/ true: what they quote is compared with what they quote.

    readme.py HOST_DEMO SOURCE_FOLDER [--write]

The pages have marks, each followed by one block or table, which must be what the mark says:

    <!-- quote FILE -->              the file, whole, in a fenced block
    <!-- output ARGUMENT... -->      what `host_demo ARGUMENT...` prints, run in the source folder, in a fenced
                                     block; times and temporary folders may differ
    <!-- configuration PLUGIN [KEY...] -->
                                     a table of these keys, or all, in the plugin's own schema, without those that are
                                     the same in all plugins so marked; every key of a plugin is in some table
    <!-- configuration common -->    a table of those

--write puts it there instead.
"""

import functools
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

LANGUAGES = {".json": "json", ".c": "c", ".cpp": "cpp", ".md": "markdown", ".cmake": "cmake", ".txt": "cmake"}
MARK = re.compile(
    r"^<!-- (?P<kind>quote|output|configuration) (?P<what>.+?) -->\n"
    r"(?P<body>(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)\n|(?:\|[^\n]*\n)+|)",
    re.MULTILINE | re.DOTALL)


def host_demo(arguments):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    printed = subprocess.run([program, *arguments], cwd=source, env=environment, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=120, check=False).stdout
    for workspace in re.findall(r"^host_demo: Files of \w+ are in (/\S+/host_demo-\w+)$", printed, re.MULTILINE):
        shutil.rmtree(workspace)
    return printed


def fenced(language, text):
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}{fence}\n"


def quote(path):
    with open(os.path.join(source, path), encoding="utf-8") as file:
        return fenced(LANGUAGES.get(os.path.splitext(path)[1], ""), file.read())


def output(arguments):
    printed = host_demo(shlex.split(arguments))
    # The page shows the default executor where it works; elsewhere there is nothing to compare with.
    return None if "does not work here" in printed else fenced("text", printed)


def type_of(schema):
    """The type of a key in words: what it may be, and what its elements are."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    words = []
    for one in types:
        if one == "array" and "type" in schema.get("items", {}):
            words.append(f"array of {type_of(schema['items'])}")
        elif one == "object" and isinstance(schema.get("additionalProperties"), dict):
            words.append(f"object of {type_of(schema['additionalProperties'])}")
        else:
            words.append(one)
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    return " or ".join(words)


def rows(schema, prefix=""):
    for key, value in schema.get("properties", {}).items():
        name = prefix + key
        default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
        yield name, type_of(value), default, value["description"]
        yield from rows(value, f"{name}.")
        inner = value.get("additionalProperties")
        if isinstance(inner, dict):
            yield from rows(inner, f"{name}.NAME.")
        if isinstance(value.get("items"), dict):
            yield from rows(value["items"], f"{name}[].")


@functools.cache
def plugin_rows(plugin):
    info = json.loads(host_demo(["info", plugin, "--json"]))
    return list(rows(info["config_schema"]))


def common_rows():
    by_plugin = [plugin_rows(plugin) for plugin in plugins]
    return [row for row in by_plugin[0] if all(row in others for others in by_plugin)]


def own_rows(plugin):
    common = common_rows()
    return [row for row in plugin_rows(plugin) if row not in common]


def top_key(row):
    return row[0].split(".")[0].split("[")[0]


def configuration(what):
    name, *keys = what.split()
    chosen = common_rows() if name == "common" else own_rows(name)
    documented.update((name, top_key(row)) for row in chosen if not keys or top_key(row) in keys)
    lines = ["| key | type | default | what it is |", "| --- | --- | --- | --- |"]
    for row in chosen:
        if not keys or top_key(row) in keys:
            key, kind, default, description = (cell.replace("|", "\\|") for cell in row)
            lines.append(f"| `{key}` | {kind} | {default} | {description} |")
    return "\n".join(lines) + "\n"


def undocumented():
    return [f"configuration {plugin}: {key} is in no table" for plugin in plugins
            for key in dict.fromkeys(map(top_key, own_rows(plugin))) if (plugin, key) not in documented]


MAKERS = {"quote": quote, "output": output, "configuration": configuration}


def without_chance(text):
    """The text without what differs from run to run."""
    text = re.sub(r"\b\d+(\.\d+)? ?(ms|s|MiB|KiB|kB|MB)\b", "TIME", text)
    text = re.sub(r"/tmp/[A-Za-z0-9_.-]+", "/tmp/FOLDER", text)
    return re.sub(r"[ \t]+", " ", text)


def renew_page(path, text, stale):
    def renew(match):
        kind, what, body = match["kind"], match["what"], match["body"]
        new = MAKERS[kind](what)
        if new is None:
            print(f"not compared, as the default executor does not work here: {what}")
            return match[0]
        same = without_chance(new) == without_chance(body) if kind == "output" else new == body
        if same:
            return match[0]
        stale.append(f"{kind} {what}")
        print(f"{path} is not what it quotes: {kind} {what}\n--- it should be:\n{new}")
        return f"<!-- {kind} {what} -->\n{new}"

    return MARK.sub(renew, text)


def main():
    pages = {}
    for path in ["README.md", *sorted(glob.glob("docs/*.md", root_dir=source))]:
        with open(os.path.join(source, path), encoding="utf-8") as file:
            pages[path] = file.read()
    marked = re.findall(r"^<!-- configuration (?!common)(\S+).* -->$", "\n".join(pages.values()), re.MULTILINE)
    plugins.extend(dict.fromkeys(marked))
    stale = []
    renewed = {path: renew_page(path, text, stale) for path, text in pages.items()}
    missing = undocumented()
    for line in missing:
        print(line)
    if "--write" in sys.argv:
        for path, text in renewed.items():
            with open(os.path.join(source, path), "w", encoding="utf-8") as file:
                file.write(text)
        return 1 if missing else 0
    marks = sum(len(MARK.findall(text)) for text in pages.values())
    print(f"{marks} marks, {len(stale)} of them stale")
    if stale:
        print("tests/integration/readme.py HOST_DEMO . --write puts them right")
    return 1 if stale or missing or marks == 0 else 0


plugins, documented = [], set()
program, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.exit(main())
