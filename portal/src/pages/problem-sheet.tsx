import { createElement, type ReactNode } from 'react';
import { type DocsNode, useDocs } from '../data/docs.ts';
import { Ago } from '../parts/moment.tsx';
import { Facts } from '../parts/page.tsx';
import { Sheet } from '../parts/sheet.tsx';
import { FailedRequests, ProblemObject, type ProblemRow, Severity } from './current-problems.tsx';

interface ProblemSheetProps {
  readonly of: ProblemRow;
  readonly onClose: () => void;
}

const programs: ReadonlySet<string> = new Set(['database-down', 'valkey-down', 'dependency-failing']);

/** What is wrong, what to do about it, and what the docs say. */
export function ProblemSheet({ of: row, onClose }: ProblemSheetProps) {
  const { all, kind, cause = '', severity, since, action, title } = row;
  const [text, page, anchor] = /^(.*?):? docs\/(?:[\w-]+\/)*([\w-]+)\.md#([\w-]+)$/.exec(action)?.slice(1) ?? [action];
  // All causes would hide the one that it is.
  const isOne = page !== 'problems' || anchor !== 'causes';
  const causes = programs.has(kind) ? 'stores-and-other-programs' : 'causes';
  return (
    <Sheet title={`${row.object} ${title}`} onClose={onClose}>
      <div className="stack">
        <Facts
          facts={[
            { name: 'Severity', value: <Severity of={severity} /> },
            { name: 'Object', value: <ProblemObject of={row} /> },
            { name: 'Since', value: <Ago at={since} /> },
          ]}
        />
        {all.map(({ id, problem }) => (
          <p key={id}>{problem}</p>
        ))}
        <FailedRequests of={row} />
        <h3>What to do</h3>
        <p>{text}.</p>
        <Section page="problems" anchor={`${causes}/${cause}`} />
        {isOne && <Section page={page} anchor={anchor ?? ''} />}
        <Section page="problems" anchor={`kinds/${kind}`} />
      </div>
    </Sheet>
  );
}

/** A section of the docs, which the build has rendered. */
function Section({ page, anchor }: { readonly page: string | undefined; readonly anchor: string }) {
  const nodes = useDocs(page).data?.[anchor];
  return nodes === undefined ? null : <section className="docs">{nodes.map(elementOf)}</section>;
}

function elementOf(node: DocsNode, at: number): ReactNode {
  if (typeof node === 'string') return node;
  const [name, href, children] = node;
  const link = href === null ? {} : { href, target: '_blank', rel: 'noreferrer' };
  return createElement(name, { key: at, ...link }, ...children.map(elementOf));
}
