import { useAddress } from '../data/address.ts';
import { useSession } from '../data/session.ts';
import type { Grouping } from '../data/usage.ts';
import { type Range, ranges, type Span } from '../data/usage-range.ts';
import { Button } from '../parts/button.tsx';
import { CommittedField } from '../parts/committed-field.tsx';
import { optionsOf, Select } from '../parts/fields.tsx';
import { Segments } from '../parts/segments.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';

const rangeNames: Readonly<Record<Range, string>> = {
  today: 'Today',
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
  'last-month': 'Last month',
  custom: 'Days …',
};

/** Tags are counted by days: a report by tag has no such time. */
export const isOfHours = (range: Range): boolean => range === 'today' || range === '24h';

interface UsageFiltersProps {
  readonly range: Range;
  readonly time: Span;
  readonly by: Grouping;
  readonly tag: string | undefined;
  readonly tagNames: readonly { readonly name: string }[];
}

/** The selection of the page Usage, which the address has. */
export function UsageFilters({ range, time: { from, to }, by, tag, tagNames }: UsageFiltersProps) {
  const session = useSession();
  const [{ key, model }, change] = useAddress();
  const narrowed = [key, model].filter((part) => part !== undefined);
  return (
    <div className="filters">
      <Select
        label="Time"
        value={range}
        onChange={(value) => change({ range: value })}
        options={ranges
          .filter((value) => by !== 'tag' || !isOfHours(value))
          .map((value) => ({ value, label: rangeNames[value] }))}
      />
      {range === 'custom' && (
        <>
          <CommittedField
            label="First day"
            type="date"
            value={from.slice(0, 10)}
            onCommit={(day) => change({ first: day })}
          />
          <CommittedField
            label="Last day"
            type="date"
            value={lastDayOf(to)}
            onCommit={(day) => change({ last: day })}
          />
        </>
      )}
      <Segments
        label="Stacked by"
        value={by}
        onChange={(value) => change({ by: value })}
        options={[
          { value: 'model', label: 'By model' },
          { value: 'key', label: 'By key' },
          ...(session.role === 'admin' ? [{ value: 'workspace' as const, label: 'By workspace' }] : []),
          ...(tagNames.length > 0 || by === 'tag' ? [{ value: 'tag' as const, label: 'By tag' }] : []),
        ]}
      />
      {by === 'tag' && (
        <Select
          label="Tag"
          value={tag ?? ''}
          onChange={(value) => change({ tag: value })}
          options={optionsOf(tagNames.map(({ name }) => name))}
        />
      )}
      {session.role !== 'key' && <WorkspaceSelect all />}
      {narrowed.length > 0 && (
        <Button kind="quiet" icon="close" onPress={() => change({ key: undefined, model: undefined })}>
          Only {narrowed.join(', ')}
        </Button>
      )}
    </div>
  );
}

/** The last day of a time that ends with a UTC day. */
const lastDayOf = (to: string | undefined): string =>
  to === undefined ? '' : new Date(Date.parse(to) - 1).toISOString().slice(0, 10);
