import type { RelayedEvent } from '../../../core/event.ts';
import type { Citation } from '../../../core/web-search.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { createJsonScan, type JsonScan } from '../../../core/json-scan.ts';
import { writeCitation, writeSearchCall, writeSearchResult } from './search-blocks.ts';

type BlockKind = 'text' | 'cited-text' | 'thinking' | 'tool_use' | 'search-call' | 'whole';

/** The delta of each kind of block, and the field for its text. */
const deltas: Readonly<Record<BlockKind, readonly [type: string, field: string]>> = {
  text: ['text_delta', 'text'],
  'cited-text': ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
  'search-call': ['input_json_delta', 'partial_json'],
  // A search result and the engine's state are complete from their start, so they have no deltas.
  whole: ['', ''],
};

interface Block {
  readonly kind: BlockKind;
  readonly index: number;
  /** The block at its start, JSON. */
  readonly start: string;
  /** The part of a delta before its text, built once. */
  readonly deltaHead: string;
  /** The citations of a text. They are written before the text. */
  readonly citations: readonly Citation[];
  /** Text that was not written yet. */
  waiting: string;
  /** The part of a call's arguments that was not scanned yet. */
  unscanned: string;
  /** Finds the end of a call's arguments. */
  readonly scan: JsonScan;
}

interface QueueState {
  readonly signatureOf: (index: number) => string;
  /** The open block and those after it. */
  readonly queue: Block[];
  /** By the number of the tool call. */
  readonly calls: (Block | undefined)[];
  count: number;
  isOpen: boolean;
  isEnded: boolean;
  isBroken: boolean;
}

/** What the engine wants back, in the block that clients of this format send back without reading it. */
const writeState = (sealed: string): string => JSON.stringify({ type: 'redacted_thinking', data: sealed });

/**
 * Writes an answer as blocks, one after the other: the format allows one open block at a time. An engine may write several calls at
 * the same time. All but the first are then queued until the first is complete.
 * `signatureOf` makes the signature of a block of thinking from its index.
 */
export function createBlockQueue(signatureOf: (index: number) => string) {
  const state: QueueState = {
    signatureOf,
    queue: [],
    calls: [],
    count: 0,
    isOpen: false,
    isEnded: false,
    isBroken: false,
  };
  return {
    /** Writes what the queue allows, as server-sent events. Pieces of one block that came together become one delta. */
    write: (): string => write(state),
    /** All blocks as JSON, if none of them was written. */
    whole: (): string => state.queue.map((block) => writeWhole(state, block)).join(','),
    /** The answer breaks off. Writes everything that was held back and leaves the last block open. */
    breakOff: (): string => {
      state.isBroken = true;
      return write(state);
    },
    /** The answer is complete: all blocks may be closed. */
    end: (): void => {
      state.isEnded = true;
    },
    push: (event: RelayedEvent): void => {
      switch (event.type) {
        case 'text-delta':
        // A refusal is an ordinary answer: docs/reference/api.md §7.4.
        case 'refusal-delta':
          if (event.citations === undefined) addText(state, 'text', event.text);
          else
            append(state, 'cited-text', '{"type":"text","text":"","citations":[]}', event.citations).waiting =
              event.text;
          return;
        case 'reasoning-delta':
          addText(state, 'thinking', event.text);
          return;
        case 'tool-start': {
          const { id, name } = event;
          state.calls[event.tool] = append(
            state,
            'tool_use',
            JSON.stringify({ type: 'tool_use', id, name, input: {} }),
          );
          return;
        }
        case 'tool-delta': {
          const call = state.calls[event.tool];
          if (call === undefined) return;
          call.waiting += event.text;
          call.unscanned += event.text;
          return;
        }
        case 'search-call':
          append(state, 'search-call', `${writeSearchCall(event.id)},"input":{}}`).waiting = event.input;
          return;
        case 'search-result':
          append(state, 'whole', writeSearchResult(event.id, event.result));
          return;
        case 'finish':
          if (event.sealedState !== undefined) append(state, 'whole', writeState(event.sealedState));
          return;
        // Answers of other tasks.
        case 'vectors':
        case 'ranks':
        case 'usage':
          return;
      }
    },
  };
}

