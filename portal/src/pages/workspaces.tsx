import { useState } from 'react';
import { Link } from 'wouter';
import type { NewWorkspaceObject, WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import { withQuery } from '../data/api.ts';
import { useSend } from '../data/calls.ts';
import { useWorkspacesQuery } from '../data/workspaces.ts';
import { formatAvailable, formatCount } from '../format/format.ts';
import { workspaceState } from '../data/states.ts';
import { StateBadge } from '../parts/badge.tsx';
import { Declared } from '../parts/declared.tsx';
import { Button } from '../parts/button.tsx';
import { pairsText, TextField, textOf } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { AskFirst } from './ask-first.tsx';
import { CountOnly, limitsOfWorkspace } from './not-enforced.tsx';
import { WorkspaceLimits } from './workspace-limits.tsx';

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'limit' | 'suspend' | 'resume'; readonly of: WorkspaceObject };

/** Limits of tags in the table. The form has all. */
const shownTags = 3;

/** All workspaces, for admins: make them, change their limits, suspend them. */
export function WorkspacesPage() {
  const workspaces = useWorkspacesQuery();
  const send = useSend('workspaces');
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const create = (
    <Button kind="primary" icon="plus" onPress={() => setOpen({ kind: 'create' })}>
      Create workspace
    </Button>
  );
  return (
    <Page
      title="Workspaces"
      about="Each pays for its requests: a balance, its keys and a limit of in-flight requests."
      actions={create}
    >
      <Loaded query={workspaces}>
        {({ data }) => (
          <Table
            label="Workspaces"
            columns={columnsOf((kind, of) => setOpen({ kind, of }))}
            rows={data}
            rowKey={({ id }) => id}
            empty={<Empty title="No workspaces yet">Create one, give it credit, and create a key for it.</Empty>}
          />
        )}
      </Loaded>
      {open?.kind === 'create' && (
        <CreateWorkspace onClose={close} onSubmit={(given) => send('POST', '/workspaces', given)} />
      )}
      {open?.kind === 'limit' && (
        <WorkspaceLimits
          of={open.of}
          onClose={close}
          onSubmit={(given) => send('PATCH', `/workspaces/${open.of.id}`, given)}
        />
      )}
      {(open?.kind === 'suspend' || open?.kind === 'resume') && (
        <AskFirst
          kind={open.kind}
          what="workspace"
          name={open.of.name}
          onClose={close}
          onConfirm={(status) => send('PATCH', `/workspaces/${open.of.id}`, { status })}
        />
      )}
    </Page>
  );
}

type OpenOne = (kind: 'limit' | 'suspend' | 'resume', of: WorkspaceObject) => void;

function columnsOf(open: OpenOne): readonly Column<WorkspaceObject>[] {
  return [
    {
      title: 'Name',
      names: true,
      cell: ({ name, id, labels, declared_by }) => (
        <span className="cell-name">
          {name}
          <code className="small muted">{id}</code>
          {labels !== null && <span className="small muted">{pairsText(labels, '=', ', ')}</span>}
          <Declared by={declared_by} />
        </span>
      ),
    },
    {
      ...({ title: 'Status', line: 1 } as const),
      cell: (workspace) => <StateBadge of={workspaceState(workspace)} />,
    },
    {
      title: 'Balance',
      end: true,
      line: 2,
      cell: ({ name, balance }) => (
        <Link href={withQuery('/balance', { workspace: name })}>{formatAvailable(balance)}</Link>
      ),
    },
    {
      title: 'Limits',
      cell: ({
        max_in_flight: most,
        tokens_per_minute: tokens,
        tag_tokens_per_minute: ofTags,
        not_enforced: names,
      }) => (
        <span className="cell-name">
          {formatCount(most)} at once
          {tokens !== null && <span className="small muted">{formatCount(tokens)} tokens a minute</span>}
          {Object.entries(ofTags ?? {})
            .slice(0, shownTags)
            .map(([tag, count]) => (
              <span key={tag} className="small muted">
                {tag}: {formatCount(count)} tokens a minute
              </span>
            ))}
          <CountOnly limits={limitsOfWorkspace} names={names} />
        </span>
      ),
    },
    {
      title: 'Pages',
      bare: true,
      cell: ({ name }) => (
        <span className="nowrap">
          <Link href={withQuery('/keys', { workspace: name })} aria-label={`Keys of ${name}`}>
            Keys
          </Link>{' '}
          ·{' '}
          <Link href={withQuery('/usage', { workspace: name })} aria-label={`Usage of ${name}`}>
            Usage
          </Link>
        </span>
      ),
    },
    {
      title: 'Actions',
      bare: true,
      cell: (workspace) => {
        // What an object in Git declares is changed there.
        if (workspace.declared_by?.locked === true) return null;
        const toggle = workspace.status === 'active' ? 'suspend' : 'resume';
        const word = toggle === 'suspend' ? 'Suspend' : 'Resume';
        return (
          <div className="row-actions">
            <Button
              kind="quiet"
              size="small"
              aria-label={`Change the limit of ${workspace.name}`}
              onPress={() => open('limit', workspace)}
            >
              Limit
            </Button>
            <Button
              kind="quiet"
              size="small"
              aria-label={`${word} ${workspace.name}`}
              onPress={() => open(toggle, workspace)}
            >
              {word}
            </Button>
          </div>
        );
      },
    },
  ];
}

interface CreateProps {
  readonly onClose: () => void;
  readonly onSubmit: (given: NewWorkspaceObject) => Promise<void>;
}

function CreateWorkspace({ onClose, onSubmit }: CreateProps) {
  return (
    <FormDialog
      title="Create workspace"
      action="Create"
      first={{ name: '', credit: '', max_in_flight: '256' }}
      read={(form): NewWorkspaceObject => ({
        name: textOf(form, 'name'),
        credit: textOf(form, 'credit') || undefined,
        max_in_flight: Number(textOf(form, 'max_in_flight')),
      })}
      onClose={onClose}
      onSubmit={onSubmit}
    >
      {(fieldOf) => (
        <>
          <TextField
            label="Name"
            required
            autoFocus
            maxLength={64}
            hint="Letters, digits, dots, hyphens and underscores."
            {...fieldOf('name')}
          />
          <div className="form-grid">
            <TextField label="First credit (USD)" inputMode="decimal" {...fieldOf('credit')} />
            <TextField label="Requests at once" inputMode="numeric" {...fieldOf('max_in_flight')} />
          </div>
        </>
      )}
    </FormDialog>
  );
}
