import type { AnswerIdentity, AskedAnswer } from '../../../core/dialect.ts';
import type { AnswerEvent, RelayedEvent, TextEvent } from '../../../core/event.ts';
import { parseJson } from '../../../core/json.ts';
import { createJsonScan } from '../../../core/json-scan.ts';
import { customInputOf } from '../custom-tools.ts';
import {
  idPrefixes,
  type ItemStatus,
  type OutputCall,
  type OutputItem,
  type OutputPart,
  type TraceWriting,
  writeItem,
  writePart,
} from './output-items.ts';
import { writeCitation } from './search-items.ts';

/** Writes one event of the stream. `members` is JSON without braces. */
export type WriteEvent = (type: string, members: string) => string;

type Message = OutputItem & { readonly kind: 'message' };
type Search = OutputItem & { readonly kind: 'search' };
type ToolStart = Extract<AnswerEvent, { readonly type: 'tool-start' }>;

interface OutputState {
  /** Ends the ids of the items. */
  readonly suffix: string;
  readonly customTools: ReadonlySet<string>;
  readonly namespaced: NonNullable<AskedAnswer['callFormat']>['namespaced'];
  readonly trace: TraceWriting;
  readonly traceEvents: typeof rawTrace | typeof summaryTrace;
  readonly write: WriteEvent;
  readonly open: OutputItem[];
  /** By the number of the tool call. */
  readonly calls: (OutputCall | undefined)[];
  readonly searches: Map<string, Search>;
  /** The ended items by their places, JSON. */
  readonly written: string[];
  count: number;
}

/** The events of a trace. `at`: the member that names its only part. */
const rawTrace = {
  at: '"content_index":0',
  part: 'reasoning_text',
  added: 'response.content_part.added',
  delta: 'response.reasoning_text.delta',
  textDone: 'response.reasoning_text.done',
  partDone: 'response.content_part.done',
} as const;
const summaryTrace = {
  at: '"summary_index":0',
  part: 'summary_text',
  added: 'response.reasoning_summary_part.added',
  delta: 'response.reasoning_summary_text.delta',
  textDone: 'response.reasoning_summary_text.done',
  partDone: 'response.reasoning_summary_part.done',
} as const;

/**
 * Assembles the items of an answer, and writes their events. A message or a trace ends when another item begins. Calls
 * may be written at the same time: a call ends when its arguments are complete and another item has begun, else with the answer.
 */
export function createOutput(
  identity: AnswerIdentity,
  { callFormat }: Pick<AskedAnswer, 'callFormat'>,
  { trace, write }: { readonly trace: TraceWriting; readonly write: WriteEvent },
) {
  const output: OutputState = {
    suffix: identity.id.replace(/^resp_/, ''),
    customTools: new Set(callFormat?.customTools),
    namespaced: callFormat?.namespaced,
    trace,
    traceEvents: trace.asSummary ? summaryTrace : rawTrace,
    write,
    open: [],
    calls: [],
    searches: new Map(),
    written: [],
    count: 0,
  };
  return {
    /** The items as a JSON array. */
    items: (): string => `[${output.written.filter((json) => json !== undefined).join(',')}]`,
    /** The answer is complete: ends all items. */
    end: (): string => endAll(output, 'completed'),
    /** The answer breaks off: ends all items as they are. */
    breakOff: (): string => endAll(output, 'incomplete'),
    push: (event: RelayedEvent): string => {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return pushText(output, event);
        case 'reasoning-delta':
          return pushTrace(output, event.text);
        case 'tool-start':
          return pushStart(output, event);
        case 'tool-delta':
          return pushArguments(output, event.tool, event.text);
        case 'search-call': {
          const item: Search = { ...place(output, 'search'), kind: 'search', input: event.input, result: undefined };
          output.searches.set(event.id, item);
          return (
            begin(output, item) +
            write('response.web_search_call.in_progress', at(item)) +
            write('response.web_search_call.searching', at(item))
          );
        }
        case 'search-result': {
          const item = output.searches.get(event.id);
          if (item === undefined) return '';
          item.result = event.result;
          return write('response.web_search_call.completed', at(item)) + endItem(output, item, 'completed');
        }
        case 'finish':
          return (
            endAll(output, 'completed') + (event.sealedState === undefined ? '' : pushState(output, event.sealedState))
          );
        // Answers of other tasks.
        case 'vectors':
        case 'ranks':
        case 'usage':
          return '';
      }
    },
  };
}

