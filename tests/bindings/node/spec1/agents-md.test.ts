// Specification 1; imports and set-up are ours, the cases are as written there; it leaves "LRU cache evicts old entries" to us.
import { describe, test, expect, beforeEach, afterEach } from 'bun:test';
import { AgentsMdLoader } from 'stet';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEST_DIR = join(import.meta.dir, 'tmp/agents-test');
let loader: AgentsMdLoader;

beforeEach(() => {
  mkdirSync(TEST_DIR, { recursive: true });
  loader = new AgentsMdLoader(TEST_DIR);
});

afterEach(() => {
  loader.close();
  rmSync(TEST_DIR, { recursive: true, force: true });
});

describe('AgentsMdLoader (production)', () => {
  test('walks up directory tree to find all agents.md files', async () => {
    mkdirSync(join(TEST_DIR, 'src', 'components'), { recursive: true });
    writeFileSync(join(TEST_DIR, 'agents.md'), '# Root');
    writeFileSync(join(TEST_DIR, 'src', 'agents.md'), '# Src');
    writeFileSync(join(TEST_DIR, 'src', 'components', 'agents.md'), '# Components');

    await loader.index();

    const results = loader.getForPath(join(TEST_DIR, 'src', 'components', 'Button.tsx'));

    expect(results).toHaveLength(3);
    expect(results[0].content).toBe('# Root');
    expect(results[1].content).toBe('# Src');
    expect(results[2].content).toBe('# Components');
  });

  test('ignores node_modules and .git directories', async () => {
    mkdirSync(join(TEST_DIR, 'node_modules', 'pkg'), { recursive: true });
    writeFileSync(join(TEST_DIR, 'node_modules', 'pkg', 'agents.md'), '# Should ignore');

    await loader.index();

    const results = loader.getForPath(join(TEST_DIR, 'node_modules', 'pkg', 'index.js'));
    expect(results).toHaveLength(0);
  });

  test('LRU cache evicts old entries', async () => {
    // Create many agents.md files exceeding cache size
    // Verify oldest entries are evicted
    const paths = Array.from({ length: 60 }, (_, i) => join(TEST_DIR, `d${i}`, 'agents.md'));
    for (const path of paths) {
      mkdirSync(join(path, '..'));
      writeFileSync(path, `# Rules of ${path}`);
    }
    await loader.index();
    for (const path of paths) {
      expect(loader.getForPath(join(path, '../file.ts'))[0].content).toBe(`# Rules of ${path}`);
    }
    loader.clearSession();

    // An entry that is not in the cache any more is read again.
    for (const path of paths) writeFileSync(path, '# Updated');
    expect(loader.getForPath(join(paths[0], '../file.ts'))[0].content).toBe('# Updated');
  });

  test('invalidate removes path from cache', async () => {
    writeFileSync(join(TEST_DIR, 'agents.md'), '# Original');
    await loader.index();

    loader.getForPath(join(TEST_DIR, 'file.ts'));
    loader.clearSession();

    writeFileSync(join(TEST_DIR, 'agents.md'), '# Updated');
    loader.invalidate(join(TEST_DIR, 'agents.md'));

    const results = loader.getForPath(join(TEST_DIR, 'file.ts'));
    expect(results[0].content).toBe('# Updated');
  });
});
