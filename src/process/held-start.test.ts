import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { compileCache } from '../../test/support/program-environment.ts';
import { heldVariable } from './held-start.ts';

/** Sends its arguments and what its environment says, then each message that it gets. */
const program = `
import { argumentsOf } from ${JSON.stringify(join(import.meta.dirname, 'held-start.ts'))};
process.send('loaded', () => undefined);
const args = await argumentsOf(['given']);
const { ADDED, REMOVED, ${heldVariable}: held } = process.env;
process.send({ args, ADDED, REMOVED, held });
process.on('message', (message) => process.send(message));
`;

function start(env: Readonly<Record<string, string>>): { readonly child: ChildProcess; readonly said: unknown[] } {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, ...compileCache, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: unknown[] = [];
  child.on('message', (message) => said.push(message));
  return { child, said };
}

it('a program that is not held has the arguments of its command line', async () => {
  const { said } = start({});
  await expect.poll(() => said).toEqual(['loaded', { args: ['given'] }]);
});

it('a held program waits, and has the arguments and the environment of the message that lets it begin', async () => {
  const { child, said } = start({ [heldVariable]: '1', REMOVED: 'at the start' });
  await expect.poll(() => said).toEqual(['loaded']);
  child.send('too early');
  child.send({ type: 'begin', args: ['--data=x', '--port=1'], env: { ADDED: 'by the message', REMOVED: null } });
  child.send('a question');
  const begun = { args: ['--data=x', '--port=1'], ADDED: 'by the message' };
  // No message is lost between the one that lets it begin and its own listener.
  await expect.poll(() => said).toEqual(['loaded', begun, 'a question']);
});

it.each(['before it waits', 'while it waits'])('a held program ends with its supervisor: %s', async (when) => {
  const { child, said } = start({ [heldVariable]: '1' });
  const ended = once(child, 'exit');
  if (when === 'while it waits') await expect.poll(() => said).toEqual(['loaded']);
  child.disconnect();
  expect(await ended).toEqual([0, null]);
});
