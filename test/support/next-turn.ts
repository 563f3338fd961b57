import { hash } from 'node:crypto';
import type { RequestTarget } from '../../src/core/capability.ts';
import { type ChatSurface, chatSurfaces } from '../../src/core/dialect.ts';
import type { AnswerEvent } from '../../src/core/event.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { chatProtocol } from '../../src/gateway/request/engine-protocol.ts';
import { prepareHere } from '../../src/gateway/request/prepare.ts';
import { modelOf, plannedOfAll, routeOf, targetOf } from './route-of.ts';
import { uncounted } from './uncounted.ts';

/** A JSON object of an engine or a caller. */
export type Wire = Record<string, unknown>;

/** Each surface, streamed and whole. */
export const ways = chatSurfaces.flatMap((surface) => [false, true].map((stream) => ({ surface, stream })));

export interface Way {
  readonly surface: ChatSurface;
  readonly stream: boolean;
}

const encoder = new TextEncoder();
const model = modelOf([routeOf('a')]);
const secret = 'the secret of these accounts';
const bill = { usage: { promptTokens: 1, completionTokens: 1 }, cost: 0n };
let made = 0;
/** As long as ids of the service. */
const newId = (): string => hash('sha256', `number ${made++}`, 'base64url').slice(0, 22);

