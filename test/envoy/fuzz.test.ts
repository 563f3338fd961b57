import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { chatEngineNames } from '../../src/core/engine-name.ts';
import { demoBackend, demoModel, demoRoute, manifestOf } from './support/catalog-manifest.ts';
import { faultOfAnswer } from './support/contract-answer.ts';
import { type FuzzBody, fuzzBodies } from './support/fuzz/fuzz-bodies.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { spawnProgrammableEngine } from './support/spawn-programmable-engine.ts';
import { startWeir } from '../support/weir.ts';
import { startYardstick } from './support/yardstick.ts';
import { forFile } from '../support/for-file.ts';

const total = 10_000;
const lanes = 32;
const firstSeed = 20_260_801;

const engine = await forFile(spawnProgrammableEngine({ words: 4, reasoningWords: 4, contextLength: 2_000_000_000 }));
const weir = await forFile(
  startWeir({
    manifests: {
      'catalog.yaml': manifestOf(
        ...chatEngineNames.map((name) => demoBackend(name, engine, name)),
        ...chatEngineNames.map((name) => demoModel(name, [demoRoute(name)])),
        demoModel('image', [demoRoute('vllm')], { inputModalities: ['text', 'image'] }),
        demoModel(
          'any',
          chatEngineNames.map((name) => demoRoute(name)),
        ),
      ),
    },
  }),
);
const key = await roomyKey(weir);

const models = [
  ...chatEngineNames.map((name) => `test/${name}`),
  ...['test/image', 'test/any', 'test/any', 'TEST/Any:nitro', 'test/any:free', 'no/such'],
];

/** Sends bodies over kept connections, so many at a time; resolves with what was wrong with their answers. */
async function sendAll(bodies: readonly FuzzBody[], statuses: Map<number, number>): Promise<readonly string[]> {
  const pool = new Pool(weir.origin, { connections: lanes, bodyTimeout: 0, headersTimeout: 0 });
  const faults: string[] = [];
  const left = bodies.values();
  const lane = async (): Promise<void> => {
    for (const { name, seed, bytes, headers } of left) {
      const {
        statusCode,
        headers: received,
        body,
      } = await pool.request({
        ...{ method: 'POST', path: '/v1/chat/completions', body: bytes },
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      });
      const answer = { status: statusCode, contentType: String(received['content-type']), body: await body.text() };
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
      const fault = faultOfAnswer(answer);
      if (fault !== undefined) {
        faults.push(
          `${name} (seed ${seed}): ${fault}\n  ${bytes.toString().slice(0, 300)}\n  ${answer.body.slice(0, 300)}`,
        );
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await pool.close();
  return faults;
}

/** Asks for the liveness check over and over until told to stop; resolves with the longest wait, milliseconds. */
function probe(): { readonly stop: () => Promise<number> } {
  const pool = new Pool(weir.origin, { connections: 1 });
  let isOver = false;
  const run = async (): Promise<number> => {
    let longest = 0;
    while (!isOver) {
      const asked = performance.now();
      const { statusCode, body } = await pool.request({ method: 'GET', path: '/healthz' });
      await body.text();
      expect(statusCode).toBe(200);
      longest = Math.max(longest, performance.now() - asked);
    }
    await pool.close();
    return longest;
  };
  const running = run();
  return {
    stop: () => {
      isOver = true;
      return running;
    },
  };
}

test('ten thousand random bodies get contract answers, and nothing breaks or blocks', async () => {
  const pid = weir.pid('service');
  const bodies = fuzzBodies(total, models, firstSeed);
  const statuses = new Map<number, number>();
  const liveness = probe();
  const machine = startYardstick(`http://127.0.0.1:${engine.port}/v1/models`);
  const faults = await sendAll(bodies, statuses);
  const longest = await liveness.stop();
  const machineLongest = Math.max(...(await machine.stop()));
  expect(faults.slice(0, 10)).toEqual([]);
  // Neither all refused nor all accepted, or nothing was tried.
  expect(statuses.get(200)).toBeGreaterThan(total / 10);
  expect(statuses.get(400)).toBeGreaterThan(total / 10);
  // An answer passes five processes where the yardstick passes two.
  expect(longest).toBeLessThan(1000 + 5 * machineLongest);
  await weir.settled();
  expect(weir.pid('service')).toBe(pid);
});
