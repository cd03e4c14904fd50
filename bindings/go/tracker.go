package stet

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
)

// A Tracker records what an agent's tools did to files, and gives the state of the work. The state is stored
// below the workspace in .stet, which all processes share, and as .stet/repostate.json. Calls through stet's
// own sessions are recorded without it.
type Tracker struct {
	session *Session
}

// NewTracker makes a tracker for a workspace. The story named storyID begins, or goes on if it is the current
// one; "" leaves the story as it is.
func NewTracker(workDir, storyID string) (*Tracker, error) {
	session, err := OpenSession(workDir, "tracker")
	if err != nil {
		return nil, err
	}
	t := &Tracker{session}
	if storyID == "" {
		return t, nil
	}
	id, err := path(storyID)
	if err == nil {
		err = t.run(func(s *C.struct_stet_session, reply *C.struct_reply) { C.bridge_story(s, id, reply) })
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// opened is the session; nil, which refuses every call, for a tracker that was never opened.
func (t *Tracker) opened() *Session {
	if t == nil {
		return nil
	}
	return t.session
}

// run makes a call that has no answer.
func (t *Tracker) run(call func(*C.struct_stet_session, *C.struct_reply)) error {
	session := t.opened()
	var reply C.struct_reply
	if err := session.use(context.Background(), func() { call(session.pointer, &reply) }); err != nil {
		return err
	}
	return plain(&reply)
}

// UpdateFromToolResult processes a tool execution result and updates state. The result may be the tool's
// result, its arguments, or both in one map. It only says which files to look at: the tracker reads them.
func (t *Tracker) UpdateFromToolResult(toolName string, result map[string]any) error {
	tool, err := path(toolName)
	if err != nil {
		return err
	}
	data, err := encoded("The results of "+toolName, result)
	if err != nil {
		return err
	}
	d, n := text(string(data))
	return t.run(func(s *C.struct_stet_session, reply *C.struct_reply) {
		C.bridge_record(s, tool, d, n, reply)
	})
}

// Snapshot returns the current RepoState, compared with the files on disk.
func (t *Tracker) Snapshot(ctx context.Context) (*RepoState, error) {
	session := t.opened()
	var reply C.struct_reply
	if err := session.use(ctx, func() { C.bridge_state(session.pointer, &reply) }); err != nil {
		return nil, err
	}
	if err := plain(&reply); err != nil {
		return nil, err
	}
	return decodeState(taken(&reply))
}

// GetSnapshot returns the current RepoState for prompt injection. It is nil if the state cannot be read, rather
// than an old state; Snapshot returns the reason.
func (t *Tracker) GetSnapshot() *RepoState {
	state, _ := t.Snapshot(context.Background())
	return state
}

// Persist saves the current state to disk now: to repostate.json, which is otherwise written within a second.
func (t *Tracker) Persist() error {
	return t.run(func(s *C.struct_stet_session, reply *C.struct_reply) { C.bridge_flush(s, reply) })
}

// Load restores state from disk (for restart scenarios). Every snapshot does so too; Load says whether the
// stored state can be read.
func (t *Tracker) Load() error {
	_, err := t.Snapshot(context.Background())
	return err
}

// AddTask adds a task, and returns its number. Lower priorities come first; 0 puts it last.
func (t *Tracker) AddTask(description string, priority int) (int64, error) {
	d, n := text(description)
	var number int64
	err := t.run(func(s *C.struct_stet_session, reply *C.struct_reply) {
		C.bridge_task_add(s, d, n, C.int64_t(priority), reply)
		number = int64(reply.number)
	})
	return number, err
}

// CompleteTask completes the task with a number. It no longer appears in snapshots.
func (t *Tracker) CompleteTask(number int64) error {
	return t.run(func(s *C.struct_stet_session, reply *C.struct_reply) {
		C.bridge_task_complete(s, C.int64_t(number), reply)
	})
}

// Close closes the tracker. The stored state stays.
func (t *Tracker) Close() error {
	return t.opened().Close()
}
