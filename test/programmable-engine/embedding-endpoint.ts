import type { Behaviour } from './behaviour.ts';
import { answerAsTold, type ChatEndpoint, type Making, type OpenWire } from './chat-endpoint.ts';
import { deliverJson } from './delivery.ts';
import { engineHeaders } from './identity.ts';
import type { JsonObject } from './json-value.ts';
import { RequestRefusal } from './request-refusal.ts';
import { checkedTokens, checkInputs, countedInput, textsAsMessages } from './task-request.ts';
import { usageBlock } from './usage.ts';
import { base64Of, usualDimensions, vectorOf } from './vectors.ts';

/** Answers one embeddings request in OpenAI's form, or breaks it as told. */
export async function answerEmbeddings(endpoint: ChatEndpoint, body: JsonObject, openWire: OpenWire): Promise<void> {
  return answerAsTold(endpoint, body, openWire, {
    read: () => textsAsMessages(readInputs(body['input'])),
    deliver: async (messages, making) => {
      const texts = messages.map(({ text }) => text);
      await deliver(endpoint, { texts, body }, making);
    },
  });
}

async function deliver(
  endpoint: ChatEndpoint,
  request: { readonly texts: readonly string[]; readonly body: JsonObject },
  making: Making,
): Promise<void> {
  const { texts, body } = request;
  const { behaviour, names } = making;
  const { identity } = endpoint;
  checkInputs(texts.length, making, true);
  const length = askedLength(body['dimensions'], making);
  const asTokens = tokenLists(body['input']);
  const counts = texts.map((text, at) => {
    const ids = asTokens?.[at];
    return ids === undefined ? countedInput(text, making) : checkedTokens(ids.length, making);
  });
  const prompt = counts.reduce((sum, count) => sum + count, 0);
  const usage = usageBlock({ prompt, cached: 0, completion: 0, reasoning: 0 }, behaviour.usage);
  const head = {
    id: `${behaviour.identify === false ? 'embd-' : identity.idPrefix.replace('chatcmpl', 'embd')}${Math.floor(endpoint.now())}`,
    object: 'list',
    created: Math.floor(endpoint.now() / 1000),
    model: names.model,
    ...(usage === undefined ? {} : { usage }),
  };
  const base64 =
    (behaviour.vectorForm ?? 'asked') === 'asked'
      ? body['encoding_format'] === 'base64'
      : behaviour.vectorForm === 'base64';
  const wire = making.openWire(behaviour.gzip === true);
  await deliverJson(
    wire,
    { parts: bodyParts(head, dataOf(texts, { behaviour, base64, length })), tokens: texts.length },
    { behaviour, names, firstTokenMs: behaviour.firstTokenDelayMs ?? 0, headers: engineHeaders(identity, behaviour) },
  );
}

/** `{"…head…","data":[…]}`, in pieces: the body of two thousand inputs is never one array of objects. */
function* bodyParts(head: JsonObject, data: Iterable<string>): Iterable<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"data":[`;
  let first = true;
  for (const entry of data) {
    yield first ? entry : `,${entry}`;
    first = false;
  }
  yield ']}';
}

interface VectorMaking {
  readonly behaviour: Behaviour;
  readonly base64: boolean;
  readonly length: number | undefined;
}

function* dataOf(texts: readonly string[], making: VectorMaking): Iterable<string> {
  const defects = making.behaviour.vectorDefect ?? [];
  const has = (defect: (typeof defects)[number]): boolean => defects.includes(defect);
  if (has('none')) return;
  const places = texts.map((_, at) => at);
  if (has('missing')) places.pop();
  if (has('extra')) places.push(texts.length);
  if (has('reversed')) places.reverse();
  const last = texts.length - 1;
  for (const place of places) {
    const written = writtenVector(vectorOf(texts[place] ?? '', making.behaviour, making.length), {
      base64: making.base64,
      bent: (defect) => has(defect) || (place === last && has(`one-${defect}` as 'one-null')),
    });
    let index = place;
    if (place === last && has('duplicate-index')) index = 0;
    if (place === last && has('index-beyond')) index = texts.length;
    yield `{"object":"embedding",${has('index-absent') ? '' : `"index":${index},`}"embedding":${written}}`;
  }
}

/** The JSON text of a vector, whole or with what is wrong with it. NaN is written as Python writes it. */
function writtenVector(
  whole: Float32Array,
  how: { readonly base64: boolean; readonly bent: (defect: 'null' | 'zero' | 'short' | 'nan' | 'infinity') => boolean },
): string {
  const { bent } = how;
  const vector = bent('short') ? whole.subarray(0, -1) : whole;
  if (bent('zero')) vector.fill(0);
  if (bent('nan')) vector[0] = Number.NaN;
  if (bent('infinity')) vector[0] = Infinity;
  if (how.base64) return bent('null') ? 'null' : JSON.stringify(base64Of(vector));
  if (bent('null')) return `[${Array.from(vector, () => 'null').join(',')}]`;
  return `[${Array.from(vector, String).join(',')}]`;
}

function askedLength(asked: unknown, { behaviour, names }: Making): number | undefined {
  if (asked === undefined || asked === null || behaviour.askedDimensions === 'ignore') return undefined;
  if (behaviour.askedDimensions === 'refuse') {
    throw new RequestRefusal(
      `Model '${names.model}' does not support Matryoshka embeddings; dimensions must be unset (received dimensions=${JSON.stringify(asked)}).`,
      { param: 'dimensions' },
    );
  }
  const dimensions = behaviour.dimensions ?? usualDimensions;
  if (typeof asked === 'number' && Number.isInteger(asked) && asked >= 1 && asked <= dimensions) return asked;
  throw new RequestRefusal(`dimensions must be an integer from 1 to ${dimensions}`, { param: 'dimensions' });
}

/** The inputs as texts; token ids are the text of their JSON. */
function readInputs(input: unknown): readonly string[] {
  const ids = tokenLists(input);
  if (ids !== undefined) return ids.map((one) => JSON.stringify(one));
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (inputs.length === 0) throw new RequestRefusal('input must not be empty', { param: 'input' });
  return inputs.map((one) => {
    if (typeof one === 'string') return one;
    throw new RequestRefusal('input must be a string, a list of strings, or token ids', { param: 'input' });
  });
}

function tokenLists(input: unknown): readonly (readonly number[])[] | undefined {
  if (!Array.isArray(input) || input.length === 0) return undefined;
  const list: readonly unknown[] = input;
  if (isTokens(list)) return [list];
  return list.every((one): one is readonly number[] => Array.isArray(one) && isTokens(one)) ? list : undefined;
}

const isTokens = (list: readonly unknown[]): list is readonly number[] =>
  list.length > 0 && list.every((one) => typeof one === 'number' && Number.isInteger(one));
