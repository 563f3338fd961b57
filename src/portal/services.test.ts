import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { recordStory } from '../../test/support/record-story.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { sampleProblem, sampleReport } from '../../test/support/sample-problem.ts';
import { systemClock } from '../process/clock.ts';
import type { Clock } from '../core/clock.ts';
import { internalToken } from '../core/internal-token.ts';
import type { LogLevel, LogLevelControl } from '../core/log-level.ts';
import type { Problem } from '../control/core/problem.ts';
import type { Story } from '../telemetry/core/story.ts';
import { createStories, type Stories } from '../telemetry/stories/stories.ts';
import { type OpsServer, startOps } from '../telemetry/ops/server.ts';
import { createProblemList } from './problem-list.ts';
import { createServices } from './services.ts';

const secret = 'a'.repeat(64);
const opened: OpsServer[] = [];
/** For origins that are addresses. */
const itself = (host: string): Promise<readonly string[]> => Promise.resolve([host]);
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ close }) => close()));
});

interface Life {
  readonly ops: OpsServer;
  readonly stories: Stories;
  readonly level: LogLevelControl;
  readonly problems: Problem[];
  readonly complete: (id: string, correlationId?: string) => void;
}

/** A service with its own stories on an address of this machine. */
async function live(
  process: string,
  { host = '127.0.0.1', port = 0, clock = systemClock }: { host?: string; port?: number; clock?: Clock } = {},
): Promise<Life> {
  const stories = createStories({ process });
  const head = { process, taken_at: '2026-07-01T12:00:00.000Z', ready: true };
  let current: LogLevel = 'info';
  const problems = [sampleProblem({ since: `2026-07-01T12:00:0${process.slice(1, 2)}.000Z` })];
  const level = { current: () => current, set: (next: LogLevel) => void (current = next) };
  const ops = await startOps({
    ...{ host, port, clock, metrics: () => Promise.resolve(''), unready: () => undefined },
    internal: {
      secret: () => secret,
      stories,
      logLevel: level,
      problems: () => sampleReport(problems),
      catalog: async function* () {
        yield JSON.stringify({ ...head, models: [], backends: [], problems: [] });
      },
    },
  });
  opened.push(ops);
  const complete = (requestId: string, correlationId = ''): void => {
    const request = recordStory(stories, clock, { requestId, correlationId });
    request.progress({ kind: 'settled', outcome: sampleOutcome({ requestId }) });
    request.progress({ kind: 'ended', failure: undefined });
  };
  return { ops, stories, level, problems, complete };
}

/** Two services behind one name, as behind a headless Service. */
async function two() {
  const first = await live('p1');
  const second = await live('p2', { host: '127.0.0.2', port: first.ops.port });
  expect(second.ops.port).toBe(first.ops.port);
  const found = ['127.0.0.1', '127.0.0.2'];
  const services = createServices({
    origins: () => [`http://weir-ops:${first.ops.port}`],
    token: () => internalToken(secret),
    clock: systemClock,
    random: () => 0,
    lookUp: () => Promise.resolve(found),
  });
  return { first, second, found, services };
}

const idsOf = (stories: readonly Story[]): readonly string[] => stories.map(({ id }) => id);

