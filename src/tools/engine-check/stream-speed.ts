/** The speed of the doctor's streams, and which endpoint is much slower than the others of its Backend. */
import type { Clock } from '../../core/clock.ts';
import type { Check, Diagnosis, StreamSpeed } from '../../core/diagnosis.ts';

/** Takes the times of a stream's outputs. */
export function createStopwatch({ elapsed }: Pick<Clock, 'elapsed'>) {
  const begunAt = elapsed();
  let firstAt: number | undefined;
  let lastAt = begunAt;
  return {
    output: (): void => {
      lastAt = elapsed();
      firstAt ??= lastAt;
    },
    /** `tokens`: output tokens as the engine counts them. Undefined: there was no output. */
    speed: (tokens: number | undefined): StreamSpeed | undefined => {
      if (firstAt === undefined) return undefined;
      const laterMs = lastAt - firstAt;
      const isMeasured = tokens !== undefined && tokens > 1 && laterMs > 0;
      return {
        first_token_ms: Math.round(firstAt - begunAt),
        tokens_per_second: isMeasured ? Number((((tokens - 1) * 1000) / laterMs).toPrecision(3)) : null,
      };
    },
  };
}

/** `first token 120 ms, 41.2 tokens/s` */
export function speedText({ first_token_ms, tokens_per_second }: StreamSpeed): string {
  return `first token ${first_token_ms} ms${tokens_per_second === null ? '' : `, ${tokens_per_second} tokens/s`}`;
}

const slowFactor = 3;

/** What is compared. Differences below `leastMs` are chance: each endpoint gets one short request. */
const measures = [
  { msOf: (speed: StreamSpeed) => speed.first_token_ms, leastMs: 100, says: (ms: number) => `first token ${ms} ms` },
  {
    msOf: ({ tokens_per_second: rate }: StreamSpeed) => (rate === null ? undefined : 1000 / rate),
    leastMs: 5,
    says: (ms: number) => `${Number((1000 / ms).toPrecision(3))} tokens/s`,
  },
] as const;

/** The diagnoses of one Backend, in which a stream that is slower than three times their median is marked. */
export function markSlow(diagnoses: readonly Diagnosis[]): readonly Diagnosis[] {
  const byCheck = Map.groupBy(
    diagnoses.flatMap(({ checks }) => checks),
    ({ check }) => check,
  );
  return diagnoses.map((one) => ({
    ...one,
    checks: one.checks.map((check) => marked(check, byCheck.get(check.check) ?? [])),
  }));
}

function marked(check: Check, all: readonly Check[]): Check {
  const { speed, found, note } = check;
  if (speed === undefined || found !== 'good') return check;
  const medians = measures.flatMap(({ msOf, leastMs, says }) => {
    const ms = msOf(speed);
    const usual = median(all.flatMap((one) => (one.speed && msOf(one.speed)) ?? []));
    if (ms === undefined || usual === undefined) return [];
    return ms > usual * slowFactor && ms - usual > leastMs ? [says(usual)] : [];
  });
  if (medians.length === 0) return check;
  const factor = `more than ${slowFactor} times slower than the median`;
  return { ...check, found: 'slow', note: `${note}; ${factor} of its Backend: ${medians.join(', ')}` };
}

/** The lower one of the two in the middle, so that of two endpoints the faster one is the measure. */
function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}
