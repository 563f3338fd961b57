import { createCaller, type Address, type Answer, type Caller, type CallerOptions } from './caller.ts';
import type { ChatRequest } from './chat-request.ts';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Expectation } from './verify-answer.ts';

/** How requests are offered. `closed`: so many callers, each sends when it has its answer. `open`: so many a second, whatever comes back. */
export type Arrival =
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'open'; readonly perSecond: number };

/** One load on one address; plain data, so that it can be handed to a thread. */
export interface Load {
  readonly address: Address;
  readonly request: ChatRequest;
  /** Undefined: any answer with status 200. */
  readonly expected: Expectation | undefined;
  readonly arrival: Arrival;
  /** Whether an answer that says that the gateway is full counts as refused, not as a failure. */
  readonly mayBeRefused?: boolean;
  /** Offered but not counted, before the window that is. */
  readonly leadSeconds: number;
  readonly seconds: number;
}

/** What happened in the counted window. */
export interface LoadResult {
  readonly seconds: number;
  /** Answers that ended in the window and were right. */
  readonly answers: number;
  /** Body bytes that arrived in the window, finished answer or not. */
  readonly bodyBytes: number;
  /** Body bytes of the right answers. */
  readonly answerBytes: number;
  /** Requests of the window that a full gateway has refused. */
  readonly refused: number;
  /** Failures of the whole load, lead and drain included, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** In microseconds, as are the next ones. */
  readonly firstByte: RecordableHistogram;
  /** Of the first request of a conversation, and of its later ones. */
  readonly opening: RecordableHistogram;
  readonly following: RecordableHistogram;
  /** For each second of the window, of the right answers whose requests were sent in it. Counts those that ended later, too. */
  readonly firstByteBySecond: readonly RecordableHistogram[];
  readonly duration: RecordableHistogram;
  /** Between two pieces of the same answer that arrived one after the other. */
  readonly gap: RecordableHistogram;
}

export interface LoadEvents {
  readonly onBegin: () => void;
  readonly onEnd: () => void;
}

/** Up to an hour, each value within a thousandth. */
const microseconds = { lowest: 1, highest: 3_600_000_000, figures: 3 };
const record = (histogram: RecordableHistogram, ms: number): void =>
  histogram.record(Math.max(1, Math.round(ms * 1000)));

/** A percentile of a histogram of microseconds, in ms; undefined when it is empty. */
export function percentileMs(histogram: RecordableHistogram, percent: number): number | undefined {
  return histogram.count === 0 ? undefined : histogram.percentile(percent) / 1000;
}

/** An answer that has not come this long after the window's end, or this many leads, counts as a failure. */
const drainMs = 10_000;
const drainLeads = 5;
/** A caller that was refused waits for so long. */
const refusedPauseMs = 200;
const isRefusal = (failure: string | undefined): boolean => failure === 'status 429' || failure === 'status 503';
/** An open load never holds more connections than this; a request that finds none is a failure. */
const maxOpenConnections = 512;

/** Runs one load to its end. Resolves when every request has its answer, or is given up. */
export function runLoad(load: Load, events: LoadEvents): Promise<LoadResult> {
  return new Promise((resolve) => {
    const callers: Caller[] = [];
    const failures: Record<string, number> = {};
    const firstByte = createHistogram(microseconds);
    const [opening, following] = [createHistogram(microseconds), createHistogram(microseconds)];
    const firstByteBySecond = Array.from({ length: Math.ceil(load.seconds) }, () => createHistogram(microseconds));
    const duration = createHistogram(microseconds);
    const gap = createHistogram(microseconds);
    let phase: 'lead' | 'window' | 'drain' = 'lead';
    let answers = 0;
    let refused = 0;
    let bodyBytes = 0;
    let answerBytes = 0;
    let beganAt = Infinity;
    let windowMs = 0;
    let stopArrivals: () => void = () => {};
    let giveUp: NodeJS.Timeout | undefined;

    const fail = (reason: string): void => {
      failures[reason] = (failures[reason] ?? 0) + 1;
    };
    const finish = (): void => {
      clearTimeout(giveUp);
      for (const caller of callers) {
        if (!caller.idle()) fail('unanswered');
        caller.close();
      }
      const histograms = { firstByte, opening, following, firstByteBySecond, duration, gap };
      resolve({ seconds: windowMs / 1000, answers, bodyBytes, answerBytes, refused, failures, ...histograms });
    };
    const note = (answer: Answer): void => {
      if (load.mayBeRefused === true && isRefusal(answer.failure)) refused += phase === 'window' ? 1 : 0;
      else if (answer.failure !== undefined) fail(answer.failure);
      else if (phase === 'window') {
        answers += 1;
        answerBytes += answer.bodyBytes;
        if (answer.firstByteMs !== undefined) {
          record(firstByte, answer.firstByteMs);
          record(answer.turn === 0 ? opening : following, answer.firstByteMs);
        }
        record(duration, answer.durationMs);
      }
      if (answer.failure === undefined && answer.firstByteMs !== undefined) {
        // An answer before the window has a negative second.
        const second = Math.floor((performance.now() - answer.durationMs - beganAt) / 1000);
        const ofSecond = firstByteBySecond[second];
        if (ofSecond !== undefined) record(ofSecond, answer.firstByteMs);
      }
      if (phase === 'drain' && callers.every((caller) => caller.idle())) finish();
    };
    const add = (onAnswered: (caller: Caller) => void): Caller => {
      const options: CallerOptions = {
        address: load.address,
        request: load.request,
        expected: load.expected,
        onBody: (bytes, gapMs) => {
          if (phase !== 'window') return;
          bodyBytes += bytes;
          if (gapMs !== undefined) record(gap, gapMs);
        },
        onAnswer: (answer) => {
          note(answer);
          if (phase === 'drain') return;
          if (isRefusal(answer.failure)) setTimeout(() => onAnswered(caller), refusedPauseMs);
          else onAnswered(caller);
        },
      };
      const caller = createCaller(options);
      callers.push(caller);
      return caller;
    };

    const { arrival } = load;
    stopArrivals =
      arrival.kind === 'closed'
        ? offerClosed({ connections: arrival.connections, leadMs: load.leadSeconds * 1000, add })
        : offerOpen({ perSecond: arrival.perSecond, add, refuse: () => fail('no free connection') });

    setTimeout(() => {
      beganAt = performance.now();
      phase = 'window';
      events.onBegin();
      setTimeout(() => {
        windowMs = performance.now() - beganAt;
        phase = 'drain';
        events.onEnd();
        stopArrivals();
        giveUp = setTimeout(finish, Math.max(drainMs, drainLeads * load.leadSeconds * 1000));
        if (callers.every((caller) => caller.idle())) finish();
      }, load.seconds * 1000);
    }, load.leadSeconds * 1000);
  });
}

