// Specification 1; imports and set-up are ours, the cases are as written there.
import { describe, test, expect, beforeEach, afterEach, mock } from 'bun:test';
import { FileWatcher } from 'stet';
import { mkdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/watcher-test');

beforeEach(() => {
  mkdirSync(TEST_DIR, { recursive: true });
});

afterEach(() => {
  rmSync(TEST_DIR, { recursive: true, force: true });
});

describe('FileWatcher', () => {
  test('calls callback on file change', async () => {
    const callback = mock(() => {});
    const watcher = new FileWatcher(TEST_DIR, callback);

    watcher.start();
    writeFileSync(join(TEST_DIR, 'test.txt'), 'initial');

    await new Promise(r => setTimeout(r, 200));
    writeFileSync(join(TEST_DIR, 'test.txt'), 'changed');
    await new Promise(r => setTimeout(r, 200));

    expect(callback).toHaveBeenCalledWith(
      join(TEST_DIR, 'test.txt'),
      'change'
    );

    watcher.stop();
  });

  test('calls callback on file delete', async () => {
    const callback = mock(() => {});
    const watcher = new FileWatcher(TEST_DIR, callback);

    writeFileSync(join(TEST_DIR, 'test.txt'), 'content');
    watcher.start();

    await new Promise(r => setTimeout(r, 200));
    unlinkSync(join(TEST_DIR, 'test.txt'));
    await new Promise(r => setTimeout(r, 200));

    expect(callback).toHaveBeenCalledWith(
      join(TEST_DIR, 'test.txt'),
      'unlink'
    );

    watcher.stop();
  });
});