function place(output: OutputState, kind: OutputItem['kind']): { readonly id: string; readonly index: number } {
  const index = output.count;
  output.count += 1;
  return { id: `${idPrefixes[kind]}${output.suffix}_${index}`, index };
}

/** The members by which an event names its item. */
const at = ({ id, index }: OutputItem): string => `"item_id":${JSON.stringify(id)},"output_index":${index}`;

function begin(output: OutputState, item: OutputItem): string {
  const ended = endOthers(output);
  output.open.push(item);
  const json = writeItem(item, 'in_progress', output.trace);
  return ended + output.write('response.output_item.added', `"output_index":${item.index},"item":${json}`);
}

/** Ends the items that another one follows. Until its arguments are complete, the engine may go on with a call. */
function endOthers(output: OutputState): string {
  let text = '';
  for (const item of [...output.open]) {
    if (isCall(item) && !item.scan.isOver()) continue;
    text += endItem(output, item, 'completed');
  }
  return text;
}

function endItem(output: OutputState, item: OutputItem, status: Exclude<ItemStatus, 'in_progress'>): string {
  const position = output.open.indexOf(item);
  if (position !== -1) output.open.splice(position, 1);
  // The cap may have cut a call off.
  const isCut = isCall(item) && item.text !== '' && parseJson(item.text) === undefined;
  const json = writeItem(item, isCut ? 'incomplete' : status, output.trace);
  output.written[item.index] = json;
  return (
    endContent(output, item) + output.write('response.output_item.done', `"output_index":${item.index},"item":${json}`)
  );
}

/** The events that close what is inside an item. */
function endContent(output: OutputState, item: OutputItem): string {
  const { write } = output;
  switch (item.kind) {
    case 'message':
      return endPart(output, item);
    case 'reasoning': {
      const { traceEvents: events } = output;
      const text = JSON.stringify(item.text);
      const part = `"part":{"type":"${events.part}","text":${text}}`;
      return (
        write(events.textDone, `${at(item)},${events.at},"text":${text}`) +
        write(events.partDone, `${at(item)},${events.at},${part}`)
      );
    }
    case 'function': {
      const { name, text } = item;
      const members = JSON.stringify({ name, arguments: text }).slice(1, -1);
      return write('response.function_call_arguments.done', `${at(item)},${members}`);
    }
    case 'custom': {
      const input = JSON.stringify(customInputOf(item.text));
      const delta =
        item.text === '' ? '' : write('response.custom_tool_call_input.delta', `${at(item)},"delta":${input}`);
      return delta + write('response.custom_tool_call_input.done', `${at(item)},"input":${input}`);
    }
    case 'search':
      return '';
  }
}

const inPart = (item: Message): string => `${at(item)},"content_index":${item.parts.length - 1}`;

function endPart({ write }: OutputState, item: Message): string {
  const part = item.parts.at(-1);
  if (part === undefined) return '';
  const text = JSON.stringify(part.text);
  const done =
    part.type === 'output_text'
      ? write('response.output_text.done', `${inPart(item)},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`)
      : write('response.refusal.done', `${inPart(item)},"refusal":${text}`);
  return done + write('response.content_part.done', `${inPart(item)},"part":${writePart(part)}`);
}

