// Specification 1; imports and set-up are ours, the cases are as written there.
import { describe, test, expect, beforeEach, afterEach } from 'bun:test';
import { fileTracker, readFile } from 'stet';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/read-file');

beforeEach(() => {
  mkdirSync(TEST_DIR, { recursive: true });
});

afterEach(() => {
  rmSync(TEST_DIR, { recursive: true, force: true });
});

describe('readFile with file tracking', () => {
  test('tracks file after reading', () => {
    const path = join(TEST_DIR, 'test.txt');
    writeFileSync(path, 'content');

    readFile(path);

    expect(fileTracker.hasBeenModifiedSinceRead(path)).toBe(false);
  });
});
