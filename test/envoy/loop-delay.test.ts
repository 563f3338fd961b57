// @suite alone
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startFakeEngine } from '../fake-engine/fake-engine.ts';
import { hostileAnswers } from '../support/fuzz/hostile-answers.ts';
import { hostileManifests } from '../support/fuzz/hostile-manifests.ts';
import { hugeBodies } from '../support/fuzz/huge-bodies.ts';
import { longestHoldMs, startIdleThread } from '../support/loop-delay.ts';
import { stuckAfterMs } from '../support/stuck-after.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

/** What the engine answers. */
let answer: { readonly type: string; readonly bytes: Buffer };
/** Manifest files written. */
let files = 0;

const good = {
  type: 'application/json',
  bytes: Buffer.from('{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'),
};

/** A model of its own for each answer: routes that fail are left alone for a while. */
const nameOf = (index: number): string => `hostile-${index}`;

const idle = await forFile(startIdleThread());
answer = good;
const engine = await forFile(
  startFakeEngine(({ response }) => {
    response.writeHead(200, { 'content-type': answer.type }).end(answer.bytes);
  }),
);
const own = (name: string): string =>
  backendManifest(`backend-of-test-${name}`, engine) +
  modelManifest(`test/${name}`, [`backend-of-test-${name}`], '  hedging: {mode: Disabled}');
const weir = await forFile(
  startWeir({
    unlimited: true,
    manifests: { 'catalog.yaml': ['model', ...hostileAnswers.map((_, index) => nameOf(index))].map(own).join('') },
  }),
);
await (await weir.chat({ model: 'test/model', messages: [{ role: 'user', content: 'hi' }] })).text();

const longestSinceLast = async (): Promise<number> => (await weir.metric('nodejs_eventloop_lag_max_seconds')) * 1000;

/**
 * The longest that the service's own event loop was held up for while `run` was under way, milliseconds, less what a thread without any
 * work had to wait for meanwhile. What holds it up does so each time, so the first try within the bound is enough; a test without one
 * is stuck.
 */
async function longestHoldOf(run: () => Promise<unknown>): Promise<number> {
  let shortest = Infinity;
  for (const until = performance.now() + stuckAfterMs; shortest > longestHoldMs && performance.now() < until;) {
    await Promise.all([longestSinceLast(), idle.longestWait()]);
    // Asking begins the histogram anew.
    await run();
    const [held, waited] = await Promise.all([longestSinceLast(), idle.longestWait()]);
    shortest = Math.min(shortest, held - waited);
  }
  return shortest;
}

describe('nothing holds the event loop of the service up', () => {
  test.each(hostileAnswers.map((each, index) => ({ ...each, index })))(
    'that an engine says: $name',
    async ({ index, type, bytes }) => {
      answer = { type, bytes: bytes() };
      const before = engine.asked();
      const ask = { model: `test/${nameOf(index)}`, stream: type !== good.type };
      const hold = await longestHoldOf(async () => {
        // An answer that is interrupted is one of many that are right here.
        await weir
          .chat({ ...ask, messages: [{ role: 'user', content: 'hi' }] })
          .then((response) => response.text())
          .catch(() => undefined);
      });
      expect(engine.asked()).toBeGreaterThan(before);
      expect(hold).toBeLessThan(longestHoldMs);
    },
  );

  test.each(hugeBodies)('that a caller says: $surface, $name', async ({ surface, bytes }) => {
    answer = good;
    const body = bytes();
    const path = surface === 'chat' ? 'chat/completions' : 'messages';
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${weir.key}` };
    const hold = await longestHoldOf(async () => {
      const response = await weir.fetch(`${weir.baseUrl}/${path}`, { method: 'POST', headers, body });
      await response.text();
      expect([200, 400, 502, 503]).toContain(response.status);
    });
    expect(hold).toBeLessThan(longestHoldMs);
  });

  test('that twenty callers say at once, each with 128 kB of tiny messages', async () => {
    answer = good;
    const messages = Array.from({ length: 4000 }, () => ({ role: 'user', content: '' }));
    const body = JSON.stringify({ model: 'test/model', messages });
    const hold = await longestHoldOf(() =>
      Promise.all(Array.from({ length: 20 }, async () => (await weir.chat(body)).text())),
    );
    expect(hold).toBeLessThan(longestHoldMs);
  });

  test.each(Object.entries(hostileManifests))('that a manifest says: %s', async (_about, text) => {
    const hold = await longestHoldOf(async () => {
      rmSync(join(weir.manifests, `hostile-${files}.yaml`), { force: true });
      // What is wrong with a file is told once.
      files += 1;
      writeFileSync(join(weir.manifests, `hostile-${files}.yaml`), text);
      await expect.poll(weir.log).toContain(`"where":"hostile-${files}.yaml`);
    });
    expect(hold).toBeLessThan(longestHoldMs);
  });
});
