import { join } from 'node:path';
import * as z from 'zod';
import { actorKinds, DatabaseDown } from '../books/core/administration.ts';
import { every, within } from '../core/clock.ts';
import { keyBlockSchema } from '../core/key-block.ts';
import type { Overridden, Override, Portal } from './portal.ts';

const retryMs = 2_000;
/** Longest wait for the database, or for the disk: one that has just been stopped, or is busy, may not answer for seconds. */
const patienceMs = 500;
const maxWaiting = 1_000;

/** What waits for the database, as it is kept over a restart. */
export const waitingOverrides = z.array(
  keyBlockSchema.pick({ keyId: true, status: true }).extend({
    by: z.object({ actor: z.object({ kind: z.enum(actorKinds), name: z.string() }), now: z.int() }),
  }),
);

export const waitingOverridesFile = (data: string): string => join(data, 'waiting-overrides.json');

interface Waiting {
  readonly one: Override;
  /** Receives why the database refuses it, while the caller waits. */
  refuse: ((error: Error) => void) | undefined;
}

interface OverrideParts extends Pick<Portal, 'store' | 'services' | 'clock' | 'log'> {
  /** Keeps what waits for the database. `read`: undefined, if there is nothing that can be read. */
  readonly kept: {
    readonly read: () => Promise<z.output<typeof waitingOverrides> | undefined>;
    readonly replace: (text: string) => Promise<void>;
  };
}

/**
 * Sets the status of keys in an emergency, also of keys that an object declares. While the database is down, the services
 * hold the status in their memory, and it is written with its author and its time when the database is back, by the next
 * portal if this one ends.
 */
export async function createKeyOverrides({ store, services, clock, log, kept }: OverrideParts) {
  /** The oldest one first. Each is a change of its own, so that the audit trail has all of them. */
  const waiting: Waiting[] = ((await kept.read()) ?? []).map((one) => ({ one, refuse: undefined }));
  let isKept = waiting.length > 0;
  let keeping = Promise.resolve();
  let flushing: Promise<void> | undefined;

  async function replace(): Promise<void> {
    try {
      await kept.replace(JSON.stringify(waiting.map(({ one }) => one)));
    } catch (err) {
      log.error({ err }, 'writing pending key statuses to disk failed: a portal restart loses them');
    }
  }
  /** One write at a time. */
  function keep(): Promise<void> {
    isKept = true;
    return (keeping = keeping.then(replace));
  }

  async function writeWaiting(): Promise<void> {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const { keyId, status, by } = next.one;
      try {
        await store.changeKey(keyId, { status, override: true }, by);
      } catch (err) {
        if (err instanceof DatabaseDown) return;
        if (next.refuse === undefined || !(err instanceof Error)) {
          log.error({ err, keyId, status }, 'storing a key status from the outage failed');
        } else next.refuse(err);
      }
      waiting.shift();
      if (isKept) await keep();
    }
  }
  const flush = (): Promise<void> => (flushing ??= writeWaiting().finally(() => (flushing = undefined)));

  const hold = ({ keyId, status, by }: Override) => services.blockKey({ keyId, status, at: by.now });

  const close = every(clock, retryMs, async () => {
    if (waiting.length === 0) return;
    await within(patienceMs, clock, flush());
    // A service that has started meanwhile, or that did not answer, does not know it.
    for (const { one } of [...waiting]) await hold(one);
  });
  return {
    override: async (one: Override): Promise<Overridden> => {
      let refused: Error | undefined;
      const own: Waiting = { one, refuse: (error) => (refused = error) };
      const hasRoom = waiting.length < maxWaiting;
      if (hasRoom) waiting.push(own);
      await within(patienceMs, clock, flush());
      own.refuse = undefined;
      if (refused !== undefined) throw refused;
      if (hasRoom && !waiting.includes(own)) return { isStored: true, services: [] };
      const [answers] = await Promise.all([hold(one), within(patienceMs, clock, keep())]);
      return { isStored: false, services: answers.services };
    },
    close,
  };
}
