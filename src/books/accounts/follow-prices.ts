import { type CancelTimer, type Clock, every } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { Authorship } from '../core/administration.ts';
import type { ModelPrices } from './model-prices.ts';

const everyMs = 60_000;
/** The first look comes early, because prices may have changed while no program was running. */
const firstMs = 2_000;

interface PriceParts {
  /** The prices of the models of the catalog that is served. */
  readonly prices: () => Promise<Iterable<readonly [string, ModelPrices]>>;
  readonly store: {
    readonly recordModelPrices: (models: ReadonlyMap<string, ModelPrices>, by: Authorship) => Promise<unknown>;
  };
  readonly clock: Clock;
  readonly log: { readonly warn: (facts: object, message: string) => void };
}

/** Records the prices of models when they change, once a minute, until the returned function is called. docs/decisions/0094. */
export function followPrices({ prices, store, clock, log }: PriceParts): CancelTimer {
  /** What was recorded last: the database is read only for other prices. */
  let recorded: string | undefined;

  async function look(): Promise<void> {
    try {
      const priced = [...(await prices())];
      const seen = JSON.stringify(priced);
      if (priced.length === 0 || seen === recorded) return;
      const actor = { kind: 'service', name: 'prices' } as const;
      await store.recordModelPrices(new Map(priced), { actor, now: clock.now() });
      recorded = seen;
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'recording model prices failed');
    }
  }

  let stop: CancelTimer | undefined;
  const cancel = clock.after(firstMs, () => {
    stop = every(clock, everyMs, look);
    void look();
  });
  return () => {
    cancel();
    stop?.();
  };
}
