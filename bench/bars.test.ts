import { describe, expect, it } from 'vitest';
import { type Bar, bars, commandOf, figureOf, isMet, type Readings } from './bars.ts';
import { barsFile, barsFileSchema } from './bars-file.ts';
import { promptsPicture, wordsPicture } from './bars-lines.ts';
import { barsText, memoryText } from './bars-text.ts';
import { takes } from './measure.ts';
import { scenariosOfBars } from './measure-bars.ts';
import { inFlightBytes } from './sample.ts';
import { sampleOf } from './sample-of.ts';
import { fullPlan } from './scenarios.ts';

const none: Readings = { samples: [], memory: [], idle: [], starts: [] };
const barOf = (name: string): Bar => {
  const bar = bars.find((one) => one.name === name);
  if (bar === undefined) throw new Error(`no bar ${name}`);
  return bar;
};
const figure = (name: string, readings: Partial<Readings>, target: 'weir' | 'plain' = 'weir'): number | undefined =>
  figureOf(barOf(name), target, { ...none, ...readings })?.median;
const cpu = (service: number, envoy: number) => ({ service, envoy, bench: 500 });

describe('the figure of a bar', () => {
  const weir = { target: 'weir', round: 1 } as const;
  const plain = { target: 'plain', round: 1 } as const;

  it.each([
    ['lone-word', { scenario: 'alone-64', chunksPerSecond: 5_000, cpuMsPerSecond: cpu(300, 200) }, 100],
    ['json', { scenario: 'json', answersPerSecond: 500, cpuMsPerSecond: cpu(200, 100) }, 600],
    ['stream', { scenario: 'streams', answersPerSecond: 100, cpuMsPerSecond: cpu(60, 40) }, 1_000],
    ['json-one', { scenario: 'json-one', durationP50Ms: 2.5 }, 2.5],
    ['prompt', { scenario: 'chat-400-1', answersPerSecond: 50, cpuMsPerSecond: cpu(400, 100) }, 10],
    ['long-prompt', { scenario: 'chat-1600-1', answersPerSecond: 10, cpuMsPerSecond: cpu(400, 100) }, 50],
    ['prompts', { scenario: 'chat-400-16', answersPerSecond: 91 }, 91],
    ['prompts-median', { scenario: 'chat-400-16', firstByteP50Ms: 140 }, 140],
    ['second-turn', { scenario: 'turns', openingP50Ms: 40, followingP50Ms: 10 }, 0.25],
    ['fill', { scenario: 'fill', fill: { beforeBytes: 200, peakBytes: 500, inFlightBytes: 150 } }, 2],
  ] as const)('%s is read of its load: %j', (name, sample, expected) => {
    expect(figure(name, { samples: [sampleOf({ ...weir, ...sample })] })).toBeCloseTo(expected);
  });

  it('over plain Envoy is the median of what each round adds', () => {
    const first = (target: 'weir' | 'plain', round: number, firstByteP50Ms: number) =>
      sampleOf({ target, round, scenario: 'chat-400-1', firstByteP50Ms });
    // The second round is a slow minute of the machine.
    const pairs = [first('plain', 1, 2), first('weir', 1, 8), first('plain', 2, 40), first('weir', 2, 47)];
    const samples = [...pairs, first('plain', 3, 2), first('weir', 3, 9), first('weir', 4, 900)];
    expect(figure('prompt-median', { samples })).toBe(7);
    expect(figure('prompt-median', { samples }, 'plain')).toBe(2);
  });

  it('of the neighbour is what the others add to its own first byte, for each gateway', () => {
    const samples = [weir, plain].flatMap((one, index) => [
      sampleOf({ ...one, scenario: 'neighbour-alone', firstByteP99Ms: 5 + index }),
      sampleOf({ ...one, scenario: 'neighbour', firstByteP99Ms: 20 }),
    ]);
    expect([figure('neighbour', { samples }), figure('neighbour', { samples }, 'plain')]).toEqual([15, 14]);
  });

  it('of memory, of quiet time and of a start is that of its target', () => {
    const mib = 2 ** 20;
    const readings: Partial<Readings> = {
      memory: [
        { target: 'weir', when: 'idle', pssBytes: 190 * mib },
        { target: 'plain', when: 'idle', pssBytes: 30 * mib },
        { target: 'weir', when: 'streams', pssBytes: 320 * mib },
      ],
      idle: [{ target: 'weir', msPerSecond: 4 }],
      starts: [{ target: 'weir', seconds: 1.3 }],
    };
    const names = ['idle-memory', 'streams-memory', 'idle-time', 'later-start', 'json'];
    expect(names.map((name) => figure(name, readings))).toEqual([190, 320, 4, 1.3, undefined]);
  });
});

it.each([
  ['json', 600, true],
  ['json', 600.1, false],
  ['prompts', 90, true],
  ['prompts', 89, false],
])('%s of %d: met %s', (name, value, met) => {
  expect(isMet(barOf(name), value)).toBe(met);
});

