"""An agent loop with a scripted model: read, conflict, recovery, AGENTS.md, snapshot."""

import pathlib
import stet

TASK = "Greet the world in hello.py"

# The answers of a model, turn by turn: a tool and its arguments, or None when it is done.
SCRIPT = [
    ("read_file", {"path": "src/hello.py"}),
    ("edit_file", {"path": "src/hello.py", "oldText": "'hello'", "newText": "'hello, world'"}),
    ("edit_file", {"path": "src/hello.py", "oldText": "'hello'", "newText": "'hello, world'"}),
    None,
]


def model(messages, turn):
    """Stands in for a model; a real one would read the messages."""
    return SCRIPT[turn]


def somebody_edits():
    """Another editor adds a line while the model thinks."""
    path = pathlib.Path("src/hello.py")
    path.write_text("# greetings\n" + path.read_text())


def show(text):
    print("  | " + text.strip().replace("\n", "\n  | "))


def main():
    pathlib.Path("src").mkdir(exist_ok=True)
    pathlib.Path("AGENTS.md").write_text("Use single quotes.\n")
    pathlib.Path("src/hello.py").write_text("print('hello')\n")
    with stet.Session(".", "coder") as session, stet.Tracker(".", "hello-001") as tracker:
        task = tracker.add_task(TASK)
        messages = [{"role": "user", "content": TASK}]
        turn = 0
        while (step := model(messages, turn)) is not None:
            tool, arguments = step
            if turn == 1:
                somebody_edits()
            result = session.call(tool, arguments)
            text = "".join(part.get("text", "") for part in result["content"])
            print(f"{tool}: {'refused' if result.get('isError') else 'done'}")
            show(text)
            messages.append({"role": "tool", "content": text})
            turn += 1
        tracker.complete_task(task)
        # The next turn needs no history: the snapshot says what is done and what is left.
        for message in stet.build_snapshot_prompt("You are a coder.", tracker.get_snapshot()):
            print(message["role"] + ":")
            show(message["content"])
    assert pathlib.Path("src/hello.py").read_text() == "# greetings\nprint('hello, world')\n"


if __name__ == "__main__":
    main()
