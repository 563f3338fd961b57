import { expect, test } from 'vitest';
import { bars } from './bars.ts';
import { readCommandLine } from './command-line.ts';

test.each([
  [[], { kind: 'measure', plan: { name: 'full', rounds: 7 }, withWeir: true, json: undefined }],
  [['--quick', '--json', 'out.json'], { kind: 'measure', plan: { name: 'quick', rounds: 3 }, json: 'out.json' }],
  [['--quick', '--rounds', '1', '--plain-only'], { plan: { rounds: 1 }, withWeir: false }],
  [['--against', '../older'], { kind: 'measure', against: '../older' }],
  [['--tracing'], { kind: 'measure', withTracing: true, withEvents: false }],
  [['--events', '--quick'], { kind: 'measure', withTracing: false, withEvents: true }],
  [['--profile'], { kind: 'profile', withTracing: false }],
  [['--budget', '--against', '../older'], { kind: 'budget', against: '../older' }],
  [
    ['--agents', '--rounds', '3', '--against', '../older'],
    { kind: 'agents', plan: { rounds: 3 }, against: '../older' },
  ],
  [['--idle', '--against', '../older'], { kind: 'idle', against: '../older' }],
  [['--bars'], { kind: 'bars', plan: { name: 'full', rounds: 3 }, bars }],
  [
    ['--bars', '--quick', '--rounds', '1', '--only', 'json', '--only', 'fill', '--pictures', 'out'],
    { kind: 'bars', plan: { name: 'quick', rounds: 1 }, bars: [{ name: 'json' }, { name: 'fill' }], pictures: 'out' },
  ],
  [['--quick', '--peer', 'gateway $PORT'], { kind: 'measure', peer: 'gateway $PORT' }],
  [['--agents', '--json', 'out.json'], { kind: 'agents', json: 'out.json' }],
  [['--over-time'], { kind: 'over-time', overTime: { streams: 2000, seconds: 300 }, pictures: undefined }],
  [
    ['--over-time', '--streams', '200', '--seconds', '20', '--pictures', 'out', '--json', 'out.json'],
    { kind: 'over-time', overTime: { streams: 200, seconds: 20 }, pictures: 'out', json: 'out.json' },
  ],
  [['--tokens', '--quick', '--rounds', '9'], { kind: 'tokens', plan: { rounds: 9 } }],
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
  [['--over-time', '--budget'], /--budget does not go with --over-time\./],
  [['--over-time', '--against', '../older', '--rounds', '2'], /--against and --rounds/],
  [['--idle', '--agents', '--json', 'out.json'], /--agents does not go with --idle\./],
  [['--tokens', '--against', '../older'], /--tokens does not go with --against\./],
  [['--idle', '--json', 'out.json'], /--idle does not go with --json\./],
  [['--bars', '--only', 'jason'], /--only jason: expected one of lone-word, json, /],
  [['--only', 'json'], /--only goes with --bars\./],
  [['--quick', '--pictures', 'out'], /--pictures goes with --over-time or --bars\./],
  [['--plain-only', '--peer', 'gateway'], /--plain-only does not go with --peer\./],
  [['--idle', '--rounds', '2'], /--idle does not go with --rounds\./],
  [['--over-time', '--streams', '0'], /--streams/],
  [['--over-time', '--seconds', '10'], /--seconds/],
  [['--streams', '200'], /--streams goes with --over-time/],
])('%j is refused by name', (args, message) => {
  expect(() => readCommandLine(args)).toThrow(message);
});
