import { type CancelTimer, every } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { modelsOf } from './catalog-view.ts';
import type { Portal } from './portal.ts';

type Prices =
  Parameters<Portal['store']['recordModelPrices']>[0] extends ReadonlyMap<string, infer Some> ? Some : never;

const everyMs = 60_000;
/** The first look comes early, because prices may have changed while no portal ran. */
const firstMs = 2_000;

interface PriceParts extends Pick<Portal, 'clock' | 'log'> {
  readonly store: Pick<Portal['store'], 'recordModelPrices'>;
}

/** Records the prices of models that the portal sees at the services. */
export const followPrices = ({ catalog, ...parts }: Pick<Portal, 'catalog'> & PriceParts): CancelTimer =>
  recordPrices({
    ...parts,
    prices: async () =>
      modelsOf(await catalog()).flatMap(({ id, pricing }) => (pricing === null ? [] : [[id, pricing] as const])),
  });

/** Records the prices of models when they change, once a minute, until the returned function is called. docs/decisions/0094. */
export function recordPrices({
  prices,
  store,
  clock,
  log,
}: PriceParts & { readonly prices: () => Promise<Iterable<readonly [string, Prices]>> }): CancelTimer {
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
      log.warn({ error: messageOf(error) }, 'the prices of models could not be recorded');
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
