import type { ServiceFigures } from '../../src/telemetry/ops/gauges.ts';

/** The figures of a service with everything that a service may have, and nothing to do; changed as a test needs it. */
export function idleFigures(changes: Partial<ServiceFigures> = {}): ServiceFigures {
  return {
    version: '1.2.3',
    inFlight: () => 0,
    streams: () => 0,
    load: () => ({
      eventLoopDelayMs: 0,
      ownDelayMs: 0,
      memoryShare: 0,
      filesShare: 0,
      medianWaitMs: 0,
      queuedForMs: 0,
    }),
    uploads: { arriving: () => 0, bytes: () => 0 },
    edgeAdmitRatio: () => 1,
    sharing: () => ({ isShared: true, replicas: 3, late: 0 }),
    blockedAddresses: () => 0,
    failing: () => [],
    droppedLogRecords: () => 0,
    store: () => ({
      ...{ database: 'up', journalBytes: 0, journalLimitBytes: 1_000, hasRoom: true, waitingRows: 0 },
      ...{ isDamaged: false, retentionDays: 0, upkeep: { doneAt: undefined, failures: 0 } },
    }),
    disk: () => Promise.resolve({ free: 1_000, size: 4_000 }),
    catalog: () => ({ models: new Map(), servedAt: 1_780_000_000_000, routes: [] }),
    catalogAgeMs: () => 0,
    isLeading: () => true,
    discovery: () => ({ streams: 1, unansweredMs: 0, refusals: 0 }),
    endpoints: () => Promise.resolve([]),
    backendHealth: () => Promise.resolve([]),
    modelStatuses: () => [],
    vectors: () => [],
    threads: () =>
      Promise.resolve([
        { thread: 'requests', busyMs: 500, delayMs: undefined, memory: { heapBytes: 8, externalBytes: 4 } },
      ]),
    problems: () => [],
    demands: () => [],
    events: () => [
      {
        ...{ name: 'events', delivered: 0, failedTries: 0, waiting: 0, rows: 0, dropped: 0 },
        ...{ lagMs: 0, droppedSince: undefined },
      },
    ],
    ...changes,
  };
}
