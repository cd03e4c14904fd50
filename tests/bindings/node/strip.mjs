// strip.mjs DIRECTORY FILE...: TypeScript for Node 20, by Node 22, which replaces types with spaces. Nothing
// else changes but the name of the test runner and Bun's word for the directory of a module.
import { stripTypeScriptTypes } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const [directory, ...files] = process.argv.slice(2);
for (const file of files) {
  const plain = stripTypeScriptTypes(readFileSync(file, 'utf8'))
    .replace("'bun:test'", "'./bun-test.mjs'")
    .replaceAll('import.meta.dir,', 'import.meta.dirname,');
  writeFileSync(join(directory, basename(file).replace(/\.m?ts$/, '.mjs')), plain);
}
