import { Link } from 'wouter';
import type { AuditEntryObject } from '../../../src/portal/api/audit.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useList } from '../data/calls.ts';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { auditActions, auditSentence } from '../format/audit-sentence.ts';
import { formatPreciseMoment } from '../format/format.ts';
import { Download } from '../parts/download.tsx';
import { optionsOf } from '../parts/fields.tsx';
import { type FilterField, Filters } from '../parts/filters.tsx';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Segments } from '../parts/segments.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';

const actorKinds: Readonly<Record<AuditEntryObject['actor']['kind'], string>> = {
  'command-line': 'command line',
  'admin-token': 'admin token',
  'portal-user': 'portal',
  controller: 'object',
  service: 'Weir',
  'service-account': 'service account',
};

const columns: readonly Column<AuditEntryObject>[] = [
  { title: 'When', names: true, cell: ({ at }) => <span className="nowrap">{formatPreciseMoment(at)}</span> },
  { title: 'Change', line: 2, cell: (entry) => <Sentence of={entry} /> },
  {
    title: 'Who',
    cell: ({ actor: { kind, name } }) => (
      <span className="cell-name">
        <Narrowed by="actor" to={name}>
          {name}
        </Narrowed>
        <span className="small muted">{actorKinds[kind]}</span>
      </span>
    ),
  },
];

/** What changed. The name of the object leads to all its changes. */
function Sentence({ of }: { readonly of: AuditEntryObject }) {
  const { before, name, after } = auditSentence(of);
  const isOfOther = of.workspace !== null && of.workspace !== name;
  return (
    <span className="cell-name change">
      <span>
        {before}
        <Narrowed by="object" to={of.object}>
          {name}
        </Narrowed>
        {after}
      </span>
      {isOfOther && <span className="small muted">{of.workspace}</span>}
    </span>
  );
}

interface NarrowedProps {
  readonly by: 'actor' | 'object';
  readonly to: string;
  readonly children: string;
}

/** A value of a row, as a link to the changes that have it. */
function Narrowed({ by, to, children }: NarrowedProps) {
  const [selection] = useAddress();
  return (
    <Link href={withQuery('/audit', { ...selection, [by]: to })} title={to}>
      {children}
    </Link>
  );
}

const filterFields: readonly FilterField[] = [
  { name: 'actor', label: 'Who' },
  { name: 'object', label: 'Object id', isFor: /^(ws|key|identity|member|sa)_/ },
  { name: 'action', label: 'Action', options: optionsOf(auditActions) },
];

const authors = [
  { value: '', label: 'All' },
  { value: 'people', label: 'People' },
  { value: 'automatic', label: 'Automatic' },
] as const;

/** All changes of accounts, newest first. */
export function AuditPage() {
  const workspace = useAskedWorkspace();
  const [{ by, actor, action, object, from, to }, change] = useAddress();
  const query = { workspace: workspace ?? undefined, by, actor, action, object, from, to };
  const isNarrowed = Object.values(query).some((part) => part !== undefined);
  const entries = useList<AuditEntryObject>(['audit'], '/audit', { query, enabled: workspace !== null });
  return (
    <Page
      title="Audit log"
      about="Every change of workspaces, keys, identities, credits, members and service accounts."
      actions={workspace !== null && <Download path={withQuery('/audit', query)} file="audit.csv" />}
    >
      <Filters label="Search changes" placeholder="Person, token, object id, action" fields={filterFields} hasTime>
        <WorkspaceSelect all />
        <Segments
          label="Changes by"
          value={authors.find(({ value }) => value === by)?.value ?? ''}
          options={authors}
          onChange={(value) => change({ by: value })}
        />
      </Filters>
      <Loaded query={entries} lines={12}>
        {(list) => (
          <Table
            label="Audit log"
            columns={columns}
            rows={list}
            rowKey={({ id }) => String(id)}
            empty={<Empty title={isNarrowed ? 'No such changes' : 'No changes yet'} />}
          />
        )}
      </Loaded>
      <More list={entries} />
    </Page>
  );
}
