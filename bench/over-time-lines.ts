import type { LinePicture, LinePoint } from './line-picture.ts';
import type { FirstByteSecond, MemoryByProcess, OverTime, WeirSecond } from './over-time.ts';

const rounded = (value: number): number => Math.round(value * 100) / 100;
const mib = (bytes: number): number => rounded(bytes / 2 ** 20);

/** First bytes of both gateways, and the delays and pauses of the service's main thread, second by second. */
export function tailsPicture({ streams, firstBytes, seconds }: Omit<OverTime, 'idle'>): LinePicture {
  const firstByte = (
    target: FirstByteSecond['target'],
    read: (second: FirstByteSecond) => number,
  ): readonly LinePoint[] =>
    firstBytes.filter((one) => one.target === target).map((one) => [one.second, rounded(read(one))]);
  const ofWeir = (read: (second: WeirSecond) => number): readonly LinePoint[] =>
    seconds.map((one) => [one.second, rounded(read(one))]);
  return {
    title: `First byte at 200 streams a second, beside ${streams} open streams`,
    x: 'seconds',
    y: 'ms',
    lines: [
      { name: 'Weir p99', points: firstByte('weir', (one) => one.p99Ms) },
      { name: 'Weir p50', points: firstByte('weir', (one) => one.p50Ms) },
      { name: 'plain Envoy p99', points: firstByte('plain', (one) => one.p99Ms) },
      { name: 'plain Envoy p50', points: firstByte('plain', (one) => one.p50Ms) },
      { name: 'event loop, longest delay', points: ofWeir((one) => one.delayMs) },
      { name: 'garbage collection, longest pause', points: ofWeir((one) => one.longestCollectionMs) },
    ],
  };
}

/** Memory of Weir's processes, second by second. */
export function memoryPicture({ streams, seconds }: Pick<OverTime, 'streams' | 'seconds'>): LinePicture {
  const line = (name: string, process: keyof MemoryByProcess) => ({
    name,
    points: seconds.flatMap(({ second, memory }): LinePoint[] => {
      const bytes = memory[process];
      return bytes === undefined ? [] : [[second, mib(bytes)]];
    }),
  });
  return {
    title: `Memory with ${streams} open streams`,
    x: 'seconds',
    y: 'MiB',
    lines: [line('service', 'service'), line('portal', 'portal'), line('Envoy', 'envoy')],
  };
}
