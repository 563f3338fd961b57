import { expect, test } from 'vitest';
import { summarizeProfile, type CpuProfile } from './cpu-profile.ts';

const frame = (functionName: string, url = '', lineNumber = 0) => ({ functionName, url, lineNumber });
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)') },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('push', 'file:///somewhere/src/gateway/dialects/sse.ts', 9) },
    // The same function under another caller.
    { id: 5, callFrame: frame('push', 'file:///somewhere/src/gateway/dialects/sse.ts', 9) },
    { id: 6, callFrame: frame('write', 'file:///somewhere/node_modules/@grpc/grpc-js/build/src/stream.js', 99) },
    { id: 7, callFrame: frame('', 'node:internal/http2/core', 41) },
  ],
  startTime: 10_000,
  samples: [2, 4, 5, 6, 7, 3, 2],
  // Each delta belongs to the sample before it.
  timeDeltas: [0, 400, 100, 200, 150, 50, 100],
};

test('self time is added up by function, idle time left out', () => {
  expect(summarizeProfile(profile)).toMatchObject({
    busy: 0.6,
    lines: [
      { name: 'push', place: 'src/gateway/dialects/sse.ts:10', share: 0.5 },
      { name: 'write', place: '@grpc/grpc-js build/src/stream.js:100', share: 0.25 },
      { name: '(garbage collector)', place: '', share: expect.closeTo(1 / 6) },
      { name: '(anonymous)', place: 'node:internal/http2/core:42', share: expect.closeTo(1 / 12) },
    ],
    parts: [
      { part: 'src/gateway/dialects' },
      { part: '@grpc/grpc-js' },
      { part: 'garbage collection' },
      { part: 'node:http2' },
    ],
  });
});

test('only the first lines are told', () => {
  expect(summarizeProfile(profile, { limit: 2 }).lines).toHaveLength(2);
});

test('only the samples of a window count', () => {
  const { busy, lines } = summarizeProfile(profile, { window: { fromUs: 10_500, toUs: 10_800 } });
  expect(busy).toBe(1);
  expect(lines.map(({ name }) => name)).toEqual(['push', 'write']);
});

test('a thread that did nothing has no lines', () => {
  const [root, idle] = profile.nodes;
  if (!root || !idle) throw new Error('the profile above has both');
  const nothing = { nodes: [root, idle], startTime: 0, samples: [2, 2], timeDeltas: [0, 500] };
  expect(summarizeProfile(nothing)).toEqual({ busy: 0, lines: [], parts: [], stages: [] });
});

test('a package that a stage calls works for that stage', () => {
  const nodes = [
    { id: 1, callFrame: frame('(root)'), children: [2, 4] },
    { id: 2, callFrame: frame('push', 'file:///somewhere/src/gateway/dialects/sse.ts'), children: [3] },
    { id: 3, callFrame: frame('parse', 'file:///somewhere/node_modules/zod/parse.js') },
    { id: 4, callFrame: frame('parse', 'file:///somewhere/node_modules/zod/parse.js') },
  ];
  const { stages } = summarizeProfile({ nodes, startTime: 0, samples: [2, 3, 4], timeDeltas: [0, 100, 50, 0] });
  expect(stages).toEqual([{ stage: 'src/gateway/dialects', share: 1 }]);
});
