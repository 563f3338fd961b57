import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(import.meta.dirname, '..');
/** A program of its own: the compiler's types would change those of the whole project. */
const compiler = fileURLToPath(import.meta.resolve('assemblyscript/bin/asc.js'));

/** Compiles the module that counts connections inside Envoy. Throws, after the compiler's words, when it is wrong. */
export function connectionsModule(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'weir-module-'));
  try {
    const out = join(folder, 'connections.wasm');
    // Envoy has no `abort` to import. What it would report cannot happen in a module without assertions.
    const flags = ['--outFile', out, '-Osize', '--noAssert', '--use', 'abort=', '--exportStart', '_initialize'];
    execFileSync(process.execPath, [compiler, 'envoy/connections/module.ts', ...flags], { cwd: root });
    return readFileSync(out);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
