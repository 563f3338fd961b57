import type { ChatSurface } from '../../src/core/dialect.ts';
import { isJsonObject, type JsonObject, objectOr, parsedOr, stringOr } from '../programmable-engine/json-value.ts';
import { checkMessagesStream } from '../support/messages-stream-checker.ts';
import type { RequestEvent } from './events.ts';
import {
  costIn,
  listIn,
  newChoice,
  nothing,
  type ReceivedAnswer,
  type ReceivedChoice,
  type ReceivedSearch,
  urlsIn,
} from './received-choice.ts';
import { readResponsesJson, readResponsesStream } from './received-responses.ts';
import { hasVectors, readVectors } from './vectors.ts';

/** Reads a successful answer. `hasEnded`: nothing more comes. */
export function readAnswer(event: RequestEvent, body: string, hasEnded: boolean): ReceivedAnswer {
  if (hasVectors(event)) return readVectors(body, hasEnded);
  const [readStream, readJson] = readers[event.surface];
  return event.stream ? readStream(body, hasEnded) : readJson(body, hasEnded);
}

type Reader = (body: string, hasEnded: boolean) => ReceivedAnswer;

/** Of an answer in a stream, and of one in one piece. */
const readers: Readonly<Record<ChatSurface, readonly [Reader, Reader]>> = {
  chat: [readChatStream, readChatJson],
  messages: [readMessagesStream, readMessagesJson],
  responses: [readResponsesStream, readResponsesJson],
};

function readChatStream(body: string, hasEnded: boolean): ReceivedAnswer {
  const choices = new Map<number, ReceivedChoice>();
  const faults: string[] = [];
  const ids = new Set<string>();
  let usages = 0;
  let usage: JsonObject | undefined;
  let hasError = false;
  let isDone = false;
  const frames = body.split('\n\n');
  const last = frames.pop();
  if (hasEnded && last !== '') faults.push('the stream ends within an event');
  for (const frame of frames) {
    if (frame.startsWith(':')) continue;
    if (isDone) faults.push('something follows [DONE]');
    const data = frame.startsWith('data: ') ? frame.slice(6) : undefined;
    if (data === undefined) faults.push(`no event: ${frame.slice(0, 80)}`);
    else if (data === '[DONE]') isDone = true;
    else {
      const chunk = objectOr(parsedOr(data));
      if (isJsonObject(chunk['error'])) {
        hasError = true;
        continue;
      }
      if (hasError) faults.push('a chunk follows an error');
      ids.add(stringOr(chunk['id'], ''));
      if (isJsonObject(chunk['usage'])) {
        usages += 1;
        usage = chunk['usage'];
      }
      for (const one of Array.isArray(chunk['choices']) ? chunk['choices'] : []) takeDelta(choices, objectOr(one));
    }
  }
  if (ids.size > 1) faults.push(`${ids.size} ids`);
  if (usages > 1) faults.push(`${usages} usages`);
  for (const [index, { roles, finishes }] of choices) {
    if (roles > 1) faults.push(`choice ${index} has ${roles} roles`);
    if (finishes > 1) faults.push(`choice ${index} finishes ${finishes} times`);
  }
  const end = !isDone ? 'open' : hasError ? 'error' : 'whole';
  if (end === 'whole') {
    for (const [index, { finishes }] of choices) if (finishes !== 1) faults.push(`choice ${index} has no finish`);
  }
  return { ...nothing(faults), choices, id: [...ids][0], cost: costIn(usage), usage, end };
}

function takeDelta(choices: Map<number, ReceivedChoice>, one: JsonObject): void {
  const index = Number(one['index'] ?? 0);
  const choice = choices.get(index) ?? newChoice();
  choices.set(index, choice);
  const delta = objectOr(one['delta']);
  if (delta['role'] !== undefined) choice.roles += 1;
  choice.text += stringOr(delta['content'], '');
  choice.reasoning += stringOr(delta['reasoning_content'], '');
  choice.refusal += stringOr(delta['refusal'], '');
  for (const each of Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : []) {
    const call = objectOr(each);
    const at = Number(call['index'] ?? 0);
    const { name, arguments: text } = objectOr(call['function']) as { name?: string; arguments?: string };
    const known = choice.calls.get(at) ?? { name: '', arguments: '' };
    known.name += name ?? '';
    known.arguments += text ?? '';
    choice.calls.set(at, known);
  }
  if (typeof one['finish_reason'] !== 'string') return;
  choice.finishes += 1;
  choice.finish = one['finish_reason'];
}

function readChatJson(body: string, hasEnded: boolean): ReceivedAnswer {
  const choices = new Map<number, ReceivedChoice>();
  const json = parsedOr(body.trim());
  if (!isJsonObject(json)) return nothing(hasEnded && body.trim() !== '' ? ['the body is no JSON'] : []);
  if (json['error'] !== undefined) return { ...nothing([]), end: 'error' };
  for (const one of Array.isArray(json['choices']) ? json['choices'] : []) {
    const { index, message, finish_reason: finish } = objectOr(one);
    const said = objectOr(message);
    const choice = newChoice();
    choice.text = stringOr(said['content'], '');
    choice.reasoning = stringOr(said['reasoning_content'], '');
    choice.refusal = stringOr(said['refusal'], '');
    for (const [at, each] of (Array.isArray(said['tool_calls']) ? said['tool_calls'] : []).entries()) {
      const called = objectOr(objectOr(each)['function']);
      choice.calls.set(at, { name: stringOr(called['name'], ''), arguments: stringOr(called['arguments'], '') });
    }
    if (typeof finish === 'string') [choice.finishes, choice.finish] = [1, finish];
    choices.set(Number(index), choice);
  }
  const usage = isJsonObject(json['usage']) ? json['usage'] : undefined;
  return { ...nothing([]), choices, id: stringOr(json['id'], ''), cost: costIn(usage), usage, end: 'whole' };
}

