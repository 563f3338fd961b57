import type { Sample } from './sample.ts';

/** For tests: a sample of JSON answers with nothing but what is named. */
export function sampleOf(over: Pick<Sample, 'target' | 'round'> & Partial<Sample>): Sample {
  return {
    ...{ scenario: 'json', answers: 1, answersPerSecond: 0, chunksPerSecond: 0, refusedPerSecond: 0, failures: {} },
    ...{ firstByteP50Ms: undefined, firstByteP99Ms: undefined, durationP50Ms: undefined, durationP99Ms: undefined },
    ...{ openingP50Ms: undefined, followingP50Ms: undefined, fill: undefined },
    cpuMsPerSecond: { service: undefined, envoy: undefined, bench: undefined },
    ...over,
  };
}