function pushTrace(output: OutputState, text: string): string {
  if (text === '') return '';
  const { traceEvents: events, write } = output;
  const last = output.open.find((item) => item.kind === 'reasoning');
  const item = last ?? { ...place(output, 'reasoning'), kind: 'reasoning' as const, text: '' };
  let begun = '';
  if (last === undefined) {
    begun = begin(output, item);
    begun += write(events.added, `${at(item)},${events.at},"part":{"type":"${events.part}","text":""}`);
  }
  item.text += text;
  return begun + write(events.delta, `${at(item)},${events.at},"delta":${JSON.stringify(text)}`);
}

function pushText(output: OutputState, { type, text, logprobs, citations = [] }: TextEvent): string {
  if (text === '') return '';
  const { write } = output;
  const kind = type === 'refusal-delta' ? 'refusal' : 'output_text';
  let item = output.open.find((one) => one.kind === 'message');
  let begun = '';
  if (item === undefined) {
    item = { ...place(output, 'message'), kind: 'message', parts: [] };
    begun = begin(output, item);
  }
  let part = item.parts.at(-1);
  if (part?.type !== kind) {
    begun += endPart(output, item);
    part = emptyPart(kind);
    item.parts.push(part);
    begun += write('response.content_part.added', `${inPart(item)},"part":${writePart(part)}`);
  }
  const start = part.text.length;
  part.text += text;
  if (part.type === 'refusal') {
    return begun + write('response.refusal.delta', `${inPart(item)},"delta":${JSON.stringify(text)}`);
  }
  const probabilities = logprobs?.content ?? [];
  for (const token of probabilities) part.logprobs.push(token);
  const rest = `"delta":${JSON.stringify(text)},"logprobs":${JSON.stringify(probabilities)}`;
  let deltas = begun + write('response.output_text.delta', `${inPart(item)},${rest}`);
  for (const citation of citations) {
    const json = writeCitation(citation, { start, end: part.text.length });
    const index = part.annotations.push(json) - 1;
    const members = `${inPart(item)},"annotation_index":${index},"annotation":${json}`;
    deltas += write('response.output_text.annotation.added', members);
  }
  return deltas;
}

function pushStart(output: OutputState, { tool, id, name }: ToolStart): string {
  const kind = output.customTools.has(name) ? 'custom' : 'function';
  const own = output.namespaced?.[name];
  const call: OutputCall = {
    ...place(output, kind),
    kind,
    callId: id,
    name: own?.name ?? name,
    namespace: own?.namespace,
    text: '',
    scan: createJsonScan(),
  };
  output.calls[tool] = call;
  return begin(output, call);
}

function pushArguments(output: OutputState, tool: number, text: string): string {
  const call = output.calls[tool];
  if (call === undefined || !output.open.includes(call)) return '';
  call.text += text;
  call.scan.push(text);
  // The input of a custom tool is known when the arguments are complete, so it is sent in one piece.
  if (call.kind === 'custom') return '';
  return output.write('response.function_call_arguments.delta', `${at(call)},"delta":${JSON.stringify(text)}`);
}

/** What the engine wants back, in an item that clients send back without reading it. */
function pushState(output: OutputState, sealed: string): string {
  const { id, index } = place(output, 'reasoning');
  const item = JSON.stringify({ id, type: 'reasoning', status: 'completed', summary: [], encrypted_content: sealed });
  output.written[index] = item;
  const members = `"output_index":${index},"item":${item}`;
  return output.write('response.output_item.added', members) + output.write('response.output_item.done', members);
}

function endAll(output: OutputState, status: 'completed' | 'incomplete'): string {
  return [...output.open].map((item) => endItem(output, item, status)).join('');
}

const isCall = (item: OutputItem): item is OutputCall => item.kind === 'function' || item.kind === 'custom';

const emptyPart = (type: OutputPart['type']): OutputPart =>
  type === 'refusal' ? { type, text: '' } : { type, text: '', annotations: [], logprobs: [] };
