import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { IdentityObject } from '../../../src/portal/api/identities.ts';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { useAddress } from '../data/address.ts';
import { type Page as ListPage, withQuery } from '../data/api.ts';
import { useRead, useSend } from '../data/calls.ts';
import { maySomewhere } from '../data/rights.ts';
import { useSession } from '../data/session.ts';
import { formatMoney, formatPeriod } from '../format/format.ts';
import { identityState } from '../data/states.ts';
import { StateBadge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Declared } from '../parts/declared.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Page } from '../parts/page.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { AskFirst, type Question } from './ask-first.tsx';
import { ProblemsOf } from './current-problems.tsx';
import { type IdentityFields, IdentityForm } from './identity-form.tsx';
import { budgetColumn, lastUsedColumn, limitsColumn, statusColumn } from './key-table.tsx';

/** The open dialog. */
type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit'; readonly of: IdentityObject }
  | { readonly kind: Question; readonly of: IdentityObject };

/** Who calls without a key: the identities whose tokens are accepted, and the accounts of their subjects. */
export function IdentitiesPage() {
  const session = useSession();
  const [{ identity }, select] = useAddress();
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const identities = useRead<ListPage<IdentityObject>>(['identities'], '/identities');
  const send = useSend('identities');
  const named = identities.data?.data.find(({ id }) => id === identity);
  const mayChange = maySomewhere(session, 'identities:change');
  return (
    <Page
      title="Identities"
      about="Callers without keys send tokens of an issuer. An identity says which ones, who pays, and within which limits."
      actions={
        mayChange && (
          <Button kind="primary" icon="plus" onPress={() => setOpen({ kind: 'create' })}>
            Create identity
          </Button>
        )
      }
    >
      <ProblemsOf label="Refused identities and tokens" are={isRefused} />
      <Loaded query={identities}>
        {({ data }) => (
          <Table
            label="Identities"
            columns={mayChange ? [...columns, actionsColumn((kind, of) => setOpen({ kind, of }))] : columns}
            rows={data}
            rowKey={({ id }) => id}
            empty={
              <Empty title="No identities yet">Create one here, with the command line, or as an object in Git.</Empty>
            }
          />
        )}
      </Loaded>
      {open?.kind === 'create' && (
        <EditIdentity onClose={close} onSubmit={(given) => send('POST', '/identities', given)} />
      )}
      {open?.kind === 'edit' && (
        <EditIdentity
          of={open.of}
          onClose={close}
          onSubmit={(given) => send('PATCH', `/identities/${open.of.id}`, given)}
        />
      )}
      {(open?.kind === 'suspend' || open?.kind === 'resume' || open?.kind === 'revoke') && (
        <AskFirst
          kind={open.kind}
          what="identity"
          name={open.of.name}
          onClose={close}
          onConfirm={(status) => send('PATCH', `/identities/${open.of.id}`, { status })}
        />
      )}
      {identity !== undefined && (
        <Accounts of={identity} name={named?.name ?? identity} onClose={() => select({ identity: undefined })} />
      )}
    </Page>
  );
}

/** Objects that are not accepted, issuers that are away, and tokens that were refused. What is in the table is accepted. */
const isRefused = ({ object }: { readonly object: string }): boolean =>
  object.startsWith('Identity/') || object === 'token-issuer' || object === 'tokens';

const columns: readonly Column<IdentityObject>[] = [
  {
    title: 'Name',
    names: true,
    cell: ({ name, declared_by }) => (
      <span className="cell-name">
        {name}
        <Declared by={declared_by} />
        <Link className="small" href={withQuery('/identities', { identity: name })} aria-label={`Accounts of ${name}`}>
          Accounts
        </Link>
      </span>
    ),
  },
  { title: 'Status', cell: (identity) => <StateBadge of={identityState(identity)} /> },
  {
    title: 'Tokens',
    cell: ({ issuer, audience, match }) => (
      <span className="cell-name">
        {issuer}
        <span className="small muted">for {audience}</span>
        {match.map((rule) => (
          <code key={rule} className="small">
            {rule}
          </code>
        ))}
      </span>
    ),
  },
  {
    title: 'Workspace',
    cell: ({ workspace, workspace_claim: claim }) => workspace ?? <code className="small">{claim}</code>,
  },
  {
    title: 'Budget',
    cell: ({ budget, models, each }) => (
      <span className="cell-name nowrap">
        {budget === null ? 'No budget' : `${formatMoney(budget.limit)} ${formatPeriod(budget.period)}`}
        <span className="small muted">{each === 'subject' ? 'each subject' : 'all subjects together'}</span>
        {models !== null && <span className="small muted">{models.join(', ')}</span>}
      </span>
    ),
  },
  limitsColumn,
];

type Choose = (kind: 'edit' | Question, of: IdentityObject) => void;

/** What an object in Git declares is changed there. */
const actionsColumn = (choose: Choose): Column<IdentityObject> => ({
  ...{ title: 'Actions', bare: true, stays: true },
  cell: (of) =>
    of.declared_by?.locked === true ? null : (
      <RowActions
        of={of.name}
        actions={[
          { word: 'Edit', onChoose: () => choose('edit', of) },
          of.status === 'active'
            ? { word: 'Suspend', onChoose: () => choose('suspend', of) }
            : { word: 'Resume', onChoose: () => choose('resume', of) },
          { word: 'Revoke', onChoose: () => choose('revoke', of) },
        ]}
      />
    ),
});

interface EditIdentityProps {
  readonly of?: IdentityObject;
  readonly onClose: () => void;
  readonly onSubmit: (given: IdentityFields) => Promise<void>;
}

function EditIdentity({ of, onClose, onSubmit }: EditIdentityProps) {
  const edit = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const [title, action] = of === undefined ? ['Create identity', 'Create'] : [`Edit ${of.name}`, 'Save'];
  return (
    <Dialog title={title} onClose={onClose}>
      <IdentityForm action={action} {...(of && { of })} state={edit} onClose={onClose} onSubmit={edit.mutate} />
    </Dialog>
  );
}

const accountColumns: readonly Column<KeyObject>[] = [
  {
    title: 'Subject',
    names: true,
    cell: ({ id, identity, workspace }) => (
      <Link href={withQuery('/keys', { workspace, search: id })}>{identity?.subject ?? 'All subjects'}</Link>
    ),
  },
  { title: 'Workspace', cell: ({ workspace }) => workspace },
  statusColumn,
  budgetColumn,
  lastUsedColumn,
];

interface AccountsProps {
  /** Id or name. */
  readonly of: string;
  readonly name: string;
  readonly onClose: () => void;
}

/** What the subjects of an identity have spent. */
function Accounts({ of, name, onClose }: AccountsProps) {
  const path = `/identities/${encodeURIComponent(of)}/accounts`;
  const accounts = useRead<ListPage<KeyObject>>(['identities', of, 'accounts'], path);
  return (
    <Dialog title={`Accounts of ${name}`} isWide onClose={onClose}>
      <Loaded query={accounts} lines={3}>
        {({ data }) => (
          <Table
            label={`Accounts of ${name}`}
            columns={accountColumns}
            rows={data}
            rowKey={({ id }) => id}
            empty={<p className="muted">None yet. A subject has an account from its first request on.</p>}
          />
        )}
      </Loaded>
      <div className="actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
