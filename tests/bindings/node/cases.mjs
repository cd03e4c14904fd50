// Claims about the Node binding. Prints "ok NAME" or "not ok NAME" per claim; node.sh counts them.
// The host runs it as `HOST --expose-gc cases.mjs` beside node_modules/stet.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import * as stet from 'stet';

// The program to start this host with: what runs under qemu can not start itself.
const host = process.env.STET_TEST_HOST ?? process.execPath;
const isBun = Boolean(process.versions.bun);
const gc = () => (isBun ? Bun.gc(true) : globalThis.gc());
const descriptors = () => fs.readdirSync('/proc/self/fd').length;
const resident = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]);
const turn = () => new Promise((done) => setImmediate(done));

/** Until a condition holds; the test as a whole has a time limit. */
async function until(holds) {
  const end = Date.now() + 60000;
  while (!holds()) {
    assert.ok(Date.now() < end, `${holds} did not come true`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

let dir;
function write(name, text) {
  const path = join(dir, name);
  fs.mkdirSync(join(path, '..'), { recursive: true });
  fs.writeFileSync(path, text);
  return path;
}

/** Run a module that imports stet, in the directory of the case; returns its output. */
function run(code, options = {}) {
  const script = join(dir, 'script.mjs');
  fs.writeFileSync(script, code.replace("'stet'", `'${import.meta.resolve('stet')}'`));
  return execFileSync(host, [...(options.flags ?? []), script], {
    cwd: dir, encoding: 'utf8', timeout: 60000, ...options,
  });
}

const cases = {
  // ---- sessions ----

  'a stale edit is refused with the change and then works'() {
    const path = write('a.txt', 'one\ntwo\n');
    const session = new stet.Session(dir);
    assert.equal(session.read(path).text, 'one\ntwo\n');
    fs.writeFileSync(path, 'ONE\ntwo\n');
    assert.throws(() => session.edit(path, 'two', '2'), (error) => {
      assert.ok(error instanceof stet.ConflictError && error instanceof stet.StetError);
      assert.equal(error.code, 'conflict');
      assert.equal(error.answer.reason, 'modified');
      assert.match(error.answer.diff, /\+ONE/);
      return true;
    });
    assert.equal(session.edit(path, 'two', '2').status, 'success');
    assert.equal(fs.readFileSync(path, 'utf8'), 'ONE\n2\n');
    session.close();
  },

  'an unseen file is not overwritten'() {
    const path = write('a.txt', 'one\n');
    const session = new stet.Session(dir);
    assert.throws(() => session.write(path, 'two\n'), { code: 'conflict' });
    assert.equal(fs.readFileSync(path, 'utf8'), 'one\n');
    assert.equal(session.write('b.txt', 'new\n').created, true);
    assert.equal(session.write('b.txt', 'new\n').noop, true);
    session.close();
  },

  'paths may be strings, buffers and URLs, and have any bytes'() {
    const name = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff, 0x2e, 0x74])]);
    fs.writeFileSync(name, 'a\0b');
    const session = new stet.Session(Buffer.from(dir));
    const answer = session.read(name);
    assert.deepEqual([...answer.pathBytes], [0xff, 0x2e, 0x74]);
    assert.equal(answer.text, 'a\0b');
    assert.equal(session.edit(name, 'a\0', Buffer.from([0xfe])).status, 'success');
    assert.deepEqual([...fs.readFileSync(name)], [0xfe, 0x62]);
    write('ä ö.txt', 'x');
    const plain = session.read(pathToFileURL(join(dir, 'ä ö.txt')));
    assert.deepEqual([plain.path, plain.pathBytes], ['ä ö.txt', undefined]);
    assert.throws(() => session.read('a\0b'), /A path has no NUL/);
    session.close();
  },

  'half of a surrogate pair is refused, not replaced'() {
    const session = new stet.Session(dir);
    assert.throws(() => session.write('a.txt', 'a\ud83d'), /half of a surrogate pair/);
    assert.throws(() => session.read('\udc00'), /half of a surrogate pair/);
    assert.equal(fs.existsSync(join(dir, 'a.txt')), false);
    session.write('a.txt', 'a\ufffd😀');
    assert.equal(fs.readFileSync(join(dir, 'a.txt'), 'utf8'), 'a\ufffd😀');
    session.close();
  },

  'a path outside the root is refused'() {
    const session = new stet.Session(dir);
    assert.throws(() => session.read('/etc/passwd'), { name: 'StetError', code: 'outside' });
    session.close();
  },

  'a closed object is refused with a sentence'() {
    const path = write('a.txt', 'one\n');
    const workspace = new stet.Workspace(dir);
    const closed = [new stet.Session(dir), new stet.AgentsMdLoader(dir), new stet.FileWatcher(dir, () => {}),
      new stet.FileStateManager(dir), new stet.Tracker(dir), workspace];
    for (const one of [...closed, ...closed]) one.close();
    const [session, loader, watcher, manager, tracker] = closed;
    for (const use of [
      () => session.read(path), () => session.track(path, ''), () => session.call('read_file', { path }),
      () => session.hasBeenModifiedSinceRead(path), () => session.checkConflict(path),
      () => session.getAgentsMdIfNew(path), () => loader.getForPath(path), () => loader.getRoot(),
      () => watcher.start(), () => manager.trackRead(path, ''), () => manager.checkForConflict(path),
      () => manager.session.read(path), () => tracker.getSnapshot(), () => tracker.addTask('x'),
      () => tracker.persist(), () => workspace.session(),
    ]) assert.throws(use, /closed already/, `${use}`);
    session.invalidate(path);
    session.clearSession();
    loader.invalidate(path);
    watcher.stop();
    manager.dispose();
    manager.clearSession();
    assert.equal(session.editFile(path, 'a', 'b').slice(0, 7), 'Error: ');
  },

  'arguments of a wrong type are refused with a sentence'() {
    const session = new stet.Session(dir);
    assert.throws(() => session.read(5), { name: 'TypeError', message: /The path must be a string/ });
    assert.throws(() => session.read(), /The path must be a string/);
    assert.throws(() => session.read('a', -1), /The number must be/);
    assert.throws(() => session.read('a', 0.5), /The number must be/);
    assert.throws(() => session.read('a', NaN), /The number must be/);
    assert.throws(() => session.write('a', null), /The text must be/);
    assert.throws(() => session.write('a', new Uint16Array(2)), /The text must be/);
    assert.throws(() => session.write('a', 'b', 7), /The name must be/);
    assert.throws(() => new stet.FileWatcher(dir), /The callback must be a function/);
    assert.throws(() => new stet.Workspace(dir, { nonsense: 1 }), /no option nonsense/);
    assert.throws(() => stet.Session.prototype.read.call(new stet.Tracker(dir), 'a'), TypeError);
    assert.throws(() => stet.Session.prototype.read.call({}, 'a'), TypeError);
    session.close();
  },

  'options of a workspace hold for its sessions'() {
    write('a.txt', 'one\n');
    const workspace = new stet.Workspace(dir, { requireRead: true, merge: undefined });
    const session = workspace.session('reader');
    assert.equal(workspace.root, fs.realpathSync(dir));
    assert.equal(session.root, workspace.root);
    workspace.close();
    assert.throws(() => session.edit('a.txt', 'one', 'two'), { code: 'conflict' });
    session.close();
  },

  'every tool can be called by name'() {
    write('a.txt', 'one\n');
    const table = stet.tools();
    assert.ok(table.length > 25 && table.every((tool) => tool.description && tool.inputSchema));
    const session = new stet.Session(dir);
    const names = table.map((tool) => tool.name);
    for (const name of names) assert.ok(Array.isArray(session.call(name).content), name);
    assert.equal(session.call('read_file', { path: 'a.txt' }).content[0].text, 'one\n');
    assert.equal(session.call('read_file', { path: 'none' }).isError, true);
    assert.throws(() => session.call('no_such_tool'), { name: 'StetError' });
    session.close();
  },

  'no openssl.cnf can break a read'() {
    write('a.txt', 'one\n');
    for (const name of ['legacy', 'fips']) {
      const config = write('openssl.cnf', `openssl_conf = init\n[init]\nproviders = p\n[p]\n${name} = s\n[s]\nactivate = 1\n`);
      run("import { Session } from 'stet'; const s = new Session(); s.read('a.txt'); s.edit('a.txt', 'one', 'one!');", {
        env: { ...process.env, OPENSSL_CONF: config },
      });
    }
    assert.equal(fs.readFileSync(join(dir, 'a.txt'), 'utf8'), 'one!!\n');
  },

  'strange arguments of tools are refused, not lost'() {
    const session = new stet.Session(dir);
    assert.equal(session.call('read_file', null).isError, true);
    assert.equal(session.call('write_file', { path: 'a.txt', content: '\ud800' }).isError, true);
    assert.equal(fs.existsSync(join(dir, 'a.txt')), false);
    assert.throws(() => session.call('read_file', { path: 1n }), TypeError);
    session.call('write_file', { path: 'b.txt', content: 'a\0😀' });
    assert.equal(fs.readFileSync(join(dir, 'b.txt'), 'utf8'), 'a\0😀');
    session.close();
  },

  'a system without the addon gets one sentence'() {
    // The JavaScript alone, as it lies there if npm left out the package of the platform.
    fs.cpSync(fileURLToPath(new URL('.', import.meta.resolve('stet'))), join(dir, 'node_modules/stet'), { recursive: true });
    const sentence = (prepare) => {
      const env = { ...process.env };
      delete env.STET_ADDON;
      write('import.cjs', `${prepare}
        try { require('stet'); } catch (error) { console.log(error.message); }`);
      return execFileSync(host, [join(dir, 'import.cjs')], { cwd: dir, env, encoding: 'utf8' });
    };
    assert.equal(sentence(''), `The package @stet/linux-${process.arch} is not installed: npm install stet, without --omit=optional.\n`);
    const needs = 'stet needs Linux on x64 or arm64 with glibc 2.36 or later; ';
    assert.equal(sentence("Object.defineProperty(process, 'platform', { value: 'darwin' });"), `${needs}this is darwin-${process.arch}.\n`);
    const report = (header) => `process.report.getReport = () => ({ header: ${header} });`;
    assert.equal(sentence(report('{}')), `${needs}this system has another libc, such as musl.\n`);
    assert.equal(sentence(report("{ glibcVersionRuntime: '2.31' }")), `${needs}this system has glibc 2.31.\n`);
    assert.match(sentence("process.env.STET_ADDON = '/none/stet.node';"), /^stet cannot load \/none\/stet.node: /);
  },

  // ---- the file state specification, beyond its own cases ----

  'editFile answers with the sentences of the specification'() {
    const path = write('test.txt', 'original content');
    const tracker = new stet.FileTracker(dir);
    tracker.trackRead(path);
    fs.writeFileSync(path, 'externally modified');
    const refused = `Error: File "${path}" was modified since you last read it. Please read the file again.`;
    assert.equal(tracker.editFile(path, 'externally', 'new'), refused);
    // Its change was not shown, so it does not count as seen.
    assert.equal(tracker.editFile(path, 'externally', 'new'), refused);
    assert.equal(tracker.readFile(path), 'externally modified');
    assert.equal(tracker.editFile(path, 'externally', 'locally'), `Updated file "${path}"`);
    assert.equal(fs.readFileSync(path, 'utf8'), 'locally modified');
    assert.equal(tracker.editFile(join(dir, 'new.txt'), '', 'new'), `Updated file "${join(dir, 'new.txt')}"`);
    tracker.close();
  },

  'the default tracker belongs to the working directory'() {
    run(`import { fileTracker, readFile } from 'stet'; import fs from 'node:fs';
      fs.writeFileSync('a.txt', '1'); readFile('a.txt'); fs.writeFileSync('a.txt', '2');
      if (!fileTracker.hasBeenModifiedSinceRead('a.txt')) process.exit(1);`);
  },

  'a conflict has reason, message and current content'() {
    const path = write('test.txt', 'hello');
    const tracker = new stet.FileTracker(dir);
    tracker.track(path, 'hello');
    assert.deepEqual(tracker.checkConflict(path), { hasConflict: false });
    fs.writeFileSync(path, 'world');
    const modified = tracker.checkConflict(path);
    assert.deepEqual([modified.reason, modified.currentContent], ['modified', 'world']);
    assert.match(modified.message, /modified/);
    fs.unlinkSync(path);
    const deleted = tracker.checkConflict(path);
    assert.deepEqual([deleted.reason, 'currentContent' in deleted], ['deleted', false]);
    tracker.close();
  },

  'a loader gives absolute paths'() {
    write('src/agents.md', '# Src');
    const loader = new stet.AgentsMdLoader(dir);
    assert.deepEqual(loader.getForPath(join(dir, 'src/a.ts')), [{ path: join(dir, 'src/agents.md'), content: '# Src' }]);
    assert.equal(loader.getRoot(), null);
    loader.close();
  },

  // ---- events ----

  async 'a watcher calls back on the loop of the host'() {
    const path = write('a.txt', 'one');
    const seen = [];
    const watcher = new stet.FileWatcher(dir, (...event) => seen.push(event));
    watcher.start();
    fs.writeFileSync(path, 'two');
    await until(() => seen.length);
    fs.unlinkSync(path);
    await until(() => seen.length > 1);
    watcher.close();
    assert.deepEqual(seen, [[path, 'change'], [path, 'unlink']]);
  },

  async 'an event of a name that is not UTF-8 has its bytes'() {
    const name = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0x61, 0xff])]);
    let seen;
    const watcher = new stet.FileWatcher(dir, (...event) => (seen = event));
    watcher.start();
    fs.writeFileSync(name, 'one');
    await until(() => seen);
    watcher.close();
    assert.deepEqual([seen[0], seen[1], [...seen[2]]], [join(dir, 'a\ufffd'), 'add', [...name]]);
  },

  async 'no event comes after stop, and the watcher starts again'() {
    const seen = [];
    const watcher = new stet.FileWatcher(dir, (path) => {
      seen.push(path);
      watcher.stop();
    });
    watcher.start();
    for (let i = 0; i < 20; i++) write(`${i}.txt`, 'x');
    await until(() => seen.length);
    await turn();
    assert.equal(seen.length, 1);
    watcher.start();
    write('more.txt', 'x');
    await until(() => seen.length > 1);
    assert.equal(seen[1], join(dir, 'more.txt'));
    watcher.close();
  },

  async 'an exception of a callback costs no other event'() {
    const output = run(`import { FileWatcher } from 'stet'; import fs from 'node:fs';
      const seen = []; let thrown = 0;
      process.on('uncaughtException', (error) => { if (error.message === 'mine') thrown++; });
      const watcher = new FileWatcher('.', (path) => {
        seen.push(path);
        if (seen.length === 3) { watcher.close(); setImmediate(() => console.log(seen.length, thrown)); }
        throw new Error('mine');
      });
      watcher.start();
      for (const name of ['a', 'b', 'c']) fs.writeFileSync(name, 'x');`);
    assert.equal(output, '3 3\n');
  },

  'a started watcher keeps the process alive, a stopped one does not'() {
    // The child ends by itself only because the watcher, which nothing refers to, lives and is then closed.
    assert.equal(run(`import { FileWatcher } from 'stet'; import fs from 'node:fs';
      (() => { const watcher = new FileWatcher('.', () => { console.log('event'); watcher.stop(); }); watcher.start(); })();
      setTimeout(() => { globalThis.gc?.(); fs.writeFileSync('a', 'x'); }, 10).unref();
      const tick = setInterval(() => {}, 50); setTimeout(() => clearInterval(tick), 100);`,
    { flags: isBun ? [] : ['--expose-gc'] }), 'event\n');
    run("import { FileWatcher } from 'stet'; const w = new FileWatcher('.', () => {}); w.start(); process.exitCode = 0; process.exit();");
    run("import { FileWatcher } from 'stet'; const w = new FileWatcher('.', () => {}); w.start(); w.close();");
    run("import { FileWatcher } from 'stet'; new FileWatcher('.', () => {});");
  },

  async 'a watcher whose directory is deleted goes quiet'() {
    fs.mkdirSync(join(dir, 'sub'));
    const seen = [];
    const watcher = new stet.FileWatcher(join(dir, 'sub'), (...event) => seen.push(event));
    watcher.start();
    write('sub/a.txt', 'x');
    await until(() => seen.length);
    fs.rmSync(join(dir, 'sub'), { recursive: true });
    await until(() => seen.length > 1);
    assert.equal(seen[1][1], 'unlink');
    watcher.stop();
    watcher.close();
  },

  async 'a watcher may close while events arrive'() {
    const before = descriptors();
    for (let i = 0; i < 100; i++) {
      const watcher = new stet.FileWatcher(dir, () => {});
      watcher.start();
      for (let n = 0; n < 10; n++) write(`${n}.txt`, `${i}`);
      if (i % 3 === 0) await turn();
      watcher.close();
      if (i % 5 === 0) await turn();
    }
    assert.ok(descriptors() <= before + 6, `${before} descriptors became ${descriptors()}`);
  },

  async 'a manager stops tracking a file that others change'() {
    const path = write('test.txt', 'hello');
    write('agents.md', '# Root');
    const manager = new stet.FileStateManager(dir);
    await manager.initialize();
    assert.equal(manager.getRootAgentsMd(), '# Root');
    manager.trackRead(path, 'hello');
    fs.writeFileSync(path, 'world');
    assert.equal(manager.checkForConflict(path).hasConflict, true);
    await until(() => !manager.checkForConflict(path).hasConflict);
    // Not tracked any more, but not forgotten: a tool still refuses.
    assert.throws(() => manager.session.edit(path, 'world', 'x'), { code: 'conflict' });
    manager.dispose();
    assert.equal(manager.checkForConflict(path).hasConflict, false);
    manager.close();
  },

  // ---- the state of the work ----

  'a tracker records other tools and survives a restart'() {
    write('cmd/main.go', 'package main\n');
    let tracker = new stet.Tracker(dir, 'hello-001');
    const task = tracker.addTask('Add unit tests');
    tracker.addTask('Run go build');
    tracker.updateFromToolResult('write_file', { path: 'cmd/main.go', success: true });
    tracker.completeTask(task);
    tracker.persist();
    tracker.close();
    tracker = new stet.Tracker(dir);
    tracker.load();
    const state = tracker.getSnapshot();
    assert.deepEqual([state.storyId, state.files.map((file) => file.path)], ['hello-001', ['cmd/main.go']]);
    assert.match(state.files[0].modTime, /Z$/);
    assert.deepEqual(state.openTasks.map((one) => one.description), ['Run go build']);
    assert.ok(fs.existsSync(join(dir, '.stet/repostate.json')));
    const [system, user] = stet.buildSnapshotPrompt('You are a coder.', state, 'The build is red.');
    assert.deepEqual([system.role, system.content], ['system', 'You are a coder.']);
    assert.match(user.content, /\[Repo Snapshot\][^]*cmd\/main\.go[^]*The build is red\./);
    tracker.close();
  },

  'a state becomes the text of specification 2'() {
    const text = stet.formatForPrompt({
      workDir: '/work/coder-001', storyId: 'hello-001', lastUpdated: '2025-10-22T03:15:42Z',
      files: [{ path: 'go.mod', hash: '8d2c47', size: 89 }],
      openTasks: [{ description: 'Add unit tests for main package', status: 'pending', priority: 1 }],
    });
    assert.ok(text.includes('  • go.mod (8d2c47, 89 bytes) - go module\n'), text);
    assert.ok(text.includes('  1. [pending] Add unit tests for main package\n'), text);
    assert.ok(text.includes('Last updated: 2025-10-22 03:15:42 UTC\n'), text);
  },

  // ---- threads and garbage ----

  async 'ten thousand objects may be dropped in any order'() {
    write('a.txt', 'one\n');
    const make = () => {
      const workspace = new stet.Workspace(dir);
      const session = workspace.session();
      session.trackRead('a.txt');
      return [workspace, session, new stet.AgentsMdLoader(dir), new stet.FileWatcher(dir, () => {}), new stet.FileStateManager(dir)];
    };
    const round = async (count) => {
      for (let i = 0; i < count; i++) {
        make();
        if (i % 50 === 49) {
          gc();
          await turn();
        }
      }
      gc();
      await turn();
      gc();
      await turn();
    };
    await round(200);
    const [openBefore, before] = [descriptors(), resident()];
    await round(1800);
    assert.ok(descriptors() <= openBefore + 20, `${openBefore} descriptors became ${descriptors()}`);
    assert.ok(resident() <= before + 30000, `${before} KB became ${resident()} KB`);
  },

  'forgotten objects do not exhaust a thousand descriptors'() {
    // Nobody calls gc(): the addon has to tell the engine what an object costs.
    const script = write('forget.mjs', `import { FileTracker } from '${import.meta.resolve('stet')}';
      for (let i = 0; i < 3000; i++) {
        new FileTracker('.').trackRead('a.txt');
        if (i % 50 === 0) await new Promise((done) => setImmediate(done));
      }`);
    write('a.txt', 'x');
    execFileSync('sh', ['-c', 'ulimit -n 1024; exec "$@"', 'sh', host, script], { cwd: dir, timeout: 60000 });
  },

  async 'sixteen workers edit with a session each'() {
    const code = `import { Session, FileWatcher } from 'stet';
      import { parentPort, workerData } from 'node:worker_threads';
      const session = new Session(workerData.dir);
      const name = workerData.number + '.txt';
      const watcher = new FileWatcher(workerData.dir, (path) => {
        if (!path.endsWith('/' + name)) return;
        watcher.close();
        parentPort.postMessage('done');
      });
      session.write(name, '0\\n');
      watcher.start();
      for (let i = 0; i < 20; i++) session.edit(name, String(i), String(i + 1));`;
    const script = write('worker.mjs', code.replace("'stet'", `'${import.meta.resolve('stet')}'`));
    const workers = Array.from({ length: 16 }, (_, number) =>
      new Promise((done, fail) => {
        const worker = new Worker(script, { workerData: { dir, number } });
        let message;
        worker.on('message', (text) => (message = text));
        worker.on('error', fail);
        worker.on('exit', (code) => (code === 0 && message === 'done' ? done() : fail(new Error(`exit ${code}, ${message}`))));
      }));
    await Promise.all(workers);
    for (let number = 0; number < 16; number++) assert.equal(fs.readFileSync(join(dir, `${number}.txt`), 'utf8'), '20\n');
  },

  async 'a worker may be terminated while its watcher receives events'() {
    const script = write('worker.mjs', `import { FileWatcher } from 'stet';
      import { parentPort, workerData } from 'node:worker_threads';
      new FileWatcher(workerData, () => {}).start();
      parentPort.postMessage('started');`.replace("'stet'", `'${import.meta.resolve('stet')}'`));
    const before = descriptors();
    for (let round = 0; round < 20; round++) {
      const worker = new Worker(script, { workerData: dir });
      await new Promise((done, fail) => worker.once('message', done).once('error', fail));
      for (let n = 0; n < 20; n++) write(`${n}.txt`, `${round}`);
      await turn();
      await worker.terminate();
    }
    await until(() => descriptors() <= before + 8);
  },
};

const [only] = process.argv.slice(2);
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  if (only && !name.includes(only)) continue;
  dir = fs.mkdtempSync(join(process.env.STET_TEST_DIR ?? tmpdir(), 'case-'));
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${name}`);
    console.error(`${name}:`, error);
  }
  fs.rmSync(dir, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
