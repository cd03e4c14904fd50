"""Claims about the Python binding. Prints "ok NAME" or "not ok NAME" per claim; python.sh counts them."""

import asyncio
import copy
import gc
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest
import warnings

import stet
from stet import _library

# A successful call leaves the error empty: checked for every call of this file.


class CheckedLibrary:
    """The library; every call with an error is checked."""

    def __getattr__(self, name):
        function = getattr(plain_library, name)

        def checked(*arguments):
            code = function(*arguments)
            left = plain_library.stet_error_code(arguments[-1])
            assert (code >= 0) == (left == 0), f"{name} returned {code} and left {left} in the error"
            return code

        return checked if _library._FUNCTIONS[name].endswith("e") else function


plain_library = _library.library

README = pathlib.Path(os.environ["STET_SOURCE_ROOT"], "bindings/python/README.md")
EXAMPLE = README.with_name("example.py")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Sessions(Case):
    def test_a_stale_edit_is_refused_with_the_change_and_then_works(self):
        path = self.write("a.txt", "one\ntwo\n")
        with stet.Session(self.dir) as session:
            self.assertEqual(session.read(path).text, "one\ntwo\n")
            path.write_text("ONE\ntwo\n")
            with self.assertRaises(stet.ConflictError) as refused:
                session.edit(path, "two", "2")
            self.assertEqual(refused.exception.code, "conflict")
            self.assertIn(b"+ONE", refused.exception.answer.diff)
            self.assertEqual(session.edit(path, "two", "2").status, "success")
        self.assertEqual(path.read_text(), "ONE\n2\n")

    def test_paths_may_be_str_bytes_or_pathlib_and_any_bytes(self):
        name = os.fsencode(self.dir) + b"/\xff.txt"
        with open(name, "wb") as file:
            file.write(b"a\0b")
        with stet.Session(os.fsencode(self.dir)) as session:
            self.assertEqual(os.fsencode(session.read(name).path), b"\xff.txt")
            self.assertEqual(session.read(pathlib.Path(os.fsdecode(name))).content, b"a\0b")
            with self.assertRaises(ValueError):
                session.read("a\0b")

    def test_a_text_of_another_type_is_refused_with_a_sentence(self):
        with stet.Session(self.dir) as session, self.assertRaisesRegex(TypeError, "str or bytes, not int"):
            session.write("a.txt", 5)

    def test_numbers_and_names_that_c_would_cut_are_refused(self):
        path = self.write("a.txt", "one\n")
        with stet.Session(self.dir) as session, stet.Tracker(self.dir) as tracker:
            for use in (lambda: session.read(path, -1), lambda: session.read(path, 1, 1 << 64),
                        lambda: stet.Workspace(self.dir, max_file=1 << 64), lambda: tracker.complete_task(1 << 64),
                        lambda: stet.format_for_prompt(stet.RepoState(), -1)):
                self.assertRaisesRegex(ValueError, "out of range", use)
            for use in (lambda: stet.Session(self.dir, "a\0b"), lambda: stet.Tracker(self.dir, "a\0b"),
                        lambda: session.call("read_file\0"), lambda: session.write(path, "two\n", "0" * 16 + "\0")):
                self.assertRaisesRegex(ValueError, "has no NUL", use)
            self.assertRaises(TypeError, session.read, path, 1.5)
            self.assertRaisesRegex(TypeError, "A name is str, not int", stet.Session, self.dir, 5)

    def test_an_error_can_be_pickled_and_an_open_object_cannot(self):
        path = self.write("a.txt", "one\n")
        with stet.Session(self.dir) as session:
            with self.assertRaises(stet.ConflictError) as refused:
                session.write(path, "two\n")
            again = pickle.loads(pickle.dumps(refused.exception))
            self.assertEqual((type(again), again.code, str(again), again.answer),
                             (stet.ConflictError, "conflict", str(refused.exception), refused.exception.answer))
            for refuse in (copy.copy, copy.deepcopy, pickle.dumps):
                self.assertRaisesRegex(TypeError, "A Session cannot be copied", refuse, session)

    def test_a_path_outside_the_root_is_refused(self):
        with stet.Session(self.dir) as session, self.assertRaises(stet.StetError) as refused:
            session.read("/etc/passwd")
        self.assertEqual(refused.exception.code, "outside")

    def test_a_closed_session_is_refused_with_a_sentence(self):
        session = stet.Session(self.dir)
        session.close()
        session.close()
        with self.assertRaisesRegex(stet.StetError, "closed already"):
            session.read("a.txt")

    def test_every_tool_can_be_called_by_name(self):
        self.write("a.txt", "one\n")
        names = {tool["name"] for tool in stet.tools()}
        self.assertIn("edit_file", names)
        with stet.Session(self.dir) as session:
            result = session.call("read_file", path="a.txt")
            self.assertEqual(result["content"][0]["text"], "one\n")
            self.assertTrue(session.call("read_file", path="none").get("isError"))
            with self.assertRaisesRegex(stet.StetError, "no_such_tool") as refused:
                session.call("no_such_tool")
            self.assertEqual(refused.exception.code, "invalid")
        with self.assertRaisesRegex(stet.StetError, "closed already"):
            session.call("read_file", path="a.txt")

    def test_every_call_on_an_object_holds_its_lock(self):
        class Lock:
            held = 0

            def __enter__(self):
                self.held += 1

            def __exit__(self, *exception):
                pass

        with stet.Workspace(self.dir) as space, space.session() as session:
            for one, use in ((space, lambda: space.root), (space, space.session), (session, lambda: session.root),
                             (session, lambda: session.write("a.txt", "")), (session, lambda: session.check("a.txt")),
                             (session, lambda: session.modified("a.txt")), (session, lambda: session.call("tasks"))):
                one._lock = Lock()
                use()
                self.assertGreaterEqual(one._lock.held, 1)

    def test_an_unknown_option_is_named(self):
        with self.assertRaisesRegex(TypeError, "no option nonsense"):
            stet.Workspace(self.dir, nonsense=1)
        with stet.Workspace(self.dir, require_read=1) as space, space.session() as session:
            self.write("a.txt", "one\n")
            with self.assertRaises(stet.ConflictError):
                session.edit("a.txt", "one", "two")

    def test_a_session_outlives_its_workspace_and_garbage_needs_no_order(self):
        self.write("a.txt", "one\n")
        before = descriptors()
        for _ in range(300):
            space = stet.Workspace(self.dir)
            session = space.session()
            del space
            session.read("a.txt")
            del session
        gc.collect()
        self.assertLessEqual(descriptors(), before + 2)

    def test_ten_thousand_dropped_objects_leak_nothing(self):
        def drop(count):
            for _ in range(count // 100):
                space = stet.Workspace(self.dir)
                for _ in range(99):
                    space.session().read("a.txt")
            gc.collect()

        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        self.write("a.txt", "one\n")
        before = descriptors()
        drop(10000)
        memory = resident()
        drop(10000)
        self.assertLessEqual(descriptors(), before + 2)
        self.assertLess(resident() - memory, 8 << 20)

    def test_a_library_that_cannot_be_loaded_is_one_sentence(self):
        done = subprocess.run([sys.executable, "-c", "import stet"], cwd=self.dir, capture_output=True, text=True,
                              env={**os.environ, "STET_LIBRARY": str(self.write("libstet.so", "no library"))})
        self.assertRegex(done.stderr.splitlines()[-1], "^ImportError: .*It needs Linux with glibc 2.36 or later")

    def test_sixteen_threads_edit_with_a_session_each(self):
        space = stet.Workspace(self.dir)
        failures = []

        def edit(number):
            try:
                with space.session() as session:
                    session.write(f"{number}.txt", "0\n")
                    for i in range(20):
                        session.edit(f"{number}.txt", str(i), str(i + 1))
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=edit, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual({(self.dir / f"{n}.txt").read_text() for n in range(16)}, {"20\n"})
        space.close()

    def test_no_openssl_cnf_can_break_a_read(self):
        self.write("a.txt", "one\n")
        for providers in ("legacy = legacy_sect", "fips = fips_sect"):
            config = self.write("openssl.cnf", f"openssl_conf = init\n[init]\nproviders = p\n"
                                f"[p]\n{providers}\n[legacy_sect]\nactivate = 1\n[fips_sect]\nactivate = 1\n")
            code = "import stet; s = stet.Session(); s.read('a.txt'); s.edit('a.txt', 'one', 'one!')"
            subprocess.run([sys.executable, "-c", code], cwd=self.dir, check=True,
                           env={**os.environ, "OPENSSL_CONF": str(config)})


class Trackers(Case):
    """Phases 1 and 3 of the file state specification, as far as it is about trackers and AGENTS.md."""

    def test_a_tracker_reports_what_others_changed(self):
        path = self.write("test.txt", "hello")
        with stet.FileTracker(self.dir) as tracker:
            self.assertFalse(tracker.has_been_modified_since_read(path))
            tracker.track_read(path)
            self.assertFalse(tracker.has_been_modified_since_read(path))
            path.write_text("world")
            self.assertTrue(tracker.has_been_modified_since_read(path))
            tracker.track_read(path)
            self.assertFalse(tracker.has_been_modified_since_read(path))

    def test_equal_bytes_are_no_conflict_and_a_deletion_is_one(self):
        path = self.write("test.txt", "hello")
        with stet.FileTracker(self.dir) as tracker:
            tracker.track(path, "hello")
            path.write_text("hello")
            self.assertFalse(tracker.check_conflict(path).has_conflict)
            path.write_text("world")
            result = tracker.check_conflict(path)
            self.assertEqual((result.reason, result.current_content), ("modified", "world"))
            path.unlink()
            self.assertEqual(tracker.check_conflict(path).reason, "deleted")
            tracker.invalidate(path)
            self.assertFalse(tracker.check_conflict(path).has_conflict)

    def test_agents_md_comes_once_per_session(self):
        self.write("agents.md", "# Rules")
        with stet.FileTracker(self.dir) as tracker:
            self.assertEqual(tracker.get_agents_md_if_new(self.dir / "a.ts"), "# Rules")
            self.assertIsNone(tracker.get_agents_md_if_new(self.dir / "b.ts"))
            tracker.clear_session()
            self.assertEqual(tracker.get_agents_md_if_new(self.dir / "b.ts"), "# Rules")

    def test_edit_file_answers_with_the_sentences_of_spec_1(self):
        path = self.write("test.txt", "original content")
        with stet.FileTracker(self.dir) as tracker:
            tracker.track_read(path)
            path.write_text("externally modified")
            answer = tracker.edit_file(path, "original", "new")
            self.assertEqual(answer, f'Error: File "{path}" was modified since you last read it. '
                             "Please read the file again.")
            # Its change was not shown, so it does not count as seen.
            self.assertEqual(tracker.edit_file(path, "externally", "new"), answer)
            self.assertEqual(tracker.read_file(path), "externally modified")
            self.assertEqual(tracker.edit_file(path, "externally", "locally"), f'Updated file "{path}"')
            self.assertEqual(tracker.edit_file(os.fsencode(path), b"locally", b"really"), f'Updated file "{path}"')
            self.assertRaisesRegex(TypeError, "str or bytes, not NoneType", tracker.edit_file, path, None, "new")

    def test_the_default_tracker_belongs_to_the_working_directory(self):
        code = ("import stet; open('a.txt', 'w').write('1'); stet.read_file('a.txt'); "
                "open('a.txt', 'w').write('2'); assert stet.file_tracker.has_been_modified_since_read('a.txt')\n"
                "with stet.file_tracker as tracker: assert isinstance(tracker, stet.FileTracker)")
        subprocess.run([sys.executable, "-c", code], cwd=self.dir, check=True)

    def test_a_loader_delivers_the_chain_root_first(self):
        self.write("agents.md", "# Root")
        self.write("src/agents.md", "# Src")
        self.write("src/ui/agents.md", "# Ui")
        self.write("node_modules/pkg/agents.md", "# Ignored")
        with stet.AgentsMdLoader(self.dir) as loader:
            self.assertEqual(len(loader.index()), 3)
            found = loader.get_for_path(self.dir / "src/ui/Button.tsx")
            self.assertEqual([one.content for one in found], ["# Root", "# Src", "# Ui"])
            self.assertEqual(found[1].path, str(self.dir / "src/agents.md"))
            self.assertEqual(loader.get_for_path(self.dir / "node_modules/pkg/index.js"), [])
            self.assertIsNone(loader.get_root())
            loader.clear_session()
            self.write("agents.md", "# Updated")
            loader.invalidate(self.dir / "agents.md")
            self.assertEqual(loader.get_root(), "# Updated")


class Events(Case):
    def test_a_watcher_calls_back_on_a_thread(self):
        seen, arrived = [], threading.Event()

        def on_change(path, event):
            seen.append((path, event))
            arrived.set()

        path = self.write("a.txt", "one")
        with stet.FileWatcher(self.dir, on_change) as watcher:
            watcher.start()
            path.write_text("two")
            self.assertTrue(arrived.wait(60))
        self.assertEqual(seen[0], (str(path), "change"))

    def test_a_watcher_yields_events_to_asyncio(self):
        path = self.write("a.txt", "one")

        async def first():
            watcher = stet.FileWatcher(self.dir)
            events = watcher.events()
            waiting = asyncio.ensure_future(events.__anext__())
            await asyncio.sleep(0)
            path.unlink()
            found = await asyncio.wait_for(waiting, 60)
            await events.aclose()
            watcher.close()
            return found

        self.assertEqual(asyncio.run(first()), (str(path), "unlink"))

    def test_an_exception_of_a_callback_costs_no_other_event(self):
        seen, arrived, reported = [], threading.Event(), []

        def on_change(path, event):
            seen.append(os.path.basename(path))
            if len(seen) == 3:
                arrived.set()
            raise RuntimeError("mine")

        def write_three():
            for name in "abc":
                self.write(name, "x")

        before, threading.excepthook = threading.excepthook, lambda hook: reported.append(str(hook.exc_value))
        try:
            with stet.FileWatcher(self.dir, on_change) as watcher:
                watcher.start()
                write_three()
                self.assertTrue(arrived.wait(60))
        finally:
            threading.excepthook = before
        self.assertEqual((sorted(seen), reported), (["a", "b", "c"], ["mine"] * 3))

        async def on_the_loop():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context["exception"])))
            with stet.FileWatcher(self.dir, on_change) as watcher:
                watcher.start()
                write_three()
                while len(seen) < 6:
                    await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(on_the_loop(), 60))
        self.assertEqual(reported, ["mine"] * 6)

    def test_no_event_comes_after_stop(self):
        seen = []

        async def stops_in_its_callback():
            watcher = stet.FileWatcher(self.dir, lambda *event: (seen.append(event), watcher.stop()))
            watcher.start()
            for n in range(20):
                self.write(f"{n}.txt", "x")
            while not seen:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0)
            watcher.close()

        asyncio.run(asyncio.wait_for(stops_in_its_callback(), 60))
        self.assertEqual(len(seen), 1)

    def test_an_iteration_ends_with_its_watcher(self):
        sub = self.dir / "sub"

        async def iterate(end):
            sub.mkdir(exist_ok=True)
            watcher = stet.FileWatcher(sub)

            async def all_of_it():
                async for _ in watcher.events():
                    pass

            iterating = asyncio.ensure_future(all_of_it())
            await asyncio.sleep(0)
            end(watcher)
            await asyncio.wait_for(iterating, 60)

        asyncio.run(iterate(stet.FileWatcher.close))
        asyncio.run(iterate(stet.FileWatcher.stop))
        with self.assertRaises(stet.StetError) as gone, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asyncio.run(iterate(lambda _: shutil.rmtree(sub)))
        self.assertEqual(gone.exception.code, "not_found")

    def test_a_watcher_whose_directory_is_deleted_warns(self):
        sub = self.dir / "sub"
        sub.mkdir()
        with warnings.catch_warnings(record=True) as found, stet.FileWatcher(sub, print) as watcher:
            warnings.simplefilter("always")
            watcher.start()
            thread = watcher._pump._thread
            sub.rmdir()
            thread.join(60)
        self.assertRegex(str(found[0].message), "was removed; watching it has ended")
        self.assertRaisesRegex(TypeError, "The callback must be a function", stet.FileWatcher, self.dir, 5)

    def test_threads_may_start_and_stop_one_watcher(self):
        before = descriptors()
        watcher, manager, failures = stet.FileWatcher(self.dir, lambda *event: None), stet.FileStateManager(self.dir), []

        def use():
            for i in range(60):
                for one in (watcher.start, watcher.stop, manager.initialize, manager.dispose):
                    try:
                        one()
                        self.write(f"{i % 20}.txt", str(i))
                    except stet.StetError as error:
                        failures.extend([error] if "already" not in str(error) else [])

        threads = [threading.Thread(target=use, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive(), "the threads wait for each other")
        self.assertEqual(failures, [])
        watcher.close()
        manager.close()
        self.assertLessEqual(descriptors(), before + 2)

    def test_a_watcher_may_close_while_events_arrive(self):
        before = descriptors()
        for i in range(20):
            watcher = stet.FileWatcher(self.dir, lambda path, event: None)
            watcher.start()
            for n in range(20):
                self.write(f"{n}.txt", str(i))
            watcher.close()
        self.assertLessEqual(descriptors(), before + 2)
        self.assertFalse([t for t in threading.enumerate() if t.name == "stet-events"])

    def test_a_manager_stops_tracking_a_file_that_others_change(self):
        path = self.write("test.txt", "hello")
        self.write("agents.md", "# Root")

        async def untracked():
            manager = stet.FileStateManager(self.dir)
            manager.initialize()
            self.assertEqual(manager.get_root_agents_md(), "# Root")
            manager.track_read(path, "hello")
            path.write_text("world")
            self.assertTrue(manager.check_for_conflict(path).has_conflict)
            while manager.check_for_conflict(path).has_conflict:
                await asyncio.sleep(0.01)
            manager.dispose()
            self.assertFalse(manager.check_for_conflict(path).has_conflict)
            manager.close()

        asyncio.run(asyncio.wait_for(untracked(), 60))


class RepoStates(Case):
    def test_a_tracker_records_other_tools_and_survives_a_restart(self):
        self.write("cmd/main.go", "package main\n")
        with stet.Tracker(self.dir, "hello-001") as tracker:
            task = tracker.add_task("Add unit tests")
            tracker.add_task("Run go build")
            tracker.update_from_tool_result("write_file", {"path": "cmd/main.go", "success": True})
            tracker.complete_task(task)
            tracker.persist()
        with stet.Tracker(self.dir) as tracker:
            tracker.load()
            state = tracker.get_snapshot()
        self.assertEqual((state.story_id, [f.path for f in state.files]), ("hello-001", ["cmd/main.go"]))
        self.assertEqual([t.description for t in state.open_tasks], ["Run go build"])
        self.assertTrue((self.dir / ".stet/repostate.json").exists())

    def test_a_state_becomes_the_text_of_spec_2(self):
        state = stet.RepoState(
            work_dir="/work/coder-001", story_id="hello-001", last_updated="2025-10-22T03:15:42Z",
            files=[stet.FileMeta("go.mod", hash="8d2c47", size=89)],
            open_tasks=[stet.Task("Add unit tests for main package", priority=1)])
        text = stet.format_for_prompt(state)
        self.assertIn("  • go.mod (8d2c47, 89 bytes) - go module\n", text)
        self.assertIn("  1. [pending] Add unit tests for main package\n", text)
        self.assertIn("Last updated: 2025-10-22 03:15:42 UTC\n", text)
        prompt = stet.build_snapshot_prompt("Use TOOL CALLS ONLY.", state, "Hurry.")
        self.assertEqual(prompt[0], {"role": "system", "content": "Use TOOL CALLS ONLY."})
        for part in (text, "DO NOT recreate files", "Hurry."):
            self.assertIn(part, prompt[1]["content"])


class Documents(Case):
    def test_the_examples_of_the_readme_run(self):
        blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
        self.assertGreater(len(blocks), 2)
        for block in blocks:
            subprocess.run([sys.executable, "-c", block], cwd=self.dir, check=True, timeout=60)

    def test_the_agent_loop_runs(self):
        copy = self.write("agent.py", EXAMPLE.read_text())
        done = subprocess.run([sys.executable, copy], cwd=self.dir, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("was modified since", done.stdout)
        self.assertIn("--- Repository State ---", done.stdout)


class Lines(unittest.TestResult):
    def _print(self, ok, test, error=None):
        print(("ok " if ok else "not ok ") + test._testMethodName.removeprefix("test_").replace("_", " "), flush=True)
        if error:
            traceback.print_exception(*error, file=sys.stderr)

    def addSuccess(self, test):
        self._print(True, test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._print(False, test, error)

    addError = addFailure


if __name__ == "__main__":
    _library.library = CheckedLibrary()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).run(Lines())
