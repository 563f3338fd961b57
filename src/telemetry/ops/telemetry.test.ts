import { describe, expect, it } from 'vitest';
import { idleFigures } from '../../../test/support/idle-figures.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { Failure } from '../../core/failure.ts';
import type { RefusedRequest } from '../../core/refused-request.ts';
import type { AttemptStart, BegunRequest } from '../../gateway/core/telemetry.ts';
import { createLog } from '../../programs/command-line/program-log.ts';
import { createSlices } from '../../process/turns.ts';
import { createMetrics } from './metrics.ts';
import { createProblemLog, createStoreLog, createTelemetry } from './telemetry.ts';

function setUp() {
  const records: Readonly<Record<string, unknown>>[] = [];
  const refused: RefusedRequest[] = [];
  const write = (record: string): void => void records.push(JSON.parse(record) as Record<string, unknown>);
  const { log } = createLog('info', { output: { write }, onLevel: () => undefined });
  const metrics = createMetrics(idleFigures(), { inSlices: createSlices() });
  const facts = { outcome: () => undefined, unavailable: () => undefined, attempt: () => undefined };
  const stories = { began: () => undefined, ended: () => undefined };
  const clock = createFakeClock();
  const telemetry = createTelemetry(log, {
    clock,
    metrics,
    measured: facts,
    errors: facts,
    demands: facts,
    refused: (request) => refused.push(request),
    stories,
  });
  const begun: BegunRequest = {
    ...{ requestId: 'r', correlationId: '', surface: 'chat', trace: undefined },
    ...{ startedAt: clock.now(), begun: clock.elapsed() },
  };
  return {
    telemetry,
    begun,
    begin: () => telemetry.begin(begun),
    log,
    records,
    refused,
    count: (msg: string) => records.filter((record) => record['msg'] === msg).length,
  };
}

const times = 50;
const repeat = (step: (count: number) => void): void => {
  for (let count = 0; count < times; count += 1) step(count);
};

const startAt = (routeId: string): AttemptStart => ({
  ...{ routeId, backend: 'b', engine: 'vllm', upstreamModel: 'm', endpoint: 'e' },
  ...{ reason: 'first', step: 'first', picked: undefined, spanId: undefined },
});

it('the books get the limit of a refused request', () => {
  const { begin, refused } = setUp();
  begin().progress({ kind: 'ended', failure: new Failure('rate_limited', '', { limit: 'workspace-tokens' }) });
  begin().progress({ kind: 'ended', failure: new Failure('model_not_found', '') });
  expect(refused.map(({ code, limit }) => [code, limit])).toEqual([
    ['rate_limited', 'workspace-tokens'],
    ['model_not_found', undefined],
  ]);
});

describe('the log of requests', () => {
  it('has one record of each request that was dispatched, and limits those of a flood of refusals', () => {
    const { telemetry, begin, begun, count } = setUp();
    repeat(() => {
      const { attempt, progress } = begin();
      attempt(startAt('a/b@one'));
      progress({ kind: 'ended', failure: new Failure('attempts_failed', '') });
    });
    expect(count('request ended')).toBe(times);
    repeat(() => begin().progress({ kind: 'ended', failure: new Failure('unauthenticated', '') }));
    expect(count('request ended')).toBe(times + 20);
    begin().progress({ kind: 'ended', failure: new Failure('rate_limited', '') });
    expect(count('request ended')).toBe(times + 21);
    repeat(() => telemetry.refused(begun, new Failure('not_found', '')));
    expect(count('request ended')).toBe(times + 41);
  });

  it('has the ids of the workspace and of the key, once they are known, and the limits that would refuse', () => {
    const { begin, records } = setUp();
    const { progress } = begin();
    progress({ kind: 'authenticated', workspaceId: 'ws_1', keyId: 'key_1' });
    progress({ kind: 'dispatched', wouldRefuse: ['tokens'] });
    progress({ kind: 'ended', failure: new Failure('rate_limited', '') });
    begin().progress({ kind: 'ended', failure: new Failure('unauthenticated', '') });
    expect(records).toMatchObject([
      { workspaceId: 'ws_1', keyId: 'key_1', wouldRefuse: ['tokens'] },
      { code: 'unauthenticated' },
    ]);
    expect(records[1]).not.toHaveProperty('keyId');
  });

  it('limits what can repeat with each request: faults by route and kind, searches by provider, wrong counts by route', () => {
    const { begin, count } = setUp();
    const { attempt, progress } = begin();
    const fail = (routeId: string): void =>
      attempt(startAt(routeId)).ended({ kind: 'failed', fault: { kind: 'connect', detail: '' } }, undefined);
    repeat(() => fail('a/b@one'));
    fail('a/b@other');
    expect(count('attempt failed')).toBe(21);
    const search = { provider: 'searxng', durationMs: 1, spanId: undefined } as const;
    repeat(() => progress({ kind: 'searched', search: { ...search, result: 'unavailable' } }));
    expect(count('web search')).toBe(20);
    repeat(() => progress({ kind: 'searched', search: { ...search, result: 'found' } }));
    expect(count('web search')).toBe(20);
    repeat(() => progress({ kind: 'implausible-usage', routeId: 'a/b@one' }));
    expect(count('engine token count implausible')).toBe(2);
  });
});

it('an outage of the database is one line at each change of its state', () => {
  const { log, records } = setUp();
  const tell = createStoreLog(log);
  const status = { journalBytes: 0, journalFault: undefined, hasRoom: true };
  for (const database of ['up', 'down', 'down', 'replaying', 'replaying', 'up', 'up'] as const)
    tell({ ...status, database });
  tell({ ...status, database: 'up', hasRoom: false });
  tell({ ...status, database: 'up' });
  expect(records.map(({ msg }) => msg)).toEqual([
    'database unreachable: writing to the journal',
    'database reachable: replaying the journal',
    'journal replayed',
    'journal full: refusing new requests',
    'journal writable',
  ]);
});

it('a problem that stays is logged once, and again when it comes back', () => {
  const { log, records } = setUp();
  const tell = createProblemLog(log, 'manifest problem');
  const [one, other] = [
    { where: 'Model/a', field: '', message: 'x' },
    { where: 'Model/b', field: '', message: 'x' },
  ];
  for (const problems of [[one], [one, other], [other], [one, other]]) tell(problems);
  expect(records.map(({ where }) => where)).toEqual(['Model/a', 'Model/b', 'Model/a']);
});
