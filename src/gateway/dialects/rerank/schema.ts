import { z } from 'zod';
import { listOf } from '../../../core/body-schema.ts';
import { count } from '../wire-fields.ts';

/**
 * Most documents of one request: as at Cohere (https://docs.cohere.com/reference/rerank) and Voyage
 * (https://docs.voyageai.com/reference/reranker-api).
 */
export const maxDocuments = 1000;

const notBlank = 'expected a text that is not blank';

/** Engines refuse a blank text, or score it as anything. */
const text = z.string().refine((value) => value.trim() !== '', notBlank);

/** A document may have further fields, which come back with it. */
const document = z.union([text, z.looseObject({ text })]);

/** The rerank request body (docs/reference/rerank.md). Unknown keys are dropped. Null means absent. */
export const rerankBody = z.object({
  model: z.string().min(1),
  query: text,
  documents: listOf(document, { min: 1, max: maxDocuments }),
  top_n: count.nullish(),
  return_documents: z.boolean().nullish(),
  max_tokens_per_doc: count.nullish(),
  // Other fields would be ranked, too. Here, it is always the text alone.
  rank_fields: z.array(z.literal('text', 'expected only "text": the text of a document is ranked')).nullish(),
});
export type RerankBody = z.output<typeof rerankBody>;