/** An engine's message as a stream: each of `deltas` is a chunk. */
const streamOf = (deltas: readonly Wire[]): string =>
  [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason: 'tool_calls' }]
    .map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`)
    .join('');

function prepared(way: Way, body: string, opens: boolean) {
  const how = { surface: way.surface, countPrompt: uncounted, secret: opens ? secret : undefined };
  return prepareHere(encoder.encode(body), how);
}

/** What the caller of a surface gets for an engine's bytes. */
export function answerTo(way: Way, engine: string | Wire | readonly Wire[], target = targetOf('a')): string {
  const dialect = dialects[way.surface];
  const first = { model: 'demo/tiny', max_tokens: 9, ...conversation(way.surface, []) };
  const asked = prepared(way, JSON.stringify(first), false);
  const protocol = chatProtocol(
    {
      ...{ prepared: asked, counters: undefined, round: undefined, cap: undefined, dialect },
      watch: { progress: () => undefined },
      plan: { model, routes: plannedOfAll(['a']) },
    },
    { newId, sharedSecret: () => secret },
  );
  const isText = typeof engine === 'string';
  const deltas = Array.isArray(engine) ? engine : [engine];
  const whole = { choices: [{ index: 0, message: engine, finish_reason: 'tool_calls' }] };
  const text = isText ? engine : way.stream ? streamOf(deltas) : JSON.stringify(whole);
  const contentType = way.stream ? 'text/event-stream' : 'application/json';
  const reader = protocol.reader(
    { ...plannedOfAll(['a'])[0], route: routeOf('a'), target },
    {
      ...{ contentType, header: () => undefined, choices: 1, answerBegun: false, keepDeltas: false },
    },
  );
  const events: AnswerEvent[] = [];
  for (const step of [reader?.push(encoder.encode(text)), reader?.end()]) events.push(...(step?.events ?? []));
  const identity = { id: `${dialect.idPrefixes.request}1`, created: 1, model: 'demo/tiny' };
  const writer = way.stream
    ? dialect.createStreamWriter(identity, asked.request)
    : dialect.createJsonWriter(identity, asked.request);
  return `${writer.push(events) ?? ''}${writer.finish(bill)}`;
}

const dataOf = (text: string): readonly Wire[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Wire);

/** The turn of the assistant as a client keeps it: all fields, whether known or not. */
export function turnOf({ surface, stream }: Way, answer: string): readonly Wire[] {
  switch (surface) {
    case 'chat':
      return [stream ? mergedChunks(dataOf(answer)) : (JSON.parse(answer) as ChatAnswer).choices[0].message];
    case 'messages': {
      const content = stream ? mergedBlocks(dataOf(answer)) : (JSON.parse(answer) as { content: Wire[] }).content;
      return [{ role: 'assistant', content }];
    }
    case 'responses':
      if (!stream) return (JSON.parse(answer) as { output: Wire[] }).output;
      return dataOf(answer).flatMap((event) =>
        event['type'] === 'response.output_item.done' ? [event['item'] as Wire] : [],
      );
  }
}

interface ChatAnswer {
  readonly choices: readonly [{ readonly message: Wire }];
}

function mergedChunks(chunks: readonly Wire[]): Wire {
  const message: Wire = { role: 'assistant' };
  let text = '';
  const calls: { function: { arguments: string } }[] = [];
  for (const chunk of chunks) {
    const [{ delta } = { delta: {} }] = chunk['choices'] as readonly { delta: Wire }[];
    for (const call of (delta['tool_calls'] ?? []) as { index: number; function: { arguments: string } }[]) {
      const { index, ...fields } = call;
      const known = calls[index];
      if (known === undefined) calls[index] = fields;
      else known.function.arguments += call.function.arguments;
    }
    if (typeof delta['content'] === 'string' && delta['content'] !== '') text += delta['content'];
    if (delta['reasoning_details'] !== undefined) message['reasoning_details'] = delta['reasoning_details'];
  }
  return { ...message, content: text === '' ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

function mergedBlocks(events: readonly Wire[]): readonly Wire[] {
  const blocks: Wire[] = [];
  for (const event of events) {
    const index = event['index'] as number;
    if (event['type'] === 'content_block_start') blocks[index] = { ...(event['content_block'] as Wire), json: '' };
    const { partial_json: json = '', text = '', thinking = '' } = (event['delta'] ?? {}) as Record<string, string>;
    const block = blocks[index];
    if (event['type'] !== 'content_block_delta' || block === undefined) continue;
    block['json'] = String(block['json']) + json;
    if (text !== '') block['text'] = String(block['text']) + text;
    if (thinking !== '') block['thinking'] = String(block['thinking']) + thinking;
  }
  return blocks.map(({ json, ...block }) =>
    block['type'] === 'tool_use' ? { ...block, input: JSON.parse(String(json)) as unknown } : block,
  );
}

/** The ids of the calls of a turn, as the caller has them. */
export const idsOf = (turn: readonly Wire[]): readonly string[] =>
  [...JSON.stringify(turn).matchAll(/"(?:call_id|id)":"((?:call|toolu)_[^"]+)"/g)].map(([, id = '']) => id);

function resultsOf(surface: ChatSurface, ids: readonly string[]): readonly Wire[] {
  switch (surface) {
    case 'chat':
      return ids.map((id) => ({ role: 'tool', tool_call_id: id, content: `result of ${ids.indexOf(id)}` }));
    case 'messages': {
      const content = ids.map((id) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: `result of ${ids.indexOf(id)}`,
      }));
      return [{ role: 'user', content }];
    }
    case 'responses':
      return ids.map((id) => ({ type: 'function_call_output', call_id: id, output: `result of ${ids.indexOf(id)}` }));
  }
}

function conversation(surface: ChatSurface, turns: readonly Wire[]): Wire {
  const items = [{ role: 'user', content: 'Look.' }, ...turns];
  return surface === 'responses' ? { input: items } : { messages: items };
}

/** The messages that an engine gets in the turn after these, whose calls were answered. */
export function nextTurn(
  way: Way,
  turns: readonly (readonly Wire[])[],
  target: RequestTarget = targetOf('a'),
  { opens = true, model: name = 'demo/tiny' } = {},
): readonly Wire[] {
  const history = turns.flatMap((turn) => {
    const ids = idsOf(turn);
    return ids.length === 0 ? turn : [...turn, ...resultsOf(way.surface, ids)];
  });
  const body = { model: name, max_tokens: 9, ...conversation(way.surface, history) };
  const written = prepared(way, JSON.stringify(body), opens).bodyFor(target);
  return (JSON.parse(written as string) as { messages: Wire[] }).messages;
}
