import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { modelPath } from '../data/models.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Ago } from '../parts/moment.tsx';
import { onDemand } from '../parts/on-demand.tsx';
import { Notice, Waiting } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Health, useHealth } from '../shell/live-data.ts';

type Problem = Health['problems'][number];

/** The problems of one object and kind: most have one, and an object with several mistakes has one for each. */
export interface ProblemRow extends Problem {
  readonly all: readonly Problem[];
}

/** Most rows before the reader asks for the others. */
const shownAtOnce = 5;
/** A share of failures counts the last 15 minutes, so the first failed requests are older than the problem. */
const windowMs = 900_000;

const ProblemSheet = onDemand(() => import('./problem-sheet.tsx').then((loaded) => loaded.ProblemSheet), <Waiting />);

/** The current problems, since when, and what to do. First on the Overview. */
export function CurrentProblems({ isAdmin }: { readonly isAdmin: boolean }) {
  const health = useHealth();
  if (health === undefined) return null;
  return (
    <>
      {health.problems.length === 0 && (
        <Notice tone="good">
          <p>{isAdmin ? 'No problems.' : 'No problems with any model.'}</p>
        </Notice>
      )}
      <ProblemTable label="Current problems" problems={health.problems} />
    </>
  );
}

/** The problems that a page is about, if there are any. */
export function ProblemsOf({ label, are }: { readonly label: string; readonly are: (problem: Problem) => boolean }) {
  return <ProblemTable label={label} problems={useHealth()?.problems.filter(are) ?? []} />;
}

/** One row for each object and kind, five at first. The address has the one that is open in a sheet. */
function ProblemTable({ label, problems }: { readonly label: string; readonly problems: readonly Problem[] }) {
  const [isWhole, setWhole] = useState(false);
  const [{ problem: opened }, select] = useAddress();
  const rows = rowsOf(problems);
  const more = rows.length - shownAtOnce;
  const shown = rows.find(({ id }) => id === opened);
  return (
    <>
      {rows.length > 0 && (
        <Table
          label={label}
          columns={columns}
          rows={isWhole ? rows : rows.slice(0, shownAtOnce)}
          rowKey={({ id }) => id}
          isSelected={({ id }) => id === opened}
        />
      )}
      {more > 0 && !isWhole && (
        <div className="actions">
          <Button onPress={() => setWhole(true)}>{more} more</Button>
        </div>
      )}
      {shown !== undefined && <ProblemSheet of={shown} onClose={() => select({ problem: undefined })} />}
    </>
  );
}

function rowsOf(problems: readonly Problem[]): readonly ProblemRow[] {
  const groups = Map.groupBy(problems, ({ kind, object }) => `${kind} ${object}`);
  return [...groups].flatMap(([id, all]) => {
    const [first] = all;
    if (first === undefined) return [];
    return [{ ...first, id, all, title: all.length === 1 ? first.title : `${first.title} (${all.length})` }];
  });
}

const columns: readonly Column<ProblemRow>[] = [
  { title: 'Severity', line: 1, cell: ({ severity }) => <Severity of={severity} /> },
  { title: 'Object', names: true, cell: (row) => <ProblemObject of={row} /> },
  { title: 'Cause', line: 2, cell: ({ title }) => title },
  { title: 'Since', line: 1, cell: ({ since }) => <Ago at={since} /> },
  { title: 'Failed requests', bare: true, cell: (row) => <FailedRequests of={row} /> },
  { title: 'What to do', bare: true, cell: (row) => <WhatToDo of={row} /> },
];

export function Severity({ of }: { readonly of: Problem['severity'] }) {
  return of === 'critical' ? <Badge tone="bad">Critical</Badge> : <Badge tone="warn">Warning</Badge>;
}

/** What has the problem, as a link to the page that shows it, with the models that it takes along. */
export function ProblemObject({ of: { object, model, models = [] } }: { readonly of: Problem }) {
  const [kind, name = ''] = object.split('/', 2);
  const own = { Backend: withQuery('/backends', { backend: name }), Model: modelPath(model ?? '') };
  const href = kind === 'Backend' || kind === 'Model' ? own[kind] : undefined;
  const [first, ...others] = models;
  return (
    <span className="cell-name">
      {href === undefined ? object : <Link href={href}>{object}</Link>}
      {first !== undefined && (
        <span className="small muted">
          <Link href={modelPath(first)}>{first}</Link>
          {others.length > 0 && ` and ${others.length} more`}
        </span>
      )}
    </span>
  );
}

/** The failed requests of the model, or of all. A warning that costs no request has none. */
export function FailedRequests({ of: { model, models = [], severity, since } }: { readonly of: Problem }) {
  if (severity === 'warning' && model === null) return null;
  const from = new Date(Date.parse(since) - windowMs).toISOString();
  const one = models.length > 1 ? undefined : (model ?? undefined);
  return (
    <Link className="nowrap" href={withQuery('/requests', { outcome: 'error', model: one, from })}>
      Failed requests
    </Link>
  );
}

function WhatToDo({ of: { id, object } }: { readonly of: ProblemRow }) {
  const [path] = useLocation();
  const [selection] = useAddress();
  return (
    <Link
      className="nowrap what-to-do"
      href={withQuery(path, { ...selection, problem: id })}
      aria-label={`What to do about ${object}`}
    >
      What to do
    </Link>
  );
}
