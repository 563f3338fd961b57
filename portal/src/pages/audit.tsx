import { Link } from 'wouter';
import type { AuditEntryObject } from '../../../src/portal/api/audit.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useList } from '../data/load-more.ts';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { changeTexts } from '../format/change.ts';
import { formatPreciseMoment } from '../format/format.ts';
import { CommittedField } from '../parts/committed-field.tsx';
import { Download } from '../parts/download.tsx';
import { Select } from '../parts/fields.tsx';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { TimeFields } from '../parts/time-fields.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';

const actorKinds: Readonly<Record<AuditEntryObject['actor']['kind'], string>> = {
  'command-line': 'command line',
  'admin-token': 'admin token',
  'portal-user': 'portal',
  controller: 'object',
  service: 'Weir',
  'service-account': 'service account',
};

/** The compiler finds an action that is missing here. */
const actions: Readonly<Record<AuditEntryObject['action'], true>> = {
  ...{ 'workspace.create': true, 'workspace.credit': true, 'workspace.suspend': true, 'workspace.resume': true },
  ...{ 'workspace.limits': true, 'workspace.labels': true, 'workspace.erase-name': true },
  ...{ 'workspace.tag-budget': true, 'workspace.tag-threshold-reached': true },
  ...{ 'workspace.thresholds': true, 'workspace.threshold-reached': true },
  ...{ 'key.thresholds': true, 'key.threshold-reached': true },
  ...{ 'key.create': true, 'key.update': true, 'key.budget': true, 'key.limits': true, 'key.suspend': true },
  ...{ 'key.resume': true, 'key.revoke': true, 'key.rotate': true, 'ledger.accept-loss': true, 'model.price': true },
  'model.accept-vectors': true,
  ...{ 'member.invite': true, 'member.role': true, 'member.remove': true },
  ...{ 'identity.create': true, 'identity.update': true, 'identity.suspend': true, 'identity.resume': true },
  'identity.revoke': true,
  ...{ 'service-account.create': true, 'service-account.revoke': true },
};

const columns: readonly Column<AuditEntryObject>[] = [
  { title: 'When', names: true, cell: ({ at }) => <span className="nowrap">{formatPreciseMoment(at)}</span> },
  {
    title: 'Who',
    cell: ({ actor: { kind, name } }) => (
      <span className="cell-name">
        <Narrowed by="actor" to={name} />
        <span className="small muted">{actorKinds[kind]}</span>
      </span>
    ),
  },
  { title: 'Action', cell: ({ action }) => <code className="nowrap">{action}</code> },
  {
    title: 'Object',
    cell: ({ object, workspace }) => (
      <span className="cell-name">
        <code className="nowrap">
          <Narrowed by="object" to={object} />
        </code>
        {workspace !== null && <span className="small muted">{workspace}</span>}
      </span>
    ),
  },
  {
    title: 'Change',
    cell: (entry) => (
      <ul className="change small">
        {changeTexts(entry).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    ),
  },
];

/** A value of a row, as a link to the changes that have it. */
function Narrowed({ by, to }: { readonly by: 'actor' | 'object'; readonly to: string }) {
  const [selection] = useAddress();
  return <Link href={withQuery('/audit', { ...selection, [by]: to })}>{to}</Link>;
}

/** What the list is narrowed to. The address has the selection. */
function AuditFilters() {
  const [{ actor, action, object }, change] = useAddress();
  return (
    <div className="filters">
      <WorkspaceSelect all />
      <CommittedField
        label="Person, token or object"
        type="search"
        value={actor ?? ''}
        onCommit={(text) => change({ actor: text })}
      />
      <Select
        label="Action"
        value={action ?? ''}
        onChange={(value) => change({ action: value })}
        options={[
          { value: '', label: 'All actions' },
          ...Object.keys(actions).map((value) => ({ value, label: value })),
        ]}
      />
      <CommittedField
        label="Id of a workspace or key"
        type="search"
        value={object ?? ''}
        onCommit={(text) => change({ object: text })}
      />
      <TimeFields />
    </div>
  );
}

/** All changes of accounts, newest first. */
export function AuditPage() {
  const workspace = useAskedWorkspace();
  const [{ actor, action, object, from, to }] = useAddress();
  const query = { workspace: workspace ?? undefined, actor, action, object, from, to };
  const isNarrowed = Object.values(query).some((part) => part !== undefined);
  const entries = useList<AuditEntryObject>({
    queryKey: ['audit'],
    path: '/audit',
    query,
    enabled: workspace !== null,
  });
  return (
    <Page
      title="Audit log"
      about="Every change of workspaces, keys, identities, credits, members and service accounts."
      actions={workspace !== null && <Download path={withQuery('/audit', query)} file="audit.csv" />}
    >
      <AuditFilters />
      <Loaded query={entries}>
        {(list) =>
          list.length === 0 ? (
            <Empty title={isNarrowed ? 'No such changes' : 'No changes yet'} />
          ) : (
            <Table label="Audit log" columns={columns} rows={list} rowKey={({ id }) => String(id)} />
          )
        }
      </Loaded>
      <More list={entries} />
    </Page>
  );
}
