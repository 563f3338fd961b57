import type { Behaviour } from './behaviour.ts';
import type { ChatMessage } from './chat-message.ts';
import type { ChatRequest } from './chat-request.ts';
import { inlineTagsOf } from './inline-tags.ts';
import { RequestRefusal } from './request-refusal.ts';

/** The part of the answer that the request brings with it, to be gone on from. */
export interface PartialAnswer {
  readonly reasoning: string;
  readonly content: string;
  /** True when the text had begun, so that no reasoning may follow. */
  readonly reasoningOver: boolean;
  /** True when the engine repeats the partial answer before it goes on, as llama.cpp does. */
  readonly echo: boolean;
}

/** The partial answer to continue, or undefined when the engine will start afresh. Throws a RequestRefusal. */
export function partialAnswerOf(request: ChatRequest, behaviour: Behaviour): PartialAnswer | undefined {
  const last = request.messages.at(-1);
  if (request.continueFinalMessage && request.addGenerationPrompt) {
    throw new RequestRefusal('Cannot set both `continue_final_message` and `add_generation_prompt` to True.', {
      param: 'continue_final_message',
    });
  }
  if (last?.role !== 'assistant' || last.calls !== '') return undefined;
  const mode = behaviour.continuation ?? 'any';
  if (mode === 'refuse') {
    throw new RequestRefusal(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
  if (!continues(mode, request, last)) return undefined;
  return { ...splitPartial(last, behaviour), echo: mode === 'echo' };
}

function continues(
  mode: Exclude<NonNullable<Behaviour['continuation']>, 'refuse'>,
  request: ChatRequest,
  last: ChatMessage,
): boolean {
  switch (mode) {
    case 'flag':
      return request.continueFinalMessage;
    case 'prefix':
      return last.marks.prefix;
    case 'partial':
      return last.marks.partial;
    case 'any':
    case 'trailing':
    case 'echo':
      return true;
    case 'ignore':
      return false;
  }
}

function splitPartial(last: ChatMessage, behaviour: Behaviour): Omit<PartialAnswer, 'echo'> {
  // A gateway may send the raw text of a model that thinks between tags, whatever this engine itself reports.
  const { open, close } = inlineTagsOf(behaviour.reasoningField) ?? { open: '<think>\n', close: '\n</think>\n\n' };
  const closing = last.text.indexOf(close.trim());
  if (open.trim() !== '' && last.text.startsWith(open.trim())) {
    const inner = last.text.slice(last.text.startsWith(open) ? open.length : open.trim().length);
    if (closing < 0) return { reasoning: inner, content: '', reasoningOver: false };
  }
  if (closing >= 0) {
    const start = last.text.startsWith(open) ? open.length : 0;
    const reasoning = last.text.slice(start, closing);
    return {
      reasoning: reasoning.endsWith('\n') ? reasoning.slice(0, -1) : reasoning,
      content: last.text.slice(closing + close.trim().length).replace(/^\n{1,2}/u, ''),
      reasoningOver: true,
    };
  }
  return { reasoning: last.reasoning, content: last.text, reasoningOver: last.text !== '' };
}
