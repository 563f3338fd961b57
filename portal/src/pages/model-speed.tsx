import { useMemo } from 'react';
import type { ModelDayObject } from '../../../src/portal/api/model-history.ts';
import { useMinute } from '../data/usage.ts';
import { beginningOf, periodsOf } from '../data/usage-range.ts';
import { formatDecimal, formatMs, formatSpeed, formatUtcDay, orUnknown } from '../format/format.ts';
import type { Series } from '../parts/chart.tsx';
import { Legend } from '../parts/legend.tsx';
import { Card } from '../parts/page.tsx';
import { ChartCard, p50, p95, TimeChart } from './usage-charts.tsx';

/** Days with requests that a chart needs. Fewer would be points in an empty chart. */
const fewestDays = 3;

/** Time to the first token and speed over 30 days. Little data is a sentence. */
export function ModelSpeed({ days }: { readonly days: readonly ModelDayObject[] }) {
  const now = useMinute();
  const from = beginningOf('30d', now);
  const { labels, firstToken, tokens } = useMemo(() => {
    const periods = periodsOf({ from, to: undefined }, 'day', now);
    const byDay = new Map(days.map((day) => [day.day, day]));
    const valuesOf = (of: (day: ModelDayObject) => number | null): Series['values'] =>
      periods.map((start) => {
        const day = byDay.get(start.slice(0, 10));
        return day === undefined ? null : of(day);
      });
    return {
      labels: periods.map((start) => formatUtcDay(start.slice(0, 10))),
      firstToken: [
        { ...p50, values: valuesOf(({ first_token_p50_ms: ms }) => ms) },
        { ...p95, values: valuesOf(({ first_token_p95_ms: ms }) => ms) },
      ],
      tokens: [{ name: 'Speed', colour: p50.colour, values: valuesOf(({ tokens_per_second: value }) => value) }],
    };
  }, [days, from, now]);
  if (days.length < fewestDays) return <LittleSpeed days={days} />;
  return (
    <div className="columns">
      <ChartCard title="Time to first token" labels={labels} series={firstToken} format={formatMs}>
        <TimeChart kind="lines" labels={labels} series={firstToken} format={formatMs} />
        <Legend of={firstToken} />
      </ChartCard>
      <ChartCard title="Output tokens a second" labels={labels} series={tokens} format={formatDecimal}>
        <TimeChart kind="lines" labels={labels} series={tokens} format={formatDecimal} />
      </ChartCard>
    </div>
  );
}

function LittleSpeed({ days }: { readonly days: readonly ModelDayObject[] }) {
  return (
    <Card title="The last 30 days">
      {days.length === 0 ? (
        <p>No request ended in the last 30 days.</p>
      ) : (
        <>
          {days.map(({ day, first_token_p50_ms: median, first_token_p95_ms: high, tokens_per_second: tokens }) => (
            <p key={day}>
              {formatUtcDay(day)}: first token after {orUnknown(median, formatMs)} (median; p95{' '}
              {orUnknown(high, formatMs)}), then {orUnknown(tokens, formatSpeed)}.
            </p>
          ))}
          <p className="muted">Charts appear when there are requests on {fewestDays} different days.</p>
        </>
      )}
    </Card>
  );
}
