import type { Trouble } from '../kubernetes/collection.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';

/** Logs once for each reason why a watch failed, and logs again when it is synced. */
export function createTroubleLog(
  log: Pick<PartLog, 'info' | 'warn'>,
  facts: { readonly namespace: string; readonly watch: string },
): (troubles: readonly Trouble[]) => void {
  const logged = new Set<string>();
  return (troubles) => {
    const news = troubles.filter(({ of, reason }) => !logged.has(`${of} ${reason}`));
    for (const { of, reason } of news) logged.add(`${of} ${reason}`);
    for (const [reason, group] of Map.groupBy(news, (trouble) => trouble.reason)) {
      log.warn({ ...facts, of: group.map(({ of }) => of), reason }, 'watch failed');
    }
    if (troubles.length > 0) return;
    logged.clear();
    log.info(facts, 'watch synced');
  };
}
