#!/usr/bin/env node
// `npm test`, `npm run test:all` and `npm run check` on a fresh clone: installs what is missing, then runs test/runner on the pinned Node.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';
import { ensurePages } from './pages.mjs';

const begunAt = Date.now();
try {
  const node = await ensureInstalled({ dev: true });
  await ensurePages(node, { dev: true });
  const runner = join(root, 'test', 'runner', 'main.ts');
  const child = spawn(node, [runner, ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, WEIR_TEST_BEGUN_AT: String(begunAt) },
  });
  // The runner ends its own steps and reports; leaving before it would cut its last line.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => fail(`${node} could not be started: ${error.message}`));
  child.once('exit', (code, signal) => (code === null ? fail(`ended by ${signal}`) : (process.exitCode = code)));
} catch (error) {
  fail(error.message);
}

function fail(message) {
  console.log(`${message}\n\n0 passed, 1 failed`);
  process.exitCode = 1;
}
