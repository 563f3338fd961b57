import type { Trouble } from '../kubernetes/collection.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';

/** Logs once for each reason why the catalog or its endpoints are not followed, and logs again when they are followed. */
export function createTroubleLog(
  log: Pick<PartLog, 'info' | 'warn'>,
  { namespace, what }: { readonly namespace: string; readonly what: string },
): (troubles: readonly Trouble[]) => void {
  const logged = new Set<string>();
  return (troubles) => {
    const news = troubles.filter(({ of, reason }) => !logged.has(`${of} ${reason}`));
    for (const { of, reason } of news) logged.add(`${of} ${reason}`);
    for (const [reason, group] of Map.groupBy(news, (trouble) => trouble.reason)) {
      log.warn({ namespace, of: group.map(({ of }) => of), reason }, `${what} not followed`);
    }
    if (troubles.length > 0) return;
    logged.clear();
    log.info({ namespace }, `${what} in step with the API server`);
  };
}
