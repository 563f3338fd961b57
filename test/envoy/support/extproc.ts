import { type ExtProcServer, listenExtProc } from '../../../src/gateway/extproc/server.ts';
import { systemClock } from '../../../src/process/clock.ts';
import type { Delivery, Exchange } from '../../../src/core/exchange.ts';

/** An answer that is sent as fast as it is written, whatever the reader does. */
export const unbounded: Delivery = { wrote: () => true, onRoom: (run) => run(), release: () => {} };

/** Our ext_proc server with a handler of the test's in place of the pipeline. */
export async function answerExtProc(
  socketPath: string,
  handle: (exchange: Exchange) => void,
  openDelivery: (connection: string) => Delivery = () => unbounded,
): Promise<Pick<ExtProcServer, 'open'> & { readonly close: (graceMs?: number) => Promise<void> }> {
  const { open, close } = await listenExtProc({
    ...{ socketPath, handle, openDelivery, atTurnEnd: setImmediate, clock: systemClock },
  });
  return { open, close: (graceMs = 0) => close(graceMs) };
}
