package stet

import (
	"reflect"
	"testing"
	"time"
)

// The exports of the specification, as it writes them: if this does not compile, the binding is wrong.
var (
	_ func(t *Tracker, toolName string, result map[string]any) error = (*Tracker).UpdateFromToolResult
	_ func(t *Tracker) *RepoState                                    = (*Tracker).GetSnapshot
	_ func(t *Tracker) error                                         = (*Tracker).Persist
	_ func(t *Tracker) error                                         = (*Tracker).Load
	_ func(state *RepoState) string                                  = FormatForPrompt

	_ func(cm *ContextManager, template string, repoState *RepoState,
		additionalContext string) []Message = (*ContextManager).BuildSnapshotPrompt
)

type specRepoState struct {
	WorkDir     string
	Files       []FileMeta
	OpenTasks   []Task
	LastUpdated time.Time
	StoryID     string
}

type specFileMeta struct {
	Path    string
	Hash    string
	Size    int64
	ModTime time.Time
	Type    string
	Status  string
}

type specTask struct {
	Description string
	Status      string
	Priority    int
}

var (
	_ = specRepoState(RepoState{})
	_ = specFileMeta(FileMeta{})
	_ = specTask(Task{})
)

func TestTheTypesHaveTheFieldsOfTheSpecificationAndNoMore(t *testing.T) {
	for _, pair := range [][2]any{
		{RepoState{}, specRepoState{}}, {FileMeta{}, specFileMeta{}}, {Task{}, specTask{}},
	} {
		ours, theirs := reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])
		if ours.NumField() != theirs.NumField() {
			t.Errorf("%v has %d fields, not %d", ours, ours.NumField(), theirs.NumField())
		}
	}
}
