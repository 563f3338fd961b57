import { promptSizes } from './agents.ts';
import { type Bar, figureOf, type Readings, rounded } from './bars.ts';
import { byRound, gatewayMs, perChunk, spreadOf } from './figures.ts';
import type { LinePicture, LinePoint } from './line-picture.ts';
import type { Sample } from './sample.ts';
import { loneStreams } from './scenarios.ts';
import { titles } from './table.ts';
import type { TargetName } from './target.ts';

type Line = LinePicture['lines'][number];
const nameOf = (target: TargetName): string => (target === 'weir' ? 'Weir' : titles[target]);
const gateways = ['weir', 'before', 'peer', 'plain'] as const;
const withPoints = (lines: readonly Line[]): readonly Line[] => lines.filter(({ points }) => points.length > 0);

/** What a gateway adds to plain Envoy's first byte, by the size of the prompt. */
export function promptsPicture(readings: Readings): LinePicture {
  const line = (target: TargetName, percentile: 'p50' | 'p99'): Line => ({
    name: `${nameOf(target)} ${percentile}`,
    points: promptSizes.flatMap((kb): LinePoint[] => {
      const read = (sample: Sample) => (percentile === 'p50' ? sample.firstByteP50Ms : sample.firstByteP99Ms);
      const source: Bar['source'] = { kind: 'load', scenario: `chat-${kb}-1`, read, over: { target: 'plain' } };
      const added = figureOf({ source }, target, readings)?.median;
      return added === undefined ? [] : [[kb, rounded(added)]];
    }),
  });
  return {
    title: 'First byte of one caller, over plain Envoy',
    ...{ x: 'size of the prompt, KB', y: 'ms' },
    lines: withPoints(
      gateways.filter((name) => name !== 'plain').flatMap((name) => [line(name, 'p50'), line(name, 'p99')]),
    ),
  };
}

/** Processor time of a word that comes alone, by the words of a second. */
export function wordsPicture({ samples }: Pick<Readings, 'samples'>): LinePicture {
  const line = (target: TargetName): Line => ({
    name: nameOf(target),
    points: loneStreams.flatMap((streams): LinePoint[] => {
      const median = (read: (sample: Sample) => number | undefined): number | undefined =>
        spreadOf([...byRound(samples, { target, scenario: `alone-${streams}`, read }).values()])?.median;
      const words = median((sample) => sample.chunksPerSecond);
      const us = median((sample) => perChunk(sample, gatewayMs(sample)));
      return words === undefined || us === undefined ? [] : [[rounded(words), rounded(us)]];
    }),
  });
  return {
    title: `Processor time of a lone word, ${loneStreams.join(', ')} streams`,
    ...{ x: 'words a second', y: 'µs' },
    lines: withPoints(gateways.map(line)),
  };
}
