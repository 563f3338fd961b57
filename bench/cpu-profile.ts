/** A function in a profile. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** What we read of a `.cpuprofile` (the Chrome DevTools protocol's Profiler.Profile). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the system's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds between each sample and the one before. */
  readonly timeDeltas: readonly number[];
}

/** A part of a profile, in microseconds of the same clock. */
export interface Window {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Time spent in one function itself, callees excluded. */
export interface ProfileLine {
  readonly name: string;
  /** `src/gateway/egress/egress.ts:41`, `undici lib/dispatcher/client-h1.js:620`, `node:internal/http2/core:3100`. */
  readonly place: string;
  /** Of the time the thread was busy. */
  readonly share: number;
}

export interface ProfileSummary {
  /** Part of the profiled time in which the thread did anything. */
  readonly busy: number;
  /** Most self time first. */
  readonly lines: readonly ProfileLine[];
  /** The same time by package, Node module or folder of ours, most first. */
  readonly parts: readonly { readonly part: string; readonly share: number }[];
  /**
   * The same time by the folder of ours that was at work, packages and Node included that it called, most first. Time
   * outside of such a call has the name of its part.
   */
  readonly stages: readonly { readonly stage: string; readonly share: number }[];
}

/** Adds up self time in the window by function and by part of the program. Idle time is left out of the shares. */
export function summarizeProfile(
  profile: CpuProfile,
  { window = { fromUs: 0, toUs: Infinity }, limit = 10 }: { readonly window?: Window; readonly limit?: number } = {},
): ProfileSummary {
  const selfTimes = new Map<number, number>();
  let whole = 0;
  let nowUs = profile.startTime;
  for (const [index, node] of profile.samples.entries()) {
    nowUs += profile.timeDeltas[index] ?? 0;
    if (nowUs < window.fromUs || nowUs >= window.toUs) continue;
    // The delta after a sample is the time until the next one, which is this sample's.
    const time = Math.max(0, profile.timeDeltas[index + 1] ?? 0);
    whole += time;
    selfTimes.set(node, (selfTimes.get(node) ?? 0) + time);
  }
  const functions = new Map<string, { readonly name: string; readonly place: string; time: number }>();
  const parts = new Map<string, number>();
  const stages = new Map<string, number>();
  const stageOfNode = stagesOf(profile);
  let busy = 0;
  for (const { id, callFrame } of profile.nodes) {
    const time = selfTimes.get(id) ?? 0;
    if (time === 0 || callFrame.functionName === '(idle)') continue;
    busy += time;
    const place = placeOf(callFrame.url, callFrame.lineNumber);
    const key = `${callFrame.functionName}\n${place}`;
    const known = functions.get(key) ?? { name: callFrame.functionName || '(anonymous)', place, time: 0 };
    known.time += time;
    functions.set(key, known);
    const part = partOf(callFrame.functionName, callFrame.url);
    parts.set(part, (parts.get(part) ?? 0) + time);
    const stage = stageOfNode.get(id) ?? part;
    stages.set(stage, (stages.get(stage) ?? 0) + time);
  }
  const share = (time: number): number => (busy === 0 ? 0 : time / busy);
  return {
    busy: whole === 0 ? 0 : busy / whole,
    lines: [...functions.values()]
      .toSorted((a, b) => b.time - a.time)
      .slice(0, limit)
      .map(({ name, place, time }) => ({ name, place, share: share(time) })),
    parts: [...parts]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, limit)
      .map(([part, time]) => ({ part, share: share(time) })),
    stages: [...stages]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, limit)
      .map(([stage, time]) => ({ stage, share: share(time) })),
  };
}

/** The stage that each node of the tree belongs to: its own, or that of the nearest caller that has one. */
function stagesOf({ nodes }: CpuProfile): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  // Callers come before the functions that they call.
  for (const { id, callFrame, children = [] } of nodes) {
    const own = stageOf(callFrame.url) ?? found.get(id);
    if (own === undefined) continue;
    found.set(id, own);
    for (const child of children) found.set(child, own);
  }
  return found;
}

/** The folder of ours that a function is in. */
export function stageOf(url: string): string | undefined {
  return packagePath.test(url) ? undefined : /\/(src\/(?:[^/]+\/)*)[^/]+$/.exec(url)?.[1]?.slice(0, -1);
}

const packagePath = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/;

export function placeOf(url: string, line: number): string {
  if (url === '') return '';
  const inPackage = packagePath.exec(url);
  if (inPackage) return `${inPackage[1]} ${inPackage[2]}:${line + 1}`;
  return `${url.replace(/^.*\/(?=(?:src|bench)\/)/, '').replace(/^file:\/\//, '')}:${line + 1}`;
}

export function partOf(name: string, url: string): string {
  // V8's names for what is no function: garbage collection, native code and system calls.
  if (name === '(garbage collector)') return 'garbage collection';
  if (url === '') return 'native code, system calls';
  const inPackage = packagePath.exec(url);
  if (inPackage) return inPackage[1] ?? url;
  const builtin = /^node:(?:internal\/)?([^/]+)/.exec(url);
  if (builtin) return `node:${builtin[1]}`;
  return url.replace(/^.*\/(?=(?:src|bench)\/)/, '').replace(/\/[^/]*$/, '');
}
