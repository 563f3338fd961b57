import { type CancelTimer, every } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { modelsOf } from './catalog-view.ts';
import type { Portal } from './portal.ts';

const everyMs = 60_000;
/** The first look comes early, because prices may have changed while no portal ran. */
const firstMs = 2_000;

/** Records the prices of models when they change, once a minute, for as long as the portal runs. docs/decisions/0094. */
export function followPrices({
  catalog,
  store,
  clock,
  log,
}: Pick<Portal, 'catalog' | 'clock' | 'log'> & {
  readonly store: Pick<Portal['store'], 'recordModelPrices'>;
}): CancelTimer {
  async function look(): Promise<void> {
    try {
      const priced = modelsOf(await catalog()).flatMap(({ id, pricing }) =>
        pricing === null ? [] : [[id, pricing] as const],
      );
      const actor = { kind: 'service', name: 'prices' } as const;
      if (priced.length > 0) await store.recordModelPrices(new Map(priced), { actor, now: clock.now() });
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
