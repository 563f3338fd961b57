import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { sampleProblem, sampleReport } from '../../test/support/sample-problem.ts';
import { systemClock } from '../process/clock.ts';
import { internalToken } from '../core/internal-token.ts';
import type { LogLevel, LogLevelControl } from '../core/log-level.ts';
import type { Story } from '../core/story.ts';
import { createStories, type Stories } from '../telemetry/stories.ts';
import { type OpsServer, startOps } from '../telemetry/ops/server.ts';
import { createProblemList } from './problem-list.ts';
import { createServices, type ServiceAnswer } from './services.ts';

const secret = 'a'.repeat(64);
const opened: OpsServer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ close }) => close()));
});

interface Life {
  readonly ops: OpsServer;
  readonly stories: Stories;
  readonly level: LogLevelControl;
  readonly complete: (id: string, correlationId?: string) => void;
}

/** A service with its own stories on an address of this machine. */
async function live(process: string, { host = '127.0.0.1', port = 0 } = {}): Promise<Life> {
  const stories = createStories({ clock: systemClock, process });
  const head = { process, taken_at: '2026-07-01T12:00:00.000Z', ready: true };
  let current: LogLevel = 'info';
  const level = { current: () => current, set: (next: LogLevel) => void (current = next) };
  const ops = await startOps({
    ...{ host, port, metrics: () => Promise.resolve(''), unready: () => undefined },
    internal: {
      secret: () => secret,
      stories,
      logLevel: level,
      problems: () => sampleReport([sampleProblem({ since: `2026-07-01T12:00:0${process.slice(1)}.000Z` })]),
      catalog: async function* () {
        yield JSON.stringify({ ...head, models: [], backends: [], problems: [] });
      },
    },
  });
  opened.push(ops);
  const complete = (requestId: string, correlationId = ''): void => {
    stories.began(requestId, { surface: 'chat', correlationId, startedAt: Date.now(), trace: undefined });
    stories.outcome(sampleOutcome({ requestId }));
    stories.over(requestId);
  };
  return { ops, stories, level, complete };
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
    lookUp: () => Promise.resolve(found),
  });
  return { first, second, found, services };
}

const idsOf = (stories: readonly Story[]): readonly string[] => stories.map(({ id }) => id);

describe('the services of a gateway', () => {
  it('are asked at every address of their name, and what they say is put together', async () => {
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
    const { stories } = await services.recent(10);
    expect(new Set(idsOf(stories))).toEqual(new Set(['r1', 'r2']));
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

  it('say the least level that they log, and change it', async () => {
    const { first, second, services } = await two();
    expect((await services.logLevel(undefined)).data.map(({ said }) => said)).toEqual(['info', 'info']);
    second.level.set('error');
    expect((await services.logLevel(undefined)).data.map(({ said }) => said)).toEqual(['info', 'error']);
    expect((await services.logLevel('debug')).data.map(({ said }) => said)).toEqual(['debug', 'debug']);
    expect([first.level.current(), second.level.current()]).toEqual(['debug', 'debug']);
  });

  it('give their last requests alone, over several pages', async () => {
    const { first, services } = await two();
    for (let at = 1; at <= 300; at += 1) first.complete(`r${at}`);
    const { stories } = await services.recent(250);
    expect(stories).toHaveLength(250);
    expect(idsOf(stories)).not.toContain('r50');
    expect(idsOf(stories)).toContain('r51');
  });

  it('are named where they do not answer, and the others are heard all the same', async () => {
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
    const other = createServices({ origins, token: () => internalToken('b'), clock: systemClock });
    expect(await other.catalog()).toMatchObject({
      services: [{ answers: false, problem: 'it refuses the token: it has another database' }],
      data: [],
    });
  });

  it('are told of when a name cannot be found, or an answer does not come in time', async () => {
    const clock = createFakeClock();
    const origins = () => ['http://silent:1', 'http://nowhere:1'];
    const asked = Promise.withResolvers<void>();
    const services = createServices({
      ...{ origins, token: () => 'x', clock },
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

  it('are followed: what ended before is not told, a restart and a new service lose nothing', async () => {
    const first = await live('p1');
    first.complete('old');
    const { found, told, firstLook, round } = await follow(first);
    await firstLook;
    first.complete('r1');
    await round();
    expect(told).toEqual(['r1']);
    await first.ops.close();
    expect(await round()).toMatchObject([{ answers: false }]);
    const again = await live('p1-again', { port: first.ops.port });
    again.complete('r2');
    const second = await live('p2', { host: '127.0.0.2', port: first.ops.port });
    second.complete('r3');
    found.push('127.0.0.2');
    await round();
    expect(new Set(told)).toEqual(new Set(['r1', 'r2', 'r3']));
    await round();
    expect(told).toHaveLength(3);
  });

  it('tell the newest of a flood, and how many were left out', async () => {
    const first = await live('p1');
    const { told, missed, firstLook, round } = await follow(first);
    await firstLook;
    for (let index = 1; index <= 700; index += 1) first.complete(`r${index}`);
    await round();
    expect([told.length, told.at(-1), missed()]).toEqual([200, 'r700', 500]);
    first.complete('r701');
    await round();
    expect([told.length, told.at(-1), missed()]).toEqual([201, 'r701', 500]);
  });
});

/** Follows the services behind the name of one of them. */
async function follow({ ops }: Life) {
  const clock = createFakeClock();
  const found = ['127.0.0.1'];
  const services = createServices({
    ...{ origins: () => [`http://weir-ops:${ops.port}`], token: () => internalToken(secret), clock },
    lookUp: () => Promise.resolve(found),
  });
  const told: string[] = [];
  let missed = 0;
  let looked = Promise.withResolvers<readonly ServiceAnswer[]>();
  const next = (): Promise<readonly ServiceAnswer[]> => {
    looked = Promise.withResolvers();
    return looked.promise;
  };
  const firstLook = next();
  const stop = services.follow({
    stories: (stories) => told.push(...idsOf(stories)),
    missed: (requests) => (missed += requests),
    asked: (who) => queueMicrotask(() => looked.resolve(who)),
  });
  onTestFinished(stop);
  const round = async (): Promise<readonly ServiceAnswer[]> => {
    const over = next();
    await expect.poll(() => clock.armed()).toBe(1);
    clock.advance(1000);
    return over;
  };
  return { found, told, missed: () => missed, firstLook, round };
}