it.each([
  ['plain', { surface: 'responses', bytes: 1 }, true],
  ['plain', { surface: 'chat', bytes: 1, exact: true }, false],
  ['peer', undefined, true],
  ['peer', { surface: 'chat', bytes: 1 }, true],
  ['peer', { surface: 'messages', bytes: 1 }, false],
  ['peer', { surface: 'chat', bytes: 1, exact: true }, false],
  ['weir', { surface: 'chat', bytes: 1, exact: true }, true],
] as const)('%s is sent %j: %s', (name, prompt, isTaken) => {
  expect(takes({ name }, prompt === undefined ? {} : { prompt })).toBe(isTaken);
});

it('bytes in flight are the rate of the answers, times their duration, times their bytes', () => {
  const load = { answers: 60, seconds: 2, duration: { mean: 500_000 } };
  expect(inFlightBytes(load, 1_000)).toBe(15_000);
  expect(inFlightBytes({ ...load, answers: 0, duration: { mean: NaN } }, 1_000)).toBe(0);
});

it('each bar has a name of its own, a scenario that there is, and a command', () => {
  expect(new Set(bars.map(({ name }) => name)).size).toBe(bars.length);
  for (const bar of bars) {
    const scenarios = scenariosOfBars(fullPlan, { chosen: [bar], withPictures: false });
    expect(scenarios.map(({ name }) => name)).toEqual(
      bar.source.kind === 'load'
        ? expect.arrayContaining([bar.source.scenario])
        : bar.name === 'streams-memory'
          ? ['json', 'streams', 'alone-64']
          : [],
    );
    expect(commandOf(bar)).toContain(bar.source.kind === 'apart' ? 'npm' : `--only ${bar.name}`);
  }
});

it('pictures run all that they show, also without a bar', () => {
  const names = scenariosOfBars(fullPlan, { chosen: [], withPictures: true }).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['alone-16', 'alone-128', 'chat-20-1', 'chat-2000-1']));
  expect(names).toHaveLength(8);
});

describe('a run', () => {
  const samples = (['plain', 'weir'] as const).flatMap((target, index) => [
    sampleOf({ target, round: 1, scenario: 'chat-400-1', firstByteP50Ms: 2 + 5.123 * index, firstByteP99Ms: 3 }),
    ...[16, 64].map((streams) =>
      sampleOf({
        ...{ target, round: 1, scenario: `alone-${streams}`, chunksPerSecond: streams * 100 },
        cpuMsPerSecond: cpu(100, 100 + 200 * index),
      }),
    ),
  ]);
  const readings: Readings = { ...none, samples };
  const file = barsFile(readings, {
    machine: { cores: 2, processor: 'a', platform: 'linux', node: 'v26', loadAverage: 1 },
    rounds: 1,
  });

  it('is a file for the pages, which they can read', () => {
    expect(barsFileSchema.parse(JSON.parse(JSON.stringify(file)))).toEqual(file);
    expect(file.figures['prompt-median']?.weir).toEqual({ median: 5.12, min: 5.12, max: 5.12 });
    expect(file.figures['json']).toEqual({});
  });

  it('is a table with bar, figure and verdict of each', () => {
    const lines = barsText(file, [barOf('prompt-median'), barOf('prompt-tail'), barOf('json')]).split('\n');
    expect(lines[1]).toMatch(/ ≤ 6 ms +2 ms +5\.12 ms .* met .*--only prompt-median$/);
    expect(lines[2]).toMatch(/ ≤ 20 ms +3 ms +0 ms .* met /);
    expect(lines[3]).toMatch(/ ≤ 600 µs +– +– .* – /);
    expect(barsText(file, [barOf('lone-word')])).not.toContain('MISSED');
    expect(
      barsText({ ...file, figures: { json: { weir: { median: 700, min: 1, max: 1 } } } }, [barOf('json')]),
    ).toContain('MISSED');
  });

  it('has the memory of each gateway, before, after and with open streams', () => {
    const of = (when: 'idle' | 'loaded' | 'streams', mib: number) =>
      ({ target: 'weir', when, pssBytes: mib * 2 ** 20 }) as const;
    const text = memoryText([of('idle', 190), of('loaded', 300), of('streams', 320)]);
    expect(text.split('\n')[1]).toMatch(/^now +190 MiB +300 MiB +320 MiB$/);
    expect(memoryText([of('idle', 190)]).split('\n')[1]).toMatch(/^now +190 MiB +– +–$/);
  });

  it('is two pictures, whose lines are those of the gateways that took part', () => {
    expect(promptsPicture(readings).lines).toEqual([
      { name: 'Weir p50', points: [[400, 5.12]] },
      { name: 'Weir p99', points: [[400, 0]] },
    ]);
    expect(wordsPicture(readings).lines).toEqual([
      {
        name: 'Weir',
        points: [
          [1_600, 250],
          [6_400, 62.5],
        ],
      },
      {
        name: 'plain Envoy',
        points: [
          [1_600, 125],
          [6_400, 31.3],
        ],
      },
    ]);
  });
});
