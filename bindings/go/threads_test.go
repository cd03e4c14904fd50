package stet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// full is whether the tests take their full counts.
var full = os.Getenv("STET_TORTURE") == "1"

func TestSixteenGoroutinesEditWithASessionEach(t *testing.T) {
	dir := t.TempDir()
	space, err := Open(dir)
	good(t, err)
	defer space.Close()
	edits := 10
	if full {
		edits = 100
	}
	var group sync.WaitGroup
	for n := 0; n < 16; n++ {
		group.Add(1)
		go func(file string) {
			defer group.Done()
			session, err := space.Session("")
			if err == nil {
				_, err = session.Write(background, file, "0\n")
			}
			for i := 0; err == nil && i < edits; i++ {
				_, err = session.Edit(background, file, fmt.Sprint(i), fmt.Sprint(i+1))
			}
			if err != nil {
				t.Error(err)
			}
		}(fmt.Sprintf("%d.txt", n))
	}
	group.Wait()
	for n := 0; n < 16; n++ {
		if got := readFile(t, filepath.Join(dir, fmt.Sprintf("%d.txt", n))); got != fmt.Sprintf("%d\n", edits) {
			t.Errorf("%d.txt: %q", n, got)
		}
	}
}

func TestSixteenGoroutinesMayShareOneSession(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\n")
	session := open(t, dir)
	var group sync.WaitGroup
	for n := 0; n < 16; n++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 50; i++ {
				if _, err := session.Read(background, "a.txt"); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
}

// drop makes objects, uses them and forgets them without closing any.
func drop(t *testing.T, dir string, count int) {
	t.Helper()
	for i := 0; i < count; i += 100 {
		space, err := Open(dir)
		good(t, err)
		for n := 0; n < 99; n++ {
			session, err := space.Session("")
			good(t, err)
			_, err = session.Read(background, "a.txt")
			good(t, err)
		}
	}
}

// collect runs the garbage collector until no more descriptors than these are open.
func collect(t *testing.T, most int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		runtime.GC()
		open := descriptors(t)
		if open <= most {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors are open, not %d", open, most)
		}
	}
}

func TestTenThousandDroppedObjectsLeakNothing(t *testing.T) {
	// In a process of its own, with one arena: how much malloc keeps must not depend on other tests and threads.
	if os.Getenv("MALLOC_ARENA_MAX") == "" {
		again := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		again.Env = append(os.Environ(), "MALLOC_ARENA_MAX=1")
		if text, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		return
	}
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\n")
	before := descriptors(t)
	// malloc keeps memory for later. A leak of 100 bytes an object would take 10 MB in the last ten rounds.
	memory := 0
	for round := 1; round <= 20; round++ {
		drop(t, dir, 10000)
		collect(t, before+2)
		if round == 10 {
			debug.FreeOSMemory()
			memory = resident(t)
		}
	}
	debug.FreeOSMemory()
	if grown := resident(t) - memory; grown > 8<<20 {
		t.Errorf("the memory has grown by %d bytes", grown)
	}
}

func TestAWatcherReportsChanges(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.txt", "one\n")
	watcher, err := Watch(background, dir)
	good(t, err)
	writeFile(t, dir, "a.txt", "two\n")
	if event := <-watcher.Events; event != (Event{"a.txt", "change"}) {
		t.Fatal(event)
	}
	writeFile(t, dir, "b.txt", "new\n")
	if event := <-watcher.Events; event != (Event{"b.txt", "add"}) {
		t.Fatal(event)
	}
	good(t, os.Remove(filepath.Join(dir, "a.txt")))
	if event := <-watcher.Events; event != (Event{"a.txt", "unlink"}) {
		t.Fatal(event)
	}
	good(t, watcher.Close())
	good(t, watcher.Close())
	if _, more := <-watcher.Events; more || watcher.Err() != nil {
		t.Fatal(watcher.Err())
	}
	if _, err := Watch(background, filepath.Join(dir, "none")); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestAWatcherEndsWithItsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "below")
	good(t, os.Mkdir(dir, 0o755))
	watcher, err := Watch(background, dir)
	good(t, err)
	good(t, os.Remove(dir))
	for range watcher.Events {
	}
	if !errors.Is(watcher.Err(), ErrNotFound) {
		t.Fatal(watcher.Err())
	}
}

func TestAWatcherMayCloseWhileEventsArrive(t *testing.T) {
	dir := t.TempDir()
	before := descriptors(t)
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				writeFile(t, dir, fmt.Sprintf("%d.txt", i%50), fmt.Sprint(i))
			}
		}
	}()
	for i := 0; i < 20; i++ {
		watcher, err := Watch(background, dir)
		good(t, err)
		if i%2 == 0 {
			<-watcher.Events
		}
		good(t, watcher.Close())
	}
	close(stop)
	group.Wait()
	collect(t, before+2)
}

func TestAWatcherLivesAsLongAsItsContext(t *testing.T) {
	dir := t.TempDir()
	before := descriptors(t)
	ctx, cancel := context.WithCancel(background)
	events := func() <-chan Event {
		watcher, err := Watch(ctx, dir)
		good(t, err)
		return watcher.Events
	}()
	// Twice, and with a turn for finalizers: nothing holds the Watcher but what it started.
	runtime.GC()
	finalized := make(chan struct{})
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) { close(finalized) })
	runtime.GC()
	<-finalized
	writeFile(t, dir, "a.txt", "one\n")
	if event, more := <-events; !more || event != (Event{"a.txt", "add"}) {
		t.Fatal(event, more)
	}
	cancel()
	for range events {
	}
	collect(t, before+2)
}
