// Specification 1; imports and set-up are ours, the cases are as written there.
import { describe, test, expect, beforeEach, afterEach } from 'bun:test';
import { FileStateManager } from 'stet';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/manager-test');

beforeEach(() => {
  mkdirSync(TEST_DIR, { recursive: true });
});

afterEach(() => {
  rmSync(TEST_DIR, { recursive: true, force: true });
});

describe('FileStateManager', () => {
  test('initializes and indexes agents.md files', async () => {
    writeFileSync(join(TEST_DIR, 'agents.md'), '# Root');

    const manager = new FileStateManager(TEST_DIR);
    await manager.initialize();

    const root = manager.getRootAgentsMd();
    expect(root).toBe('# Root');

    manager.dispose();
  });

  test('watcher invalidates tracker on file change', async () => {
    const path = join(TEST_DIR, 'test.txt');
    writeFileSync(path, 'hello');

    const manager = new FileStateManager(TEST_DIR);
    await manager.initialize();

    manager.trackRead(path, 'hello');

    await new Promise(r => setTimeout(r, 200));
    writeFileSync(path, 'world');
    await new Promise(r => setTimeout(r, 200));

    // Watcher should have invalidated tracking
    const conflict = manager.checkForConflict(path);
    expect(conflict.hasConflict).toBe(false);

    manager.dispose();
  });
});
