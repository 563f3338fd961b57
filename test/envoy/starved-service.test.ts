// @suite waits
/** Other programs have the processors, and the service runs only now and then: what it is late with is not what its callers or engines did. */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller } from './support/caller.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

/** The service stands still for so long, more than the limit of silence, and then runs for a moment. */
const stillMs = 2_500;
const runsMs = 60;
const idleSeconds = 2;
/** More than may be under way while the delays of a starved service are not held against new requests. */
const many = 40;

let endStarving: () => Promise<void> = () => Promise.resolve();

afterEach(async () => {
  await endStarving();
  await loopDelayIs((seconds) => seconds < 0.05);
});

const bodyWith = (directives: string, stream: boolean) => ({
  ...{ model: 'test/model', stream },
  messages: [{ role: 'user', content: `Say. ${directives}` }],
});
const ask = () => caller.ask(bodyWith('[[words=8]]', false));

const behaviour = { reasoning: 'never' } as const;
const engines = await forFile(
  Promise.all(['first', 'second'].map((name) => startProgrammableEngine({ name, behaviour }))),
);
const backends = engines.map((engine, index) => backendManifest(`engine-${index}`, engine)).join('');
const weir = await forFile(
  startWeir({
    engines,
    manifests: { 'catalog.yaml': backends + modelManifest('test/model', ['engine-0', 'engine-1']) },
    env: { WEIR_IDLE_SECONDS: String(idleSeconds) },
    unlimited: true,
  }),
);
const caller = await forFile(http1Caller(weir));
// What is made once is made before.
await ask();

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the delay of the service's event loop is as asked. */
async function loopDelayIs(wanted: (seconds: number) => boolean): Promise<void> {
  while (!wanted(await weir.metric('weir_event_loop_delay_seconds')));
}

/** Processor time of a process's main thread so far, milliseconds (Linux, Documentation/scheduler/sched-stats). */
const ranMs = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
/** Whether a process's main thread has a processor or waits for one: proc_pid_stat(5). */
const isReady = (pid: number): boolean => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') R ');

/** Lets the service run only now and then, as where other programs have the processors. */
async function starve(): Promise<void> {
  const pid = weir.pid('service');
  let isOver = false;
  const starving = (async () => {
    while (!isOver) {
      process.kill(pid, 'SIGSTOP');
      await pause(stillMs);
      process.kill(pid, 'SIGCONT');
      // Other tests may have the cores, too: it gets half of this time in any case.
      const before = ranMs(pid);
      do {
        await pause(runsMs);
      } while (isReady(pid) && ranMs(pid) - before < runsMs / 2);
    }
  })();
  endStarving = () => {
    isOver = true;
    endStarving = () => Promise.resolve();
    return starving;
  };
  await loopDelayIs((seconds) => seconds > 0.5);
}

const refusals = (): Promise<number> => weir.metric('weir_limit_refusals_total', { limit: 'event-loop' });

test('its only request is served, and not refused for the delay of the event loop', async () => {
  await starve();
  for (let request = 0; request < 5; request += 1) expect((await ask()).status).toBe(200);
  expect(await refusals()).toBe(0);
});

test('beside many requests under way the same delay refuses new ones (what is left to protect)', async () => {
  const slow = bodyWith('[[words=1000]][[tokenDelayMs=200]]', true);
  const held = Array.from({ length: many }, () => caller.open(slow));
  await expect.poll(() => weir.metric('weir_requests_in_flight')).toBe(many);
  await starve();
  await expect.poll(async () => (await ask()).status).toBe(503);
  expect(await refusals()).toBeGreaterThan(0);
  await endStarving();
  for (const { answer, leave } of held) {
    expect((await answer).status).toBe(200);
    leave();
  }
});

test('an engine that goes on with its answer has not fallen silent meanwhile', async () => {
  // The streams of the test before may have been continued elsewhere.
  const counts = () =>
    Promise.all([
      weir.metric('weir_attempts_total', { reason: 'failover' }),
      weir.metric('weir_attempts_total', { reason: 'resume' }),
      weir.metric('weir_attempt_faults_total', { fault: 'stalled' }),
    ]);
  const before = await counts();
  await starve();
  const { status, text } = await caller.ask(bodyWith('[[words=100]][[tokenDelayMs=50]]', true));
  expect([status, text().includes('[DONE]')]).toEqual([200, true]);
  expect(await counts()).toEqual(before);
});
