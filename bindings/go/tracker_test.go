package stet

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// status is how the tracker has a file.
func status(t *testing.T, tracker *Tracker, file string) string {
	t.Helper()
	for _, one := range tracker.GetSnapshot().Files {
		if one.Path == file {
			return one.Status
		}
	}
	return ""
}

func TestAResultOfAToolUpdatesTheFiles(t *testing.T) {
	dir := t.TempDir()
	tracker := track(t, dir, "hello-001")
	writeFile(t, dir, "cmd/main.go", "package main\n")
	good(t, tracker.UpdateFromToolResult("write_file",
		map[string]any{"path": "cmd/main.go", "success": true}))
	state := tracker.GetSnapshot()
	if len(state.Files) != 1 || state.StoryID != "hello-001" || state.WorkDir == "" {
		t.Fatalf("%+v", state)
	}
	file := state.Files[0]
	if file.Path != "cmd/main.go" || file.Type != "go" || file.Size != 13 || file.Status != "created" ||
		len(file.Hash) != 64 || file.ModTime.IsZero() || state.LastUpdated.IsZero() {
		t.Fatalf("%+v", file)
	}
}

func TestAFileThatWasThereIsModifiedAndADeletedOneIsGone(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "go.mod", "module x\n")
	tracker := track(t, dir, "hello-001")
	writeFile(t, dir, "go.mod", "module y\n")
	good(t, tracker.UpdateFromToolResult("edit_file", map[string]any{"path": "go.mod"}))
	if got := status(t, tracker, "go.mod"); got != "modified" {
		t.Fatal(got)
	}
	good(t, os.Remove(filepath.Join(dir, "go.mod")))
	if got := status(t, tracker, "go.mod"); got != "" {
		t.Fatal(got)
	}
}

func TestAFailedOrIdenticalWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.go", "package a\n")
	tracker := track(t, dir, "hello-001")
	for i := 0; i < 3; i++ {
		good(t, tracker.UpdateFromToolResult("write_file", map[string]any{
			"path": "a.go", "success": true, "noop": true, "message": "File already exists with identical content"}))
		good(t, tracker.UpdateFromToolResult("write_file", map[string]any{"path": "b.go", "success": false}))
	}
	if got := status(t, tracker, "a.go"); got != "unchanged" {
		t.Fatal(got)
	}
	if got := status(t, tracker, "b.go"); got != "" {
		t.Fatal(got)
	}
}

func TestTasksHaveAnOrderAndEnd(t *testing.T) {
	tracker := track(t, t.TempDir(), "hello-001")
	last, err := tracker.AddTask("Run go build", 2)
	good(t, err)
	_, err = tracker.AddTask("Add unit tests", 1)
	good(t, err)
	tasks := tracker.GetSnapshot().OpenTasks
	if len(tasks) != 2 || tasks[0] != (Task{"Add unit tests", "pending", 1}) {
		t.Fatal(tasks)
	}
	good(t, tracker.CompleteTask(last))
	if tasks = tracker.GetSnapshot().OpenTasks; len(tasks) != 1 {
		t.Fatal(tasks)
	}
	if err := tracker.CompleteTask(99); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if err := tracker.UpdateFromToolResult("x", map[string]any{"f": func() {}}); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
}

func TestAClosedTrackerHasNoSnapshot(t *testing.T) {
	tracker := track(t, t.TempDir(), "")
	good(t, tracker.Close())
	if tracker.GetSnapshot() != nil || !errors.Is(tracker.Load(), ErrClosed) {
		t.Fatal("a snapshot of what was")
	}
	if FormatForPrompt(tracker.GetSnapshot()) != "" {
		t.Fatal("the text of nothing")
	}
}
