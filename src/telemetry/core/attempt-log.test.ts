import { expect, it } from 'vitest';
import { attemptReasons } from '../../gateway/core/telemetry.ts';
import { readAttemptLog, writeAttemptLog } from './attempt-log.ts';
import type { AttemptNote } from './request-record.ts';

const failed: AttemptNote = {
  ...{ routeId: 'test/model@a', backend: 'a', engine: 'vllm', upstreamModel: 'm', endpoint: '10.0.0.1:8000' },
  ...{ reason: 'first', step: 'first', picked: undefined, spanId: undefined },
  ...{ beganAt: 1002.4, outputAt: undefined, endedAt: 1015, end: 'failed', facts: undefined },
  fault: {
    kind: 'status',
    status: 500,
    engineError: 'other',
    about: undefined,
    flags: undefined,
    cause: 'server-error',
  },
};
const attempts: readonly AttemptNote[] = [
  failed,
  {
    ...{ ...failed, backend: 'b', endpoint: '[fd00::1]:80', reason: 'failover', step: 'route', outputAt: 1020 },
    fault: { kind: 'connect', flags: 'UF,URX', status: undefined, about: undefined, cause: 'connection-refused' },
  },
  { ...failed, reason: 'hedge', step: 'endpoint', end: undefined, endedAt: undefined, fault: undefined },
];

it('keeps reason, step, endpoint, times, end and fault of each attempt in a few bytes', () => {
  const log = writeAttemptLog({ attempts, begun: 1000 });
  expect(log).toBe(
    '001 a 10.0.0.1:8000 2 - 15 status/500/other/-/-/server-error; 121 b [fd00::1]:80 2 20 15 connect/-/-/-/UF,URX/connection-refused; 21- a 10.0.0.1:8000 2 - -',
  );
  const story = { route: 'test/model@a', backend: 'a', endpoint: '10.0.0.1:8000', pick: null, output_tokens: null };
  const fault = { status: null, engine_error: null, about: null, envoy_flags: null };
  expect(readAttemptLog(log ?? '', 'test/model')).toEqual([
    {
      ...{ ...story, reason: 'first', step: 'first', began_ms: 2, first_output_ms: null, ended_ms: 15, end: 'failed' },
      fault: { ...fault, kind: 'status', status: 500, engine_error: 'other', cause: 'server-error' },
    },
    {
      ...{ ...story, route: 'test/model@b', backend: 'b', endpoint: '[fd00::1]:80', reason: 'failover', step: 'route' },
      ...{ began_ms: 2, first_output_ms: 20, ended_ms: 15, end: 'failed' },
      fault: { ...fault, kind: 'connect', envoy_flags: 'UF,URX', cause: 'connection-refused' },
    },
    {
      ...{ ...story, reason: 'hedge', step: 'endpoint', began_ms: 2, first_output_ms: null, ended_ms: null },
      ...{ end: null, fault: null },
    },
  ]);
});

it('is bounded: attempts that do not fit are left out whole', () => {
  const long = { ...failed, endpoint: `${'host.'.repeat(50)}example:443` };
  const log = writeAttemptLog({ attempts: Array.from({ length: 24 }, () => long), begun: 1000 }) ?? '';
  expect(log.length).toBeLessThanOrEqual(800);
  expect(readAttemptLog(log, 'm').map(({ endpoint }) => endpoint)).toEqual([long.endpoint, long.endpoint]);
  expect(writeAttemptLog({ attempts: [], begun: 0 })).toBeUndefined();
});

it('leaves out what a newer version has written otherwise', () => {
  const unknown = `${attemptReasons.length}01 a 10.0.0.1:80 2 - 15`;
  expect(readAttemptLog(`${unknown}; no; 001 a 10.0.0.1:80 2 - 15 novel/500`, 'm')).toMatchObject([
    { end: 'failed', fault: null },
  ]);
});
