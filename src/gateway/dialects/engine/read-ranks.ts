import type { ScoreScale } from '../../../core/capability.ts';
import type { AnswerEvent, Fault, ReadStep, ResponseReader, UsageEvent } from '../../../core/event.ts';
import { isObject, type JsonObject, parseJson } from '../../../core/json.ts';
import { createStringCutter } from './cut-strings.ts';
import { errorInside } from './read-answer.ts';
import { countOf, isJsonType } from './read-field.ts';

interface AskedRanks {
  /** Place of the first document of the call among those of the request. */
  readonly first: number;
  readonly documents: number;
  readonly scale: ScoreScale;
  /** Tokens that the engine reports in a header. Undefined: it reports them in the body, or not at all. */
  readonly tokens?: number | undefined;
}

/** Longest string that is kept of an answer, characters: errors are longer than names, and documents are of no use. */
const maxString = 512;
/** Most characters of an answer without the documents, for each of them and in all. */
const maxOfResult = 4096;
const maxBeside = 1024 * 1024;
/** Most bytes of an answer with the documents. */
const maxBytes = 128 * 1024 * 1024;

/** Returns the reader of an answer that ranks documents, or undefined for a content type that cannot hold one. */
export function readRanksAs(contentType: string, asked: AskedRanks): ResponseReader | undefined {
  return isJsonType(contentType) ? createRanksReader(asked) : undefined;
}

/** Reads an answer that ranks documents, in any engine's form. All events come at the end. */
function createRanksReader(asked: AskedRanks): ResponseReader {
  const decoder = new TextDecoder();
  const cut = createStringCutter(maxString);
  const maxText = asked.documents * maxOfResult + maxBeside;
  let bytesSeen = 0;
  let text = '';

  return {
    push: (bytes): ReadStep => {
      bytesSeen += bytes.length;
      text += cut(decoder.decode(bytes, { stream: true }));
      const isTooLarge = bytesSeen > maxBytes || text.length > maxText;
      return { events: [], state: isTooLarge ? { kind: 'too-large', detail: 'answer over the limit' } : 'open' };
    },
    end: (): ReadStep => {
      const answer = parseJson(text + cut(decoder.decode()));
      const read = readRanks(answer, asked);
      return 'kind' in read ? { events: [], state: read } : { events: read, state: 'complete' };
    },
  };
}

/** Rounding of an engine's own arithmetic, by which a score may leave its scale. */
const tolerance = 1e-4;

interface Scale {
  readonly min: number;
  readonly max: number;
  /** The score between 0 and 1. Keeps the order. */
  readonly normalize: (score: number) => number;
}

const clamp = (score: number): number => Math.min(1, Math.max(0, score));

/**
 * How scores become numbers between 0 and 1. The scale is declared and never guessed from the scores: logits may all lie between 0 and 1
 * by chance, and a second sigmoid over probabilities would press all of them between 0.5 and 0.73.
 */
const scales: Readonly<Record<ScoreScale, Scale>> = {
  Probability: { min: 0, max: 1, normalize: clamp },
  Logit: { min: -Infinity, max: Infinity, normalize: (score) => 1 / (1 + Math.exp(-score)) },
  Cosine: { min: -1, max: 1, normalize: (score) => clamp((score + 1) / 2) },
};

const malformed = (detail: string): Fault => ({ kind: 'malformed', detail });

/**
 * Reads a parsed answer of any engine: its events, or why it is not an answer to the call. Each document of the call must be ranked
 * once, with a finite score on the declared scale. The order of the results does not matter.
 */
function readRanks(answer: unknown, asked: AskedRanks): readonly AnswerEvent[] | Fault {
  const error = errorInside(answer);
  if (error !== undefined) return error;
  const results = resultsOf(answer);
  if (results === undefined) return malformed('answer has no results');
  const scores = scoresOf(results, asked);
  if ('kind' in scores) return scores;
  const promptTokens = asked.tokens ?? tokensOf(answer, results);
  return [
    { type: 'ranks', choice: 0, first: asked.first, scores },
    ...(promptTokens === undefined ? [] : [usageEvent(promptTokens)]),
    { type: 'finish', choice: 0, reason: 'stop' },
  ];
}

/** `results` of Cohere, Jina, vLLM, llama.cpp and Infinity, `data` of Voyage; text-embeddings-inference and SGLang answer with the list alone. */
function resultsOf(answer: unknown): readonly unknown[] | undefined {
  const list = isObject(answer) ? (answer['results'] ?? answer['data']) : answer;
  return Array.isArray(list) ? list : undefined;
}

function scoresOf(results: readonly unknown[], { documents, scale }: AskedRanks): readonly number[] | Fault {
  if (results.length !== documents) return malformed(`${results.length} results for ${documents} documents`);
  const { min, max, normalize } = scales[scale];
  const scores = Array.from({ length: documents }, () => 0);
  const seen = new Set<number>();
  for (const result of results) {
    const index = isObject(result) ? result['index'] : undefined;
    const score = isObject(result) ? (result['relevance_score'] ?? result['score']) : undefined;
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents)
      return malformed('a result without the index of a document');
    if (seen.has(index)) return malformed('two results for a document');
    if (typeof score !== 'number' || !Number.isFinite(score)) return malformed('a result without a score');
    if (score < min - tolerance || score > max + tolerance)
      return malformed(`a score outside ${min} to ${max}: check capabilities.rerankScores of the route`);
    seen.add(index);
    scores[index] = normalize(score);
  }
  return scores;
}

const usageEvent = (promptTokens: number): UsageEvent => ({
  type: 'usage',
  usage: { promptTokens, completionTokens: 0 },
});

/** Undefined: the engine reports no count. */
const tokensOf = (answer: unknown, results: readonly unknown[]): number | undefined =>
  isObject(answer) ? totalOf(answer) : sumOf(results);

const inside = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

/** Old versions of vLLM report only the total. Cohere has its count in `meta`. */
function totalOf(answer: JsonObject): number | undefined {
  const { usage, meta } = answer;
  return (
    countOf(inside(usage, 'prompt_tokens')) ??
    countOf(inside(usage, 'total_tokens')) ??
    countOf(inside(inside(meta, 'tokens'), 'input_tokens'))
  );
}

/** SGLang counts the tokens of each document apart. */
function sumOf(results: readonly unknown[]): number | undefined {
  const counts = results.map((result) => countOf(inside(inside(result, 'meta_info'), 'prompt_tokens')));
  return counts.every((count) => count !== undefined) ? counts.reduce((sum, count) => sum + count, 0) : undefined;
}
