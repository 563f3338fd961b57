import { Link } from 'wouter';
import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { formatCount, formatMoney, formatMs, formatRecent, orUnknown, unknown } from '../format/format.ts';
import { Badge } from '../parts/badge.tsx';
import type { Column } from '../parts/table.tsx';
import { outcomes } from './outcomes.ts';

/** Opens a request and keeps the selection. */
function OpenLink({ of }: { readonly of: ListedRequestObject }) {
  const [selection] = useAddress();
  return (
    <Link href={withQuery('/requests', { ...selection, request: of.id })} className="nowrap">
      {formatRecent(of.started_at)}
    </Link>
  );
}

/** The columns of the list of requests. */
export const requestColumns: readonly Column<ListedRequestObject>[] = [
  { title: 'Started', names: true, cell: (request) => <OpenLink of={request} /> },
  { title: 'Model', cell: ({ model }) => <span className="nowrap">{model ?? unknown}</span> },
  {
    title: 'Outcome',
    cell: ({ outcome, reason }) => (
      <span className="cell-name">
        <span>
          <Badge tone={outcomes[outcome].tone}>{outcomes[outcome].word}</Badge>
        </span>
        {reason !== null && <span className="small muted">{reason}</span>}
      </span>
    ),
  },
  {
    title: 'Key',
    cell: ({ key, key_name: name }) =>
      key === null ? <span className="muted">No valid key</span> : (name ?? <code className="small">{key}</code>),
  },
  { title: 'Workspace', cell: ({ workspace }) => workspace ?? unknown },
  { title: 'Cost', end: true, cell: ({ cost }) => formatMoney(cost) },
  { title: 'Prompt', end: true, cell: ({ prompt_tokens: tokens }) => formatCount(tokens) },
  { title: 'Output', end: true, cell: ({ completion_tokens: tokens }) => formatCount(tokens) },
  { title: 'First token', end: true, cell: ({ first_token_ms: ms }) => orUnknown(ms, formatMs) },
  { title: 'Duration', end: true, cell: ({ duration_ms: ms }) => formatMs(ms) },
  { title: 'Attempts', end: true, cell: ({ attempts }) => formatCount(attempts) },
];
