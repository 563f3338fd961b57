// @suite apart
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hugeBodies } from '../../test/support/fuzz/huge-bodies.ts';
import { longestHold, longestHoldMs, maxTries } from '../../test/support/loop-delay.ts';
import { targetOf } from '../../test/support/route-of.ts';
import { type PrepareWorker, startPrepareWorker } from '../gateway/prepare/prepare-in-worker.ts';
import { startThread } from './worker-thread.ts';

let worker: PrepareWorker;

beforeAll(() => {
  worker = startPrepareWorker({
    startThread,
    imageHosts: 'any',
    keepsBillingLines: false,
    tokenizerRoot: fileURLToPath(new URL('../../test/golden/tokens', import.meta.url)),
  });
});
afterAll(() => worker.close());

/** Takes a body as a request does: it is read, written for an engine, and let go of, or refused. */
async function take(bytes: Uint8Array, surface: 'chat' | 'messages'): Promise<void> {
  try {
    const prepared = await worker.prepare(bytes, surface);
    await prepared.bodyFor(targetOf('a'));
    prepared.release();
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_request' });
  }
}

/** A copy in memory of its own: that is handed over, and another try needs another. */
function copyOf(bytes: Buffer): Uint8Array {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

describe('a body of tens of megabytes', () => {
  it.each(hugeBodies)('delays no other work while it is read: $surface, $name', async ({ surface, bytes }) => {
    const sent = bytes();
    const copies = Array.from({ length: maxTries }, () => copyOf(sent));
    expect(await longestHold(() => take(copies.pop() ?? sent, surface))).toBeLessThan(longestHoldMs);
  });

  it('is refused where it holds absurdly many values, and is not parsed', async () => {
    const refusal = { code: 'invalid_request', message: 'The request body holds more than 250000 values.' };
    const million = hugeBodies.find(({ name }) => name === 'a million messages')?.bytes() ?? Buffer.alloc(0);
    await expect(worker.prepare(million, 'chat')).rejects.toMatchObject(refusal);
    await expect(worker.prepare(Buffer.from('['.repeat(300_000)), 'chat')).rejects.toMatchObject(refusal);
  });

  it('would hold everybody up if all of it were handed over', async () => {
    const tools = Array.from({ length: 500_000 }, () => ({ name: 'f' }));
    expect(await longestHold(() => structuredClone(tools))).toBeGreaterThan(longestHoldMs);
  });
});
