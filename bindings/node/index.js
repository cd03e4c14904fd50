'use strict';
// The classes of stet for JavaScript. They hold handles and give results their shape; the library decides.
// The types are in index.d.ts, and nowhere else.

const { resolve, join } = require('node:path');
const { fileURLToPath } = require('node:url');
const native = require('./load.js');

class StetError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}
StetError.prototype.name = 'StetError';

class ConflictError extends StetError {
  constructor(message, answer) {
    super('conflict', message);
    this.answer = answer;
  }
}
ConflictError.prototype.name = 'ConflictError';

class Answer {
  constructor(fields) {
    Object.assign(this, fields);
  }
  get text() {
    return this.content ? this.content.toString() : '';
  }
}

// The addon calls it for a call that failed.
function makeError(code, message, answer) {
  const error = code === 'conflict'
    ? new ConflictError(message, answer ? new Answer(answer) : undefined)
    : new StetError(code, message);
  Error.captureStackTrace?.(error, makeError);
  return error;
}

const toPath = (path) => (path instanceof URL ? fileURLToPath(path) : path);
const toText = (path) => (typeof path === 'string' ? path : Buffer.from(path).toString());

// ---- events ----

// The callback for each started watcher, by its number. It runs when the watcher's descriptor is readable.
const started = new Map();
let numbers = 0;

function onReadable(number) {
  started.get(number)?.();
}

native.setCallbacks(makeError, onReadable);

/** Receives the events of a watcher or manager on this thread's loop, from start() to stop(). */
class Events {
  #handle;
  #root;
  #onChange;
  #notice;
  #number = 0;

  constructor(handle, root, onChange, notice = () => null) {
    this.#handle = handle;
    this.#root = root;
    this.#onChange = onChange;
    this.#notice = notice;
  }

