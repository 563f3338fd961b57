// @suite waits long
import { afterEach, expect, test } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { allGone, chat, removeStarts, start, type Started } from '../support/start.ts';

afterEach(removeStarts);

/** Short enough for a test, and longer than a busy machine keeps a program from answering. */
const watched = { env: { WEIR_WATCHDOG_SECONDS: '4' } };

async function untilServed(gateway: Started): Promise<void> {
  const answers = (): Promise<number> =>
    chat(gateway, {}).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(answers).toBe(200);
}

/** The books of a gateway that has ended are right. */
async function expectGoodBooks({ data }: Started): Promise<void> {
  const { code, stdout } = await runWeir(['ledger', 'verify', '--data', data]);
  expect({ code, stdout }).toMatchObject({ code: 0 });
}

/** Stops a process while a stream is open, waits for the watchdog and serves again. */
async function expectStartedAgain(part: 'Envoy' | 'the service'): Promise<void> {
  const gateway = await start([], watched);
  await untilServed(gateway);
  const { [part]: stopped = 0, ...others } = gateway.processes();
  const stream = await chat(gateway, { stream: true, content: '[[words=3000]][[tokenDelayMs=20]] go' });
  const reading = stream.text().then(
    () => 'ended',
    (error: Error) => error.message,
  );
  process.kill(stopped, 'SIGSTOP');
  const name = part === 'Envoy' ? 'Envoy' : 'The service';
  await gateway.said(new RegExp(`${name} stopped answering; ending it`));
  await gateway.said(new RegExp(`${name} was killed by SIGKILL; starting it again`));
  expect(await reading).toBe('terminated');
  await untilServed(gateway);
  expect(gateway.processes()).toMatchObject(others);
  expect(gateway.processes()[part]).not.toBe(stopped);
  expect((await gateway.stop()).code).toBe(0);
  await expectGoodBooks(gateway);
}

test('a service that does not answer any more is ended and started again, with its books intact', async () => {
  await expectStartedAgain('the service');
});

test('an Envoy that does not answer any more is ended and started again', async () => {
  await expectStartedAgain('Envoy');
});

test('a service and an Envoy that stand still end with Ctrl-C, watched by nobody', async () => {
  const gateway = await start([], { env: { WEIR_WATCHDOG_SECONDS: '0' } });
  await untilServed(gateway);
  const pids = gateway.processes();
  for (const part of ['the service', 'Envoy']) process.kill(pids[part] ?? 0, 'SIGSTOP');
  const { code, stderr } = await gateway.stop('SIGINT');
  expect(code).toBe(0);
  expect(stderr).not.toContain('does not answer');
  await allGone(pids, 0);
  await expectGoodBooks(gateway);
});
