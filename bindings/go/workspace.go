package stet

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"runtime"
)

// An Option is a setting of a workspace; stet/workspace.h says what its values mean.
type Option int

const (
	Durable         Option = C.STET_OPTION_DURABLE
	MaxFile         Option = C.STET_OPTION_MAX_FILE
	MaxDiff         Option = C.STET_OPTION_MAX_DIFF
	MaxBases        Option = C.STET_OPTION_MAX_BASES
	RequireRead     Option = C.STET_OPTION_REQUIRE_READ
	Merge           Option = C.STET_OPTION_MERGE
	Agents          Option = C.STET_OPTION_AGENTS
	AgentsBuiltin   Option = C.STET_OPTION_AGENTS_BUILTIN
	AgentsGitignore Option = C.STET_OPTION_AGENTS_GITIGNORE
	AgentsBudget    Option = C.STET_OPTION_AGENTS_BUDGET
	State           Option = C.STET_OPTION_STATE
	ReadOnly        Option = C.STET_OPTION_READ_ONLY
	PageBytes       Option = C.STET_OPTION_PAGE_BYTES
	HashProves      Option = C.STET_OPTION_HASH_PROVES
	Structured      Option = C.STET_OPTION_STRUCTURED
	UseSnapshot     Option = C.STET_OPTION_USE_SNAPSHOT
	VersionDays     Option = C.STET_OPTION_VERSION_DAYS
	Hook            Option = C.STET_OPTION_HOOK
	Vault           Option = C.STET_OPTION_VAULT
)

// A Workspace is a root directory. No path leads out of it.
type Workspace struct {
	pointer *C.struct_stet_workspace
	gate    gate
}

// Open opens a directory.
func Open(root string) (*Workspace, error) {
	p, err := path(root)
	if err != nil {
		return nil, err
	}
	w := &Workspace{gate: newGate()}
	var reply C.struct_reply
	var out *C.struct_stet_workspace
	C.bridge_open(p, &out, &reply)
	if err := plain(&reply); err != nil {
		return nil, err
	}
	w.pointer = out
	runtime.SetFinalizer(w, (*Workspace).Close)
	return w, nil
}

func (w *Workspace) enter() error {
	if w == nil {
		return ErrClosed
	}
	if err := w.gate.enter(context.Background()); err != nil {
		return err
	}
	if w.pointer == nil {
		w.gate.leave()
		return ErrClosed
	}
	return nil
}

// Set sets an option. Call it before sessions use the workspace.
func (w *Workspace) Set(option Option, value int64) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.gate.leave()
	var reply C.struct_reply
	C.bridge_set(w.pointer, C.int(option), C.int64_t(value), &reply)
	return plain(&reply)
}

// Root is the absolute path, with symbolic links resolved; "" after Close.
func (w *Workspace) Root() string {
	if w.enter() != nil {
		return ""
	}
	defer w.gate.leave()
	return C.GoString(C.stet_workspace_root(w.pointer))
}

// Session opens a session: one agent's view. A session with a name outlives the process; "" is for none.
func (w *Workspace) Session(sessionName string) (*Session, error) {
	n, err := name(sessionName)
	if err != nil {
		return nil, err
	}
	if err := w.enter(); err != nil {
		return nil, err
	}
	defer w.gate.leave()
	var reply C.struct_reply
	var out *C.struct_stet_session
	C.bridge_session(w.pointer, n, &out, &reply)
	if err := plain(&reply); err != nil {
		return nil, err
	}
	return newSession(out), nil
}

// Close closes the workspace. Its sessions stay open; the last of them closes it.
func (w *Workspace) Close() error {
	if w.enter() != nil {
		return nil
	}
	defer w.gate.leave()
	runtime.SetFinalizer(w, nil)
	C.stet_workspace_close(w.pointer)
	w.pointer = nil
	return nil
}