  // If events cannot be waited for, what was started is stopped with `undo`.
  start(undo) {
    const number = ++numbers;
    try {
      native.watch(this.#handle, number);
    } catch (error) {
      undo();
      throw error;
    }
    this.#number = number;
    started.set(number, () => this.#deliver(number));
    this.#warn();
  }

  stop() {
    if (!this.#number) return;
    started.delete(this.#number);
    this.#number = 0;
    native.unwatch(this.#handle);
  }

  #deliver(number) {
    const changes = native.dispatch(this.#handle, number);
    for (let i = 0; i < changes.length && this.#number === number; i += 3)
      this.#call(join(this.#root, changes[i]), changes[i + 1], changes[i + 2]);
    if (this.#number !== number) return;
    const warned = this.#warn();
    if (!changes.ended) return;
    this.stop();
    if (!warned) process.emitWarning(changes.ended);
  }

  /** Warnings of the watcher, such as that it polls a directory because there are no watches left. */
  #warn() {
    let count = 0;
    for (let notice; (notice = this.#notice(this.#handle)) !== null; count++) process.emitWarning(notice);
    return count;
  }

  /** An exception of one callback must not cost the next its event: it is thrown on the loop. */
  #call(path, event, bytes) {
    try {
      if (bytes) this.#onChange(path, event, Buffer.concat([Buffer.from(`${this.#root}/`), bytes]));
      else this.#onChange(path, event);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

// ---- sessions ----

const OPTIONS = [
  'durable', 'maxFile', 'maxDiff', 'maxBases', 'requireRead', 'merge', 'agents', 'agentsBuiltin',
  'agentsGitignore', 'agentsBudget', 'state', 'readOnly', 'pageBytes', 'hashProves', 'structured',
  'useSnapshot', 'versionDays', 'hook', 'vault',
];

let sessionOf, nativeOf;

class Workspace {
  #handle;

  constructor(root = '.', options = {}) {
    this.#handle = native.openWorkspace(toPath(root));
    for (const [name, value] of Object.entries(options)) {
      const number = OPTIONS.indexOf(name);
      if (number < 0) throw new TypeError(`There is no option ${name}; options are ${OPTIONS.join(', ')}.`);
      if (value !== undefined) native.setOption(this.#handle, number, Number(value));
    }
  }

  get root() {
    return native.rootOfWorkspace(this.#handle);
  }

  session(name) {
    return new Session(this, name);
  }

  close() {
    native.close(this.#handle);
  }

  static {
    sessionOf = (workspace, name) => native.openSession(workspace.#handle, name);
  }
}

function openSession(root, name) {
  if (root instanceof Workspace) return sessionOf(root, name);
  const workspace = new Workspace(root);
  try {
    return sessionOf(workspace, name);
  } finally {
    // The session keeps it open.
    workspace.close();
  }
}

// For the constructor of Session: open the working directory at the first use; or use a manager's session.
const AT_FIRST_USE = Symbol('at first use');
const OF_MANAGER = Symbol('of a manager');

class Session {
  #handle;
  #manager;

  constructor(root = '.', name) {
    if (root === OF_MANAGER) this.#manager = this.#handle = name;
    else if (root !== AT_FIRST_USE) this.#handle = openSession(root, name);
  }

  get #native() {
    return (this.#handle ??= openSession('.'));
  }

  get root() {
    return native.rootOfSession(this.#native);
  }

  read(path, first = 0, count = 0) {
    return new Answer(native.read(this.#native, toPath(path), first, count));
  }

  write(path, content, expectedHash) {
    return new Answer(native.write(this.#native, toPath(path), content, expectedHash));
  }

  edit(path, oldText, newText, expectedHash) {
    return new Answer(native.edit(this.#native, toPath(path), oldText, newText, expectedHash));
  }

  check(path) {
    return new Answer(native.check(this.#native, toPath(path)));
  }

  call(tool, args = {}) {
    return JSON.parse(native.call(this.#native, tool, JSON.stringify(args)));
  }

  trackRead(path) {
    native.trackRead(this.#native, toPath(path));
  }

  track(path, content) {
    if (this.#manager) native.trackInManager(this.#manager, toPath(path), content);
    else native.track(this.#native, toPath(path), content);
  }

  hasBeenModifiedSinceRead(path) {
    return native.isModified(this.#native, toPath(path));
  }

  checkConflict(path) {
    return native.checkConflict(this.#native, toPath(path));
  }

  invalidate(path) {
    native.invalidate(this.#native, toPath(path));
  }

  getAgentsMdIfNew(filePath) {
    return native.instructionsIfNew(this.#native, toPath(filePath));
  }

  clearSession() {
    native.clearInstructions(this.#native);
  }

  readFile(path) {
    return this.read(path).text;
  }

  // The answer has no diff, so the change does not count as seen: the file has to be read again.
  editFile(path, oldStr, newStr) {
    try {
      native.editUnshown(this.#native, toPath(path), oldStr, newStr);
    } catch (error) {
      if (error instanceof StetError) return `Error: ${error.message}`;
      throw error;
    }
    return `Updated file "${toText(toPath(path))}"`;
  }

  // The session of a manager is closed with it.
  close() {
    if (this.#handle && !this.#manager) native.close(this.#handle);
  }

  static {
    nativeOf = (session) => session.#native;
  }
}

// ---- the classes of the file state specification ----

class FileTracker extends Session {}

const absolute = (root, found) => found.map((one) => ({ ...one, path: join(root, one.path) }));
const joined = (found) => (found.length ? found.map((one) => one.content).join('\n') : null);

class AgentsMdLoader {
  #root;
  #session;

  constructor(workingDir = '.') {
    this.#root = resolve(toText(toPath(workingDir)));
    this.#session = new Session(workingDir);
  }

  // Finds what cannot be read. Nothing else depends on it.
  async index() {
    native.indexInstructions(nativeOf(this.#session));
  }

  getForPath(filePath) {
    return absolute(this.#root, native.instructionsForPath(nativeOf(this.#session), toPath(filePath)));
  }

  getRoot() {
    return joined(native.instructionsOfRoot(nativeOf(this.#session)));
  }

  invalidate(path) {
    native.forgetInstructions(nativeOf(this.#session), toPath(path));
  }

  clearSession() {
    this.#session.clearSession();
  }

  close() {
    this.#session.close();
  }
}

class FileWatcher {
  #handle;
  #events;

  constructor(workingDir, onFileChange) {
    if (typeof onFileChange !== 'function') throw new TypeError('The callback must be a function.');
    this.#handle = native.openWatcher(toPath(workingDir));
    this.#events = new Events(this.#handle, resolve(toText(toPath(workingDir))), onFileChange, native.takeNotice);
  }

  start() {
    native.startWatcher(this.#handle);
    this.#events.start(() => native.stopWatcher(this.#handle));
  }

  stop() {
    this.#events.stop();
    native.stopWatcher(this.#handle);
  }

  close() {
    this.#events.stop();
    native.close(this.#handle);
  }
}

class FileStateManager {
  #handle;
  #root;
  #session;
  #events;

  constructor(workingDir = '.') {
    this.#root = resolve(toText(toPath(workingDir)));
    this.#handle = native.openManager(toPath(workingDir));
    this.#session = new Session(OF_MANAGER, this.#handle);
    this.#events = new Events(this.#handle, this.#root, () => {});
  }

  get session() {
    return this.#session;
  }

  async initialize() {
    native.initializeManager(this.#handle);
    this.#events.start(() => native.stopManager(this.#handle));
  }

  trackRead(path, content) {
    this.#session.track(path, content);
  }

  checkForConflict(path) {
    return this.#session.checkConflict(path);
  }

  getAgentsMdForPath(filePath) {
    return absolute(this.#root, native.instructionsForPath(this.#handle, toPath(filePath)));
  }

  getRootAgentsMd() {
    return joined(native.instructionsOfRoot(this.#handle));
  }

  clearSession() {
    native.clearInstructions(this.#handle);
  }

  // Watching ends; the session still answers, as the specification's tracker does.
  dispose() {
    this.#events.stop();
    native.stopManager(this.#handle);
  }

  close() {
    this.#events.stop();
    native.close(this.#handle);
  }
}

const fileTracker = new FileTracker(AT_FIRST_USE);

function readFile(path) {
  return fileTracker.readFile(path);
}

function editFile(path, oldStr, newStr) {
  return fileTracker.editFile(path, oldStr, newStr);
}

// ---- the state of the work ----

// repostate.json has names with underscores.
const toCamel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const toSnake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function renamed(value, rename) {
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [rename(name), renamed(one, rename)]));
}

class Tracker {
  #session;

  constructor(workDir = '.', storyId) {
    this.#session = new Session(workDir, 'tracker');
    if (storyId) native.beginStory(nativeOf(this.#session), storyId);
  }

  updateFromToolResult(toolName, result) {
    native.record(nativeOf(this.#session), toolName, JSON.stringify(result));
  }

  addTask(description, priority = 0) {
    return native.addTask(nativeOf(this.#session), description, priority);
  }

  completeTask(id) {
    native.completeTask(nativeOf(this.#session), id);
  }

  getSnapshot() {
    return renamed(JSON.parse(native.stateJson(nativeOf(this.#session))), toCamel);
  }

  persist() {
    native.flushState(nativeOf(this.#session));
  }

  // Every snapshot reads what is stored; this finds out whether that is possible.
  load() {
    native.stateJson(nativeOf(this.#session));
  }

  close() {
    this.#session.close();
  }
}

function formatForPrompt(state, budget = 0) {
  return native.formatSnapshot(JSON.stringify(renamed(state, toSnake)), budget);
}

function buildSnapshotPrompt(template, repoState, additionalContext = '') {
  return JSON.parse(native.buildPrompt(formatForPrompt(repoState), template, additionalContext));
}

function tools() {
  const found = [];
  for (let json; (json = native.toolJson(found.length)) !== null; ) found.push(JSON.parse(json));
  return found;
}

for (const one of [Workspace, Session, AgentsMdLoader, FileWatcher, FileStateManager, Tracker]) {
  if (Symbol.dispose) one.prototype[Symbol.dispose] = one.prototype.close;
}

exports.version = native.version();
exports.StetError = StetError;
exports.ConflictError = ConflictError;
exports.Answer = Answer;
exports.Workspace = Workspace;
exports.Session = Session;
exports.FileTracker = FileTracker;
exports.AgentsMdLoader = AgentsMdLoader;
exports.FileWatcher = FileWatcher;
exports.FileStateManager = FileStateManager;
exports.fileTracker = fileTracker;
exports.readFile = readFile;
exports.editFile = editFile;
exports.Tracker = Tracker;
exports.formatForPrompt = formatForPrompt;
exports.buildSnapshotPrompt = buildSnapshotPrompt;
exports.tools = tools;
