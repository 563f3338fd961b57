// @suite apart
import { createServer, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from './clock.ts';

/** Holds the event loop, as a machine does that gives the process no core. */
function starve(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** A socket to which a byte comes while the event loop is held, and a limit of silence that passes meanwhile. */
async function silenceUnder(
  after: (delayMs: number, run: () => void) => void,
  meanwhile: (peer: import('node:net').Socket) => void = () => undefined,
): Promise<readonly string[]> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = (await once(server, 'connection')) as [import('node:net').Socket];
  onTestFinished(() => void client.destroy());
  onTestFinished(() => void peer.destroy());
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  client.on('data', () => seen.push('data'));
  after(30, () => {
    seen.push('silence');
    resolve();
  });
  meanwhile(peer);
  peer.write('x');
  starve(120);
  await promise;
  return seen;
}

it('a timer that is late runs after what has arrived meanwhile was read', async () => {
  expect(await silenceUnder(systemClock.after)).toEqual(['data', 'silence']);
});

it('without that, a starved process takes for silence what it has not read', async () => {
  expect(await silenceUnder((delayMs, run) => void setTimeout(run, delayMs))).toEqual(['silence']);
});

/** The process is stopped again, in the last moment before the late timer would run, and more arrives. */
function stopAgain(peer: import('node:net').Socket): void {
  const stop = (): void => {
    peer.write('y');
    starve(120);
  };
  // The first immediate comes before the timer; the others come just before the two of the timer, which are asked for later.
  setImmediate(() => setImmediate(() => setImmediate(stop)));
}

it('a late timer reads again when the process was stopped while it read', async () => {
  expect(await silenceUnder(systemClock.after, stopAgain)).toEqual(['data', 'data', 'silence']);
});

it('without that, what arrived during the second stop counts as silence', async () => {
  const once: Parameters<typeof silenceUnder>[0] = (delayMs, run) =>
    void setTimeout(() => setImmediate(() => setImmediate(run)), delayMs);
  expect(await silenceUnder(once, stopAgain)).toEqual(['data', 'silence']);
});

it('a late timer can be cancelled by what was read', async () => {
  let ran = false;
  const cancel = systemClock.after(10, () => {
    ran = true;
  });
  setImmediate(cancel);
  starve(60);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(ran).toBe(false);
});
