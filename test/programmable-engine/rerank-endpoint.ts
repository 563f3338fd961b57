import type { Behaviour } from './behaviour.ts';
import { answerAsTold, type ChatEndpoint, type Making, type OpenWire } from './chat-endpoint.ts';
import { deliverJson } from './delivery.ts';
import { engineHeaders } from './identity.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';
import { RequestRefusal } from './request-refusal.ts';
import { checkInputs, countedInput, textsAsMessages } from './task-request.ts';
import { usageBlock } from './usage.ts';
import { cosineOf, vectorOf } from './vectors.ts';

/**
 * Answers one rerank request, or breaks it as told: in the form of Cohere, vLLM and Jina where it has `documents`, in TEI's where
 * it has `texts`.
 */
export async function answerRerank(endpoint: ChatEndpoint, body: JsonObject, openWire: OpenWire): Promise<void> {
  const tei = body['texts'] !== undefined;
  // TEI serves one model and reads no name.
  const named = tei ? { ...body, model: endpoint.models[0]?.id } : body;
  return answerAsTold(endpoint, named, openWire, {
    read: () => textsAsMessages(readTexts(body, tei)),
    deliver: async (messages, making) => {
      const [query = '', ...documents] = messages.map(({ text }) => text);
      await deliver(endpoint, { query, documents, body, tei }, making);
    },
  });
}

/** How well a document fits a query, as a raw score; the same from every programmable engine. */
export function rawScoreOf(query: string, document: string, behaviour: Behaviour = {}): number {
  return Math.fround(8 * cosineOf(vectorOf(query, behaviour), vectorOf(document, behaviour)) - 2);
}

/** A raw score between 0 and 1. */
export const unitScoreOf = (raw: number): number => Math.fround(1 / (1 + Math.exp(-raw)));

interface RerankRequest {
  readonly query: string;
  readonly documents: readonly string[];
  readonly body: JsonObject;
  readonly tei: boolean;
}

async function deliver(endpoint: ChatEndpoint, request: RerankRequest, making: Making): Promise<void> {
  const { query, documents, body, tei } = request;
  const { behaviour, names } = making;
  const { identity } = endpoint;
  checkInputs(documents.length, making, false);
  const prompt = documents.reduce((sum, document) => sum + countedInput(`${query}${document}`, making), 0);
  const usage = usageBlock({ prompt, cached: 0, completion: 0, reasoning: 0 }, behaviour.usage);
  const ranks = bentRanks(ranksOf(request, behaviour), behaviour.rankDefect, documents.length);
  const withText = body[tei ? 'return_text' : 'return_documents'] === true;
  const results = ranks.map(({ index, score }) => {
    const text = JSON.stringify(documents[index] ?? '');
    if (tei) return `{"index":${index},${withText ? `"text":${text},` : ''}"score":${score}}`;
    return `{"index":${index},${withText ? `"document":{"text":${text}},` : ''}"relevance_score":${score}}`;
  });
  const head = JSON.stringify({
    id: `${behaviour.identify === false ? 'rerank-' : identity.idPrefix.replace('chatcmpl', 'rerank')}1`,
    model: names.model,
    ...(usage === undefined ? {} : { usage }),
  });
  const whole = tei ? `[${results.join(',')}]` : `${head.slice(0, -1)},"results":[${results.join(',')}]}`;
  await deliverJson(
    making.openWire(behaviour.gzip === true),
    { parts: [whole], tokens: documents.length },
    { behaviour, names, firstTokenMs: behaviour.firstTokenDelayMs ?? 0, headers: engineHeaders(identity, behaviour) },
  );
}

interface Rank {
  readonly index: number;
  /** The JSON text of the score. */
  readonly score: string;
}

function ranksOf({ query, documents, body, tei }: RerankRequest, behaviour: Behaviour): readonly Rank[] {
  const raw = behaviour.scores === undefined ? tei && body['raw_scores'] === true : behaviour.scores === 'raw';
  const scored = documents.map((document, index) => {
    const score = rawScoreOf(query, document, behaviour);
    return { index, score: raw ? score : unitScoreOf(score) };
  });
  if (behaviour.rankDefect !== 'unsorted') scored.sort((left, right) => right.score - left.score);
  const top = tei ? undefined : body['top_n'];
  return (typeof top === 'number' ? scored.slice(0, top) : scored).map(({ index, score }) => ({
    index,
    score: String(score),
  }));
}

function bentRanks(ranks: readonly Rank[], defect: Behaviour['rankDefect'], documents: number): readonly Rank[] {
  const [first = { index: 0, score: '0.5' }, ...rest] = ranks;
  switch (defect) {
    case undefined:
    case 'unsorted':
      return ranks;
    case 'missing':
      return rest;
    case 'extra':
      return [...ranks, first];
    case 'none':
      return [];
    case 'duplicate-index':
      return [...ranks.slice(0, -1), { ...first, score: ranks.at(-1)?.score ?? '0' }];
    case 'index-beyond':
      return [{ ...first, index: documents }, ...rest];
    case 'null':
      return [{ ...first, score: 'null' }, ...rest];
    case 'nan':
      return [{ ...first, score: 'NaN' }, ...rest];
    case 'text':
      return [{ ...first, score: `"${first.score}"` }, ...rest];
  }
}

function readTexts(body: JsonObject, tei: boolean): readonly string[] {
  const field = tei ? 'texts' : 'documents';
  const { query } = body;
  const documents = body[field];
  if (typeof query !== 'string') throw new RequestRefusal('query must be a string', { param: 'query' });
  if (!Array.isArray(documents) || documents.length === 0) {
    throw new RequestRefusal(`${field} must be a list with at least one text`, { param: field });
  }
  const read = documents.map((document: unknown) => {
    if (typeof document === 'string') return document;
    if (!tei && isJsonObject(document) && typeof document['text'] === 'string') return document['text'];
    throw new RequestRefusal(`${field} must be a list of texts`, { param: field });
  });
  return [query, ...read];
}
