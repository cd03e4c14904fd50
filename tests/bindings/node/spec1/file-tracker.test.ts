// Specification 1; imports and set-up are ours, the cases are as written there.
import { describe, test, expect, beforeEach, afterEach } from 'bun:test';
import { fileTracker, FileTracker } from 'stet';
import { writeFileSync, unlinkSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/tracker-test');

describe('FileTracker', () => {
  let tracker: FileTracker;

  beforeEach(() => {
    mkdirSync(TEST_DIR, { recursive: true });
    tracker = new FileTracker();
  });

  afterEach(() => {
    rmSync(TEST_DIR, { recursive: true, force: true });
  });

  describe('file modification tracking', () => {
    test('no conflict when file is unchanged after tracking', () => {
      const path = join(TEST_DIR, 'test.txt');
      writeFileSync(path, 'hello');

      tracker.trackRead(path);

      expect(tracker.hasBeenModifiedSinceRead(path)).toBe(false);
    });

    test('conflict detected when file modified externally', async () => {
      const path = join(TEST_DIR, 'test.txt');
      writeFileSync(path, 'hello');
      tracker.trackRead(path);

      await new Promise(r => setTimeout(r, 10));
      writeFileSync(path, 'world');

      expect(tracker.hasBeenModifiedSinceRead(path)).toBe(true);
    });

    test('no conflict for files that were never tracked', () => {
      const path = join(TEST_DIR, 'untracked.txt');
      writeFileSync(path, 'hello');

      expect(tracker.hasBeenModifiedSinceRead(path)).toBe(false);
    });

    test('no conflict after re-tracking a modified file', async () => {
      const path = join(TEST_DIR, 'test.txt');
      writeFileSync(path, 'hello');
      tracker.trackRead(path);

      await new Promise(r => setTimeout(r, 10));
      writeFileSync(path, 'world');
      expect(tracker.hasBeenModifiedSinceRead(path)).toBe(true);

      tracker.trackRead(path);
      expect(tracker.hasBeenModifiedSinceRead(path)).toBe(false);
    });
  });

  describe('agents.md loading', () => {
    test('returns agents.md content when file exists in same directory', () => {
      const agentsMdPath = join(TEST_DIR, 'agents.md');
      writeFileSync(agentsMdPath, '# Rules');

      const filePath = join(TEST_DIR, 'file.ts');
      const result = tracker.getAgentsMdIfNew(filePath);

      expect(result).toBe('# Rules');
    });

    test('returns null when no agents.md in directory', () => {
      const filePath = join(TEST_DIR, 'file.ts');
      const result = tracker.getAgentsMdIfNew(filePath);

      expect(result).toBeNull();
    });

    test('same agents.md only returned once per session', () => {
      const agentsMdPath = join(TEST_DIR, 'agents.md');
      writeFileSync(agentsMdPath, '# Rules');

      const first = tracker.getAgentsMdIfNew(join(TEST_DIR, 'a.ts'));
      const second = tracker.getAgentsMdIfNew(join(TEST_DIR, 'b.ts'));

      expect(first).toBe('# Rules');
      expect(second).toBeNull();
    });

    test('clearSession allows same agents.md to be returned again', () => {
      const agentsMdPath = join(TEST_DIR, 'agents.md');
      writeFileSync(agentsMdPath, '# Rules');

      tracker.getAgentsMdIfNew(join(TEST_DIR, 'a.ts'));
      tracker.clearSession();
      const second = tracker.getAgentsMdIfNew(join(TEST_DIR, 'b.ts'));

      expect(second).toBe('# Rules');
    });
  });
});
