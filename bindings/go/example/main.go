// An agent loop with a scripted model: read, conflict, recovery, AGENTS.md, snapshot.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"example.org/stet"
)

type call struct {
	tool      string
	arguments map[string]any
}

var edit = map[string]any{"path": "src/hello.py", "oldText": "'hello'", "newText": "'hello, world'"}

// The answers of a model, turn by turn; a real one would read the messages.
var script = []call{{"read_file", map[string]any{"path": "src/hello.py"}}, {"edit_file", edit}, {"edit_file", edit}}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func write(file, text string) {
	must(0, os.WriteFile(file, []byte(text), 0o644))
}

func show(title, text string) {
	fmt.Printf("%s\n  | %s\n", title, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  | "))
}

func main() {
	must(0, os.MkdirAll("src", 0o755))
	write("AGENTS.md", "Use single quotes.\n")
	write("src/hello.py", "print('hello')\n")
	session := must(stet.OpenSession(".", "coder"))
	tracker := must(stet.NewTracker(".", "hello-001"))
	task := must(tracker.AddTask("Greet the world in hello.py", 0))
	for turn, step := range script {
		if turn == 1 { // another editor adds a line while the model thinks
			write("src/hello.py", "# greetings\nprint('hello')\n")
		}
		result := must(session.Call(context.Background(), step.tool, step.arguments))
		show(fmt.Sprintf("%s: refused: %v", step.tool, result.IsError), result.Text())
	}
	must(0, tracker.CompleteTask(task))
	// The next turn needs no history: the snapshot says what is done and what is left.
	manager := stet.ContextManager{}
	for _, message := range manager.BuildSnapshotPrompt("You are a coder.", tracker.GetSnapshot(), "") {
		show(message.Role+":", message.Content)
	}
	must(tracker.Close(), session.Close())
}
