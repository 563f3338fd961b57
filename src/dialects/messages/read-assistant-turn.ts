import { Failure, fieldPath } from '../../core/failure.ts';
import type { Message, ToolCall } from '../../core/request.ts';
import { writeSearchError } from '../search-words.ts';
import { webSearchName } from '../../core/web-search.ts';
import type { AssistantBlock } from './content-blocks.ts';
import type { Unsealing } from './unseal.ts';

/** One call of the model, with the results of the searches that it made. */
interface Said {
  readonly texts: string[];
  readonly thoughts: string[];
  readonly calls: ToolCall[];
  /** Results of its searches by the id of their call; undefined until the block has come. */
  readonly results: Map<string, string | undefined>;
}

const nothing = (): Said => ({ texts: [], thoughts: [], calls: [], results: new Map() });

function messagesOf({ texts, thoughts, calls, results }: Said): readonly Message[] {
  const reasoning = thoughts.join('');
  return [
    {
      role: 'assistant',
      ...(texts.length > 0 || calls.length === 0 ? { content: texts.join('') } : {}),
      ...(reasoning === '' ? {} : { reasoning }),
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    },
    ...[...results].map(
      // Chat templates want an answer to every call. This one was lost on the way.
      ([toolCallId, text]): Message => ({ role: 'tool', toolCallId, content: text ?? writeSearchError('unavailable') }),
    ),
  ];
}

/**
 * Reads the blocks of an assistant's turn. Its thinking becomes one trace, exactly as it was written (docs/reference/api.md §2.2):
 * where text stood between two parts of it, engines have no place for that. Where the service searched in the middle of the turn,
 * it becomes what it was: several calls of the model, with the results between them.
 */
export function readAssistantTurn(
  blocks: readonly AssistantBlock[],
  { unsealing, path }: { readonly unsealing: Unsealing; readonly path: readonly PropertyKey[] },
): readonly Message[] {
  const messages: Message[] = [];
  let said = nothing();

  /** What follows a result was said after it was read. */
  function goOn(): void {
    if (![...said.results.values()].some((text) => text !== undefined)) return;
    messages.push(...messagesOf(said));
    said = nothing();
  }

  for (const [at, block] of blocks.entries()) {
    const here = [...path, at];
    switch (block.type) {
      case 'text':
        goOn();
        said.texts.push(block.text + unsealing.marksOf(block.citations ?? [], here));
        break;
      case 'thinking':
        goOn();
        said.thoughts.push(block.thinking);
        break;
      case 'tool_use':
        goOn();
        said.calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) });
        break;
      case 'server_tool_use':
        goOn();
        said.calls.push({ id: block.id, name: webSearchName, arguments: JSON.stringify(block.input) });
        said.results.set(block.id, undefined);
        break;
      case 'web_search_tool_result':
        if (said.results.get(block.tool_use_id) !== undefined || !said.results.has(block.tool_use_id)) {
          const field = fieldPath([...here, 'tool_use_id']);
          throw new Failure('invalid_request', `${field}: expected the id of a server_tool_use before it`);
        }
        said.results.set(block.tool_use_id, unsealing.resultText(block, here));
        break;
      case 'redacted_thinking':
      case 'fallback':
        break;
    }
  }
  const isEmpty = said.texts.length + said.thoughts.length + said.calls.length === 0;
  if (messages.length === 0 || !isEmpty) messages.push(...messagesOf(said));
  return messages;
}
