import { answerPaths } from '../../src/core/api-paths.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type Chance, pick, seededChance } from '../programmable-engine/chance.ts';
import { takeDirectives } from '../programmable-engine/directive-text.ts';
import { isJsonObject, objectOr, parsedOr, stringOr } from '../programmable-engine/json-value.ts';
import { rawScoreOf, unitScoreOf } from '../programmable-engine/rerank-endpoint.ts';
import { countTokens } from '../programmable-engine/tokens.ts';
import { base64Of, vectorOf } from '../programmable-engine/vectors.ts';
import type { RequestEvent, VectorWish } from './events.ts';
import type { ExpectedAnswer } from './expected-answer.ts';
import { costIn, listIn, newChoice, nothing, type ReceivedAnswer } from './received-choice.ts';
import { canary } from './searches.ts';

// Requests for vectors, and for ranks. An answer is seen as one choice, whose text is the vectors or the scores, a line each: so all
// that is checked of answers is checked of them.

/** A request for vectors. */
type VectorEvent = Pick<RequestEvent, 'id' | 'topic' | 'words' | 'directive'> & { readonly vectors: VectorWish };

export const hasVectors = <Event extends RequestEvent>(
  event: Event,
): event is Event & { readonly vectors: VectorWish } => event.vectors !== undefined;

/** Inputs of one call to an engine. More are split. */
export const inputsOfCall = 3;

export const piecesOf = ({ inputs }: VectorWish): number => Math.ceil(inputs / inputsOfCall);

function inputsOf({ id, topic, words, directive, vectors }: VectorEvent): readonly string[] {
  return Array.from({ length: vectors.inputs }, (_, at) => {
    const text = `${canary} ${at} of request ${id}, about topic ${topic}: ${'tides '.repeat(1 + ((words + at) % 7))}`;
    return at === vectors.struckInput && directive !== undefined
      ? `${text}[[demo ${JSON.stringify(directive)}]]`
      : text;
  });
}

const query = `${canary}: which tides?`;

/** The prompts that an engine makes of texts: a document comes with the query. */
const promptsOf = ({ vectors }: VectorEvent, texts: readonly string[]): readonly string[] =>
  vectors.encoding === 'ranks' ? texts.map((text) => `${query}${text}`) : texts;

const tokensOf = (event: VectorEvent, texts: readonly string[]): number =>
  promptsOf(event, texts).reduce((sum, text) => sum + countTokens(text), 0);

/** Tokens of the inputs with the directive, which no engine counts. */
export const tokensAsWritten = (event: VectorEvent): number => tokensOf(event, inputsOf(event));

export const vectorPath = ({ vectors }: VectorEvent): string =>
  answerPaths[vectors.encoding === 'ranks' ? 'rerank' : 'embeddings'];

/** The body, as its caller writes it. */
export const vectorBody = (event: VectorEvent): object =>
  event.vectors.encoding === 'ranks'
    ? { model: 'demo/ranks', query, documents: inputsOf(event) }
    : { model: 'demo/vectors', input: inputsOf(event), encoding_format: event.vectors.encoding };

/** The answer that every engine gives, as long as it is not broken. */
export function expectedVectors(event: VectorEvent): ExpectedAnswer {
  const texts = inputsOf(event).map((text) => takeDirectives(text).text);
  const content =
    event.vectors.encoding === 'ranks'
      ? ranked(texts)
      : texts.map((text) => written(vectorOf(text), event.vectors)).join('\n');
  const choice = { content, reasoning: '', refusal: '', calls: [], finishReason: 'stop' as const };
  return {
    choices: [choice as unknown as ExpectedAnswer['choices'][number]],
    promptTokens: tokensOf(event, texts),
    completionTokens: 0,
    lengths: [0],
  };
}

const written = (vector: Float32Array, { encoding }: VectorWish): string =>
  JSON.stringify(encoding === 'base64' ? base64Of(vector) : [...vector]);

