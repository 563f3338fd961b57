// Writes the generated files; with --check compares them instead, and fails when one is out of date or missing.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

const root = join(import.meta.dirname, '..');
const checkOnly = process.argv.includes('--check');

function current(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

let outdated = 0;
for (const { path, render } of generatedFiles) {
  const file = join(root, path);
  const content = Buffer.from(render());
  if (current(file)?.equals(content) === true) continue;
  outdated += 1;
  if (checkOnly) {
    console.error(`${path} is out of date: \`npm run generate\` writes it.`);
  } else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    console.log(`wrote ${path}`);
  }
}
if (checkOnly && outdated > 0) process.exitCode = 1;