describe('the services of a gateway', () => {
  it('are asked at every address of their name, and their answers are merged', async () => {
    const { first, second, services } = await two();
    first.complete('r1');
    second.complete('r2', 'corr-2');
    const { services: who, data } = await services.catalog();
    expect(who.map(({ answers, problem }) => [answers, problem])).toEqual([
      [true, null],
      [true, null],
    ]);
    expect(data.map(({ said }) => said.process)).toEqual(['p1', 'p2']);
    expect(idsOf((await services.find('r1')).stories)).toEqual(['r1']);
    expect(idsOf((await services.find('corr-2')).stories)).toEqual(['r2']);
    expect(await services.find('r3')).toMatchObject({
      stories: [],
      services: [{ answers: true }, { answers: true }],
    });
  });

  it('report their problems, which are one list with the earliest times', async () => {
    const { services } = await two();
    const { data } = await services.problems();
    expect(data.map(({ said }) => said.problems.map(({ since }) => since))).toEqual([
      ['2026-07-01T12:00:01.000Z'],
      ['2026-07-01T12:00:02.000Z'],
    ]);
    const { problems } = await createProblemList(services, systemClock)();
    expect(problems).toEqual([sampleProblem({ since: '2026-07-01T12:00:01.000Z' })]);
  });

  it('report the least level that they log, and change it', async () => {
    const { first, second, services } = await two();
    expect((await services.logLevel(undefined)).data.map(({ said }) => said)).toEqual(['info', 'info']);
    second.level.set('error');
    expect((await services.logLevel(undefined)).data.map(({ said }) => said)).toEqual(['info', 'error']);
    expect((await services.logLevel('debug')).data.map(({ said }) => said)).toEqual(['debug', 'debug']);
    expect([first.level.current(), second.level.current()]).toEqual(['debug', 'debug']);
  });

  it('are named where they do not answer, and the answers of the others remain', async () => {
    const { first, second, services } = await two();
    await second.ops.close();
    first.complete('r1');
    const found = await services.find('r1');
    expect(idsOf(found.stories)).toEqual(['r1']);
    expect(found.services).toEqual([
      { service: `http://127.0.0.1:${first.ops.port}`, answers: true, problem: null },
      expect.objectContaining({ service: `http://127.0.0.2:${first.ops.port}`, answers: false }),
    ]);
    expect(found.services[1]?.problem).toMatch(/ECONNREFUSED/);
  });

  it('are not trusted and do not trust when they have another database', async () => {
    const first = await live('p1');
    const origins = () => [`http://127.0.0.1:${first.ops.port}`];
    const other = createServices({
      ...{ origins, token: () => internalToken('b'), lookUp: itself },
      ...{ clock: systemClock, random: () => 0 },
    });
    expect(await other.catalog()).toMatchObject({
      services: [{ answers: false, problem: 'it refuses the token: it has another database' }],
      data: [],
    });
  });

  it('are listed with the reason when a name cannot be found, or an answer does not come in time', async () => {
    const clock = createFakeClock();
    const origins = () => ['http://silent:1', 'http://nowhere:1'];
    const asked = Promise.withResolvers<void>();
    const services = createServices({
      ...{ origins, token: () => 'x', clock, random: () => 0 },
      lookUp: (host) => {
        if (host === 'nowhere') return Promise.reject(new Error('ENOTFOUND nowhere'));
        asked.resolve();
        return new Promise(() => undefined);
      },
    });
    const answer = services.catalog();
    await asked.promise;
    clock.advance(3000);
    expect((await answer).services).toEqual([
      { service: 'http://silent:1', answers: false, problem: 'no answer within 3000 ms' },
      { service: 'http://nowhere:1', answers: false, problem: 'ENOTFOUND nowhere' },
    ]);
  });

  it('are followed: a request that ended before is left out, a restart and a new service lose nothing', async () => {
    const clock = createFakeClock();
    const first = await live('p1', { clock });
    first.complete('old');
    const { found, seen, services, eventually } = await follow(first, clock);
    first.complete('r1');
    await eventually(() => seen.ids).toEqual(['r1']);
    await first.ops.close();
    await eventually(async () => (await services.problems()).services).toMatchObject([{ answers: false }]);
    const again = await live('p1-again', { port: first.ops.port, clock });
    again.complete('r2');
    const second = await live('p2', { host: '127.0.0.2', port: first.ops.port, clock });
    second.complete('r3');
    found.push('127.0.0.2');
    await eventually(() => new Set(seen.ids)).toEqual(new Set(['r1', 'r2', 'r3']));
    again.complete('r4');
    await eventually(() => seen.ids.at(-1)).toBe('r4');
    expect([seen.ids.length, seen.missed]).toEqual([4, 0]);
  });

  it('are followed over a lost connection without a request that is missed or comes twice', async () => {
    const clock = createFakeClock();
    const first = await live('p1', { clock });
    const { seen, services, eventually } = await follow(first, clock);
    first.complete('r1');
    await eventually(() => seen.ids).toEqual(['r1']);
    await cutStreams(first);
    await eventually(async () => (await services.problems()).services).toMatchObject([{ answers: false }]);
    first.complete('r2');
    await eventually(() => seen.ids).toEqual(['r1', 'r2']);
    expect(seen.missed).toBe(0);
  });

  it('stay followed while their name cannot be looked up, and leave with their address', async () => {
    const clock = createFakeClock();
    const first = await live('p1', { clock });
    const { found, seen, services, eventually } = await follow(first, clock);
    const [address = ''] = found.splice(0);
    await eventually(async () => (await services.problems()).services.length).toBe(2);
    first.complete('r1');
    await eventually(() => seen.ids.length).toBe(1);
    expect(seen).toEqual({ ids: ['r1'], missed: 0 });
    found.push(address);
    await eventually(async () => (await services.problems()).services).toMatchObject([{ answers: true }]);
    found.splice(0, 1, '127.0.0.3');
    await eventually(async () => (await services.problems()).services).toMatchObject([
      { service: `http://127.0.0.3:${first.ops.port}`, answers: false },
    ]);
  });

  it('push their problems while they are followed, and are not asked for them', async () => {
    const clock = createFakeClock();
    const first = await live('p1', { clock });
    const { services, eventually } = await follow(first, clock);
    const current = async () => (await services.problems()).data.flatMap(({ said }) => said.problems);
    expect(await current()).toEqual(first.problems);
    first.problems.length = 0;
    await eventually(current).toEqual([]);
  });

  it('report the newest of a flood, and how many were left out', async () => {
    const clock = createFakeClock();
    const first = await live('p1', { clock });
    const { seen, eventually } = await follow(first, clock);
    for (let index = 1; index <= 700; index += 1) first.complete(`r${index}`);
    await eventually(() => [seen.ids.length, seen.ids.at(-1), seen.missed]).toEqual([100, 'r700', 600]);
    first.complete('r701');
    await eventually(() => seen.ids.length).toBe(101);
    expect([seen.ids.at(-1), seen.missed]).toEqual(['r701', 600]);
  });

  it('are reported when the token of the database does not come, and do not hold up the others', async () => {
    const clock = createFakeClock();
    const asked = Promise.withResolvers<void>();
    const token = () => (asked.resolve(), new Promise<string>(() => undefined));
    const services = createServices({
      ...{ origins: () => ['http://127.0.0.1:1'], token, lookUp: itself },
      ...{ clock, random: () => 0 },
    });
    const { begun, stop } = services.follow({ stories: () => undefined, missed: () => undefined });
    onTestFinished(stop);
    await asked.promise;
    clock.advance(3_000);
    await begun;
    expect((await services.problems()).services).toMatchObject([{ problem: 'no answer within 3000 ms' }]);
  });

  it('are given up when their stream falls silent', async () => {
    const [clock, stopped] = [createFakeClock(), createFakeClock()];
    // The clock of the service stands still: it sends no heartbeat.
    const first = await live('p1', { clock: stopped });
    const { services, eventually } = await follow(first, clock);
    expect((await services.problems()).services).toMatchObject([{ answers: true }]);
    clock.advance(3_000);
    await eventually(async () => (await services.problems()).services[0]?.problem).toBe('no answer within 3000 ms');
  });
});