function readMessagesStream(body: string, hasEnded: boolean): ReceivedAnswer {
  const whole = body.endsWith('\n\n') ? body : body.slice(0, body.lastIndexOf('\n\n') + 2);
  const isOver = /event: (message_stop|error)\n/.test(whole);
  const choice = newChoice();
  if (isOver) {
    try {
      const { id, content, ending, usage, stop_reason: finish } = checkMessagesStream(whole);
      takeBlocks(choice, content);
      [choice.finishes, choice.finish] = [1, finish ?? undefined];
      return {
        ...{ ...searchesIn(content), choices: new Map([[0, choice]]), id, usage, cost: costIn(usage) },
        ...{ end: ending, faults: [] },
      };
    } catch (error) {
      return { ...nothing([String(error)]), end: 'error' };
    }
  }
  let id: string | undefined;
  const blocks: Record<string, unknown>[] = [];
  for (const frame of whole.split('\n\n')) {
    const event = objectOr(parsedOr(frame.slice(frame.indexOf('\ndata: ') + 7)));
    if (event['type'] === 'message_start') id = stringOr(objectOr(event['message'])['id'], '');
    if (event['type'] === 'content_block_start') blocks.push({ ...objectOr(event['content_block']), json: '' });
    if (event['type'] !== 'content_block_delta') continue;
    const delta = objectOr(event['delta']);
    const block = blocks.at(-1) ?? {};
    if (delta['type'] === 'citations_delta')
      block['citations'] = [...listIn(block['citations']), objectOr(delta['citation'])];
    if (block['type'] === 'server_tool_use') {
      block['json'] = `${String(block['json'])}${stringOr(delta['partial_json'], '')}`;
      block['input'] = objectOr(parsedOr(String(block['json'])));
      continue;
    }
    choice.text += stringOr(delta['text'], '');
    choice.reasoning += stringOr(delta['thinking'], '');
    const part = stringOr(delta['partial_json'], '');
    if (part !== '') {
      const known = choice.calls.get(0) ?? { name: '', arguments: '' };
      known.arguments += part;
      choice.calls.set(0, known);
    }
  }
  const faults = hasEnded && whole !== body ? ['the stream ends within an event'] : [];
  return { ...nothing(faults), ...searchesIn(blocks), choices: new Map([[0, choice]]), id };
}

function readMessagesJson(body: string, hasEnded: boolean): ReceivedAnswer {
  const json = parsedOr(body.trim());
  if (!isJsonObject(json)) return nothing(hasEnded && body.trim() !== '' ? ['the body is no JSON'] : []);
  if (json['type'] === 'error') return { ...nothing([]), end: 'error' };
  const choice = newChoice();
  const content = listIn(json['content']);
  takeBlocks(choice, content);
  [choice.finishes, choice.finish] = [1, stringOr(json['stop_reason'], '')];
  const usage = objectOr(json['usage']);
  return {
    ...{ ...searchesIn(content), choices: new Map([[0, choice]]), id: stringOr(json['id'], '') },
    ...{ cost: costIn(usage), usage, end: 'whole', faults: [] },
  };
}

function takeBlocks(choice: ReceivedChoice, content: readonly JsonObject[]): void {
  for (const block of content) {
    if (block['type'] === 'text') choice.text += stringOr(block['text'], '');
    if (block['type'] === 'thinking') choice.reasoning += stringOr(block['thinking'], '');
    if (block['type'] === 'tool_use')
      choice.calls.set(choice.calls.size, {
        name: stringOr(block['name'], ''),
        arguments: argumentsOf(block['input']),
      });
  }
}

/** The searches and the citations in the blocks of a message. A call of a search that has no query yet is none. */
function searchesIn(content: readonly JsonObject[]): Pick<ReceivedAnswer, 'searches' | 'content' | 'citations'> {
  const searches = new Map<string, ReceivedSearch>();
  for (const block of content) {
    const query = objectOr(block['input'])['query'];
    if (block['type'] === 'server_tool_use' && typeof query === 'string')
      searches.set(stringOr(block['id'], ''), { query, result: 'open' });
    const search = searches.get(stringOr(block['tool_use_id'], ''));
    if (block['type'] !== 'web_search_tool_result' || search === undefined) continue;
    search.result = Array.isArray(block['content']) ? urlsIn(block['content']) : 'error';
  }
  return {
    searches: [...searches.values()],
    content,
    citations: content.flatMap((block) => urlsIn(block['citations'])),
  };
}

/** The checker of a messages stream puts an object around arguments that have no end. */
function argumentsOf(input: unknown): string {
  return isJsonObject(input) && typeof input['cut'] === 'string' ? input['cut'] : JSON.stringify(input);
}
