import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { type UsageFilter, useUsage } from '../data/usage.ts';
import type { ChosenTime } from '../data/usage-range.ts';
import { formatCompact, formatCount, formatMoney, formatMs, orUnknown } from '../format/format.ts';
import { Figure } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { Trend } from '../parts/trend.tsx';

interface Measure {
  readonly label: string;
  readonly of: (line: UsageLineObject) => number;
  readonly format: (line: UsageLineObject) => string;
  readonly isBad?: true;
}

const measures: readonly Measure[] = [
  { label: 'Cost', of: ({ cost }) => Number(cost), format: ({ cost }) => formatMoney(cost) },
  { label: 'Requests', of: ({ requests }) => requests, format: ({ requests }) => formatCount(requests) },
  {
    label: 'Tokens',
    of: (line) => line.prompt_tokens + line.completion_tokens,
    format: (line) => formatCompact(line.prompt_tokens + line.completion_tokens),
  },
  { label: 'Errors', of: ({ errors }) => errors, format: ({ errors }) => formatCount(errors), isBad: true },
];

interface UsageTotalsProps {
  readonly filter: UsageFilter;
  readonly time: ChosenTime;
}

/** The sums of a time, each with its change against the time before. */
export function UsageTotals({ filter, time: { before } }: UsageTotalsProps) {
  const now = useUsage(filter);
  const earlier = useUsage({ ...filter, ...before });
  const was = earlier.data?.lines[0];
  return (
    <Loaded query={now} shape="figures" lines={5}>
      {({ lines: [line] }) =>
        line === undefined ? null : (
          <div className="figures">
            {measures.map(({ label, of, format, isBad = false }) => (
              <Figure
                key={label}
                label={label}
                value={format(line)}
                note={
                  earlier.data && (
                    <Trend
                      now={of(line)}
                      isBad={isBad}
                      before={was === undefined ? 0 : of(was)}
                      was={was === undefined ? 'none' : format(was)}
                    />
                  )
                }
              />
            ))}
            <Figure
              label="Time to first token"
              value={orUnknown(line.first_token_p50_ms, formatMs)}
              note={line.first_token_p95_ms === null ? 'median' : `median; p95 ${formatMs(line.first_token_p95_ms)}`}
            />
          </div>
        )
      }
    </Loaded>
  );
}
