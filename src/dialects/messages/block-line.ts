import type { RelayedEvent } from '../../core/event.ts';
import type { Citation } from '../../core/web-search.ts';
import { frame } from './frame.ts';
import { createJsonEnd, type JsonEnd } from '../json-end.ts';
import { writeCitation, writeSearchCall, writeSearchResult } from './search-blocks.ts';

type BlockKind = 'text' | 'cited-text' | 'thinking' | 'tool_use' | 'search-call' | 'search-result';

/** The delta of each kind, and the field it carries its text in. */
const deltas: Readonly<Record<BlockKind, readonly [type: string, field: string]>> = {
  text: ['text_delta', 'text'],
  'cited-text': ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
  'search-call': ['input_json_delta', 'partial_json'],
  // It begins whole: nothing is added to it.
  'search-result': ['', ''],
};

interface Block {
  readonly kind: BlockKind;
  readonly index: number;
  /** The block as it begins, JSON. */
  readonly begins: string;
  /** What stands before the text of a delta: the same each time. */
  readonly deltaHead: string;
  /** What a text stands on: told before it. */
  readonly citations: readonly Citation[];
  /** Text that has not left yet. */
  waiting: string;
  /** Arguments of a call, as far as they have not been looked at. */
  unseen: string;
  readonly arguments: JsonEnd;
}

/**
 * Puts an answer into blocks one after the other, as this format wants it: one is open at a time, and its deltas have its type. An
 * engine may write several calls at the same time; then all but the first wait until it is whole.
 */
export interface BlockLine {
  readonly take: (event: RelayedEvent) => void;
  /** No more will come: all blocks may leave. */
  readonly end: () => void;
  /** The answer breaks off: all that was held back leaves, and the last block stays open. */
  readonly breakOff: () => string;
  /** What may leave by now, as server-sent events: what came together for one block leaves as one delta. */
  readonly write: () => string;
}

/** `signatureOf` gives what closes a block of thinking, by its index. */
export function createBlockLine(signatureOf: (index: number) => string): BlockLine {
  /** The open block and those behind it. */
  const line: Block[] = [];
  const calls: (Block | undefined)[] = [];
  let count = 0;
  let isBegun = false;
  let isEnded = false;
  let isBroken = false;

  function append(kind: BlockKind, begins: string, citations: readonly Citation[] = []): Block {
    const index = count;
    count += 1;
    const [type, field] = deltas[kind];
    const block: Block = {
      ...{ kind, index, begins, citations, waiting: '', unseen: '', arguments: createJsonEnd() },
      deltaHead: `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":`,
    };
    line.push(block);
    return block;
  }

  /** More of the last block where that is of the kind, else a new one. An empty text begins none. */
  function addText(kind: 'text' | 'thinking', text: string): void {
    if (text === '') return;
    const last = line.at(-1);
    const empty = kind === 'text' ? '{"type":"text","text":""}' : '{"type":"thinking","thinking":"","signature":""}';
    const block = last?.kind === kind ? last : append(kind, empty);
    block.waiting += text;
  }

  function mayClose(block: Block): boolean {
    if (isEnded) return true;
    if (line.length === 1) return false;
    if (block.kind !== 'tool_use' || isBroken) return true;
    // Whole arguments alone are no end: only what comes after them shows that they were all.
    block.arguments.push(block.unseen);
    block.unseen = '';
    return block.arguments.isOver();
  }

  function open({ index, begins, citations }: Block): string {
    const cite = (citation: Citation): string =>
      `"delta":{"type":"citations_delta","citation":${writeCitation(citation)}}`;
    const cited = citations.map((citation) => frame('content_block_delta', `"index":${index},${cite(citation)}`));
    return frame('content_block_start', `"index":${index},"content_block":${begins}`) + cited.join('');
  }

  function close({ kind, index }: Block): string {
    const at = `"index":${index}`;
    const signed =
      kind === 'thinking'
        ? frame('content_block_delta', `${at},"delta":{"type":"signature_delta","signature":"${signatureOf(index)}"}`)
        : '';
    return signed + frame('content_block_stop', at);
  }

  function write(): string {
    let text = '';
    for (let block = line[0]; block !== undefined; block = line[0]) {
      if (!isBegun) text += open(block);
      isBegun = true;
      if (block.waiting !== '') text += `${block.deltaHead}${JSON.stringify(block.waiting)}}}\n\n`;
      block.waiting = '';
      if (!mayClose(block)) break;
      text += close(block);
      line.shift();
      isBegun = false;
    }
    return text;
  }

  return {
    write,
    breakOff: () => {
      isBroken = true;
      return write();
    },
    end: () => {
      isEnded = true;
    },
    take: (event) => {
      switch (event.type) {
        case 'text-delta':
        // docs/reference/api.md §7.4: what a model says in refusal is its answer.
        case 'refusal-delta':
          if (event.citations === undefined) addText('text', event.text);
          else append('cited-text', '{"type":"text","text":"","citations":[]}', event.citations).waiting = event.text;
          return;
        case 'reasoning-delta':
          addText('thinking', event.text);
          return;
        case 'tool-start': {
          const { id, name } = event;
          calls[event.tool] = append('tool_use', JSON.stringify({ type: 'tool_use', id, name, input: {} }));
          return;
        }
        case 'tool-delta': {
          const call = calls[event.tool];
          if (call === undefined) return;
          call.waiting += event.text;
          call.unseen += event.text;
          return;
        }
        case 'search-call':
          append('search-call', `${writeSearchCall(event.id)},"input":{}}`).waiting = event.input;
          return;
        case 'search-result':
          append('search-result', writeSearchResult(event.id, event.result));
          return;
        case 'usage':
        case 'finish':
          return;
      }
    },
  };
}
