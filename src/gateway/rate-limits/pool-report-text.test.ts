import { describe, expect, it } from 'vitest';
import type { PoolReport } from '../core/pool-report.ts';
import { readPoolReport, writePoolReport } from './pool-report-text.ts';

const place = { pool: 'cluster', endpoint: '[fd00::1]:8000' };
const report: PoolReport = {
  endpoints: [{ ...place, aheadTokens: 12_000, underWay: 3, steps: -2, capacityTokens: 270_000 }],
  sent: [
    { ...place, prompt: { digests: [2 ** 48 - 1, 0, 123_456_789_012], ends: [64, 128, 4_000_000], tokens: 4_000_123 } },
  ],
};

describe('the text of a report on pools', () => {
  it('is read as it was written', () => {
    expect(readPoolReport(writePoolReport(report))).toEqual(report);
    const empty = { endpoints: [], sent: [{ ...place, prompt: { digests: [], ends: [], tokens: 7 } }] };
    expect(readPoolReport(writePoolReport(empty))).toEqual(empty);
  });

  it('has whole numbers that are not negative, whatever was estimated', () => {
    const [endpoint] = report.endpoints;
    const estimated = {
      endpoints: endpoint ? [{ ...endpoint, aheadTokens: -0.2, capacityTokens: 10_000.4 }] : [],
      sent: [],
    };
    expect(readPoolReport(writePoolReport(estimated))?.endpoints).toMatchObject([
      { aheadTokens: 0, capacityTokens: 10_000 },
    ]);
  });

  it.each(['', '{', '[]', '{"endpoints":[["a","b",-1,0,0,1]],"sent":[]}', '{"endpoints":[],"sent":[{}]}'])(
    'is not read if it is something else: %s',
    (text) => {
      expect(readPoolReport(text)).toBeUndefined();
    },
  );
});
