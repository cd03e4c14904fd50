package stet

/*
#include "bridge.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"runtime"
	"strings"
	"unsafe"
)

// A Session is one agent's view of a workspace: which versions of which files it has seen.
//
// Paths are relative to the root, or absolute and below it.
type Session struct {
	pointer *C.struct_stet_session
	gate    gate
	// What a call passes to C, used again by the next one: both belong to the call in the gate. The reply is
	// in C's memory, which cgo need not search for pointers.
	reply *C.struct_reply
	file  []byte
}

func newSession(pointer *C.struct_stet_session) *Session {
	s := &Session{pointer: pointer, gate: newGate(), reply: (*C.struct_reply)(C.calloc(1, C.sizeof_struct_reply))}
	runtime.SetFinalizer(s, (*Session).Close)
	return s
}

// OpenSession opens a session on a directory, with a workspace of its own.
func OpenSession(root, sessionName string) (*Session, error) {
	w, err := Open(root)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.Session(sessionName)
}

// An Answer is the result of a call on a session. Fields that a call does not fill are zero.
type Answer struct {
	// Status is "success" or "conflict"; after a Check "untracked", "clean", "modified" or "deleted".
	Status string
	// Path is relative to the root, with symbolic links resolved.
	Path string
	// Reason and Message explain a conflict; Reason is "modified", "deleted", "unseen" or "hash".
	Reason, Message string
	// Hash and FullHash are 16 and 64 digits of the SHA-256 of the current bytes; "" if there is no file.
	Hash, FullHash string
	// Content has the bytes read, or the current bytes of a file in conflict.
	Content []byte
	// Diff goes from the version that the session saw to the current one.
	Diff          string
	DiffTruncated bool
	// Matches are the lines where the text to change still matches.
	Matches []int
	// Commit says how the file was written: "exchanged", "created", "verified", "in-place" or "none".
	Commit string
	// Noop is set if the file had these bytes already; Merged if others' changes were merged.
	Noop, Created, Merged bool
	// FirstLine and LastLine were read, of TotalLines.
	FirstLine, LastLine, TotalLines int
	// Notices are sentences about events that no call asked for.
	Notices []string
}

// HasConflict says whether the file differs from the version that the session saw.
func (a *Answer) HasConflict() bool {
	return a.Reason != ""
}

// answered copies the answer of a reply, and frees it.
func answered(reply *C.struct_reply) *Answer {
	if reply.answer == nil {
		return nil
	}
	a := &Answer{
		Status: C.GoString(reply.status), Path: C.GoString(reply.path),
		Reason: C.GoString(reply.reason), Message: C.GoString(reply.message),
		Hash: C.GoString(reply.hash), FullHash: C.GoString(reply.full_hash),
		Diff:          C.GoStringN(reply.diff, C.int(reply.diff_len)),
		DiffTruncated: reply.diff_truncated != 0, Commit: C.GoString(reply.commit),
		Noop: reply.noop != 0, Created: reply.created != 0, Merged: reply.merged != 0,
		FirstLine: int(reply.first_line), LastLine: int(reply.last_line), TotalLines: int(reply.total_lines),
	}
	if reply.content != nil {
		a.Content = C.GoBytes(unsafe.Pointer(reply.content), C.int(reply.content_len))
	}
	for i := C.size_t(0); i < reply.matches; i++ {
		a.Matches = append(a.Matches, int(C.stet_answer_match(reply.answer, i)))
	}
	for i := C.size_t(0); i < reply.notices; i++ {
		a.Notices = append(a.Notices, C.GoString(C.stet_answer_notice(reply.answer, i)))
	}
	C.stet_answer_free(reply.answer)
	return a
}

// ended is the answer of a reply, or its error, which then has the answer.
func ended(reply *C.struct_reply) (*Answer, error) {
	a := answered(reply)
	if e := failure(reply); e != nil {
		e.Answer = a
		return nil, e
	}
	return a, nil
}

// use runs a call on the open session, when no other call runs.
func (s *Session) use(ctx context.Context, call func()) error {
	if s == nil {
		return ErrClosed
	}
	if err := s.gate.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	if s.pointer == nil {
		return ErrClosed
	}
	call()
	return nil
}

// on runs a call on a file.
func (s *Session) on(ctx context.Context, file string, call func(*C.char, *C.struct_reply)) (*Answer, error) {
	if s == nil {
		return nil, ErrClosed
	}
	if strings.IndexByte(file, 0) >= 0 {
		return nil, noNUL(file)
	}
	if err := s.gate.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	if s.pointer == nil {
		return nil, ErrClosed
	}
	s.file = append(append(s.file[:0], file...), 0)
	*s.reply = C.struct_reply{}
	call((*C.char)(unsafe.Pointer(&s.file[0])), s.reply)
	return ended(s.reply)
}

// Read reads a whole file and records it as seen.
func (s *Session) Read(ctx context.Context, file string) (*Answer, error) {
	return s.ReadLines(ctx, file, 0, 0)
}

// ReadLines reads count lines from line first, which counts from 1; a count of 0 is for all that follow.
func (s *Session) ReadLines(ctx context.Context, file string, first, count int) (*Answer, error) {
	if first < 0 || count < 0 {
		return nil, invalid("Lines %d and %d are out of range: they count from 1.", first, count)
	}
	return s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_read(s.pointer, p, C.size_t(first), C.size_t(count), reply)
	})
}

// Write replaces a file that the session has read, or creates one.
func (s *Session) Write(ctx context.Context, file, content string) (*Answer, error) {
	return s.WriteVersion(ctx, file, content, "")
}

// WriteVersion is Write over the version with this hash, of 16 to 64 digits.
func (s *Session) WriteVersion(ctx context.Context, file, content, hash string) (*Answer, error) {
	c, n := text(content)
	version, err := name(hash)
	if err != nil {
		return nil, err
	}
	return s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_write(s.pointer, p, c, n, version, reply)
	})
}

// Edit replaces a text that occurs exactly once.
func (s *Session) Edit(ctx context.Context, file, oldText, newText string) (*Answer, error) {
	return s.EditVersion(ctx, file, oldText, newText, "")
}

// EditVersion is Edit of the version with this hash, of 16 to 64 digits.
func (s *Session) EditVersion(ctx context.Context, file, oldText, newText, hash string) (*Answer, error) {
	before, beforeLen := text(oldText)
	after, afterLen := text(newText)
	version, err := name(hash)
	if err != nil {
		return nil, err
	}
	return s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_edit(s.pointer, p, before, beforeLen, after, afterLen, version, reply)
	})
}

// Check compares a file with the version that the session saw. A conflict is an answer here, not an error.
func (s *Session) Check(ctx context.Context, file string) (*Answer, error) {
	return s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_check(s.pointer, p, reply)
	})
}

// TrackRead records the current version of a file as read.
func (s *Session) TrackRead(ctx context.Context, file string) error {
	_, err := s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_track_read(s.pointer, p, reply)
	})
	return err
}

// Track records a file as read with this content.
func (s *Session) Track(ctx context.Context, file, content string) error {
	c, n := text(content)
	_, err := s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_track(s.pointer, p, c, n, reply)
	})
	return err
}

// Modified says whether a tracked file was changed or deleted since the session read it.
func (s *Session) Modified(ctx context.Context, file string) (bool, error) {
	modified := false
	_, err := s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.bridge_modified(s.pointer, p, reply)
		modified = reply.code > 0
	})
	return modified, err
}

// Invalidate stops tracking a file; a Check then finds no conflict.
func (s *Session) Invalidate(ctx context.Context, file string) error {
	_, err := s.on(ctx, file, func(p *C.char, reply *C.struct_reply) {
		C.stet_session_invalidate(s.pointer, p)
	})
	return err
}

// Close closes the session. Calls on it then fail with ErrClosed.
func (s *Session) Close() error {
	_ = s.use(context.Background(), func() {
		runtime.SetFinalizer(s, nil)
		C.stet_session_close(s.pointer)
		C.free(unsafe.Pointer(s.reply))
		s.pointer, s.reply = nil, nil
	})
	return nil
}
