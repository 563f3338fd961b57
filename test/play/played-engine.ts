import type { RecordedRequest } from '../programmable-engine/request-journal.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { pace } from '../simulation/catalog.ts';
import { type EngineState, ordersOf } from '../simulation/engines.ts';

/** An endpoint of the simulation's catalog, as a server on the loopback. */
export interface PlayedEngine {
  readonly name: string;
  readonly port: number;
  readonly set: (state: EngineState) => Promise<void>;
  /** Requests that are being answered. */
  readonly open: () => number;
  /** Requests that have come since they were taken last. */
  readonly take: () => readonly RecordedRequest[];
  readonly close: () => Promise<void>;
}

export async function startPlayedEngine(name: string, upstreamModel: string): Promise<PlayedEngine> {
  const start = (port: number): Promise<ProgrammableEngine> =>
    startProgrammableEngine({
      ...{ name, port, orders: ordersOf(name, pace), models: [{ id: upstreamModel, maxModelLen: 8192 }] },
    });
  let engine: ProgrammableEngine | undefined = await start(0);
  const { port } = engine;
  let last: RecordedRequest | undefined;
  let kept: readonly RecordedRequest[] = [];

  /** What has come since the last one that was taken. The journal drops the oldest. */
  function news(): readonly RecordedRequest[] {
    const all = engine?.requests() ?? [];
    const found = all.slice(last === undefined ? 0 : all.lastIndexOf(last) + 1);
    last = all.at(-1);
    return found;
  }

  return {
    ...{ name, port },
    open: () => engine?.openRequests() ?? 0,
    take: () => {
      const found = [...kept, ...news()];
      kept = [];
      return found;
    },
    set: async (state) => {
      if (state === 'refuses') {
        const ended = engine;
        kept = [...kept, ...news()];
        [engine, last] = [undefined, undefined];
        await ended?.close();
        return;
      }
      engine ??= await start(port);
      engine.set(state === 'silent' ? { ...pace, fault: 'stall', at: 'before-headers' } : pace);
    },
    close: async () => engine?.close(),
  };
}
