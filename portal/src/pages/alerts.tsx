import { useState } from 'react';
import type { AlertListObject, AlertObject } from '../../../src/portal/api/alerts.ts';
import { useRead, useSend } from '../data/calls.ts';
import { useSession } from '../data/session.ts';
import { useWorkspaceQuery, type WorkspaceChoice } from '../data/workspaces.ts';
import { formatExactMoney, formatMoment } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { Declared } from '../parts/declared.tsx';
import { partsOf, TextField, valueOf } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Card } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';

const deliveries: Readonly<Record<AlertObject['delivery'], string>> = {
  none: 'No webhook of its own',
  waiting: 'Webhook is being sent',
  delivered: 'Webhook delivered',
  failed: 'Webhook not accepted within a day',
};

const columns: readonly Column<AlertObject>[] = [
  { title: 'When', names: true, cell: ({ at }) => <span className="nowrap">{formatMoment(at)}</span> },
  {
    title: 'Of',
    cell: ({ kind, key, key_name: name, tag }) =>
      kind === 'balance' ? 'Balance' : `Budget of ${tag ?? name ?? key ?? ''}`,
  },
  { title: 'Reached', end: true, cell: ({ percent }) => `${percent} %` },
  {
    title: 'Used',
    end: true,
    cell: ({ used, limit }) => `${formatExactMoney(used)} of ${formatExactMoney(limit)}`,
  },
  { title: 'Webhook', cell: ({ delivery }) => deliveries[delivery] },
];

/** Thresholds of a workspace's balance, and the alerts of its balance and of the budgets of its keys and tags. */
export function Alerts({ of }: { readonly of: WorkspaceChoice }) {
  const session = useSession();
  const [isChanging, setChanging] = useState(false);
  const alerts = useRead<AlertListObject>(['alerts', of.id], `/workspaces/${of.id}/alerts`);
  return (
    <Card title="Alerts">
      <Loaded query={alerts}>
        {({ thresholds, data }) => (
          <>
            <p className="muted">
              {thresholds.length === 0
                ? 'There are no alerts about the balance.'
                : `There is an alert when ${percentsOf(thresholds)} of the balance after the last credit is used.`}
            </p>
            {session.role === 'admin' && <ChangeButton of={of} onPress={() => setChanging(true)} />}
            <Table
              label="Alerts"
              columns={columns}
              rows={data}
              rowKey={({ id }) => id}
              empty={<p className="muted">No threshold was reached yet.</p>}
            />
            {isChanging && <Change of={of} now={thresholds} onClose={() => setChanging(false)} />}
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Thresholds of a workspace that an object manages are changed there. */
function ChangeButton({ of, onPress }: { readonly of: WorkspaceChoice; readonly onPress: () => void }) {
  const { data } = useWorkspaceQuery(of.id);
  if (data === undefined) return null;
  return (
    <div className="actions">
      {data.declared_by?.locked === true ? (
        <Declared by={data.declared_by} />
      ) : (
        <Button size="small" onPress={onPress}>
          Change thresholds
        </Button>
      )}
    </div>
  );
}

const percentsOf = (thresholds: readonly number[]): string =>
  new Intl.ListFormat('en', { type: 'disjunction' }).format(thresholds.map((percent) => `${percent} %`));

interface ChangeProps {
  readonly of: WorkspaceChoice;
  readonly now: readonly number[];
  readonly onClose: () => void;
}

function Change({ of, now, onClose }: ChangeProps) {
  const send = useSend('alerts');
  return (
    <FormDialog
      title={`Thresholds of ${of.name}`}
      action="Save"
      first={{ percents: now.join(', ') }}
      read={(form) => ({ percents: partsOf(valueOf(form, 'percents')).map(Number) })}
      onClose={onClose}
      onSubmit={(given) => send('POST', `/workspaces/${of.id}/thresholds`, given)}
    >
      {(fieldOf) => (
        <TextField
          label="Percentages of the balance"
          autoFocus
          hint="Whole percentages from 1 to 100, with commas between them. Empty for no alerts."
          {...fieldOf('percents')}
        />
      )}
    </FormDialog>
  );
}
