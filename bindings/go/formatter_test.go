package stet

import (
	"fmt"
	"testing"
	"time"
)

// example is the state in the specification's example.
func example() *RepoState {
	return &RepoState{
		WorkDir: "/work/coder-001", StoryID: "hello-001",
		Files: []FileMeta{
			{Path: "cmd/main.go", Hash: "a4f3e1", Size: 245}, {Path: "go.mod", Hash: "8d2c47", Size: 89},
			{Path: "README.md", Hash: "1b4e9a", Size: 156},
		},
		OpenTasks: []Task{
			{"Add unit tests for main package", "pending", 1},
			{"Run go build and verify compilation", "pending", 2},
		},
		LastUpdated: time.Date(2025, 10, 22, 3, 15, 42, 0, time.UTC),
	}
}

func TestAStateBecomesTheTextOfTheSpecification(t *testing.T) {
	want := `--- Repository State ---
Workspace: /work/coder-001
Story: hello-001

Existing Files (3):
  • cmd/main.go (a4f3e1, 245 bytes) - go source
  • go.mod (8d2c47, 89 bytes) - go module
  • README.md (1b4e9a, 156 bytes) - markdown

Open Tasks (2):
  1. [pending] Add unit tests for main package
  2. [pending] Run go build and verify compilation

Last updated: 2025-10-22 03:15:42 UTC
`
	if got := FormatForPrompt(example()); got != want {
		t.Fatalf("%s\n%q", got, got)
	}
}

func TestALongStateIsCutToTheBudgetAndSaysSo(t *testing.T) {
	state := example()
	for i := 0; i < 2000; i++ {
		state.Files = append(state.Files, FileMeta{Path: fmt.Sprintf("src/file%d.go", i), Status: "created"})
	}
	short, long := FormatForPrompt(state), FormatWithin(state, 2000)
	if len(short) > 2500 || len(long) <= len(short) {
		t.Fatal(len(short), len(long))
	}
	has(t, short, "Existing Files (2003)", "changed in this story: src/", "Open Tasks (2)")
}

func TestAnEmptyStateIsNoFault(t *testing.T) {
	has(t, FormatForPrompt(&RepoState{}), "--- Repository State ---")
}

func TestAPromptHasTemplateSnapshotAndRequest(t *testing.T) {
	manager := &ContextManager{}
	prompt := manager.BuildSnapshotPrompt("Use TOOL CALLS ONLY.", example(), "The build is red.")
	if len(prompt) != 2 || prompt[0] != (Message{"system", "Use TOOL CALLS ONLY."}) || prompt[1].Role != "user" {
		t.Fatal(prompt)
	}
	has(t, prompt[1].Content, FormatForPrompt(example()), "The build is red.",
		"Complete the remaining open tasks", "DO NOT recreate files that already exist.")
	if more := manager.BuildSnapshotPrompt("Hello.", nil, ""); len(more) == 0 || more[0].Content != "Hello." {
		t.Fatal(more)
	}
}
