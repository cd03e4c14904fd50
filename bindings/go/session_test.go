package stet

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAStaleEditIsRefusedWithTheChangeAndThenWorks(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "a.txt", "one\ntwo\n")
	session := open(t, dir)

	answer, err := session.Read(background, file)
	good(t, err)
	if string(answer.Content) != "one\ntwo\n" || answer.TotalLines != 2 || answer.Path != "a.txt" {
		t.Fatalf("%+v", answer)
	}
	writeFile(t, dir, "a.txt", "ONE\ntwo\n")
	_, err = session.Edit(background, file, "two", "2")
	var refused *Error
	if !errors.As(err, &refused) || !errors.Is(err, ErrConflict) || refused.Code != "conflict" {
		t.Fatal(err)
	}
	has(t, refused.Answer.Diff, "+ONE")
	if len(refused.Answer.Matches) != 1 || refused.Answer.Matches[0] != 2 {
		t.Fatal(refused.Answer.Matches)
	}
	answer, err = session.Edit(background, file, "two", "2")
	good(t, err)
	if answer.Status != "success" || readFile(t, file) != "ONE\n2\n" {
		t.Fatalf("%+v", answer)
	}
}

func TestErrorsUnwrapToSentinelValues(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\none\n")
	session := open(t, dir)
	read := func(file string) error {
		_, err := session.Read(background, file)
		return err
	}
	edit := func(text string) error {
		_, err := session.Edit(background, "a.txt", text, "new")
		return err
	}

	_, missing := OpenSession(filepath.Join(dir, "none"), "")
	for _, one := range []struct{ got, want error }{
		{missing, ErrNotFound}, {read("none.txt"), ErrNotFound}, {read("/etc/passwd"), ErrOutside},
		{read("."), ErrKind}, {read("a\x00b"), ErrInvalid}, {edit("three"), ErrNoMatch},
		{edit("one"), ErrAmbiguous}, {edit(""), ErrInvalid},
	} {
		if !errors.Is(one.got, one.want) {
			t.Errorf("%v is not %v", one.got, one.want)
		}
	}
	if errors.Is(missing, ErrConflict) {
		t.Error("one sentinel is all")
	}
}

func TestAFileThatIsNotReadIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "a.txt", "one\n")
	session := open(t, dir)

	_, err := session.Write(background, "a.txt", "two\n")
	var refused *Error
	if !errors.As(err, &refused) || refused.Answer.Reason != "unseen" {
		t.Fatal(err)
	}
	answer, err := open(t, dir).Read(background, "a.txt")
	good(t, err)
	_, err = session.WriteVersion(background, "a.txt", "two\n", answer.Hash)
	good(t, err)
	if readFile(t, file) != "two\n" {
		t.Fatal(readFile(t, file))
	}
	answer, err = session.Write(background, "new.txt", "")
	good(t, err)
	if !answer.Created || readFile(t, filepath.Join(dir, "new.txt")) != "" {
		t.Fatalf("%+v", answer)
	}
}

func TestPathsAndTextsHaveAnyBytes(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "\xff.txt", "a\x00b\xff")
	answer, err := open(t, dir).Read(background, file)
	good(t, err)
	if answer.Path != "\xff.txt" || string(answer.Content) != "a\x00b\xff" {
		t.Fatalf("%+v", answer)
	}
}

func TestACheckSaysWhatHappenedToAFile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "hello")
	session := open(t, dir)
	status := func(want string) {
		t.Helper()
		answer, err := session.Check(background, "a.txt")
		good(t, err)
		if answer.Status != want {
			t.Fatalf("%s is not %s", answer.Status, want)
		}
	}

	status("untracked")
	good(t, session.TrackRead(background, "a.txt"))
	status("clean")
	writeFile(t, dir, "a.txt", "hello")
	status("clean")
	writeFile(t, dir, "a.txt", "world")
	status("modified")
	modified, err := session.Modified(background, "a.txt")
	if err != nil || !modified {
		t.Fatal(modified, err)
	}
	good(t, session.Track(background, "a.txt", "world"))
	status("clean")
	good(t, os.Remove(filepath.Join(dir, "a.txt")))
	status("deleted")
	good(t, session.Invalidate(background, "a.txt"))
	status("untracked")
}

