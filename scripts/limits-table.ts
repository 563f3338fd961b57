import { maxTools } from '../src/gateway/dialects/wire-fields.ts';
import { factText } from './page-facts.ts';
import { markdownTable } from './markdown-table.ts';

/** What is limited, by the fact that has the figure, with its unit, for whom it counts, and the setting that changes it. */
const rows: readonly (readonly [limit: string, fact: string | number, unit: string, of: string, setting?: string])[] = [
  ['request body', 'body.size', 'MiB', 'request'],
  ['values in a body', 'body.values', '', 'request'],
  ['time without a byte of a body', 'body.silence', 's', 'request'],
  ['tools in a request', maxTools, '', 'request'],
  ['tags of a request', 'tags.of-request', '', 'request'],
  ['inputs of embeddings', 'embeddings.inputs', '', 'request'],
  ['documents of rerank', 'rerank.documents', '', 'request'],
  ['answer of an engine', 'answer.size', 'MiB', 'request'],
  ['requests a second', 'key.rate', '', 'key', '`--rate`'],
  ['requests at once above the rate', 'key.burst', '', 'key', '`--burst`'],
  ['models in the list of a key', 'key.models', '', 'key'],
  ['requests in flight', 'workspace.in-flight', '', 'workspace', '`--max-in-flight`'],
  ['keys', 'workspace.keys', '', 'workspace'],
  ['members', 'workspace.members', '', 'workspace'],
  ['labels', 'workspace.labels', '', 'workspace'],
  ['names of tags', 'tags.names', '', 'workspace'],
  ['values of a tag in a month', 'tags.values', '', 'workspace'],
  ['budgets of tags', 'tags.budgets', '', 'workspace'],
  ['thresholds', 'alert.most-thresholds', '', 'budget'],
  ['Workspaces', 'namespace.workspaces', '', 'namespace'],
  ['Identities', 'identities', '', 'deployment'],
  ['service accounts', 'service-accounts', '', 'deployment'],
  ['connections of one address', 'edge.connections-per-address', '', 'address', '`WEIR_CONNECTIONS_PER_ADDRESS`'],
  ['connections at the edge', 'edge.connections', '', 'Envoy', '`ulimit -Hn`'],
  ['requests a second of one address', 'edge.flood-rate', '', 'address'],
  ['`GET /v1/models` a minute', 'edge.catalog-rate', '', 'address'],
  ['failed keys in 30 s', 'failed-keys.tolerated', '', 'address'],
  ['time for the head of a request', 'edge.head', 's', 'connection'],
  ['time in which a reader takes nothing', 'edge.unread', 's', 'connection'],
  ['open requests', 'overload.open-requests', '', 'service'],
  ['journal', 'journal.size', 'MiB', 'service'],
  ['single requests kept', 'WEIR_LEDGER_RETENTION_DAYS', 'days', 'deployment', '`WEIR_LEDGER_RETENTION_DAYS`'],
  ['manifest file', 'manifest.file', 'MiB', 'file'],
  ['connections at the portal', 'portal.connections', '', 'portal'],
  ['requests in progress at the portal', 'portal.requests-of-person', '', 'person'],
];

/** The limits, with the figures of the sources. Throws if one of them is not known. */
export function limitsTable(): string {
  return markdownTable(
    ['limit', 'default', 'of', 'changed by'],
    rows.map(([limit, name, unit, of, setting = '–']) => {
      const fact = typeof name === 'number' ? name.toLocaleString('en') : factText(name);
      if (typeof fact !== 'string') throw new Error(`${limit}: there is no figure ${name}`);
      return [limit, unit === '' ? fact : `${fact} ${unit}`, of, setting];
    }),
  );
}
