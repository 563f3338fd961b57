import type { RequestTarget } from '../../../core/capability.ts';
import type { RankTask } from '../../../core/request.ts';
import type { Fields, RerankRow } from '../../engines/engine.ts';
import { engines } from '../../engines/engines.ts';

/**
 * Writes the body of a call that ranks documents. `texts`: the query, then all documents. All documents of the call are asked for,
 * because the best ones are chosen when all pieces of the request are there. Throws for an engine that ranks nothing.
 */
export function writeRerank(
  [query = '', ...all]: readonly string[],
  { maxTokensPerDocument }: RankTask,
  { engine, upstreamModel, piece, documentLengths }: RequestTarget,
): string {
  const row = engines[engine].rerank;
  if (row === undefined) throw new Error(`${engine} ranks no documents`);
  const { first, count } = piece ?? { first: 0, count: all.length };
  const sent = all.slice(first, first + count);
  const documents =
    documentLengths === undefined ? sent : sent.map((text, at) => text.slice(0, documentLengths[first + at]));
  const limit = documentLengths === undefined ? maxTokensPerDocument : undefined;
  return JSON.stringify(bodies[row.form]({ query, documents, model: upstreamModel, limit }, row));
}

interface RerankParts {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  /** Most tokens of a document, if the engine is to cut it. */
  readonly limit: number | undefined;
}

const bodies: Readonly<Record<RerankRow['form'], (parts: RerankParts, row: RerankRow) => Fields>> = {
  // Some engines rank fewer documents by themselves if `top_n` is absent.
  cohere: ({ model, query, documents, limit }, { documentLimit, echoes }) => ({
    model,
    query,
    documents,
    top_n: documents.length,
    ...(echoes === 'unless-told' && { return_documents: false }),
    ...(documentLimit !== undefined && { [documentLimit]: limit }),
  }),
  // Without `truncate`, newer versions cut what is too long and rank the rest.
  tei: ({ query, documents }) => ({ query, texts: documents, raw_scores: false, return_text: false, truncate: false }),
};
