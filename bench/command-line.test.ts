import { expect, test } from 'vitest';
import { readCommandLine } from './command-line.ts';

test.each([
  [[], { kind: 'measure', plan: { name: 'full', rounds: 7 }, withWeir: true, json: undefined }],
  [['--quick', '--json', 'out.json'], { kind: 'measure', plan: { name: 'quick', rounds: 3 }, json: 'out.json' }],
  [['--quick', '--rounds', '1', '--plain-only'], { plan: { rounds: 1 }, withWeir: false }],
  [['--against', '../older'], { kind: 'measure', against: '../older' }],
  [['--tracing'], { kind: 'measure', withTracing: true }],
  [['--profile'], { kind: 'profile', withTracing: false }],
  [['--budget', '--against', '../older'], { kind: 'budget', against: '../older' }],
  [['--help'], { kind: 'help' }],
])('%j is understood', (args, command) => {
  expect(readCommandLine(args)).toMatchObject(command);
});

test.each([
  [['--rounds', 'many'], /--rounds/],
  [['--rounds', '0'], /--rounds/],
  [['--fast'], /--fast/],
  [['--profile', '--plain-only'], /--plain-only/],
  [['--profile', '--against', '../older'], /--against/],
  [['--profile', '--tracing'], /--tracing/],
  [['--budget', '--tracing'], /--budget/],
])('%j is refused by name', (args, message) => {
  expect(() => readCommandLine(args)).toThrow(message);
});
