import type { Behaviour } from './behaviour.ts';
import { seededChance, seedOf } from './chance.ts';
import type { ChatRequest } from './chat-request.ts';
import { type Conversation, lastText } from './conversation.ts';
import { damaged } from './damaged-json.ts';
import { quoteOf } from './prose.ts';
import { schemaInstance } from './schema-instance.ts';
import { stepOf } from './script.ts';
import type { Tool } from './tool-request.ts';
import { writtenJson } from './written-json.ts';

/** One call as the answer means it, before any quirk of how it is sent. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/**
 * The calls the model makes. A named or required tool is always called; under `auto`, the tools whose names stand in the last user
 * message are, in the order in which they stand there, unless the tools have just answered.
 */
export function toolCallsOf(
  request: ChatRequest,
  conversation: Conversation,
  behaviour: Behaviour,
): readonly ToolCall[] {
  const step = stepOf(behaviour.script, conversation.messages);
  if (step !== undefined) {
    return step.call.map((call, index) => ({ ...call, id: callId(conversation, index) }));
  }
  const quote = quoteOf(lastText(conversation.messages, 'user'));
  return calledTools(request, conversation, behaviour).map((tool, index) => {
    const seed = seedOf(conversation.print, `call ${index} ${tool.name}`);
    const instance = schemaInstance(tool.parameters ?? { type: 'object' }, { chance: seededChance(seed), quote });
    return {
      id: callId(conversation, index),
      name: tool.name,
      arguments: damaged(writtenJson(instance, behaviour), behaviour.argumentsDefect),
    };
  });
}

function callId({ print }: Conversation, index: number): string {
  return `call_${seedOf(print, `id ${index}`).toString(16).padStart(8, '0')}${index}`;
}

function calledTools(request: ChatRequest, conversation: Conversation, behaviour: Behaviour): readonly Tool[] {
  const { tools, toolChoice } = request;
  if (behaviour.callTools !== undefined) {
    return behaviour.callTools.flatMap((name) => tools.find((tool) => tool.name === name) ?? []);
  }
  const wanted = mentioned(tools, conversation);
  switch (toolChoice.kind) {
    case 'none':
      return [];
    case 'named':
      return tools.filter((tool) => tool.name === toolChoice.name).slice(0, 1);
    case 'required':
      return limited(wanted.length > 0 ? wanted : tools.slice(0, 1), request);
    case 'auto':
      return conversation.messages.at(-1)?.role === 'tool' ? [] : limited(wanted, request);
  }
}

function mentioned(tools: readonly Tool[], conversation: Conversation): readonly Tool[] {
  const text = lastText(conversation.messages, 'user');
  const places = tools.flatMap((tool) => {
    const at = text.indexOf(tool.name);
    return at < 0 ? [] : [{ tool, at }];
  });
  return places.toSorted((left, right) => left.at - right.at).map(({ tool }) => tool);
}

const limited = (tools: readonly Tool[], request: ChatRequest): readonly Tool[] =>
  request.parallelCalls ? tools : tools.slice(0, 1);
