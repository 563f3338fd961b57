import { DatabaseDown } from '../books/core/administration.ts';
import { every } from '../core/clock.ts';
import type { Overridden, Override, Portal } from './portal.ts';

const retryMs = 2_000;
const maxWaiting = 1_000;

/**
 * Sets the status of keys in an emergency, also of keys that an object declares. While the database is down, the services
 * hold the status in their memory, and it is written with its author and its time when the database is back.
 */
export function createKeyOverrides({
  store,
  services,
  clock,
  log,
}: Pick<Portal, 'store' | 'services' | 'clock' | 'log'>) {
  const waiting = new Map<string, Override>();

  async function write({ keyId, status, by }: Override): Promise<boolean> {
    try {
      await store.changeKey(keyId, { status, override: true }, by);
      return true;
    } catch (error) {
      if (error instanceof DatabaseDown) return false;
      throw error;
    }
  }

  async function writeWaiting(): Promise<void> {
    for (const [id, one] of waiting) {
      try {
        if (!(await write(one))) return;
      } catch (err) {
        log.error({ err, keyId: id, status: one.status }, 'a status that was set during an outage cannot be stored');
      }
      if (waiting.get(id) === one) waiting.delete(id);
    }
  }

  const close = every(clock, retryMs, writeWaiting);
  return {
    override: async (one: Override): Promise<Overridden> => {
      if (await write(one)) return { isStored: true, services: [] };
      const { keyId, status, by } = one;
      const answers = await services.blockKey({ keyId, status, at: by.now });
      if (waiting.size < maxWaiting) waiting.set(keyId, one);
      return { isStored: false, services: answers.services };
    },
    close,
  };
}