/** The best document first; of equal ones, the one that came first. */
const ranked = (texts: readonly string[]): string =>
  texts
    .map((text, index) => ({ index, score: unitScoreOf(rawScoreOf(query, text)) }))
    .toSorted((first, second) => second.score - first.score)
    .map(({ index, score }) => `${index} ${score}`)
    .join('\n');

/** Reads a successful answer: scores from the best to the worst; or vectors in the order of their inputs, each with its index. */
export function readVectors(body: string, hasEnded: boolean): ReceivedAnswer {
  const json = parsedOr(body.trim());
  if (!isJsonObject(json)) return nothing(hasEnded && body.trim() !== '' ? ['the body is no JSON'] : []);
  if (json['error'] !== undefined) return { ...nothing([]), end: 'error' };
  const data = listIn(json['data']);
  const choice = newChoice();
  choice.text = [
    ...data.map(({ embedding }) => JSON.stringify(embedding)),
    ...listIn(json['results']).map(({ index, relevance_score: score }) => `${String(index)} ${String(score)}`),
  ].join('\n');
  [choice.finishes, choice.finish] = [1, 'stop'];
  const faults = data.flatMap(({ index }, at) => (index === at ? [] : [`vector ${at} has the index ${String(index)}`]));
  const usage = { ...objectOr(json['usage']), completion_tokens: 0 };
  const found = { id: stringOr(json['id'], ''), cost: costIn(usage), usage, end: 'whole' as const };
  return { ...nothing(faults), choices: new Map([[0, choice]]), ...found };
}

/** What is wrong with the vectors of one engine, once, or no more than their order, always. Undefined: a fault as answers have it. */
function bentBy(chance: Chance, isRanks: boolean): BehaviourInput | undefined {
  const kind = chance();
  if (isRanks)
    return kind < 0.4
      ? { on: [pick(engineNames, chance)], rankDefect: pick(rankDefects, chance), times: 1 }
      : undefined;
  if (kind < 0.1) return { vectorDefect: ['reversed'] };
  return kind < 0.4 ? { on: [pick(engineNames, chance)], vectorDefect: [pick(defects, chance)], times: 1 } : undefined;
}

const engineNames = ['a1', 'a2', 'b1'] as const;
const defects = [
  ...(['null', 'one-null', 'nan', 'infinity', 'one-zero', 'short', 'one-short'] as const),
  ...(['missing', 'extra', 'none', 'duplicate-index', 'index-beyond'] as const),
] as const;

const rankDefects = ['missing', 'extra', 'none', 'duplicate-index', 'index-beyond', 'null', 'nan', 'text'] as const;

/** Requests for vectors among the others of a world, one for so many, and every second one for ranks if the world has them. They are drawn from a chance of their own: the rest of a plan is as it was without them. */
export function vectorRequests(
  seed: number,
  others: readonly RequestEvent[],
  draw: (id: number, at: number, chance: Chance) => RequestEvent,
  { oneFor = 16, withRanks = false } = {},
): readonly RequestEvent[] {
  const chance = seededChance(seed ^ 0x5e_ed);
  const firstId = Math.max(0, ...others.map(({ id }) => id)) + 1;
  return Array.from({ length: Math.ceil(others.length / oneFor) }, (_, index) => {
    const near = others[Math.floor(chance() * others.length)]?.at ?? 0;
    const inputs = 1 + Math.floor(chance() * chance() * 12);
    const drawn = draw(firstId + index, near + chance() * 200, chance);
    const isRanks = withRanks && index % 2 === 1;
    return {
      ...{
        ...drawn,
        surface: 'chat',
        model: 'tiny',
        stream: false,
        directive: bentBy(chance, isRanks) ?? drawn.directive,
      },
      ...{ choices: 1, ask: 'text', maxTokens: undefined, search: undefined, trace: undefined },
      vectors: {
        inputs,
        encoding: isRanks ? ('ranks' as const) : chance() < 0.5 ? ('float' as const) : ('base64' as const),
        struckInput: Math.floor(chance() * inputs),
      },
    };
  });
}
