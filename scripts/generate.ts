// Writes the generated files; with --check compares them instead, and fails when one is out of date or missing.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

const root = join(import.meta.dirname, '..');
const checkOnly = process.argv.includes('--check');

function current(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

let outdated = 0;
for (const { path, render } of generatedFiles) {
  const file = join(root, path);
  const text = render();
  if (current(file) === text) continue;
  outdated += 1;
  if (checkOnly) {
    console.error(`${path} is out of date: \`npm run generate\` writes it.`);
  } else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(`wrote ${path}`);
  }
}
if (checkOnly && outdated > 0) process.exitCode = 1;
