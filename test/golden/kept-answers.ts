/** The golden answers as clients keep them, and the next request of such a client. */
import { type AskedAnswer, type ChatSurface, chatSurfaces } from '../../src/core/dialect.ts';
import type { EngineName } from '../../src/core/engine-name.ts';
import { isObject } from '../../src/core/json.ts';
import type { SearchSeal, TraceSeal } from '../../src/core/web-search.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { prepareHere } from '../../src/gateway/request/prepare.ts';
import { capabilitiesOf } from '../../src/gateway/engines/engines.ts';
import { makePlan } from '../../src/gateway/routing/plan.ts';
import { checkMessagesStream } from '../support/messages-stream-checker.ts';
import { checkResponsesStream } from '../support/responses-stream-checker.ts';
import { modelOf, routeOf, snapshotOf } from '../support/route-of.ts';
import { uncounted } from '../support/uncounted.ts';
import { answerReader, answersOfOneChoice, type Json, writeAnswer } from './surface-answers.ts';

export const seal: SearchSeal & TraceSeal = {
  sealTrace: (text) => `trace ${text}`,
  openTrace: (token) => (token.startsWith('trace ') ? token.slice(6) : undefined),
  isOurs: () => false,
  sealSource: ({ number }) => `source ${number}`,
  openSource: () => ({ number: 3, url: 'https://3.example/', title: 'T3', text: 'Low.' }),
  sealNumber: (number) => `number ${number}`,
  openNumber: () => 3,
};

/** A call as the caller got it. */
interface Call {
  readonly id: string;
  readonly name: string;
  /** Undefined: free text, of a custom tool. */
  readonly arguments: string | undefined;
}

/** An answer as a client keeps it. */
export interface Kept {
  readonly turns: readonly Json[];
  readonly text: string;
  readonly trace: string;
  readonly calls: readonly Call[];
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const joined = (parts: readonly Json[], ...fields: readonly string[]): string =>
  parts.map((part) => fields.map((field) => textOf(part[field])).join('')).join('');

function keptChat(message: Json): Kept {
  const first = isObject(message['function_call']) ? [{ id: `call_${String(message['function_call']['name'])}`, function: message['function_call'] }] : [];
  const calls = [...list(message['tool_calls']), ...first].map((call): Call => {
    const { id, function: own, custom } = call as { readonly id: string; readonly function?: Json; readonly custom?: Json };
    return { id, name: String((own ?? custom)?.['name']), arguments: own === undefined ? undefined : String(own['arguments']) };
  });
  return { turns: [{ ...message, index: 0 }], text: joined([message], 'content', 'refusal'), trace: textOf(message['reasoning_content']), calls };
}

/** Puts chunks together as clients do. */
function foldChunks(stream: string): Json {
  const message: Record<string, unknown> = { role: 'assistant', content: null, refusal: null, annotations: [], audio: null, function_call: null };
  const calls: { index: number; [field: string]: unknown }[] = [];
  const add = (into: Record<string, unknown>, fields: Json): void => {
    for (const [name, value] of Object.entries(fields)) {
      if (isObject(value)) add((into[name] ??= {}) as Record<string, unknown>, value);
      else into[name] = ['arguments', 'input', 'content', 'refusal', 'reasoning', 'reasoning_content'].includes(name) ? textOf(into[name]) + textOf(value) : value;
    }
  };
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const [choice] = list((JSON.parse(data) as Json)['choices']);
    const { tool_calls: pieces, ...rest } = (choice?.['delta'] ?? {}) as Json;
    add(message, rest);
    for (const piece of list(pieces)) add((calls[Number(piece['index'])] ??= { index: Number(piece['index']) }), piece);
  }
  return { ...message, tool_calls: calls.length === 0 ? null : calls };
}

function keptMessages(content: readonly Json[]): Kept {
  const calls = content.filter(({ type }) => type === 'tool_use').map(({ id, name, input }): Call => ({ id: String(id), name: String(name), arguments: JSON.stringify(input) }));
  const ofType = (wanted: string): readonly Json[] => content.filter(({ type }) => type === wanted);
  return { turns: [{ role: 'assistant', content }], text: joined(ofType('text'), 'text'), trace: joined(ofType('thinking'), 'thinking'), calls };
}

