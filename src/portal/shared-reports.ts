import type { LedgerFilter, UsageDimension, UsageLine } from '../core/administration.ts';
import type { Clock } from '../core/clock.ts';
import type { PortalStore } from './store-port.ts';

type UsageReport = PortalStore['usageReport'];

/** Reports that were read a moment ago, for all who ask the same. */
export interface SharedReports {
  /** As that of the store. Rejects as it does, and asks it again next time. */
  readonly usageReport: UsageReport;
  /** What is asked from now on is read anew: requests have been settled that the reports of before do not have. */
  readonly forget: () => void;
}

const sharedMs = 1_000;

/**
 * Reads the same report once in a second, however many pages show it: a hundred open pages then cost what one does, and every one of
 * them asks anew when requests have ended. A map, and no library of caches: all entries go together, so there is nothing to evict by
 * size or by use.
 */
export function shareReports(usageReport: UsageReport, clock: Pick<Clock, 'elapsed'>): SharedReports {
  const reports = new Map<string, { readonly at: number; readonly lines: Promise<readonly UsageLine[]> }>();

  function forgetOld(): void {
    const oldest = clock.elapsed() - sharedMs;
    for (const [question, { at }] of reports) if (at <= oldest) reports.delete(question);
  }

  return {
    usageReport: (filter: LedgerFilter, dimensions: readonly UsageDimension[], options) => {
      forgetOld();
      const { workspaceId, keyId, modelId, outcome, since, until } = filter;
      const question = JSON.stringify([workspaceId, keyId, modelId, outcome, since, until, dimensions, options]);
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
    forget: () => reports.clear(),
  };
}
