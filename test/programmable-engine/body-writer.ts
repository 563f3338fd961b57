import type { Behaviour, Fault } from './behaviour.ts';
import type { Wire } from './wire.ts';

/** Writes a body's bytes in the pieces asked for and breaks it where it is to break. */
export interface BodyWriter {
  /** False when the answer is over: the fault ended it or the client left. */
  readonly write: (bytes: string) => Promise<boolean>;
  /** Counts a finished event. False as for `write`. */
  readonly eventDone: () => Promise<boolean>;
  /** Sends what is still held back for a piece to fill. */
  readonly flush: () => Promise<void>;
}

/** What a fault does when its place is reached; false when nothing may follow. `lastBytes` have not been sent yet. */
export type Strike = (lastBytes: Uint8Array) => Promise<boolean>;

/** The writer of one body. `fault` strikes at most once. */
export function createBodyWriter(
  wire: Wire,
  behaviour: Behaviour,
  plan: { readonly fault: Fault | undefined; readonly strike: Strike },
): BodyWriter {
  const { chunkBytes } = behaviour;
  const at = plan.fault?.at;
  const faultByte = typeof at === 'object' && 'bytes' in at ? at.bytes : Infinity;
  // A fault after no event at all strikes before this writer is first used.
  const faultEvent = typeof at === 'object' && 'events' in at && at.events > 0 ? at.events : Infinity;
  let pending: Uint8Array = new Uint8Array();
  let sentBytes = 0;
  let events = 0;
  let struck = false;

  const flush = async (): Promise<void> => {
    const rest = pending;
    pending = new Uint8Array();
    if (rest.length > 0) await wire.sendAlone(rest);
  };
  const inPieces = async (bytes: Uint8Array, size: number): Promise<void> => {
    let joined: Uint8Array = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    for (; joined.length >= size && !wire.closed(); joined = joined.subarray(size)) {
      await wire.sendAlone(joined.subarray(0, size));
    }
    pending = joined;
  };
  const pass = async (bytes: Uint8Array): Promise<void> =>
    chunkBytes === undefined ? wire.send(bytes) : inPieces(bytes, chunkBytes);
  const strike = async (lastBytes: Uint8Array): Promise<boolean> => {
    struck = true;
    await flush();
    return plan.strike(lastBytes);
  };

  return {
    flush,
    write: async (text) => {
      // Text that nobody needs to cut goes out as it is: this is the path of every healthy stream.
      if (chunkBytes === undefined && faultByte === Infinity) {
        await wire.send(text);
        return !wire.closed();
      }
      const bytes = Buffer.from(text);
      const room = faultByte - sentBytes;
      sentBytes += bytes.length;
      if (struck || room > bytes.length) {
        await pass(bytes);
        return !wire.closed();
      }
      if (!(await strike(bytes.subarray(0, room)))) return false;
      await pass(bytes.subarray(room));
      return !wire.closed();
    },
    eventDone: async () => {
      events += 1;
      if (struck || events < faultEvent) return true;
      return strike(new Uint8Array());
    },
  };
}
