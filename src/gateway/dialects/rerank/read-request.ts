import type { Message, Request } from '../../../core/request.ts';
import { readModelName } from '../../core/model-name.ts';
import { inertFields, parseBody } from '../read-body.ts';
import { type RerankBody, rerankBody } from './schema.ts';

/** Fields of Cohere's and Jina's clients that are accepted, have no effect and are listed to the caller. */
const inertNames: ReadonlySet<string> = new Set(['rank_fields', 'max_chunks_per_doc', 'priority', 'truncation']);

const encoder = new TextEncoder();

type WireDocument = RerankBody['documents'][number];

const textOf = (document: WireDocument): string => (typeof document === 'string' ? document : document.text);

/** A document as it is returned: JSON text, so that it is copied and written without being read again. */
const returnedText = (document: WireDocument): string =>
  JSON.stringify(typeof document === 'string' ? { text: document } : document);

/**
 * Reads a parsed rerank body (docs/reference/rerank.md). The first message of the request is the query, each further one a document.
 * Throws `invalid_request` with the path of the first invalid field, or `variant_not_supported`.
 */
export function readRequest(value: unknown): Request {
  const body = parseBody(rerankBody, value);
  const { query, documents } = body;
  const user = (content: string): Message => ({ role: 'user', content });
  return {
    modelName: readModelName(body.model),
    task: {
      kind: 'rerank',
      documents: documents.length,
      queryBytes: encoder.encode(query).length,
      topN: body.top_n ?? undefined,
      returned: body.return_documents === true ? documents.map(returnedText) : undefined,
      maxTokensPerDocument: body.max_tokens_per_doc ?? undefined,
    },
    messages: [query, ...documents.map(textOf)].map(user),
    tools: [],
    sampling: {},
    stream: false,
    includeUsage: true,
    inert: inertFields(value, inertNames),
  };
}
