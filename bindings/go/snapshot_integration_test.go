package stet

import (
	"fmt"
	"testing"
)

// The scenario that the specification sets out from: a model that sees no history writes the files of its
// story again and again. It writes whatever the prompt does not name.
func TestAStoryWritesEachFileOnceAndKeepsItsPromptSmall(t *testing.T) {
	dir := t.TempDir()
	session, tracker := open(t, dir), track(t, dir, "hello-001")
	manager := &ContextManager{}
	story := []string{"go.mod", "main.go", "main_test.go", "README.md", "Makefile"}
	number, err := tracker.AddTask("Write a hello world", 0)
	good(t, err)

	writes, finished := map[string]int{}, false
	for turn := 0; turn < 20 && !finished; turn++ {
		prompt := manager.BuildSnapshotPrompt("You are a coder agent. Use TOOL CALLS ONLY.", tracker.GetSnapshot(), "")
		size := 0
		for _, message := range prompt {
			size += len(message.Content)
		}
		if size > 4*5000 {
			t.Fatalf("turn %d: a prompt of %d bytes", turn, size)
		}
		finished = true
		for _, file := range story {
			known := false
			for _, one := range tracker.GetSnapshot().Files {
				known = known || one.Path == file
			}
			if known {
				has(t, prompt[len(prompt)-1].Content, file)
				continue
			}
			result, err := session.Call(background, "write_file",
				map[string]any{"path": file, "content": fmt.Sprintf("the text of %s\n", file)})
			good(t, err)
			good(t, result.Err())
			writes[file]++
			finished = false
			break
		}
	}
	good(t, tracker.CompleteTask(number))
	if !finished || len(writes) != len(story) {
		t.Fatal(writes)
	}
	for file, count := range writes {
		if count != 1 {
			t.Errorf("%s was written %d times", file, count)
		}
	}
	if tasks := tracker.GetSnapshot().OpenTasks; len(tasks) != 0 {
		t.Error(tasks)
	}
}

func TestWritingTheSameAgainIsANoop(t *testing.T) {
	dir := t.TempDir()
	session := open(t, dir)
	_, err := session.Write(background, "a.go", "package a\n")
	good(t, err)
	answer, err := session.Write(background, "a.go", "package a\n")
	good(t, err)
	if !answer.Noop || answer.Created {
		t.Fatalf("%+v", answer)
	}
}

func TestAResultOfTheTrackerIsOlderThanTheDisk(t *testing.T) {
	dir := t.TempDir()
	tracker := track(t, dir, "hello-001")
	writeFile(t, dir, "a.go", "package a\n")
	good(t, tracker.UpdateFromToolResult("write_file", map[string]any{"path": "a.go"}))
	first := tracker.GetSnapshot().Files[0].Hash
	writeFile(t, dir, "a.go", "package b // changed by somebody else\n")
	if file := tracker.GetSnapshot().Files[0]; file.Hash == first {
		t.Fatalf("%+v", file)
	}
}
