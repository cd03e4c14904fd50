package stet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestTheStateSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	tracker := track(t, dir, "hello-001")
	writeFile(t, dir, "cmd/main.go", "package main\n")
	good(t, tracker.UpdateFromToolResult("write_file", map[string]any{"path": "cmd/main.go"}))
	_, err := tracker.AddTask("Run go build", 1)
	good(t, err)
	before := tracker.GetSnapshot()
	good(t, tracker.Persist())
	good(t, tracker.Close())

	again := track(t, dir, "")
	good(t, again.Load())
	if after := again.GetSnapshot(); !reflect.DeepEqual(before, after) {
		t.Fatalf("%+v\n%+v", before, after)
	}
}

func TestTheFileOnDiskIsTheOneOfTheSpecification(t *testing.T) {
	dir := t.TempDir()
	tracker := track(t, dir, "hello-001")
	writeFile(t, dir, "main.go", "package main\n")
	good(t, tracker.UpdateFromToolResult("write_file", map[string]any{"path": "main.go"}))
	good(t, tracker.Persist())

	var state RepoState
	good(t, json.Unmarshal([]byte(readFile(t, filepath.Join(dir, ".stet/repostate.json"))), &state))
	if !reflect.DeepEqual(&state, tracker.GetSnapshot()) {
		t.Fatalf("%+v\n%+v", state, tracker.GetSnapshot())
	}
}

func TestADamagedStateIsReportedOrSetAside(t *testing.T) {
	dir := t.TempDir()
	tracker := track(t, dir, "hello-001")
	good(t, tracker.Close())
	good(t, os.WriteFile(filepath.Join(dir, ".stet/stet.db"), []byte("not a database at all"), 0o600))
	again := track(t, dir, "")
	if err := again.Load(); err != nil {
		return
	}
	writeFile(t, dir, "main.go", "package main\n")
	good(t, again.UpdateFromToolResult("write_file", map[string]any{"path": "main.go"}))
	if len(again.GetSnapshot().Files) != 1 {
		t.Fatalf("%+v", again.GetSnapshot())
	}
}
