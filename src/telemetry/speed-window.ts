import type { Outcome } from '../core/account.ts';
import type { PerformanceFigure } from '../core/replica.ts';
import { addSample, emptyHistogram, type Histogram, medianOf, newestAt, totalOf } from './histogram.ts';
import { createSliceRing } from './slice-ring.ts';
import { thresholds } from './thresholds.ts';

/** Each is a histogram of its own, from the best evidence of a model's speed to the weakest. */
const paces = ['streamed', 'whole', 'estimated'] as const;
type Pace = (typeof paces)[number];

/**
 * What was measured of one model in one slice of time. Slices of several replicas are put together by handing all of them
 * to `figureOf`. Most models only ever have two of the histograms.
 */
export type SpeedSlice = { [K in Pace | 'firstToken']?: Histogram };

/** The speed of one model's answers, over `thresholds.windowMs`. */
export interface SpeedWindow {
  readonly outcome: (outcome: Outcome, now: number) => void;
  readonly slices: (now: number) => readonly SpeedSlice[];
}

export function createSpeedWindow(): SpeedWindow {
  const { windowMs, windowSlices } = thresholds;
  const ring = createSliceRing<SpeedSlice>({
    count: windowSlices,
    widthMs: windowMs / windowSlices,
    empty: () => ({}),
  });
  return {
    slices: ring.live,
    outcome: (outcome, now) => {
      // A caller who cancels has seen what came as fast as it came, and leaves long and slow answers most often: without
      // these the figure would be too good. Of an answer that broke, availability tells.
      if (outcome.kind !== 'completed' && outcome.kind !== 'cancelled') return;
      if (outcome.stream && outcome.output !== undefined) {
        addSample((ring.at(now).firstToken ??= emptyHistogram()), outcome.output.firstMs, now);
      }
      const speed = speedOf(outcome);
      if (speed !== undefined) addSample((ring.at(now)[speed.pace] ??= emptyHistogram()), speed.perSecond, now);
    },
  };
}

/**
 * Tokens per second as they were delivered. A stream: the tokens after its first delivery, over the time from there to the
 * last, which leaves out the prompt's processing. A whole answer, and a stream that came in one burst: all tokens over the
 * time since the request; that understates the model and never flatters it.
 */
function speedOf({
  stream,
  countedBy,
  output,
}: Outcome): { readonly pace: Pace; readonly perSecond: number } | undefined {
  if (output === undefined || output.tokens < thresholds.minTokens) return undefined;
  const { tokens, tokensAtFirst, firstMs, lastMs } = output;
  const isPaced = stream && lastMs - firstMs >= thresholds.minStreamMs && tokens > tokensAtFirst;
  const perSecond = isPaced ? ((tokens - tokensAtFirst) * 1000) / (lastMs - firstMs) : (tokens * 1000) / lastMs;
  if (!Number.isFinite(perSecond)) return undefined;
  return { pace: countedBy === 'estimate' ? 'estimated' : isPaced ? 'streamed' : 'whole', perSecond };
}

/**
 * What the catalog publishes of these slices, or nothing when none of it is fresh. The medians are of streams alone where
 * there are enough of them, else of whole answers too, and only then of answers whose tokens nobody counted exactly.
 */
export function figureOf(slices: readonly SpeedSlice[], now: number): PerformanceFigure | undefined {
  const all = (kind: keyof SpeedSlice): readonly Histogram[] => slices.flatMap((slice) => slice[kind] ?? []);
  const isFresh = (histograms: readonly Histogram[]): boolean =>
    totalOf(histograms) >= thresholds.minSamples && now - newestAt(histograms) <= thresholds.freshMs;

  const speed: Histogram[] = [];
  for (const pace of paces) {
    speed.push(...all(pace));
    if (isFresh(speed)) break;
  }
  if (!isFresh(speed)) return undefined;
  const firstToken = all('firstToken');
  const shown = isFresh(firstToken) ? firstToken : [];
  return {
    tokensPerSecondP50: medianOf(speed),
    ...(shown.length > 0 && { firstTokenMsP50: medianOf(shown) }),
    asOf: Math.floor(newestAt([...speed, ...shown]) / 1000),
  };
}
