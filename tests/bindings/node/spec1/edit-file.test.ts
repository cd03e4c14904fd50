// Specification 1; imports and set-up are ours, the cases are as written there.
import { describe, test, expect, beforeEach, afterEach } from 'bun:test';
import { editFile, fileTracker } from 'stet';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/edit-file');

beforeEach(() => {
  mkdirSync(TEST_DIR, { recursive: true });
});

afterEach(() => {
  rmSync(TEST_DIR, { recursive: true, force: true });
});

describe('editFile with file tracking', () => {
  test('returns error when file was modified since last read', async () => {
    const path = join(TEST_DIR, 'test.txt');
    writeFileSync(path, 'original content');

    // Simulate: agent reads file
    fileTracker.trackRead(path);

    // External modification
    await new Promise(r => setTimeout(r, 10));
    writeFileSync(path, 'externally modified');

    // Agent tries to edit - should fail
    const result = editFile(path, 'original', 'new');
    expect(result).toContain('Error:');
    expect(result).toContain('modified');
  });
});
