import { useState } from 'react';
import type { NewTagBudgetObject, TagBudgetObject } from '../../../src/portal/api/tags.ts';
import type { Page } from '../data/api.ts';
import { useRead, useSend } from '../data/calls.ts';
import { useMay } from '../data/rights.ts';
import type { WorkspaceChoice } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Select, TextField, textOf } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Card } from '../parts/page.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import { Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { BudgetBar } from './budget-bar.tsx';
import { budgetOf, periods } from './limit-fields.tsx';

/** The open dialog. */
type Open = { readonly kind: 'set' } | { readonly kind: 'change' | 'remove'; readonly of: TagBudgetObject };

const columns: readonly Column<TagBudgetObject>[] = [
  { title: 'Tag', names: true, cell: ({ tag }) => tag },
  { title: 'Budget', cell: (of) => <BudgetBar of={of} /> },
];

const actionsColumn = (choose: (open: Open) => void): Column<TagBudgetObject> => ({
  ...{ title: 'Actions', bare: true, stays: true },
  cell: (of) => (
    <RowActions
      of={of.tag}
      actions={[
        { word: 'Change', onChoose: () => choose({ kind: 'change', of }) },
        { word: 'Remove', onChoose: () => choose({ kind: 'remove', of }) },
      ]}
    />
  ),
});

/** The budgets of a workspace's tags, with what is spent of each. */
export function TagBudgets({ of }: { readonly of: WorkspaceChoice }) {
  const mayChange = useMay()('tag-budgets:change');
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const path = `/workspaces/${of.id}/tag-budgets`;
  const budgets = useRead<Page<TagBudgetObject>>(['tag-budgets', of.id], path);
  const send = useSend('tag-budgets');
  const set = (given: NewTagBudgetObject): Promise<void> => send('POST', path, given);
  return (
    <Card title="Budgets of tags">
      <Loaded query={budgets}>
        {({ data }) => (
          <>
            {mayChange && (
              <div className="actions">
                <Button size="small" onPress={() => setOpen({ kind: 'set' })}>
                  Set budget of a tag
                </Button>
              </div>
            )}
            <Table
              label="Budgets of tags"
              columns={mayChange ? [...columns, actionsColumn(setOpen)] : columns}
              rows={data}
              rowKey={({ tag }) => tag}
              empty={<p className="muted">No tag has a budget.</p>}
            />
          </>
        )}
      </Loaded>
      {open?.kind === 'set' && <SetBudget onClose={close} onSubmit={set} />}
      {open?.kind === 'change' && <SetBudget of={open.of} onClose={close} onSubmit={set} />}
      {open?.kind === 'remove' && (
        <Confirm
          title="Remove this budget?"
          action="Remove"
          danger
          onClose={close}
          onConfirm={() => set({ tag: open.of.tag, budget: null })}
        >
          <p>
            Requests with <strong>{open.of.tag}</strong> are then limited only by the other limits of their keys.
          </p>
        </Confirm>
      )}
    </Card>
  );
}

interface SetBudgetProps {
  /** The budget that is changed. */
  readonly of?: TagBudgetObject;
  readonly onClose: () => void;
  readonly onSubmit: (given: NewTagBudgetObject) => Promise<void>;
}

function SetBudget({ of, onClose, onSubmit }: SetBudgetProps) {
  return (
    <FormDialog
      title={of === undefined ? 'Set the budget of a tag' : `Budget of ${of.tag}`}
      action="Save"
      first={{ tag: '', budget: of?.budget?.limit ?? '', period: of?.budget?.period ?? 'month' }}
      read={(form): NewTagBudgetObject => ({ tag: of?.tag ?? textOf(form, 'tag'), budget: budgetOf(form) })}
      onClose={onClose}
      onSubmit={onSubmit}
    >
      {(fieldOf) => (
        <>
          {of === undefined && (
            <TextField
              label="Tag"
              required
              autoFocus
              hint="NAME=VALUE, as in x-weir-tags, such as team=search."
              {...fieldOf('tag')}
            />
          )}
          <div className="form-grid">
            <TextField
              label="Budget (USD)"
              inputMode="decimal"
              required
              autoFocus={of !== undefined}
              {...fieldOf('budget')}
            />
            <Select label="Period" options={periods} {...fieldOf('period')} />
          </div>
        </>
      )}
    </FormDialog>
  );
}
