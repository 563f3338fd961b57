import type { PoolPlace } from './pool-report.ts';

/** The requests that an engine has, whether they came through Weir or not. */
export interface EngineLoad {
  /** Requests that it works on. */
  readonly running: number;
  /** Requests that it has not begun. */
  readonly waiting: number;
}

export interface EngineLoads {
  /** Whether an endpoint of the pool was sent a prompt lately. */
  readonly isUsed: (now: number, pool: string) => boolean;
  /** The engine of an endpoint is asked for its load. Call the returned function when it has answered. */
  readonly asked: (now: number, place: PoolPlace) => (now: number, load: EngineLoad) => void;
}

export type LoadGauges = Readonly<Record<keyof EngineLoad, string>>;

/** Longest line that is read, characters. */
const maxLineLength = 4096;
/** Most parts of an engine with a count of their own. */
const maxSeries = 1024;
/** Most requests that an engine can have. A larger number is no count of requests. */
const maxRequests = 1_000_000;
/** The parallel parts of one engine, which all report the same requests. Its other labels have requests of their own. */
const sameRequests = /(?:tp_rank|pp_rank|moe_ep_rank)="[^"]*",?/g;
const number = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?: -?\d+)?\r?$/;
const labels = /^\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} /;

/**
 * Reads the load of an engine from its metrics. Undefined: they do not have it, or not in a form that can be trusted. Reads only the
 * lines of two gauges, because a page has hundreds of kilobytes of histograms, and is read every second.
 */
export function readEngineLoad(gauges: LoadGauges, metrics: string): EngineLoad | undefined {
  const running = sumOf(gauges.running, metrics);
  const waiting = sumOf(gauges.waiting, metrics);
  return running === undefined || waiting === undefined ? undefined : { running, waiting };
}

function sumOf(gauge: string, metrics: string): number | undefined {
  const values = new Map<string, number>();
  for (let at = metrics.indexOf(gauge); at >= 0; at = metrics.indexOf(gauge, at + gauge.length)) {
    // Comments have the name, too, and names of other metrics begin with it.
    if (at > 0 && metrics[at - 1] !== '\n') continue;
    const after = metrics.slice(at + gauge.length, at + maxLineLength);
    if (after[0] !== '{' && after[0] !== ' ') continue;
    const [line = ''] = after.split('\n', 1);
    const sample = sampleIn(line);
    if (sample === undefined || values.size >= maxSeries) return undefined;
    values.set(sample.series, Math.max(values.get(sample.series) ?? 0, sample.value));
  }
  if (values.size === 0) return undefined;
  const sum = values.values().reduce((total, value) => total + value, 0);
  return sum <= maxRequests ? sum : undefined;
}

/** The rest of a line after the name of its gauge. */
function sampleIn(line: string): { readonly series: string; readonly value: number } | undefined {
  const [braces = ' ', series = ''] = labels.exec(line) ?? [];
  const [, digits] = number.exec(line.slice(braces.length)) ?? [];
  return digits === undefined ? undefined : { series: series.replace(sameRequests, ''), value: Number(digits) };
}
