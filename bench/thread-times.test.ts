import { expect, test } from 'vitest';
import { groupOf, usedBetween } from './thread-times.ts';

const service = { command: '/usr/bin/node --min-semi-space-size=16 /app/src/main.ts serve --data=/data' };

test.each([
  [service, 'node-MainThread', 'service main'],
  [service, 'weir-store', 'service store'],
  [service, 'node-V8Worker', 'service V8'],
  [service, 'DelayedTaskSche', 'service V8'],
  [service, 'libuv-worker', 'service other'],
  [
    { command: '/usr/bin/node /app/bench/bare-path-process.ts /tmp/bare 4000 /opt/envoy' },
    'node-MainThread',
    'service main',
  ],
  [{ command: '/usr/bin/node /app/src/main.ts portal --data=/data' }, 'node-MainThread', 'other processes'],
  [{ command: '/opt/envoy --config-path bootstrap.json' }, 'wrk:worker_0', 'Envoy workers'],
  [{ command: '/opt/envoy --config-path bootstrap.json' }, 'dog:main_thread', 'Envoy other'],
] as const)('sorts %o, %s', (process, thread, group) => {
  expect(groupOf(process, thread)).toBe(group);
});

test('a thread that began after the first reading counts from zero', () => {
  const from = new Map([['service main', { ms: 100, runs: 10 }]] as const);
  const to = new Map([
    ['service main', { ms: 150, runs: 30 }],
    ['service other', { ms: 5, runs: 2 }],
  ] as const);
  expect(usedBetween(from, to)).toEqual(
    new Map([
      ['service main', { ms: 50, runs: 20 }],
      ['service other', { ms: 5, runs: 2 }],
    ]),
  );
});
