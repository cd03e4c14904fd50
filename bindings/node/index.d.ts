/// <reference types="node" />
// The types of stet for JavaScript: written here, and nowhere else. A test compares them with what
// index.js exports.

import type { Buffer } from 'node:buffer';

/** A path: relative to the root, or absolute and below it. Bytes for names that are not UTF-8. */
export type Path = string | Uint8Array | URL;

/** A text: a string, or bytes for what is not UTF-8. A string with half of a surrogate pair is refused. */
export type Text = string | Uint8Array;

export declare const version: string;

/** A call that failed. The message says what to do next. */
export declare class StetError extends Error {
  constructor(code: string, message: string);
  /** "conflict", "not_found", "outside", "no_match", "ambiguous", "busy", "invalid", ... */
  readonly code: string;
}

/** A refused change: the file is not the version that the session saw. */
export declare class ConflictError extends StetError {
  constructor(message: string, answer?: Answer);
  /** The answer of the refusal; its diff counts as seen. */
  readonly answer: Answer;
}

/** The result of a call on a session. Members that a call does not fill are undefined, false, 0 or empty. */
export declare class Answer {
  private constructor();
  /** "success"; after a check "untracked", "clean", "modified" or "deleted". */
  readonly status: string;
  /** Relative to the root, with symbolic links resolved. */
  readonly path: string;
  /** The path's bytes, if they are not UTF-8. */
  readonly pathBytes?: Buffer;
  readonly hasConflict: boolean;
  readonly reason?: 'modified' | 'deleted' | 'unseen' | 'hash';
  readonly message?: string;
  /** The first 16 digits of the SHA-256 of the file's bytes. */
  readonly hash?: string;
  /** The bytes that were read, or the current bytes of a file in conflict. */
  readonly content?: Buffer;
  /** The content as text; bytes that are not UTF-8 become U+FFFD. */
  get text(): string;
  /** A unified diff from the version that the session saw to the current one. */
  readonly diff?: string;
  /** How the file was written: "exchanged", "created", "verified", "in-place", "none". */
  readonly commit?: string;
  /** Whether the file had these bytes already, so that nothing was written. */
  readonly noop: boolean;
  readonly created: boolean;
  /** Whether changes by others were merged. */
  readonly merged: boolean;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly totalLines: number;
  /** Sentences about events that no call asked for, such as rescued late writes. */
  readonly notices: string[];
}

/** The options of a workspace, as enum stet_option of the library explains them. */
export interface WorkspaceOptions {
  durable?: boolean;
  maxFile?: number;
  maxDiff?: number;
  maxBases?: number;
  requireRead?: boolean;
  merge?: boolean;
  agents?: 0 | 1 | 2;
  agentsBuiltin?: boolean;
  agentsGitignore?: boolean;
  agentsBudget?: number;
  state?: 0 | 1 | 2;
  readOnly?: boolean;
  pageBytes?: number;
  hashProves?: boolean;
  structured?: boolean;
  useSnapshot?: boolean;
  versionDays?: number;
  hook?: 0 | 1 | 2;
  vault?: boolean;
}

/** A root directory. No path leads out of it. */
export declare class Workspace {
  constructor(root?: Path, options?: WorkspaceOptions);
  /** The absolute path, with symbolic links resolved. */
  get root(): string;
  session(name?: string): Session;
  close(): void;
  [Symbol.dispose](): void;
}

