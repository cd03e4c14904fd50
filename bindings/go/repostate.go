package stet

/*
#include "bridge.h"
*/
import "C"

import (
	"encoding/json"
	"time"
)

// RepoState represents the current state of the agent's workspace repository.
type RepoState struct {
	// WorkDir is the absolute path to the agent's workspace.
	WorkDir string `json:"work_dir"`
	// Files contains metadata for all tracked files in the workspace.
	Files []FileMeta `json:"files"`
	// OpenTasks contains remaining work items.
	OpenTasks []Task `json:"open_tasks"`
	// LastUpdated is the timestamp of the most recent state update.
	LastUpdated time.Time `json:"last_updated"`
	// StoryID is the current story being worked on.
	StoryID string `json:"story_id"`
}

// FileMeta contains metadata about a single file in the workspace.
type FileMeta struct {
	// Path is relative to WorkDir.
	Path string `json:"path"`
	// Hash is the SHA-256 of the contents, in hexadecimal digits.
	Hash string `json:"hash"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// ModTime is when the file was last modified.
	ModTime time.Time `json:"mod_time"`
	// Type is the kind of file, such as "go", "md" or "yaml".
	Type string `json:"type"`
	// Status is "created", "modified" or "unchanged", compared with the beginning of the story. Files that
	// the tracker knows more or less of have others: "deleted", "written", "external".
	Status string `json:"status"`
}

// Task represents a single work item to be completed.
type Task struct {
	// Description says what to do.
	Description string `json:"description"`
	// Status is "pending", "in_progress" or "completed".
	Status string `json:"status"`
	// Priority orders tasks: lower numbers come first.
	Priority int `json:"priority"`
}

// moment is a time as the library writes it; "" for the zero time.
type moment struct{ time.Time }

func (m moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte(`""`), nil
	}
	return json.Marshal(m.UTC().Format(time.RFC3339))
}

func (m *moment) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil && s != "" {
		m.Time, _ = time.Parse(time.RFC3339, s)
	}
	return nil
}

// wireState and wireFile are a state as the library reads and writes it: times may be missing.
type wireState struct {
	RepoState
	Files       []wireFile `json:"files"`
	LastUpdated moment     `json:"last_updated"`
}

type wireFile struct {
	FileMeta
	ModTime moment `json:"mod_time"`
}

func encodeState(state *RepoState) ([]byte, error) {
	wire := wireState{RepoState: *state, Files: []wireFile{}, LastUpdated: moment{state.LastUpdated}}
	for _, file := range state.Files {
		wire.Files = append(wire.Files, wireFile{file, moment{file.ModTime}})
	}
	if wire.OpenTasks == nil {
		wire.OpenTasks = []Task{}
	}
	return json.Marshal(wire)
}

func decodeState(data []byte) (*RepoState, error) {
	var wire wireState
	if err := json.Unmarshal(data, &wire); err != nil {
		return nil, err
	}
	state := wire.RepoState
	state.LastUpdated = wire.LastUpdated.Time
	state.Files = make([]FileMeta, 0, len(wire.Files))
	for _, file := range wire.Files {
		file.FileMeta.ModTime = file.ModTime.Time
		state.Files = append(state.Files, file.FileMeta)
	}
	return &state, nil
}

// FormatForPrompt renders RepoState as structured text for LLM consumption, within 500 tokens. Nothing is
// cut silently. The text of a nil state is empty.
func FormatForPrompt(state *RepoState) string {
	return FormatWithin(state, 0)
}

// FormatWithin is FormatForPrompt within a number of tokens.
func FormatWithin(state *RepoState, tokens int) string {
	if state == nil {
		return ""
	}
	if tokens < 0 {
		tokens = 0
	}
	data, err := encodeState(state)
	if err != nil {
		return "(The state of the work cannot be shown: " + err.Error() + ")"
	}
	d, n := text(string(data))
	var reply C.struct_reply
	C.bridge_format(d, n, C.size_t(tokens), &reply)
	if err := plain(&reply); err != nil {
		return "(The state of the work cannot be shown: " + err.Error() + ")"
	}
	return string(taken(&reply))
}

// A Message is one message of a prompt, in the form of chat completions.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A ContextManager builds prompts. Its zero value is ready for use.
type ContextManager struct{}

// BuildSnapshotPrompt creates a minimal prompt from template + repo snapshot. It says to complete the open
// tasks if there are any. A nil repoState leaves the snapshot out.
func (cm *ContextManager) BuildSnapshotPrompt(
	template string,
	repoState *RepoState,
	additionalContext string,
) []Message {
	system, systemLen := text(template)
	snapshot, snapshotLen := text(FormatForPrompt(repoState))
	more, moreLen := text(additionalContext)
	var reply C.struct_reply
	C.bridge_prompt(system, systemLen, snapshot, snapshotLen, more, moreLen, &reply)
	var messages []Message
	if err := plain(&reply); err == nil {
		err = json.Unmarshal(taken(&reply), &messages)
		if err == nil {
			return messages
		}
	}
	// Only memory can be missing here: the texts themselves still are a prompt.
	return []Message{{"system", template}, {"user", FormatForPrompt(repoState) + "\n" + additionalContext}}
}
