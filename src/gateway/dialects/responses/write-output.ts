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

/**
 * Assembles the items of an answer, and writes their events. A message or a trace ends when another item begins. Calls
 * may be written at the same time: a call ends when its arguments are complete and another item has begun, else with the answer.
 */
interface OutputWriter {
  readonly push: (event: RelayedEvent) => string;
  /** The answer is complete: ends all items. */
  readonly end: () => string;
  /** The answer breaks off: ends all items as they are. */
  readonly breakOff: () => string;
  /** The items as a JSON array. */
  readonly items: () => string;
}

type Message = OutputItem & { readonly kind: 'message' };
type Reasoning = OutputItem & { readonly kind: 'reasoning' };
type ToolStart = Extract<AnswerEvent, { readonly type: 'tool-start' }>;

export function createOutput(
  identity: AnswerIdentity,
  { callFormat }: Pick<AskedAnswer, 'callFormat'>,
  { trace, write }: { readonly trace: TraceWriting; readonly write: WriteEvent },
): OutputWriter {
  const suffix = identity.id.replace(/^resp_/, '');
  const custom = new Set(callFormat?.customTools);
  const open: OutputItem[] = [];
  const calls: (OutputCall | undefined)[] = [];
  const searches = new Map<string, OutputItem & { readonly kind: 'search' }>();
  /** The ended items by their places, JSON. */
  const written: string[] = [];
  let count = 0;

  function place(kind: OutputItem['kind']): { readonly id: string; readonly index: number } {
    const index = count;
    count += 1;
    return { id: `${idPrefixes[kind]}${suffix}_${index}`, index };
  }

  /** The members by which an event names its item. */
  const at = ({ id, index }: OutputItem): string => `"item_id":${JSON.stringify(id)},"output_index":${index}`;

  function begin(item: OutputItem): string {
    const ended = endOthers();
    open.push(item);
    const json = writeItem(item, 'in_progress', trace);
    return ended + write('response.output_item.added', `"output_index":${item.index},"item":${json}`);
  }

  /** Ends the items that another one follows. Until its arguments are complete, the engine may go on with a call. */
  function endOthers(): string {
    let text = '';
    for (const item of [...open]) {
      if (isCall(item) && !item.scan.isOver()) continue;
      text += endItem(item, 'completed');
    }
    return text;
  }

  function endItem(item: OutputItem, status: Exclude<ItemStatus, 'in_progress'>): string {
    const position = open.indexOf(item);
    if (position !== -1) open.splice(position, 1);
    // The cap may have cut a call off.
    const isCut = isCall(item) && item.text !== '' && parseJson(item.text) === undefined;
    const json = writeItem(item, isCut ? 'incomplete' : status, trace);
    written[item.index] = json;
    return endContent(item) + write('response.output_item.done', `"output_index":${item.index},"item":${json}`);
  }

  /** The events that close what is inside an item. */
  function endContent(item: OutputItem): string {
    switch (item.kind) {
      case 'message':
        return endPart(item);
      case 'reasoning':
        return endTrace(item);
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

  function endPart(item: Message): string {
    const part = item.parts.at(-1);
    if (part === undefined) return '';
    const text = JSON.stringify(part.text);
    const done =
      part.type === 'output_text'
        ? write(
            'response.output_text.done',
            `${inPart(item)},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`,
          )
        : write('response.refusal.done', `${inPart(item)},"refusal":${text}`);
    return done + write('response.content_part.done', `${inPart(item)},"part":${writePart(part)}`);
  }

  function endTrace(item: Reasoning): string {
    const text = JSON.stringify(item.text);
    if (trace.asSummary) {
      const part = `"part":{"type":"summary_text","text":${text}}`;
      return (
        write('response.reasoning_summary_text.done', `${at(item)},"summary_index":0,"text":${text}`) +
        write('response.reasoning_summary_part.done', `${at(item)},"summary_index":0,${part}`)
      );
    }
    const part = `"part":{"type":"reasoning_text","text":${text}}`;
    return (
      write('response.reasoning_text.done', `${at(item)},"content_index":0,"text":${text}`) +
      write('response.content_part.done', `${at(item)},"content_index":0,${part}`)
    );
  }

  function pushTrace({ text }: TextEvent): string {
    if (text === '') return '';
    const last = open.find((item) => item.kind === 'reasoning');
    const item = last ?? { ...place('reasoning'), kind: 'reasoning' as const, text: '' };
    let begun = '';
    if (last === undefined) {
      begun = begin(item);
      begun += trace.asSummary
        ? write(
            'response.reasoning_summary_part.added',
            `${at(item)},"summary_index":0,"part":{"type":"summary_text","text":""}`,
          )
        : write(
            'response.content_part.added',
            `${at(item)},"content_index":0,"part":{"type":"reasoning_text","text":""}`,
          );
    }
    item.text += text;
    const delta = `"delta":${JSON.stringify(text)}`;
    return (
      begun +
      (trace.asSummary
        ? write('response.reasoning_summary_text.delta', `${at(item)},"summary_index":0,${delta}`)
        : write('response.reasoning_text.delta', `${at(item)},"content_index":0,${delta}`))
    );
  }

  function pushText({ type, text, logprobs, citations = [] }: TextEvent): string {
    if (text === '') return '';
    const kind = type === 'refusal-delta' ? 'refusal' : 'output_text';
    let item = open.find((one) => one.kind === 'message');
    let begun = '';
    if (item === undefined) {
      item = { ...place('message'), kind: 'message', parts: [] };
      begun = begin(item);
    }
    let part = item.parts.at(-1);
    if (part?.type !== kind) {
      begun += endPart(item);
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

  function pushStart({ tool, id, name }: ToolStart): string {
    const kind = custom.has(name) ? 'custom' : 'function';
    const own = callFormat?.namespaced?.[name];
    const call: OutputCall = {
      ...place(kind),
      ...{ kind, callId: id, name: own?.name ?? name, namespace: own?.namespace },
      ...{ text: '', scan: createJsonScan() },
    };
    calls[tool] = call;
    return begin(call);
  }

  function pushArguments(tool: number, text: string): string {
    const call = calls[tool];
    if (call === undefined || !open.includes(call)) return '';
    call.text += text;
    call.scan.push(text);
    // The input of a custom tool is known when the arguments are complete, so it is sent in one piece.
    if (call.kind === 'custom') return '';
    return write('response.function_call_arguments.delta', `${at(call)},"delta":${JSON.stringify(text)}`);
  }

  function endAll(status: 'completed' | 'incomplete'): string {
    return [...open].map((item) => endItem(item, status)).join('');
  }

  return {
    items: () => `[${written.filter((json) => json !== undefined).join(',')}]`,
    end: () => endAll('completed'),
    breakOff: () => endAll('incomplete'),
    push: (event) => {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return pushText(event);
        case 'reasoning-delta':
          return pushTrace(event);
        case 'tool-start':
          return pushStart(event);
        case 'tool-delta':
          return pushArguments(event.tool, event.text);
        case 'search-call': {
          const item = { ...place('search'), kind: 'search' as const, input: event.input, result: undefined };
          searches.set(event.id, item);
          return (
            begin(item) +
            write('response.web_search_call.in_progress', at(item)) +
            write('response.web_search_call.searching', at(item))
          );
        }
        case 'search-result': {
          const item = searches.get(event.id);
          if (item === undefined) return '';
          item.result = event.result;
          return write('response.web_search_call.completed', at(item)) + endItem(item, 'completed');
        }
        case 'finish':
          return endAll('completed');
        case 'usage':
          return '';
      }
    },
  };
}

const isCall = (item: OutputItem): item is OutputCall => item.kind === 'function' || item.kind === 'custom';

const emptyPart = (type: OutputPart['type']): OutputPart =>
  type === 'refusal' ? { type, text: '' } : { type, text: '', annotations: [], logprobs: [] };
