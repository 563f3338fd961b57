import { maxOpenRequests } from '../../gateway/admission/overload.ts';

/** The load of a gateway at its busiest. */
export interface ExpectedLoad {
  /** Requests a second. */
  readonly rps: number;
  /** Answers that are streamed at the same time. */
  readonly streams: number;
  /** Chunks a second of one stream, which is about its tokens a second. */
  readonly chunksPerSecond: number;
  /** How long single requests are kept. */
  readonly retentionDays: number;
  /** Mean rate of a day, as a share of `rps`. */
  readonly meanShare: number;
}

/** The size of a gateway for a load. Processor time is in cores, memory in MiB. */
export interface Size {
  /** Enough for the load when one of them is gone. */
  readonly pods: number;
  readonly service: Resources;
  readonly envoy: Resources;
  /** The limit that decides the number of pods. */
  readonly limitedBy: 'event loop' | 'open streams' | 'one spare pod';
  readonly postgres: {
    readonly connections: number;
    /** Processor time of the rows, in cores. */
    readonly cores: number;
    readonly diskGb: number;
  };
  readonly valkey: { readonly cores: number };
}

export interface Resources {
  readonly cores: number;
  readonly memoryMib: number;
}

/**
 * Measured costs (docs/lab/scale.md and docs/lab/bench.md), of a machine whose cores are slow: an Envoy alone passed 33,000 small
 * answers for each core and second there.
 */
export const costs = {
  answer: { eventLoopMs: 0.28, otherThreadsMs: 0.15, envoyMs: 0.31, postgresMs: 0.14, valkeyMs: 0.036 },
  /** A chunk that arrives alone, of 64 streams. */
  chunk: { eventLoopMs: 0.048, otherThreadsMs: 0.008, envoyMs: 0.046 },
  idle: { serviceCores: 0.008, serviceMib: 120, envoyMib: 100 },
  stream: { serviceKib: 100, envoyKib: 108 },
  row: { bytes: 150 },
  connections: 3,
} as const;

/** Share of an event loop and of a core that is used at the busiest: the rest is for peaks, garbage and neighbours. */
const usedShare = 0.6;
const daySeconds = 86_400;

/** Sizes a gateway with the measured costs. A pod has one service and one Envoy; a service has one event loop. */
export function sizeFor(load: ExpectedLoad): Size {
  const { rps, streams, chunksPerSecond, retentionDays, meanShare } = load;
  const chunks = streams * chunksPerSecond;
  const cores = (answer: number, chunk: number): number => (rps * answer + chunks * chunk) / 1000;
  const eventLoop = cores(costs.answer.eventLoopMs, costs.chunk.eventLoopMs);
  const others = cores(costs.answer.otherThreadsMs, costs.chunk.otherThreadsMs);
  const envoy = cores(costs.answer.envoyMs, costs.chunk.envoyMs);
  const forLoops = Math.max(1, Math.ceil(eventLoop / usedShare));
  const forStreams = Math.max(1, Math.ceil(streams / maxOpenRequests));
  const busy = Math.max(forLoops, forStreams);
  const perPod = (all: number): number => all / busy / usedShare;
  const streamsMib = (kib: number): number => ((streams / busy) * kib) / 1024;
  return {
    pods: busy + 1,
    service: {
      cores: perPod(eventLoop + others) + costs.idle.serviceCores,
      memoryMib: costs.idle.serviceMib + streamsMib(costs.stream.serviceKib),
    },
    envoy: { cores: perPod(envoy), memoryMib: costs.idle.envoyMib + streamsMib(costs.stream.envoyKib) },
    limitedBy: busy === 1 ? 'one spare pod' : forStreams > forLoops ? 'open streams' : 'event loop',
    postgres: {
      connections: (busy + 1) * costs.connections,
      cores: cores(costs.answer.postgresMs, 0) / usedShare,
      diskGb: (rps * meanShare * daySeconds * retentionDays * costs.row.bytes) / 1e9,
    },
    valkey: { cores: cores(costs.answer.valkeyMs, 0) / usedShare },
  };
}
