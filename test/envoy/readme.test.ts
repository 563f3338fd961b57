import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { findProgram } from '../support/find-program.ts';
import { readmeBlock } from '../support/readme-blocks.ts';
import { chat, removeStarts, start, type Started } from '../support/start.ts';
import { shellCommands } from '../lint/examples/shell-commands.ts';
import { forFile } from '../support/for-file.ts';

// The commands of README.md as they stand, but for ports and folders, which others may have. The Kubernetes ones are in
// test/kube/readme-kubernetes.test.ts.

const ownEngine = 'http://127.0.0.1:11434';

/** A block with what is different here. Throws if it has nothing of that. */
function withOwn(block: string, changes: readonly (readonly [shown: string, here: string])[]): string {
  return changes.reduce((text, [shown, here]) => {
    if (!text.includes(shown)) throw new Error(`README.md does not show ${shown}:\n${text}`);
    return text.replace(shown, here);
  }, block);
}

/** Runs a block that is one `npm start`. */
function startAsShown(block: string, options: { readonly portal: boolean }): Promise<Started> {
  const commands = shellCommands(block);
  const [npm, verb, , ...flags] = commands[0]?.words ?? [];
  if (commands.length > 1 || npm !== 'npm' || verb !== 'start') throw new Error(`expected one npm start:\n${block}`);
  return start(flags, { ...options, throughNpm: true, env: { WEIR_ADMIN_PORT: '0' } });
}

const engine = await forFile(startProgrammableEngine({ models: ['llama3.2:1b', 'qwen3:8b'] }));
const [gateway, ofOwnEngine] = await Promise.all([
  startAsShown(readmeBlock('start'), { portal: true }),
  startAsShown(withOwn(readmeBlock('upstream'), [[ownEngine, engine.url]]), { portal: false }),
]);

afterAll(async () => {
  await removeStarts();
});

test('`npm start` prints the lines that README.md shows, in their order', () => {
  const shown = readmeBlock('printed').trim().split('\n');
  const pattern = shown.map((line) => {
    const [left = '', ...rest] = line.replaceAll(/:\d+/g, ':…').split('…');
    return [left, ...rest].map((part) => RegExp.escape(part)).join(String.raw`\S+`);
  });
  expect(gateway.stdout()).toMatch(new RegExp(`^${pattern.join('$[^]*?^')}$`, 'm'));
});

test('the request of README.md is answered with a stream', async () => {
  const command = withOwn(readmeBlock('request'), [
    ['http://127.0.0.1:8080', new URL(gateway.baseUrl).origin],
    ['.weir/', `${gateway.data}/`],
  ]);
  const stdout = findProgram({ program: 'curl' }) === undefined ? await sendAsCurl(command) : await runShell(command);
  expect(stdout).toContain('"model":"demo/chat"');
  expect(stdout.trimEnd()).toMatch(/data: \[DONE\]$/);
});

const runShell = async (command: string): Promise<string> => (await promisify(execFile)('sh', ['-c', command])).stdout;

/** Sends the request of a curl command where the machine has no curl. */
async function sendAsCurl(command: string): Promise<string> {
  const withKey = command.replaceAll(/\$\(cat (\S+)\)/g, (_, file: string) => readFileSync(file, 'utf8').trim());
  const [{ words } = { words: [] }] = shellCommands(withKey);
  const url = words.find((word) => word.startsWith('http')) ?? '';
  const valuesOf = (flag: string): readonly string[] => words.filter((_, at) => words[at - 1] === flag);
  const headers = valuesOf('-H').map((header): [string, string] => [
    header.split(':')[0] ?? '',
    header.split(': ')[1] ?? '',
  ]);
  return (await fetch(url, { method: 'POST', headers, body: valuesOf('-d').join('') })).text();
}

test("`npm start -- --upstream` serves every model of one's own engine", async () => {
  const models = /^models: +(.+)$/m.exec(ofOwnEngine.stdout())?.[1];
  expect(models).toBe('local/llama3.2-1b, local/qwen3-8b');
  const answer = await chat(ofOwnEngine, { model: 'llama3.2:1b' });
  expect([answer.status, await answer.json()]).toMatchObject([200, { model: 'local/llama3.2-1b' }]);
});
