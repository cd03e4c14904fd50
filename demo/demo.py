#!/usr/bin/env python3
"""A demonstration: an agent that uses stet, through its MCP server, and a person who does not, work on
the same files. tools/demo runs it in an empty directory: demo/demo.py BUILD. The exit status is 0 if
every check passed.
"""

import json
import os
import subprocess
import sys
import textwrap

COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
scenes = 0


def paint(text, code):
    return f"\033[{code}m{text}\033[0m" if COLOURED else text


def scene(title):
    global scenes
    scenes += 1
    print("\n" + paint(f"{scenes}. {title}", 1), flush=True)


def say(text):
    print(textwrap.fill(text, 92), flush=True)


def quote(text):
    """Print indented text, with the lines of a diff in their usual colours."""
    print()
    for line in text.rstrip("\n").split("\n"):
        colour = 32 if line.startswith("+") else 31 if line.startswith("-") else 36
        for part in textwrap.wrap(line, 92) or [""] if not line.startswith((" ", "\t")) else [line]:
            print("    " + paint(part, colour) if part else "")
    sys.stdout.flush()


def check(fine, what):
    if not fine:
        sys.exit(f"demo: {what}.")


def put(path, text):
    """Save a file as a person's editor does."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Agent:
    """A client of `stet mcp`, like Claude Code."""

    def __init__(self, stet):
        self.server = subprocess.Popen([stet, "mcp", "--structured"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0
        client = {"protocolVersion": "2025-11-25", "capabilities": {},
                  "clientInfo": {"name": "demo", "version": "1"}}
        self.info = self.request("initialize", client)["serverInfo"]
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def request(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        for line in self.server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last:
                check("result" in answer, f"{method} failed: {answer.get('error')}")
                return answer["result"]
        sys.exit("demo: the server closed its output.")

    def call(self, tool, **arguments):
        """Call a tool. Returns whether it succeeded, the texts of its answer, and its data."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        texts = [block["text"] for block in result["content"]]
        return not result.get("isError"), texts, result["structuredContent"]

    def close(self):
        self.server.stdin.close()
        return self.server.wait(timeout=20)


def two_writers(agent):
    scene("Two writers, one file")
    put("server.conf", "host = localhost\nport = 8080\n")
    check(agent.call("read_file", path="server.conf")[0], "Reading failed")
    say("The agent reads server.conf. Meanwhile a person saves a change to it.")
    put("server.conf", "host = localhost\nport = 8080\ntimeout = 30\n")
    say("The agent does not know about that and wants to change the port. stet refuses:")
    edit = {"path": "server.conf", "oldText": "port = 8080", "newText": "port = 9090"}
    done, _, data = agent.call("edit_file", **edit)
    check(not done and data["error"] == "conflict", "An edit was not refused")
    quote(data["message"] + "\n\n" + data["diff"])
    print()
    say("The agent has now seen the change, so the same edit succeeds. Both changes are in the file:")
    check(agent.call("edit_file", **edit)[0], "The edit failed")
    quote(text_of("server.conf"))
    check("port = 9090\ntimeout = 30\n" in text_of("server.conf"), "A change is missing")


def unread_file(agent):
    scene("A whole file, never read")
    put("notes.txt", "Do not lose this.\n")
    say("The agent writes notes.txt from scratch and does not know that the file exists. stet refuses:")
    done, _, data = agent.call("write_file", path="notes.txt", content="My notes\n")
    check(not done, "A write was not refused")
    quote(data["message"])
    check(text_of("notes.txt") == "Do not lose this.\n", "The file was changed")


def instructions(agent):
    scene("Instructions, when they apply")
    put("src/AGENTS.md", "Indent with tabs. Run the tests before you commit.\n")
    put("src/main.c", "int main(void) {\n\treturn 0;\n}\n")
    say("A person puts an AGENTS.md into src. When the agent next reads a file there, stet adds it:")
    _, texts, _ = agent.call("read_file", path="src/main.c")
    check(len(texts) == 3 and "Indent with tabs" in texts[2], "The instructions did not come")
    quote(texts[2])
    print()
    _, texts, _ = agent.call("read_file", path="src/main.c")
    check(len(texts) == 2, "The instructions came twice")
    say("stet adds it once, and again when it changes.")


def section(agent):
    scene("A section of a Markdown file")
    put("README.md", "# Server\n\n## Setup\n\n1. Install it.\n2. Edit server.conf.\n\n## Usage\n\nSee notes.\n")
    say("The agent adds a step to the section Setup, by its heading, with the tool text_patch:")
    done, _, _ = agent.call("text_patch", filePath="README.md", operation="insert",
                            target={"appendToSection": "Setup"}, content="3. Start the server.")
    check(done, "Patching failed")
    quote(text_of("README.md"))
    check("2. Edit server.conf.\n3. Start the server.\n\n## Usage" in text_of("README.md"),
          "The step is in the wrong place")


def race(build):
    scene("A race")
    sys.stdout.flush()
    check(subprocess.run([os.path.join(build, "demo")]).returncode == 0, "The race failed")


def leftovers(agent):
    scene("What is left behind")
    check(agent.close() == 0, "The server failed at its end")
    temporary = [name for name in os.listdir(".") if name.startswith(".stet-")]
    say(f"The server has ended. The directory holds the files of these scenes and {len(temporary)} temporary "
        "ones. It is now removed.")
    check(not temporary, "A temporary file is left")


def main():
    build = os.path.abspath(sys.argv[1])
    agent = Agent(os.path.join(build, "stet"))
    say(f"stet {agent.info['version']}: an agent that uses stet, through its MCP server, and a person who does "
        "not, work on the same files.")
    two_writers(agent)
    unread_file(agent)
    instructions(agent)
    section(agent)
    race(build)
    leftovers(agent)


if __name__ == "__main__":
    main()
