import type { TraceSeal } from '../../../core/web-search.ts';
import { webSearchName } from '../../../core/web-search.ts';
import type { Content, Message, ToolCall } from '../../../core/request.ts';
import { contentOf, type Part, textPart } from '../content.ts';
import { customArguments } from '../custom-tools.ts';
import { readTurns } from '../merge-turns.ts';
import { present } from '../read-body.ts';
import { isSealedState } from '../sealed-state.ts';
import { describeUnreadable, type HistoryMessage, toolResult, withAlternative } from '../tool-result.ts';
import type { InputPart, ItemOf, ResultPart, WireItem } from './item-schema.ts';
import type { ResponsesBody } from './schema.ts';
import { shownName } from './read-tools.ts';
import { refuseDamaged, type SearchItemReader } from './search-items.ts';

interface ReadingItems {
  readonly searches: SearchItemReader;
  readonly traces: TraceSeal | undefined;
}

/** Reads the conversation of a body, its instructions first. Items of one turn become one message. */
export function readItems(
  { instructions, input }: Pick<ResponsesBody, 'instructions' | 'input'>,
  reading: ReadingItems,
): readonly Message[] {
  const first: readonly Message[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...first, { role: 'user', content: input }];
  return [...first, ...readTurns(readAll(input, reading))];
}

function readAll(items: readonly WireItem[], reading: ReadingItems): readonly HistoryMessage[] {
  const messages: HistoryMessage[] = [];
  const searched: Searched[] = [];
  /** The traces of the items of reasoning in a row. A client that sends one of them again repeats no thought. */
  const row = new Set<string>();

  function close(): void {
    if (searched.length > 0) addSearches(messages, searched.splice(0));
  }

  for (const [at, item] of items.entries()) {
    // Searches in a row were calls of one turn.
    if (item.type !== 'web_search_call') close();
    if (item.type !== 'reasoning') row.clear();
    switch (item.type) {
      case 'message':
        messages.push(readMessage(item, reading.searches, ['input', at]));
        break;
      case 'reasoning': {
        if (isSealedState(item.encrypted_content)) {
          messages.push({ role: 'assistant', sealedState: item.encrypted_content });
          break;
        }
        const reasoning = traceOf(item, reading.traces, ['input', at]);
        if (reasoning !== '' && !row.has(reasoning)) messages.push({ role: 'assistant', reasoning });
        row.add(reasoning);
        break;
      }
      case 'function_call':
        messages.push(calling({ id: item.call_id, name: nameOf(item), arguments: item.arguments }));
        break;
      case 'custom_tool_call':
        messages.push(calling({ id: item.call_id, name: nameOf(item), arguments: customArguments(item.input) }));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const { output } = item;
        const parts = typeof output === 'string' ? [textPart(output)] : output.map(readResultPart);
        messages.push({
          ...toolResult(item.call_id ?? '', parts),
          tool: item.name ? nameOf({ ...item, name: item.name }) : undefined,
        });
        break;
      }
      case 'web_search_call': {
        const words = reading.searches.resultText(item, ['input', at]);
        const query = item.action?.query ?? '';
        if (words !== undefined) searched.push({ id: item.id ?? `ws_${at}`, query, words });
        break;
      }
      // read-tools.ts reads them.
      case 'additional_tools':
        break;
    }
  }
  close();
  return messages;
}

interface Searched {
  readonly id: string;
  readonly query: string;
  readonly words: string;
}

/** Adds the calls of searches in one turn, and what each has found. */
function addSearches(messages: HistoryMessage[], searched: readonly Searched[]): void {
  const toolCalls = searched.map(({ id, query }) => ({
    id,
    name: webSearchName,
    arguments: JSON.stringify({ query }),
  }));
  messages.push({ role: 'assistant', toolCalls });
  for (const { id, words } of searched) messages.push({ role: 'tool', toolCallId: id, content: words });
}

const nameOf = ({ namespace, name }: Pick<ItemOf<'function_call'>, 'namespace' | 'name'>): string =>
  typeof namespace === 'string' ? shownName({ namespace, name }) : name;

const calling = (call: ToolCall): Message => ({ role: 'assistant', toolCalls: [call] });

type Path = readonly PropertyKey[];

function traceOf(item: ItemOf<'reasoning'>, traces: TraceSeal | undefined, path: Path): string {
  const { encrypted_content: token, content, summary } = item;
  const sealed =
    typeof token === 'string' && traces !== undefined
      ? (traces.openTrace(token) ?? refuseDamaged(token, traces, [...path, 'encrypted_content']))
      : undefined;
  if (sealed !== undefined) return sealed;
  const parts = content?.length ? content : (summary ?? []);
  return parts.map(({ text }) => text).join('\n\n');
}

function readMessage(item: ItemOf<'message'>, searches: SearchItemReader, path: Path): Message {
  switch (item.role) {
    case 'user':
      return { role: 'user', content: readContent(item.content) };
    case 'system':
    case 'developer':
      return { role: 'system', content: readContent(item.content) };
    case 'assistant': {
      const { content } = item;
      if (typeof content === 'string') return { role: 'assistant', content };
      const texts = content.map((part, at) => {
        switch (part.type) {
          case 'output_text':
            return searches.citedText(part, [...path, 'content', at]);
          case 'input_text':
            return part.text;
          case 'refusal':
            return part.refusal;
        }
      });
      return { role: 'assistant', content: texts.join('') };
    }
  }
}

const readContent = (content: string | readonly InputPart[]): Content =>
  typeof content === 'string' ? content : contentOf(content.map(readPart));

function readPart(part: InputPart): Part {
  switch (part.type) {
    case 'input_text':
      return textPart(part.text);
    case 'input_image':
      return { type: 'image', url: part.image_url, ...present({ detail: part.detail }) };
    case 'input_file':
      return textPart((part.filename ? `${part.filename}\n\n` : '') + part.file_data);
  }
}

const readResultPart = (part: ResultPart): Part =>
  part.type === 'unreadable' ? describeUnreadable(part) : withAlternative(readPart(part));
