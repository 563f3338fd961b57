import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { CreditObject, NewCreditObject } from '../../../src/portal/api/workspaces.ts';
import { useAddress } from '../data/address.ts';
import { call, randomId, withQuery } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { useList } from '../data/calls.ts';
import { useSession } from '../data/session.ts';
import { useMinute, useUsage } from '../data/usage.ts';
import { dayMs } from '../data/usage-range.ts';
import {
  useChosenWorkspace,
  useWorkspaceChoices,
  useWorkspaceQuery,
  type WorkspaceChoice,
} from '../data/workspaces.ts';
import { formatAvailable, formatDay, formatExactMoney, formatMoment, formatMoney, unknown } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { TextField, textOf } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { More } from '../parts/more.tsx';
import { Card, Figure, Page } from '../parts/page.tsx';
import { Empty, Loaded, Notice } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { Alerts } from './alerts.tsx';
import { monthBefore, StatementPage } from './statement.tsx';
import { TagBudgets } from './tag-budgets.tsx';

/** The balance of a workspace, or the statement of the month that the address names. */
export function BalancePage() {
  const [{ statement }] = useAddress();
  return statement === undefined ? <Balance /> : <StatementPage month={statement} />;
}

/** The balance of a workspace, and its credits. */
function Balance() {
  const session = useSession();
  const choices = useWorkspaceChoices();
  const workspace = useChosenWorkspace();
  const now = useMinute();
  const [isAdding, setAdding] = useState(false);
  const add = (
    <Button kind="primary" icon="plus" isDisabled={workspace === undefined} onPress={() => setAdding(true)}>
      Add credit
    </Button>
  );
  return (
    <Page
      title="Balance"
      about={
        <>
          Money left to spend, and credits.{' '}
          {workspace !== undefined && (
            <Link href={withQuery('/balance', { workspace: workspace.name, statement: monthBefore(now) })}>
              Monthly statements
            </Link>
          )}
        </>
      }
      actions={session.role === 'admin' ? add : undefined}
    >
      <div className="filters">
        <WorkspaceSelect />
      </div>
      {choices?.length === 0 && <Empty title="No workspace yet">A balance belongs to a workspace.</Empty>}
      {workspace !== undefined && <Left key={workspace.id} of={workspace} />}
      {workspace !== undefined && <Alerts key={`alerts ${workspace.id}`} of={workspace} />}
      {workspace !== undefined && <TagBudgets key={`tags ${workspace.id}`} of={workspace} />}
      {workspace !== undefined && <Credits key={`credits ${workspace.id}`} of={workspace} />}
      {workspace !== undefined && isAdding && <AddCredit of={workspace} onClose={() => setAdding(false)} />}
    </Page>
  );
}

const recentDays = 30;

/** The balance, what is spent of it in a day, and when it runs out at that rate. */
function Left({ of }: { readonly of: WorkspaceChoice }) {
  const workspace = useWorkspaceQuery(of.id);
  useEvents({ balance: ({ workspace_id: id }) => (id === of.id ? void workspace.refetch() : undefined) });
  const now = useMinute();
  const from = new Date(Math.floor(now / dayMs - recentDays + 1) * dayMs).toISOString();
  const recent = useUsage({ from, workspace: of.id });
  const perDay = Number(recent.data?.lines[0]?.cost ?? 0) / recentDays;
  return (
    <Loaded query={workspace} lines={3}>
      {({ balance, credit_limit: limit, name }) => {
        const left = Number(balance) + Number(limit);
        return (
          <>
            {left <= 0 && (
              <Notice tone="bad">
                <p>Nothing is left to spend. Calls with keys of {name} get HTTP 402 until a credit is added.</p>
              </Notice>
            )}
            <div className="figures">
              <Figure
                label={`Balance of ${name}`}
                value={formatAvailable(balance)}
                note={`exactly ${formatExactMoney(balance)}${Number(limit) > 0 ? `; may go down to −${formatMoney(limit)}` : ''}`}
              />
              <Figure
                label="Spent a day"
                value={recent.data === undefined ? unknown : formatMoney(perDay)}
                note={`on average in ${recentDays} days`}
              />
              <Figure label="Runs out" {...whenOut(left, perDay, now)} />
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

const longestDays = 3_650;
const inDays = new Intl.NumberFormat(undefined, {
  style: 'unit',
  unit: 'day',
  unitDisplay: 'long',
  maximumFractionDigits: 0,
});

/** The day on which what is left will be spent, if spending goes on as on average. */
function whenOut(left: number, perDay: number, now: number): { readonly value: string; readonly note: string } {
  if (left <= 0) return { value: 'now', note: 'add a credit' };
  if (perDay === 0) return { value: unknown, note: `nothing was spent in ${recentDays} days` };
  const days = Math.floor(left / perDay);
  if (days > longestDays) return { value: 'in over 10 years', note: 'if spending continues at this rate' };
  return {
    value: formatDay(new Date(now + days * dayMs).toISOString()),
    note: `in ${inDays.format(days)}, if spending continues at this rate`,
  };
}

function Credits({ of }: { readonly of: WorkspaceChoice }) {
  const credits = useList<CreditObject>(['credits', of.id], `/workspaces/${of.id}/credits`);
  const columns: readonly Column<CreditObject>[] = [
    { title: 'When', names: true, cell: ({ created_at: at }) => <span className="nowrap">{formatMoment(at)}</span> },
    { title: 'Amount', end: true, cell: ({ amount }) => formatExactMoney(amount) },
    { title: 'Kind', cell: ({ amount }) => (amount.startsWith('-') ? 'Correction' : 'Credit') },
    { title: 'Note', cell: ({ note }) => note ?? unknown },
  ];
  return (
    <Card title="Credits">
      <Loaded query={credits}>
        {(list) => (
          <Table
            label="Credits"
            columns={columns}
            rows={list}
            rowKey={({ id }) => id}
            empty={<p className="muted">Nothing was put in yet.</p>}
          />
        )}
      </Loaded>
      <More list={credits} />
    </Card>
  );
}

function AddCredit({ of, onClose }: { readonly of: WorkspaceChoice; readonly onClose: () => void }) {
  const client = useQueryClient();
  // The dialog adds one credit, also when it is sent again after a lost answer.
  const [idempotencyKey] = useState(randomId);
  return (
    <FormDialog
      title={`Add credit to ${of.name}`}
      action="Add"
      first={{ amount: '', note: '' }}
      read={(form): NewCreditObject => ({ amount: textOf(form, 'amount'), note: textOf(form, 'note') || undefined })}
      onClose={onClose}
      onSubmit={async (body) => {
        await call(`/workspaces/${of.id}/credits`, { method: 'POST', body, idempotencyKey });
        for (const name of ['credits', 'workspace', 'workspaces']) await client.invalidateQueries({ queryKey: [name] });
      }}
    >
      {(fieldOf) => (
        <>
          <TextField
            label="Amount (USD)"
            inputMode="decimal"
            required
            autoFocus
            hint="A negative amount is a correction and needs a note."
            {...fieldOf('amount')}
          />
          <TextField label="Note" maxLength={500} {...fieldOf('note')} />
        </>
      )}
    </FormDialog>
  );
}
