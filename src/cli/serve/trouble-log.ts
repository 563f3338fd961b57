import type { Logger } from 'pino';
import type { Trouble } from '../../kubernetes/follow-cluster.ts';

/** Logs why the catalog is not followed, each reason once until it is followed again, and that it is. */
export function createTroubleLog(
  log: Pick<Logger, 'info' | 'warn'>,
  namespace: string,
): (troubles: readonly Trouble[]) => void {
  const told = new Set<string>();
  return (troubles) => {
    const news = troubles.filter(({ of, reason }) => !told.has(`${of} ${reason}`));
    for (const { of, reason } of news) told.add(`${of} ${reason}`);
    for (const [reason, group] of Map.groupBy(news, (trouble) => trouble.reason)) {
      log.warn({ namespace, of: group.map(({ of }) => of), reason }, 'the catalog is not followed');
    }
    if (troubles.length > 0) return;
    told.clear();
    log.info({ namespace }, 'the catalog is in step with the API server');
  };
}