function keptResponses(output: readonly Json[]): Kept {
  const calls = output.flatMap((item): readonly Call[] => {
    if (item['type'] !== 'function_call' && item['type'] !== 'custom_tool_call') return [];
    return [{ id: String(item['call_id']), name: String(item['name']), arguments: item['type'] === 'function_call' ? String(item['arguments']) : undefined }];
  });
  const parts = (type: string, field: string): readonly Json[] => output.flatMap((item) => (item['type'] === type ? list(item[field]) : []));
  const text = joined(parts('message', 'content'), 'text', 'refusal');
  return { turns: output, text, trace: joined([...parts('reasoning', 'content'), ...parts('reasoning', 'summary')], 'text'), calls };
}

export const keepers: Readonly<Record<ChatSurface, { readonly whole: (answer: Json) => Kept; readonly stream: (text: string) => Kept }>> = {
  chat: {
    whole: ({ choices }) => keptChat(list(choices)[0]?.['message'] as Json),
    stream: (text) => keptChat(foldChunks(text)),
  },
  messages: { whole: ({ content }) => keptMessages(list(content)), stream: (text) => keptMessages(checkMessagesStream(text).content) },
  responses: { whole: ({ output }) => keptResponses(list(output)), stream: (text) => keptResponses(checkResponsesStream(text).output) },
};

export const resultOf = ({ id }: Call): string => `What ${id} gave.`;

/** The next request of a client that got this answer. */
function nextRequest(surface: ChatSurface, { turns, calls }: Kept): Json {
  const first = { role: 'user', content: 'Hi.' };
  const goOn = { role: 'user', content: 'Go on.' };
  switch (surface) {
    case 'chat': {
      const isFirstForm = isObject(turns[0]?.['function_call']);
      const results = calls.map((call) =>
        isFirstForm ? { role: 'function', name: call.name, content: resultOf(call) } : { role: 'tool', tool_call_id: call.id, content: resultOf(call) },
      );
      return { messages: [first, ...turns, ...results, goOn] };
    }
    case 'messages': {
      const results = calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: resultOf(call) }));
      return { max_tokens: 100, messages: [first, ...turns, { role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] }] };
    }
    case 'responses': {
      const results = calls.map((call) => ({
        ...{ type: call.arguments === undefined ? 'custom_tool_call_output' : 'function_call_output', call_id: call.id, output: resultOf(call) },
      }));
      return { input: [first, ...turns, ...results, goOn] };
    }
  }
}

export interface EngineMessage {
  readonly role: string;
  readonly content: string | null;
  readonly reasoning?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
  readonly tool_call_id?: string;
}

/** What an engine gets of the next request. */
export function sentToEngine(surface: ChatSurface, kept: Kept, engine: EngineName = 'vllm'): Json & { readonly messages: readonly EngineMessage[] } {
  const route = routeOf('a');
  const snapshot = snapshotOf([modelOf([{ ...route, backend: { ...route.backend, engine } }])]);
  const body = Buffer.from(JSON.stringify({ model: 'demo/tiny', ...nextRequest(surface, kept) }));
  const prepared = prepareHere(body, { surface, seal, traces: seal, countPrompt: uncounted });
  const [{ target }] = makePlan(prepared, { snapshot, capabilitiesOf, turn: 0 }).routes;
  return JSON.parse(String(prepared.bodyFor(target))) as Json & { readonly messages: readonly EngineMessage[] };
}

export const prefixes: Readonly<Record<ChatSurface, string>> = { chat: 'call_', messages: 'toolu_', responses: 'call_' };
const asks: Readonly<Record<string, AskedAnswer>> = {
  'as usual': { includeUsage: true, sampling: {} },
  'in other forms': {
    ...{ includeUsage: true, sampling: {}, traceForm: { asSummary: true, sealed: true } },
    callFormat: { customTools: ['get_time', 'get_weather'], functionCall: false },
  },
  // Of the chat surface alone.
  'in the first form of tools': { includeUsage: true, sampling: {}, callFormat: { customTools: [], functionCall: true } },
};
/** Each golden answer on each surface, in each form. */
export const rows = answersOfOneChoice.flatMap(([file, kind]) => chatSurfaces.flatMap((surface) => Object.keys(asks).map((how) => [file, surface, how, kind] as const)));

/** A golden answer as the client of a surface keeps it: of the stream, and of the whole answer if there is one. */
export function keptOf([file, surface, how, kind]: (typeof rows)[number]) {
  const read = answerReader(prefixes[surface]).readWhole(file, kind);
  const { stream, object } = writeAnswer(dialects[surface], read, asks[how] as AskedAnswer, { traces: seal });
  const streamed = keepers[surface].stream(stream);
  return { read, streamed, whole: read.end === 'complete' ? keepers[surface].whole(object) : undefined };
}