interface ClosedOffer {
  readonly connections: number;
  readonly leadMs: number;
  readonly add: (onAnswered: (caller: Caller) => void) => Caller;
}

/** The callers start spread over half the lead, so that paced streams do not beat in time. */
function offerClosed({ connections, leadMs, add }: ClosedOffer): () => void {
  let stopped = false;
  for (let index = 0; index < connections; index += 1) {
    setTimeout(
      () => {
        if (stopped) return;
        add((caller) => {
          // Off the reader's stack: it may still hold bytes of the answer before.
          queueMicrotask(() => {
            if (!stopped) caller.send();
          });
        }).send();
      },
      (leadMs / 2) * (index / connections),
    );
  }
  return () => {
    stopped = true;
  };
}

interface OpenOffer {
  readonly perSecond: number;
  readonly add: (onAnswered: (caller: Caller) => void) => Caller;
  readonly refuse: () => void;
}

/** Evenly spaced on an absolute schedule. Latency counts from the actual write: a late timer here is not the service's doing. */
function offerOpen({ perSecond, add, refuse }: OpenOffer): () => void {
  const free: Caller[] = [];
  const startedAt = performance.now();
  let connections = 0;
  let offered = 0;
  let timer: NodeJS.Timeout | undefined;
  const send = (): void => {
    let caller = free.pop();
    if (caller === undefined) {
      if (connections === maxOpenConnections) {
        refuse();
        return;
      }
      connections += 1;
      caller = add((answered) => free.push(answered));
    }
    caller.send();
  };
  const tick = (): void => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
    for (; offered < due; offered += 1) send();
    timer = setTimeout(tick, Math.max(1, startedAt + ((offered + 1) * 1000) / perSecond - performance.now()));
  };
  tick();
  return () => clearTimeout(timer);
}

/** Adds up what several threads saw of one load that was split between them. */
export function mergeResults(results: readonly LoadResult[]): LoadResult {
  const failures: Record<string, number> = {};
  for (const result of results) {
    for (const [reason, count] of Object.entries(result.failures)) failures[reason] = (failures[reason] ?? 0) + count;
  }
  const sum = (read: (result: LoadResult) => number): number => results.reduce((all, result) => all + read(result), 0);
  return {
    seconds: Math.max(...results.map((result) => result.seconds)),
    answers: sum((result) => result.answers),
    bodyBytes: sum((result) => result.bodyBytes),
    answerBytes: sum((result) => result.answerBytes),
    refused: sum((result) => result.refused),
    failures,
    opening: merge(results.map((result) => result.opening)),
    following: merge(results.map((result) => result.following)),
    firstByte: merge(results.map((result) => result.firstByte)),
    firstByteBySecond: (results[0]?.firstByteBySecond ?? []).map((_, second) =>
      merge(results.flatMap((result) => result.firstByteBySecond[second] ?? [])),
    ),
    duration: merge(results.map((result) => result.duration)),
    gap: merge(results.map((result) => result.gap)),
  };
}

function merge(histograms: readonly RecordableHistogram[]): RecordableHistogram {
  const merged = createHistogram(microseconds);
  for (const histogram of histograms) merged.add(histogram);
  return merged;
}
