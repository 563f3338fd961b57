import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// The twin of the check: tests that leak, run with it and without it.
const leaky = `
import { spawn } from 'node:child_process';
import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { describe, test, beforeAll, afterAll } from 'vitest';

const listen = async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
};

test('leaves a timer', () => void setTimeout(() => {}, 60_000));
test('leaves a server', async () => void (await listen()));
test('leaves a child', async () => void (await once(spawn(process.execPath, ['-e', 'process.stdin.resume()']), 'spawn')));
test('leaves an interval of a module', async () => void (await import('node:timers')).setInterval(() => {}, 60_000));

describe('with a shared server', () => {
  let server, socket;
  beforeAll(async () => void (server = await listen()));
  test('keeps a pooled socket', async () => void (await once((socket = connect(server.address().port)), 'connect')));
  test('closes what it opened', async () => {
    const own = await listen();
    const timer = setTimeout(() => {}, 60_000);
    clearTimeout(timer);
    own.close();
    await once(own, 'close');
  });
  if (process.env.CLOSE_SHARED) afterAll(() => { socket.destroy(); server.close(); });
});
`;

const root = join(import.meta.dirname, '..', '..');

interface Run {
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  readonly fileMessage: string;
}

async function run(setupFiles: readonly string[], environment: Readonly<Record<string, string>>): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-leak-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'leaky.test.ts'), leaky);
    await writeFile(join(folder, 'vitest.config.mjs'), `export default { test: ${JSON.stringify({ setupFiles })} };`);
    const parameters = [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=json',
      '--outputFile=out.json',
    ];
    const options = { cwd: folder, env: { ...process.env, ...environment } };
    await new Promise((resolve) => execFile(process.execPath, parameters, options, resolve));
    const report = JSON.parse(await readFile(join(folder, 'out.json'), 'utf8'));
    const [file] = report.testResults;
    const named = (status: string): string[] =>
      file.assertionResults
        .filter((one: { status: string }) => one.status === status)
        .map((one: { title: string }) => one.title);
    return { failed: named('failed'), passed: named('passed'), fileMessage: file.message };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const check = [join(root, 'test/support/leak-check.ts')];
const leaks = ['leaves a timer', 'leaves a server', 'leaves a child', 'leaves an interval of a module'];
const clean = ['keeps a pooled socket', 'closes what it opened'];

test('with the check each leak fails its test, and what is shared is checked at the end of the file', async () => {
  const { failed, passed, fileMessage } = await run(check, { WEIR_LEAK_GRACE_MS: '300' });
  expect(failed).toEqual(leaks);
  expect(passed).toEqual(clean);
  expect(fileMessage).toMatch(/left open: .*TCPServerWrap/);
});

test('a file that closes what it shares is clean in the end', async () => {
  const { fileMessage, failed } = await run(check, { WEIR_LEAK_GRACE_MS: '300', CLOSE_SHARED: '1' });
  expect(failed).toEqual(leaks);
  expect(fileMessage).not.toMatch(/TCPSocketWrap/);
});

test('without the check the same tests pass', async () => {
  expect(await run([], {})).toMatchObject({ failed: [], passed: [...leaks, ...clean] });
});
