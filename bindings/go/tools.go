package stet

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"strings"
	"unsafe"
)

// A Result is the answer of a tool: an MCP tool result.
type Result struct {
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`

	err error
}

// Content is one part of a Result. Type is "text" unless it is an image, a sound or a file.
type Content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
}

// Text is everything that the model should get.
func (r *Result) Text() string {
	var all strings.Builder
	for _, part := range r.Content {
		all.WriteString(part.Text)
	}
	return all.String()
}

// Err is nil, or the failure that a Result with IsError describes; use it with errors.Is.
func (r *Result) Err() error {
	return r.err
}

// Call runs a tool with arguments that encoding/json can write, such as a map or a json.RawMessage. A tool
// that refuses returns a Result with IsError, for the model; the error is for a tool that does not exist.
func (s *Session) Call(ctx context.Context, tool string, arguments any) (*Result, error) {
	t, err := path(tool)
	if err != nil {
		return nil, err
	}
	args := []byte("{}")
	if arguments != nil {
		if args, err = encoded("The arguments of "+tool, arguments); err != nil {
			return nil, err
		}
	}
	a, n := text(string(args))
	var reply C.struct_reply
	if err := s.use(ctx, func() { C.bridge_call(s.pointer, t, a, n, &reply) }); err != nil {
		return nil, err
	}
	failed := plain(&reply)
	if reply.text == nil {
		return nil, failed
	}
	result := &Result{err: failed}
	if err := json.Unmarshal(taken(&reply), result); err != nil {
		return nil, err
	}
	return result, nil
}

// Tools lists the tools, each as an entry of MCP's tools/list.
func Tools() []json.RawMessage {
	var tools []json.RawMessage
	for i := C.size_t(0); i < C.stet_tool_count(); i++ {
		entry := C.stet_tool_json(i)
		tools = append(tools, json.RawMessage(C.GoString(entry)))
		C.stet_free(unsafe.Pointer(entry))
	}
	return tools
}
