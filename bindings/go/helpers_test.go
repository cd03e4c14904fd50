package stet

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var background = context.Background()

// writeFile writes a file below dir, with its directory.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func open(t *testing.T, dir string) *Session {
	t.Helper()
	session, err := OpenSession(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func track(t *testing.T, dir, story string) *Tracker {
	t.Helper()
	tracker, err := NewTracker(dir, story)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracker.Close() })
	return tracker
}

// good fails the test if a call failed.
func good(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has fails the test unless text has each of the parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	good(t, err)
	return len(entries)
}

// resident is the memory of the process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	fields := strings.Fields(readFile(t, "/proc/self/statm"))
	pages, err := strconv.Atoi(fields[1])
	good(t, err)
	return pages * os.Getpagesize()
}
