import type { UsageLine } from '../books/core/administration.ts';
import type { Clock } from '../core/clock.ts';
import type { PortalStore } from './store-port.ts';

type UsageReport = PortalStore['usageReport'];

const sharedMs = 1_000;

/**
 * Reads a report at most once a second. So a hundred open pages cost as much as one, although each reads again after a
 * request ended. A map is enough, without a cache library: all entries are dropped together, and none is evicted by
 * size or use.
 */
export function shareReports(usageReport: UsageReport, clock: Pick<Clock, 'elapsed'>) {
  const reports = new Map<string, { readonly at: number; readonly lines: Promise<readonly UsageLine[]> }>();

  function forgetOld(): void {
    const oldest = clock.elapsed() - sharedMs;
    for (const [question, { at }] of reports) if (at <= oldest) reports.delete(question);
  }

  return {
    /** Like `usageReport` of the store. A failure is not kept: the next call asks the store again. */
    usageReport: (...[filter, dimensions, options]: Parameters<UsageReport>): Promise<readonly UsageLine[]> => {
      forgetOld();
      // All fields, whatever they are, in one order.
      const fields = Object.entries(filter)
        .filter(([, value]) => value !== undefined)
        .toSorted(([one], [other]) => (one < other ? -1 : 1));
      const question = JSON.stringify([fields, dimensions, options]);
      const known = reports.get(question);
      if (known !== undefined) return known.lines;
      const lines = usageReport(filter, dimensions, options);
      const report = { at: clock.elapsed(), lines };
      reports.set(question, report);
      lines.catch(() => {
        if (reports.get(question) === report) reports.delete(question);
      });
      return lines;
    },
    /** Drops cached reports. Call after each settlement. */
    forget: (): void => reports.clear(),
  };
}