func TestAContextEndsTheWaitForASession(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\n")
	session := open(t, dir)

	ended, cancel := context.WithCancel(background)
	cancel()
	if _, err := session.Read(ended, "a.txt"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	waiting, cancel := context.WithCancel(background)
	result := make(chan error)
	good(t, session.use(background, func() {
		go func() {
			_, err := session.Edit(waiting, "a.txt", "one", "two")
			result <- err
		}()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}))
	if readFile(t, filepath.Join(dir, "a.txt")) != "one\n" {
		t.Fatal("a cancelled edit was made")
	}
}

func TestAnObjectThatWasNeverOpenedRefusesEveryCall(t *testing.T) {
	var session Session
	var space Workspace
	if _, err := session.Read(background, "a.txt"); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := space.Session(""); !errors.Is(err, ErrClosed) || space.Root() != "" {
		t.Fatal(err)
	}
	good(t, session.Close())
	good(t, space.Close())

	var none *Session
	var tracker Tracker
	var watcher *Watcher
	_, readError := none.Read(background, "a.txt")
	_, callError := none.Call(background, "tasks", nil)
	_, sessionError := (*Workspace)(nil).Session("")
	for _, err := range []error{
		readError, callError, sessionError, tracker.Load(), tracker.Persist(), (*Tracker)(nil).Load(), watcher.Err(),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if tracker.GetSnapshot() != nil {
		t.Error("a snapshot of nothing")
	}
	good(t, none.Close())
	good(t, tracker.Close())
	good(t, watcher.Close())
}

func TestBytesThatJSONCannotHoldAreRefused(t *testing.T) {
	dir := t.TempDir()
	session := open(t, dir)
	write := func(arguments any) error {
		_, err := session.Call(background, "write_file", arguments)
		return err
	}
	for _, bad := range []string{"\xff", "a\\\xff", "\ufffd\xff"} {
		if err := write(map[string]string{"path": "bad.txt", "content": bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := track(t, dir, "").UpdateFromToolResult("write_file", map[string]any{"path": bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bad.txt")); err == nil {
		t.Error("bad.txt was written")
	}
	for _, fine := range []any{
		map[string]string{"path": "good.txt", "content": "\ufffd \\ufffd"},
		json.RawMessage(`{"path": "good.txt", "content": "\ufffd \\ufffd"}`),
	} {
		good(t, write(fine))
		if got := readFile(t, filepath.Join(dir, "good.txt")); got != "\ufffd \\ufffd" {
			t.Errorf("%q", got)
		}
	}
}

func TestNamesWithNULAreRefused(t *testing.T) {
	dir := t.TempDir()
	session := open(t, dir)
	_, nameError := OpenSession(dir, "a\x00b")
	_, storyError := NewTracker(dir, "a\x00b")
	_, toolError := session.Call(background, "tasks\x00", nil)
	_, hashError := session.WriteVersion(background, "a.txt", "one\n", "0123456789abcdef\x00")
	_, editError := session.EditVersion(background, "a.txt", "one", "two", "0123456789abcdef\x00")
	for _, err := range []error{nameError, storyError, toolError, hashError, editError} {
		if !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
}

func TestAClosedObjectRefusesEveryCall(t *testing.T) {
	dir := t.TempDir()
	space, err := Open(dir)
	good(t, err)
	session, err := space.Session("")
	good(t, err)
	good(t, space.Close())
	good(t, space.Close())
	if _, err := space.Session(""); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	_, err = session.Write(background, "a.txt", "one\n")
	good(t, err)
	good(t, session.Close())
	good(t, session.Close())
	if _, err := session.Read(background, "a.txt"); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestAWorkspaceHasOptions(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\n")
	space, err := Open(dir)
	good(t, err)
	defer space.Close()
	good(t, space.Set(RequireRead, 1))
	if err := space.Set(Option(9999), 1); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	session, err := space.Session("")
	good(t, err)
	defer session.Close()
	if _, err := session.Edit(background, "a.txt", "one", "two"); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
}

func TestEveryToolCanBeCalledByName(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\n")
	writeFile(t, dir, "AGENTS.md", "# Rules\n")
	session := open(t, dir)

	names := map[string]bool{}
	for _, entry := range Tools() {
		var tool struct{ Name string }
		good(t, json.Unmarshal(entry, &tool))
		names[tool.Name] = true
	}
	if !names["edit_file"] || !names["text_patch"] {
		t.Fatal(names)
	}
	result, err := session.Call(background, "read_file", map[string]string{"path": "a.txt"})
	good(t, err)
	has(t, result.Text(), "one\n", "# Rules")
	result, err = session.Call(background, "read_file", map[string]string{"path": "none"})
	if err != nil || !result.IsError || !errors.Is(result.Err(), ErrNotFound) {
		t.Fatal(result, err)
	}
	if _, err = session.Call(background, "no_such_tool", nil); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err = session.Call(background, "read_file", func() {}); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
}
