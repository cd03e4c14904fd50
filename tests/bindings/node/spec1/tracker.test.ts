// Specification 1; imports and set-up are ours, the cases are as written there.
import { describe, test, expect, beforeEach, afterEach } from 'bun:test';
import { FileTracker } from 'stet';
import { mkdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/tracker-test');
let tracker: FileTracker;

beforeEach(() => {
  mkdirSync(TEST_DIR, { recursive: true });
  tracker = new FileTracker();
});

afterEach(() => {
  tracker.close();
  rmSync(TEST_DIR, { recursive: true, force: true });
});

describe('FileTracker (production)', () => {
  test('no false positive when file touched but content unchanged', async () => {
    const path = join(TEST_DIR, 'test.txt');
    writeFileSync(path, 'hello');
    tracker.track(path, 'hello');

    // Touch file (changes mtime but not content)
    await new Promise(r => setTimeout(r, 10));
    const content = readFileSync(path, 'utf-8');
    writeFileSync(path, content);

    const result = tracker.checkConflict(path);
    expect(result.hasConflict).toBe(false);
  });

  test('conflict detected when tracked file is deleted', () => {
    const path = join(TEST_DIR, 'test.txt');
    writeFileSync(path, 'hello');
    tracker.track(path, 'hello');
    unlinkSync(path);

    const result = tracker.checkConflict(path);
    expect(result.hasConflict).toBe(true);
    expect(result.reason).toBe('deleted');
  });

  test('invalidate removes tracking for path', () => {
    const path = join(TEST_DIR, 'test.txt');
    writeFileSync(path, 'hello');
    tracker.track(path, 'hello');

    tracker.invalidate(path);

    const result = tracker.checkConflict(path);
    expect(result.hasConflict).toBe(false);
  });
});
