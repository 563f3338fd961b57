import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Runs code in a process that has no file left, and resolves to what it returns. `imports`: what the code uses, by the module that has it;
 * loaded before. Only on systems with a POSIX shell.
 */
export async function withoutFiles(code: string, imports: Readonly<Record<string, string | URL>>): Promise<unknown> {
  const loaded = Object.entries(imports).map(([name, from]) => `import { ${name} } from '${String(from)}';`);
  const program = `
import { closeSync, openSync } from 'node:fs';
${loaded.join('\n')}
const held = [];
try {
  for (;;) held.push(openSync('/dev/null'));
} catch {}
let found;
try {
  found = await (async () => { ${code} })();
} catch (error) {
  found = { thrown: error.code ?? error.name };
}
for (const file of held) closeSync(file);
console.log(JSON.stringify(found));
process.exit();`;
  const shell = ['-c', 'ulimit -n 64 && exec "$0" --input-type=module -e "$1"', process.execPath, program];
  return JSON.parse((await promisify(execFile)('sh', shell)).stdout) as unknown;
}
