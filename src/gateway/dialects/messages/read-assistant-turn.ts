import { Failure, fieldPath } from '../../../core/failure.ts';
import { textOfObject } from '../../../core/json-text.ts';
import type { Message, ToolCall } from '../../../core/request.ts';
import { writeSearchError } from '../search-words.ts';
import { isSealedState } from '../sealed-state.ts';
import { webSearchName } from '../../../core/web-search.ts';
import type { AssistantBlock } from './schema.ts';
import type { SearchReader } from './search-blocks.ts';

/**
 * Reads the blocks of an assistant's turn. Its thinking becomes one text, exactly as it was written (docs/reference/api.md §2.2):
 * engines have no place for text between two parts of the thinking. A turn in which the service searched becomes several calls of
 * the model, with the results between them.
 */
export function readAssistantTurn(
  blocks: readonly AssistantBlock[],
  { searches, path }: { readonly searches: SearchReader; readonly path: readonly PropertyKey[] },
): readonly Message[] {
  const messages: Message[] = [];
  let output = emptyOutput();
  let hasResult = false;

  /** Begins another call of the model when a result precedes the block. */
  function continueTurn(): void {
    if (!hasResult) return;
    messages.push(...messagesOf(output));
    output = emptyOutput();
    hasResult = false;
  }

  for (const [at, block] of blocks.entries()) {
    const here = [...path, at];
    switch (block.type) {
      case 'text':
        continueTurn();
        output.texts.push(block.text + searches.marksOf(block.citations ?? [], here));
        break;
      case 'thinking':
        continueTurn();
        output.thoughts.push(block.thinking);
        break;
      case 'tool_use':
        continueTurn();
        output.calls.push({ id: block.id, name: block.name, arguments: textOfObject(block.input) });
        break;
      case 'server_tool_use':
        continueTurn();
        output.calls.push({ id: block.id, name: webSearchName, arguments: textOfObject(block.input) });
        output.results.set(block.id, undefined);
        break;
      case 'web_search_tool_result':
        if (output.results.get(block.tool_use_id) !== undefined || !output.results.has(block.tool_use_id)) {
          const field = fieldPath([...here, 'tool_use_id']);
          throw new Failure('invalid_request', `${field}: expected the id of a server_tool_use before it`);
        }
        output.results.set(block.tool_use_id, searches.resultText(block, here));
        hasResult = true;
        break;
      case 'redacted_thinking':
        if (isSealedState(block.data)) output.state = block.data;
        break;
      case 'fallback':
        break;
    }
  }
  const isEmpty = output.texts.length + output.thoughts.length + output.calls.length === 0;
  if (messages.length === 0 || !isEmpty) messages.push(...messagesOf(output));
  return messages;
}

/** The output of one call of the model, with the results of its searches. */
interface Output {
  state: string | undefined;
  readonly texts: string[];
  readonly thoughts: string[];
  readonly calls: ToolCall[];
  /** The results of its searches by the id of their call. Undefined until the result's block was read. */
  readonly results: Map<string, string | undefined>;
}

const emptyOutput = (): Output => ({
  state: undefined,
  texts: [],
  thoughts: [],
  calls: [],
  results: new Map(),
});

function messagesOf({ state, texts, thoughts, calls, results }: Output): readonly Message[] {
  const reasoning = thoughts.join('');
  return [
    {
      role: 'assistant',
      content: texts.length > 0 || calls.length === 0 ? texts.join('') : undefined,
      reasoning: reasoning === '' ? undefined : reasoning,
      toolCalls: calls.length === 0 ? undefined : calls,
      sealedState: state,
    },
    ...[...results].map(
      // Chat templates require a result for every call. A missing result is reported to the model as unavailable.
      ([toolCallId, text]): Message => ({ role: 'tool', toolCallId, content: text ?? writeSearchError('unavailable') }),
    ),
  ];
}
