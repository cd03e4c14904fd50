// Package stet is a file layer between coding agents and a repository. A [Session] knows which versions of
// which files an agent has seen, and refuses an edit of a file that changed since, with the change. A
// [Tracker] keeps the state of the work, which replaces the history in a prompt.
//
// The package calls libstet. By default the linker takes the library that pkg-config knows as stet; with
// -tags stet_archive, the archive in lib, so that the program needs libc and libm only.
//
// All types are safe for use by several goroutines. Calls on one session follow each other; sessions work in
// parallel. A context ends the wait for other calls on the session; a call that has begun is finished, since
// half of a change is no change.
package stet

/*
#include "bridge.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unsafe"
)

// Version is the version of the library.
func Version() string {
	return C.GoString(C.stet_version())
}

// Sentinel values for errors.Is. Every error of the library is an *Error that unwraps to one of them.
var (
	ErrConflict  = errors.New("the file changed since it was last seen")
	ErrNoMatch   = errors.New("the text to change was not found in the file")
	ErrAmbiguous = errors.New("the text to change occurs more than once")
	ErrExists    = errors.New("the file already exists")
	ErrBusy      = errors.New("another process is writing the file")
	ErrInvalid   = errors.New("the request is not valid")
	ErrNotFound  = errors.New("file not found")
	ErrOutside   = errors.New("the path leads out of the workspace")
	ErrProtected = errors.New("the path belongs to git or to stet itself")
	ErrKind      = errors.New("not a regular file")
	ErrBinary    = errors.New("not a text file")
	ErrTooBig    = errors.New("larger than the limit")
	ErrExtension = errors.New("this file type is not allowed")
	ErrAccess    = errors.New("permission denied")
	ErrNoSpace   = errors.New("no space left")
	ErrNoMemory  = errors.New("out of memory")
	ErrIO        = errors.New("the system reported an error")
	ErrLimit     = errors.New("a limit of the system was reached")
	ErrCancelled = errors.New("the request was cancelled")
	// ErrClosed is the error of a call on an object that is closed, or was never opened.
	ErrClosed = errors.New("closed already")
)

var sentinels = map[C.int]error{
	C.STET_E_CONFLICT: ErrConflict, C.STET_E_NO_MATCH: ErrNoMatch, C.STET_E_AMBIGUOUS: ErrAmbiguous,
	C.STET_E_EXISTS: ErrExists, C.STET_E_BUSY: ErrBusy, C.STET_E_INVALID: ErrInvalid,
	C.STET_E_NOT_FOUND: ErrNotFound, C.STET_E_OUTSIDE: ErrOutside, C.STET_E_PROTECTED: ErrProtected,
	C.STET_E_KIND: ErrKind, C.STET_E_BINARY: ErrBinary, C.STET_E_TOO_BIG: ErrTooBig,
	C.STET_E_EXTENSION: ErrExtension, C.STET_E_ACCESS: ErrAccess, C.STET_E_NO_SPACE: ErrNoSpace,
	C.STET_E_NOMEM: ErrNoMemory, C.STET_E_IO: ErrIO, C.STET_E_LIMIT: ErrLimit,
	C.STET_E_CANCELLED: ErrCancelled,
}

// An Error is a call that failed.
type Error struct {
	// Code is the library's name for the failure, such as "conflict".
	Code string
	// Message is made for a model or a person: what was wrong, where, and what to do next.
	Message string
	// Answer has the diff of a conflict; nil for other failures.
	Answer *Answer

	sentinel error
}

func (e *Error) Error() string {
	return e.Message
}

// Unwrap returns one of the sentinel values, or nil for a failure that a newer library has added.
func (e *Error) Unwrap() error {
	return e.sentinel
}

// failure is the error of a reply, nil for none. It frees the message.
func failure(reply *C.struct_reply) *Error {
	if reply.code >= 0 {
		return nil
	}
	e := &Error{
		Code:     C.GoString(C.stet_error_name(reply.code)),
		Message:  C.GoString(reply.error),
		sentinel: sentinels[reply.code],
	}
	C.free(unsafe.Pointer(reply.error))
	return e
}

// plain is a failure as an error without an answer.
func plain(reply *C.struct_reply) error {
	if e := failure(reply); e != nil {
		return e
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &Error{Code: "invalid", Message: fmt.Sprintf(format, args...), sentinel: ErrInvalid}
}

// text is a string for C: with a NUL, which its length does not count.
func text(s string) (*C.char, C.size_t) {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return (*C.char)(unsafe.Pointer(&b[0])), C.size_t(len(s))
}

func noNUL(s string) error {
	return invalid("A path or name has no NUL: %q.", s)
}

// path is the name of a file, a tool or a story for C, which ends it at its NUL.
func path(s string) (*C.char, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, noNUL(s)
	}
	p, _ := text(s)
	return p, nil
}

// name is a path that may be left out: nil for "".
func name(s string) (*C.char, error) {
	if s == "" {
		return nil, nil
	}
	return path(s)
}

// encoding/json replaces bytes that are not UTF-8 with this escape, and writes a real U+FFFD as it is.
var replaced = regexp.MustCompile(`(^|[^\\])(\\\\)*\\ufffd`)

// encoded is a value as JSON. What is not UTF-8 is refused: JSON cannot hold it, and a file must not lose it.
func encoded(what string, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, invalid("%s cannot be written as JSON: %v.", what, err)
	}
	if _, raw := value.(json.RawMessage); !raw && replaced.Match(data) {
		return nil, invalid("%s have bytes that are not UTF-8, which JSON cannot hold: use Read, Write and Edit for them.", what)
	}
	return data, nil
}

// taken copies the text of a reply, and frees it.
func taken(reply *C.struct_reply) []byte {
	b := C.GoBytes(unsafe.Pointer(reply.text), C.int(reply.text_len))
	C.stet_free(unsafe.Pointer(reply.text))
	return b
}

// A gate lets one goroutine in at a time. Unlike a mutex it can be waited for with a context.
type gate chan struct{}

func newGate() gate {
	return make(gate, 1)
}

func (g gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if g == nil { // of an object that nobody opened
		return ErrClosed
	}
	select {
	case g <- struct{}{}:
		return nil
	default:
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() {
	<-g
}