/** The answer of a tool: a result of the Model Context Protocol. */
export interface ToolResult {
  content: { type: string; text?: string; [member: string]: unknown }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** One agent's view of a workspace: which versions of which files it has seen. */
export declare class Session {
  /** A session with a name outlives the process. */
  constructor(root?: Workspace | Path, name?: string);
  get root(): string;
  /** Read lines of a file, all by default, and record them as seen. */
  read(path: Path, first?: number, count?: number): Answer;
  /** Write a whole file, or create it. Throws a ConflictError if it changed since it was read. */
  write(path: Path, content: Text, expectedHash?: string): Answer;
  /** Replace a text that occurs exactly once. Throws a ConflictError if the file changed since it was read. */
  edit(path: Path, oldText: Text, newText: Text, expectedHash?: string): Answer;
  /** Compare a file with the version that was seen. */
  check(path: Path): Answer;
  /** Run a tool of the table. A tool that refuses returns its result; only an unknown tool throws. */
  call(tool: string, args?: Record<string, unknown>): ToolResult;
  /** Record the current version of a file as read. */
  trackRead(path: Path): void;
  /** Record a file as read with this content. */
  track(path: Path, content: Text): void;
  /** Whether a tracked file was changed or deleted since it was read. */
  hasBeenModifiedSinceRead(path: Path): boolean;
  checkConflict(path: Path): ConflictResult;
  /** Stop tracking a file. */
  invalidate(path: Path): void;
  /** The AGENTS.md in the file's own directory, unless this session has it. */
  getAgentsMdIfNew(filePath: Path): string | null;
  /** Forget which AGENTS.md were delivered. */
  clearSession(): void;
  /** Read a whole file as text, and record it as seen. */
  readFile(path: Path): string;
  /** Replace a text, or create a file if oldStr is empty. Returns the sentence for the model. */
  editFile(path: Path, oldStr: Text, newStr: Text): string;
  close(): void;
  [Symbol.dispose](): void;
}

// ---- the classes of the file state specification ----

export interface ConflictResult {
  hasConflict: boolean;
  reason?: 'modified' | 'deleted';
  message?: string;
  currentContent?: string;
}

export interface AgentsMdResult {
  path: string;
  content: string;
}

export type WatchEvent = 'add' | 'change' | 'unlink';

/** Knows which versions of files an agent has read, and which of them others changed. */
export declare class FileTracker extends Session {}

/** The tracker of the working directory, opened at its first use. */
export declare const fileTracker: FileTracker;
export declare function readFile(path: Path): string;
export declare function editFile(path: Path, oldStr: Text, newStr: Text): string;

/** Delivers AGENTS.md files, each once per session. */
export declare class AgentsMdLoader {
  constructor(workingDir?: Path);
  /** Read the tree once, and throw if that is impossible. The other calls do not need it. */
  index(): Promise<void>;
  /** The new instructions for a file, the root's first. */
  getForPath(filePath: Path): AgentsMdResult[];
  getRoot(): string | null;
  invalidate(path: Path): void;
  clearSession(): void;
  close(): void;
  [Symbol.dispose](): void;
}

/** Calls back on the event loop, which stays alive while it is started. */
export declare class FileWatcher {
  /** The path of an event is absolute; `bytes` is given if it is not UTF-8. */
  constructor(workingDir: Path, onFileChange: (path: string, event: WatchEvent, bytes?: Buffer) => void);
  start(): void;
  /** No callback comes after it. The watcher can be started again. */
  stop(): void;
  close(): void;
  [Symbol.dispose](): void;
}

/** A tracker, a loader and a watcher in one: a file that others change is no longer tracked. */
export declare class FileStateManager {
  constructor(workingDir?: Path);
  /** For reads, edits and tools; closed with the manager. */
  get session(): Session;
  /** Begin to watch. The event loop stays alive until dispose(). */
  initialize(): Promise<void>;
  trackRead(path: Path, content: Text): void;
  checkForConflict(path: Path): ConflictResult;
  getAgentsMdForPath(filePath: Path): AgentsMdResult[];
  getRootAgentsMd(): string | null;
  clearSession(): void;
  /** Stop watching. The manager still answers; close() frees it. */
  dispose(): void;
  close(): void;
  [Symbol.dispose](): void;
}

// ---- the state of the work ----

export interface FileMeta {
  path: string;
  hash?: string;
  size?: number;
  modTime?: string;
  type?: string;
  /** Not given if nobody looked at the file. */
  status?: 'created' | 'modified' | 'unchanged';
  [member: string]: unknown;
}

export interface Task {
  id?: number;
  description: string;
  status?: 'pending' | 'in_progress' | 'completed';
  priority?: number;
  [member: string]: unknown;
}

/** repostate.json, with its names in camel case. */
export interface RepoState {
  workDir: string;
  files: FileMeta[];
  openTasks: Task[];
  lastUpdated: string;
  storyId: string;
  [member: string]: unknown;
}

/** Records what tools did, and gives the state as it is on disk now. */
export declare class Tracker {
  constructor(workDir?: Path, storyId?: string);
  /** Record a call of any tool: its result, its arguments, or both. */
  updateFromToolResult(toolName: string, result: Record<string, unknown>): void;
  /** Add a task; lower priorities come first, 0 is last. Returns its number. */
  addTask(description: string, priority?: number): number;
  completeTask(id: number): void;
  getSnapshot(): RepoState;
  /** Write repostate.json now; otherwise stet writes it within a second. */
  persist(): void;
  /** Throw if the stored state cannot be read. Every snapshot reads it. */
  load(): void;
  close(): void;
  [Symbol.dispose](): void;
}

/** The state as text for a model, within `budget` tokens (500 by default). */
export declare function formatForPrompt(state: RepoState, budget?: number): string;

export interface Message {
  role: string;
  content: string;
}

/** A prompt of template, snapshot and request, as messages of chat completions. */
export declare function buildSnapshotPrompt(template: string, repoState: RepoState, additionalContext?: string): Message[];

export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: Record<string, unknown>;
  [member: string]: unknown;
}

/** The table of tools, each as an entry of the protocol's tools/list. */
export declare function tools(): Tool[];