/** Ends the streams of a service that are open: newer ones take their places. */
async function cutStreams({ ops }: Life): Promise<void> {
  const headers = { authorization: `Bearer ${internalToken(secret)}` };
  const open = () => fetch(`http://127.0.0.1:${ops.port}/internal/events`, { headers });
  const streams = await Promise.all(Array.from({ length: 16 }, open));
  await Promise.all(streams.map(async ({ body }) => body?.cancel()));
}

/** Follows the services behind the name of one of them. */
async function follow({ ops }: Life, clock: FakeClock) {
  const found = ['127.0.0.1'];
  const services = createServices({
    ...{ origins: () => [`http://weir-ops:${ops.port}`], token: () => internalToken(secret), clock, random: () => 0 },
    lookUp: () => Promise.resolve(found),
  });
  const seen = { ids: [] as string[], missed: 0 };
  const { begun, stop } = services.follow({
    stories: (stories) => void seen.ids.push(...idsOf(stories)),
    missed: (requests) => (seen.missed += requests),
  });
  onTestFinished(stop);
  await begun;
  /** Time passes in small steps until the expectation holds. */
  const eventually = <Value>(value: () => Value) => {
    return expect.poll(() => (clock.advance(50), value()));
  };
  return { found, seen, services, eventually };
}
