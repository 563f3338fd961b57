// @suite alone
import type { ServerResponse } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { endpointsManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// Backends of two endpoints each, of which the first is faster. Both engines report that they are idle, until the first one answers as
// its backend's name says.

const loadOf = (running: number, waiting: number): string =>
  `vllm:num_requests_running{engine="0"} ${running}\nvllm:num_requests_waiting{engine="0"} ${waiting}\n`;

const idle = (response: ServerResponse): void => void response.end(loadOf(0, 0));

/** What the first engine of a backend answers when it is asked for its metrics. */
const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  busy: (response) => response.end(loadOf(8, 40)),
  idle,
  absent: (response) => response.writeHead(404).end(),
  malformed: (response) => response.end(loadOf(8, 40).replaceAll('} ', '} many ')),
  hanging: (response) => void response.writeHead(200).write(loadOf(8, 40)),
  endless: (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(`# ${'x'.repeat(60_000)}\n`));
      response.once('drain', more);
    };
    response.write(loadOf(8, 40));
    more();
  },
};
const kinds = Object.keys(answers);

interface TestBackend {
  readonly kind: string;
  readonly engines: readonly [ProgrammableEngine, ProgrammableEngine];
  /** From now on the first engine answers as the name says. Resolves when it has done so this often, or was given up. */
  readonly answered: (times: number) => Promise<void>;
}

afterAll(() => Promise.all(backends.flatMap(({ engines }) => engines.map((engine) => engine.close()))));
const backends: readonly TestBackend[] = await Promise.all(kinds.map(startBackend));
const manifests = backends.flatMap(({ kind, engines }) => [
  endpointsManifest(`backend-${kind}`, engines),
  modelManifest(`test/${kind}`, [`backend-${kind}`], '  hedging: {mode: Disabled}'),
]);
const engines = backends.flatMap((backend) => backend.engines);
const weir = await forFile(startWeir({ engines, manifests: { 'catalog.yaml': manifests.join('') }, unlimited: true }));

async function startBackend(kind: string): Promise<TestBackend> {
  let isTurned = false;
  let ended = 0;
  const behaviour = { reasoning: 'never', words: 5, firstTokenDelayMs: 30 } as const;
  const engines = await Promise.all([
    startProgrammableEngine({
      ...{ name: `${kind}-first`, behaviour },
      metrics: (_, response) => {
        if (isTurned) response.once('close', () => (ended += 1));
        (isTurned ? answers[kind] : idle)?.(response);
      },
    }),
    startProgrammableEngine({
      ...{ name: `${kind}-second`, behaviour: { ...behaviour, firstTokenDelayMs: 150 } },
      metrics: (_, response) => idle(response),
    }),
  ]);
  return {
    ...{ kind, engines },
    answered: async (times) => {
      isTurned = true;
      await expect.poll(() => ended).toBeGreaterThanOrEqual(times);
    },
  };
}

/** Of 40 prompts, the faster endpoint gets fewer only if it is spared. */
const few = 5;
let prompts = 0;

/** Sends prompts of 900 words that share nothing, one after the other. Returns how many each engine got. */
async function send({ kind, engines }: TestBackend, count: number): Promise<readonly number[]> {
  const before = engines.map((engine) => engine.requests().length);
  for (let sent = 0; sent < count; sent += 1) {
    prompts += 1;
    const content = `${prompts} river stone `.repeat(300);
    const response = await weir.chat({
      ...{ model: `test/${kind}`, stream: true, max_tokens: 5 },
      messages: [{ role: 'user', content }],
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('[DONE]');
  }
  return engines.map((engine, index) => engine.requests().length - (before[index] ?? 0));
}

/** Sends prompts until both engines are known. */
async function warmUp(backend: TestBackend): Promise<void> {
  await send(backend, 10);
  for (const engine of backend.engines) expect(engine.requests().length).toBeGreaterThanOrEqual(1);
}

const backendOf = (kind: string): TestBackend =>
  backends.find((backend) => backend.kind === kind) ?? expect.fail('a backend');

test('prompts go to the other endpoint while the engine of one reports that others wait there', async () => {
  const backend = backendOf('busy');
  await warmUp(backend);
  // The least of two reports counts, and the answer to the first one may have been on its way.
  await backend.answered(3);
  const [first, second] = await send(backend, 40);
  // An answer to a question may be late, and then the last one is out of date.
  expect(first).toBeLessThan(few);
  expect(second).toBeGreaterThan(40 - few);
});

test.each(kinds.filter((kind) => kind !== 'busy'))('metrics that are %s change nothing', async (kind) => {
  const backend = backendOf(kind);
  await warmUp(backend);
  await backend.answered(1);
  const [first] = await send(backend, 40);
  expect(first).toBeGreaterThan(40 - few);
  expect(weir.log()).not.toContain('metrics');
});
