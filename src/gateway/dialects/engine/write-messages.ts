import { hash } from 'node:crypto';
import type { RequestTarget } from '../../../core/capability.ts';
import { isObject } from '../../../core/json.ts';
import type { Content, EngineState, Message, ToolCall } from '../../../core/request.ts';
import type { Engine, Fields } from '../../engines/engine.ts';
import type { MessageDemands } from '../../engines/message-demands.ts';
import { stateOwner } from './opaque-fields.ts';

/** How messages are written for an engine. */
export interface MessageWriting {
  readonly engine: Pick<Engine, 'reasoningField'>;
  readonly target: Pick<RequestTarget, 'engine' | 'upstreamModel' | 'reasoning'>;
  readonly demands: MessageDemands;
}

/** Writes a conversation in the engine's format, with all that the engine demands of one. */
export function writeMessages(messages: readonly Message[], writing: MessageWriting): readonly unknown[] {
  const { callIds, namesResults, answerToResults } = writing.demands;
  const idOf = callIds === undefined ? (id: string): string => id : fittingIds(messages, callIds);
  /** The tools by the ids of their calls. */
  const names = new Map<string, string>();
  return messages.flatMap((message, at): readonly unknown[] => {
    switch (message.role) {
      case 'system':
        return [{ ...message, content: writeContent(message.content) }];
      case 'user': {
        const written = { ...message, content: orText(writeContent(message.content), writing) };
        const isBridged = answerToResults !== undefined && messages[at - 1]?.role === 'tool';
        return isBridged ? [{ role: 'assistant', content: answerToResults }, written] : [written];
      }
      case 'tool': {
        const { toolCallId: id, content } = message;
        const name = namesResults === true ? names.get(id) : undefined;
        return [{ role: 'tool', tool_call_id: idOf(id), name, content: writeContent(content) }];
      }
      case 'assistant': {
        for (const call of message.toolCalls ?? []) names.set(call.id, call.name);
        const toolCalls = message.toolCalls?.map((call) => ({ ...call, id: idOf(call.id) }));
        return [writeAssistantTurn({ ...message, toolCalls }, writing)];
      }
    }
  });
}

type AssistantTurn = Extract<Message, { readonly role: 'assistant' }>;

export function writeAssistantTurn(turn: AssistantTurn, writing: MessageWriting): Fields {
  const { content = '', name, reasoning, toolCalls, state } = turn;
  const { engine, target, demands } = writing;
  const calls = toolCalls?.length === 0 ? undefined : toolCalls;
  const missing = calls !== undefined && target.reasoning?.enabled === true ? demands.missingTrace : undefined;
  const written = content === '' && calls !== undefined ? null : orText(writeContent(content), writing);
  return {
    role: 'assistant',
    content: turn.content === undefined && written === '' ? null : written,
    name,
    ...(engine.reasoningField !== 'none' && {
      [engine.reasoningField]: reasoning === '' ? (missing ?? '') : (reasoning ?? missing),
    }),
    ...fieldsFor(state, target),
    tool_calls: calls?.map((call, at) => writeCall(call, at === 0 ? demands.firstCall : undefined, target)),
  };
}

function writeCall(call: ToolCall, missing: Fields | undefined, target: MessageWriting['target']): unknown {
  const { function: inside, ...fields } = fieldsFor(call.state, target) ?? missing ?? {};
  const { id, name, arguments: text } = call;
  const described = { name, arguments: text };
  return { id, type: 'function', ...fields, function: isObject(inside) ? { ...described, ...inside } : described };
}

/** The engine's own fields, if it is the one that wrote them. */
const fieldsFor = (state: EngineState | undefined, target: MessageWriting['target']): Fields | undefined =>
  state?.of === stateOwner(target) ? state.fields : undefined;

const orText = (content: unknown, { demands }: MessageWriting): unknown =>
  content === '' ? (demands.missingText ?? content) : content;

function writeContent(content: Content): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    part.type === 'text' ? part : { type: 'image_url', image_url: { url: part.url, detail: part.detail } },
  );
}

/**
 * Returns a function that replaces ids that an engine would refuse. A replaced id is nine letters and digits, which every known form
 * allows: the same in every turn of a conversation, and no other id's.
 */
function fittingIds(messages: readonly Message[], form: RegExp): (id: string) => string {
  const ids = messages.flatMap((message) => {
    if (message.role === 'tool') return [message.toolCallId];
    return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [];
  });
  const fitting = new Map(ids.filter((id) => form.test(id)).map((id) => [id, id]));
  const taken = new Set(fitting.keys());
  return (id) => {
    const known = fitting.get(id);
    if (known !== undefined) return known;
    let replaced = shortDigest(id);
    while (taken.has(replaced)) replaced = shortDigest(`${replaced} ${id}`);
    taken.add(replaced);
    fitting.set(id, replaced);
    return replaced;
  };
}

/** Nine letters and digits. */
const shortDigest = (id: string): string =>
  BigInt(`0x${hash('sha256', id)}`)
    .toString(36)
    .slice(-9);
