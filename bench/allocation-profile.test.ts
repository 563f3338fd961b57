import { expect, test } from 'vitest';
import { summarizeAllocations } from './allocation-profile.ts';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 0 });

test('a package that a stage calls allocates for that stage', () => {
  const summary = summarizeAllocations({
    head: {
      callFrame: frame('(root)'),
      selfSize: 0,
      children: [
        {
          callFrame: frame('relay', 'file:///app/src/gateway/request/relay.ts'),
          selfSize: 100,
          children: [
            {
              callFrame: frame('write', 'file:///app/node_modules/undici/lib/client.js'),
              selfSize: 50,
              children: [],
            },
          ],
        },
        { callFrame: frame('write', 'file:///app/node_modules/undici/lib/client.js'), selfSize: 30, children: [] },
      ],
    },
  });
  expect(summary).toEqual({
    bytes: 180,
    lines: [
      { name: 'relay', place: 'src/gateway/request/relay.ts:1', bytes: 100 },
      { name: 'write', place: 'undici lib/client.js:1', bytes: 80 },
    ],
    stages: [
      { stage: 'src/gateway/request', bytes: 150 },
      { stage: 'undici', bytes: 30 },
    ],
  });
});
