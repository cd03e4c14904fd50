package stet

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"runtime"
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

	cancel context.CancelFunc
	loop   *watchLoop
}

// watchLoop is what the goroutine of a watcher holds: not the Watcher, so that a forgotten one is collected.
type watchLoop struct {
	events chan Event
	done   chan struct{}
	mutex  sync.Mutex
	// watcher is nil once it is freed; the mutex guards it against a late wake.
	watcher *C.struct_bridge_watcher
	err     error
}

// Watch watches a directory until the context ends or the watcher is closed.
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
	loop := &watchLoop{events: make(chan Event), done: make(chan struct{}), watcher: out}
	w := &Watcher{Events: loop.events, cancel: cancel, loop: loop}
	runtime.SetFinalizer(w, func(w *Watcher) { w.cancel() })
	go loop.wake(ctx)
	go loop.run(ctx, cancel)
	return w, nil
}

// wake ends the dispatch that waits when the context ends.
func (l *watchLoop) wake(ctx context.Context) {
	<-ctx.Done()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.watcher != nil {
		C.bridge_wake(l.watcher)
	}
}

func (l *watchLoop) run(ctx context.Context, cancel context.CancelFunc) {
	defer close(l.done)
	defer close(l.events)
	defer cancel()
	defer l.free()
	for ctx.Err() == nil {
		var reply C.struct_reply
		C.bridge_dispatch(l.watcher, &reply)
		parts := strings.Split(C.GoStringN(reply.content, C.int(reply.content_len)), "\x00")
		for i := 0; i+1 < len(parts); i += 2 {
			select {
			case l.events <- Event{Op: parts[i], Path: parts[i+1]}:
			case <-ctx.Done():
			}
		}
		if l.err = plain(&reply); l.err != nil {
			return
		}
	}
}

func (l *watchLoop) free() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	C.bridge_unwatch(l.watcher)
	l.watcher = nil
}

// Close ends the watcher, and waits until it has. Events that nobody received are dropped.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.loop.done
	return nil
}

// Err is the reason why the watcher ended by itself, such as the directory's deletion. It waits for the end.
func (w *Watcher) Err() error {
	<-w.loop.done
	return w.loop.err
}
