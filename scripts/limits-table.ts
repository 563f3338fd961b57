import { maxTools } from '../src/gateway/dialects/wire-fields.ts';
import { factText } from './page-facts.ts';
import { markdownTable } from './markdown-table.ts';

/** What is limited, by the fact that has the figure, with its unit, for whom it counts, and the setting that changes it. */
const rows: readonly (readonly [limit: string, fact: string | number, unit: string, of: string, setting?: string])[] = [
  ['request body', 'body.size', 'MiB', 'request'],
  ['values in a body', 'body.values', '', 'request'],
  ['time without a byte of the body', 'body.silence', 's', 'request'],
  ['tools in a request', maxTools, '', 'request'],
  ['tags on a request', 'tags.of-request', '', 'request'],
  ['inputs of an embeddings request', 'embeddings.inputs', '', 'request'],
  ['documents of a rerank request', 'rerank.documents', '', 'request'],
  ['engine’s whole answer', 'answer.size', 'MiB', 'request'],
  ['requests a second', 'key.rate', '', 'key', '`--rate`'],
  ['burst', 'key.burst', '', 'key', '`--burst`'],
  ['models in a key’s list', 'key.models', '', 'key'],
  ['in-flight requests', 'workspace.in-flight', '', 'workspace', '`--max-in-flight`'],
  ['keys', 'workspace.keys', '', 'workspace'],
  ['members', 'workspace.members', '', 'workspace'],
  ['labels', 'workspace.labels', '', 'workspace'],
  ['tag names', 'tags.names', '', 'workspace'],
  ['values of a tag a month', 'tags.values', '', 'workspace'],
  ['tag budgets', 'tags.budgets', '', 'workspace'],
  ['thresholds', 'alert.most-thresholds', '', 'budget'],
  ['Workspaces', 'namespace.workspaces', '', 'namespace'],
  ['Identities', 'identities', '', 'deployment'],
  ['service accounts', 'service-accounts', '', 'deployment'],
  ['connections', 'edge.connections-per-address', '', 'address', '`WEIR_CONNECTIONS_PER_ADDRESS`'],
  ['connections at the edge', 'edge.connections', '', 'Envoy', '`ulimit -Hn`'],
  ['requests a second', 'edge.flood-rate', '', 'address'],
  ['`GET /v1/models` a minute', 'edge.catalog-rate', '', 'address'],
  ['failed keys within 30 s', 'failed-keys.tolerated', '', 'address'],
  ['time for a request’s head', 'edge.head', 's', 'connection'],
  ['time without reading', 'edge.unread', 's', 'connection'],
  ['open requests', 'overload.open-requests', '', 'service'],
  ['journal', 'journal.size', 'MiB', 'service'],
  ['retention of single requests', 'WEIR_LEDGER_RETENTION_DAYS', 'days', 'deployment', '`WEIR_LEDGER_RETENTION_DAYS`'],
  ['manifest file', 'manifest.file', 'MiB', 'file'],
  ['connections at the portal', 'portal.connections', '', 'portal'],
  ['in-flight requests at the portal', 'portal.requests-of-person', '', 'person'],
];

/** The limits, with the figures of the sources. Throws if one of them is not known. */
export function limitsTable(): string {
  return markdownTable(
    ['limit', 'default', 'scope', 'setting'],
    rows.map(([limit, name, unit, of, setting = '–']) => {
      const fact = typeof name === 'number' ? name.toLocaleString('en') : factText(name);
      if (typeof fact !== 'string') throw new Error(`${limit}: there is no figure ${name}`);
      return [limit, unit === '' ? fact : `${fact} ${unit}`, of, setting];
    }),
  );
}
