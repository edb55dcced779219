#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the table of docs/languages.md true.

    languages.py HOST_DEMO SOURCE_FOLDER [--write]

Names, aliases, commands and defaults are those of `host_demo info local`; extensions those of the files that
`host_demo run` saves. --write puts the table there instead of comparing it. The page's examples of
configurations are ones that host_demo takes.
"""

import json
import os
import re
import subprocess
import sys

MARK = "<!-- languages -->\n\n"


def host_demo(*arguments, message=""):
    # Not the tests' own plugins or configuration: what a user has.
    done = subprocess.run([program, *arguments], input=message, text=True, stdout=subprocess.PIPE,
                          timeout=120, check=False)
    return json.loads(done.stdout)


def extensions(names):
    """What the file of a block ends in, by language: as saved, with nothing run."""
    policies = {name: False for name in names}
    message = "".join(f"```{name}\nx\n```\n\n" for name in names)
    result = host_demo("run", "--json", "--quiet", "-e", "local", "-c", json.dumps({"execution_policies": policies}),
                       "-", message=message)
    return {name: os.path.basename(block["code_file"]).split(".", 1)[1]
            for name, block in zip(names, result["blocks"])}


def table():
    languages = host_demo("info", "local", "--json")["languages"]
    saved = extensions([language["name"] for language in languages])
    yield "| name | aliases | extension | what runs it | by default |"
    yield "| --- | --- | --- | --- | --- |"
    for language in languages:
        aliases = ", ".join(f"`{alias}`" for alias in language["aliases"])
        commands = ", ".join(f"`{command}`" for command in language["command"].split(", ") if command)
        does = "runs" if language["runs"] else "is saved"
        yield (f"| {language['name']} | {aliases} | `.{saved[language['name']]}` | {commands or 'nothing'} "
               f"| {does} |")


def takes(config):
    result = host_demo("run", "--json", "--quiet", "-e", "local", "-c", config, "-", message="```sh\ntrue\n```\n")
    return result["outcome"] == "completed"


def main():
    path = os.path.join(source, "docs", "languages.md")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    expected = "\n".join(table()) + "\n"
    before, mark, after = page.partition(MARK)
    found = re.match(r"(\|[^\n]*\n)*", after)[0]
    if not mark:
        print("docs/languages.md has no mark")
        return 1
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + mark + expected + after[len(found):])
        return 0
    if found != expected:
        print(f"The table of docs/languages.md should be:\n{expected}")
        print("tests/integration/languages.py HOST_DEMO . --write puts it right")
    refused = [config for config in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
               if not takes(config)]
    for config in refused:
        print(f"docs/languages.md shows a configuration that is refused:\n{config}")
    return 0 if found == expected and not refused else 1


program, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.exit(main())