function append(state: QueueState, kind: BlockKind, start: string, citations: readonly Citation[] = []): Block {
  const index = state.count;
  state.count += 1;
  const [type, field] = deltas[kind];
  const block: Block = {
    kind,
    index,
    start,
    citations,
    waiting: '',
    unscanned: '',
    scan: createJsonScan(),
    deltaHead: `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":`,
  };
  state.queue.push(block);
  return block;
}

/** Adds text to the last block if that is of this kind, else begins a new block. An empty text begins no block. */
function addText(state: QueueState, kind: 'text' | 'thinking', text: string): void {
  if (text === '') return;
  const last = state.queue.at(-1);
  const empty = kind === 'text' ? '{"type":"text","text":""}' : '{"type":"thinking","thinking":"","signature":""}';
  const block = last?.kind === kind ? last : append(state, kind, empty);
  block.waiting += text;
}

function mayClose({ isEnded, isBroken, queue }: QueueState, block: Block): boolean {
  if (isEnded) return true;
  if (queue.length === 1) return false;
  if (block.kind !== 'tool_use' || isBroken) return true;
  // Complete arguments close a call only once another block follows: until then the engine may go on with it.
  block.scan.push(block.unscanned);
  block.unscanned = '';
  return block.scan.isOver();
}

function open({ index, start, citations }: Block): string {
  const cite = (citation: Citation): string =>
    `"delta":{"type":"citations_delta","citation":${writeCitation(citation)}}`;
  const cited = citations.map((citation) => frame('content_block_delta', `"index":${index},${cite(citation)}`));
  return frame('content_block_start', `"index":${index},"content_block":${start}`) + cited.join('');
}

function close({ signatureOf }: QueueState, { kind, index }: Block): string {
  const at = `"index":${index}`;
  const signed =
    kind === 'thinking'
      ? frame('content_block_delta', `${at},"delta":{"type":"signature_delta","signature":"${signatureOf(index)}"}`)
      : '';
  return signed + frame('content_block_stop', at);
}

function write(state: QueueState): string {
  const { queue } = state;
  let text = '';
  for (let block = queue[0]; block !== undefined; block = queue[0]) {
    if (!state.isOpen) text += open(block);
    state.isOpen = true;
    if (block.waiting !== '') text += `${block.deltaHead}${JSON.stringify(block.waiting)}}}\n\n`;
    block.waiting = '';
    if (!mayClose(state, block)) break;
    text += close(state, block);
    queue.shift();
    state.isOpen = false;
  }
  return text;
}

/** The arguments as the model wrote them. Anything but a JSON object was cut off by the output cap and is of no use. */
const writeInput = (text: string): string => (isObject(parseJson(text)) ? text : '{}');

function writeWhole({ signatureOf }: QueueState, { kind, index, start, waiting, citations }: Block): string {
  const text = JSON.stringify(waiting);
  switch (kind) {
    case 'text':
      return `{"type":"text","text":${text}}`;
    case 'cited-text':
      return `{"type":"text","text":${text},"citations":[${citations.map(writeCitation).join(',')}]}`;
    case 'thinking':
      return `{"type":"thinking","thinking":${text},"signature":"${signatureOf(index)}"}`;
    // The start ends in an empty input.
    case 'tool_use':
      return `${start.slice(0, -'{}}'.length)}${writeInput(waiting)}}`;
    case 'search-call':
      return `${start.slice(0, -'{}}'.length)}${waiting}}`;
    case 'whole':
      return start;
  }
}

/** Writes one server-sent event. Clients need its name and ignore data without one (docs/reference/engines.md §2). `fields` is JSON without braces. */
export const frame = (type: string, fields: string): string =>
  `event: ${type}\ndata: {"type":"${type}"${fields === '' ? '' : ','}${fields}}\n\n`;
