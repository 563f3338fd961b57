import { describe, expect, it } from 'vitest';
import { idleFigures } from '../../../test/support/idle-figures.ts';
import { sampleEnd } from '../../../test/support/sample-end.ts';
import { silentTelemetry } from '../../../test/support/silent-telemetry.ts';
import { createLog } from '../../cli/program-log.ts';
import { createSlices } from '../../process/turns.ts';
import { createMetrics } from './metrics.ts';
import { createProblemLog, createTelemetry } from './telemetry.ts';

function setUp() {
  const records: Readonly<Record<string, unknown>>[] = [];
  const write = (record: string): void => void records.push(JSON.parse(record) as Record<string, unknown>);
  const { log } = createLog('info', { output: { write }, onLevel: () => undefined });
  const metrics = createMetrics(idleFigures(), { inSlices: createSlices() });
  const telemetry = createTelemetry(log, {
    ...{ metrics, measured: silentTelemetry, stories: silentTelemetry },
    errors: { ...silentTelemetry, attempt: () => undefined },
  });
  return { telemetry, log, records, count: (msg: string) => records.filter((record) => record['msg'] === msg).length };
}

const times = 50;
const repeat = (step: (count: number) => void): void => {
  for (let count = 0; count < times; count += 1) step(count);
};

describe('the log of requests', () => {
  it('has one record of each request that was dispatched, and limits those of a flood of refusals', () => {
    const { telemetry, count } = setUp();
    repeat(() => telemetry.ended(sampleEnd({ kind: 'failed', modelId: 'a/b' })));
    expect(count('request ended')).toBe(times);
    repeat(() => telemetry.ended(sampleEnd({ kind: 'refused', code: 'unauthenticated' })));
    expect(count('request ended')).toBe(times + 20);
    telemetry.ended(sampleEnd({ kind: 'refused', code: 'rate_limited' }));
    expect(count('request ended')).toBe(times + 21);
  });

  it('limits what can repeat with each request: faults by route and kind, searches by provider, wrong counts by route', () => {
    const { telemetry, count } = setUp();
    const fail = (routeId: string): void => {
      const at = { routeId, backend: 'b', engine: 'vllm', upstreamModel: 'm', endpoint: 'e' } as const;
      const start = { ...at, reason: 'first', step: 'first', spanId: undefined } as const;
      telemetry.attempt('r', start).ended({ kind: 'failed', fault: { kind: 'connect', detail: '' } }, undefined);
    };
    repeat(() => fail('a/b@one'));
    fail('a/b@other');
    expect(count('attempt failed')).toBe(21);
    const search = { provider: 'searxng', durationMs: 1, spanId: undefined } as const;
    repeat(() => telemetry.searched('r', { ...search, result: 'unavailable' }));
    expect(count('web search')).toBe(20);
    repeat(() => telemetry.searched('r', { ...search, result: 'found' }));
    expect(count('web search')).toBe(20);
    repeat(() => telemetry.implausibleUsage('r', 'a/b@one'));
    expect(count('the engine counts tokens that cannot be')).toBe(2);
  });
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
