package stet

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"strings"
	"sync"
)

// An Event is a change of a file.
type Event struct {
	// Path is relative to the watched directory.
	Path string
	// Op is "add", "change" or "unlink".
	Op string
}

// A Watcher reports the files below a directory that are added, changed and deleted, except those that
// .gitignore excludes and those in .git, node_modules and dist.
type Watcher struct {
	// Events is closed when the watcher ends.
	Events <-chan Event

	events chan Event
	cancel context.CancelFunc
	done   chan struct{}
	mutex  sync.Mutex
	// pointer is nil once it is freed; the mutex guards it against a late wake.
	pointer *C.struct_bridge_watcher
	err     error
}

// Watch watches a directory until the context ends or the watcher is closed. The garbage collector closes none: a
// program may keep Events alone.
func Watch(ctx context.Context, dir string) (*Watcher, error) {
	p, err := path(dir)
	if err != nil {
		return nil, err
	}
	var reply C.struct_reply
	var out *C.struct_bridge_watcher
	C.bridge_watch(p, &out, &reply)
	if err := plain(&reply); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan Event)
	w := &Watcher{Events: events, events: events, cancel: cancel, done: make(chan struct{}), pointer: out}
	go w.wake(ctx)
	go w.run(ctx)
	return w, nil
}

// wake ends the dispatch that waits when the context ends.
func (w *Watcher) wake(ctx context.Context) {
	<-ctx.Done()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.pointer != nil {
		C.bridge_wake(w.pointer)
	}
}

func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	defer close(w.events)
	defer w.cancel()
	defer w.free()
	for ctx.Err() == nil {
		var reply C.struct_reply
		C.bridge_dispatch(w.pointer, &reply)
		parts := strings.Split(C.GoStringN(reply.content, C.int(reply.content_len)), "\x00")
		for i := 0; i+1 < len(parts); i += 2 {
			select {
			case w.events <- Event{Op: parts[i], Path: parts[i+1]}:
			case <-ctx.Done():
			}
		}
		if w.err = plain(&reply); w.err != nil {
			return
		}
	}
}

func (w *Watcher) free() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	C.bridge_unwatch(w.pointer)
	w.pointer = nil
}

// Close ends the watcher, and waits until it has. Events that nobody received are dropped.
func (w *Watcher) Close() error {
	if w == nil || w.done == nil {
		return nil
	}
	w.cancel()
	<-w.done
	return nil
}

// Err is the reason why the watcher ended by itself, such as the directory's deletion. It waits for the end.
func (w *Watcher) Err() error {
	if w == nil || w.done == nil {
		return ErrClosed
	}
	<-w.done
	return w.err
}
