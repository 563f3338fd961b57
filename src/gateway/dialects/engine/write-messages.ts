import { hash } from 'node:crypto';
import type { RequestTarget } from '../../../core/capability.ts';
import { isObject } from '../../../core/json.ts';
import type { Content, EngineState, Message, ToolCall } from '../../../core/request.ts';
import type { Engine, Fields } from '../../engines/engine.ts';
import type { CallIds, MessageDemands } from '../../engines/message-demands.ts';
import { contentText, textPart } from '../content.ts';
import { stateOwner } from './opaque-fields.ts';

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
  const { content: parts, ...fields }: Fields = fieldsFor(state, target) ?? {};
  return {
    role: 'assistant',
    content: Array.isArray(parts)
      ? partsWith(contentText(content), parts)
      : turn.content === undefined && written === ''
        ? null
        : written,
    name,
    ...(engine.reasoningField !== 'none' && {
      [engine.reasoningField]: reasoning === '' ? (missing ?? '') : (reasoning ?? missing),
    }),
    ...fields,
    tool_calls: calls?.map((call, at) => writeCall(call, at === 0 ? demands.firstCall : undefined, target)),
  };
}

/** The parts in which the engine wrote a turn, with their signatures. A text that the caller has changed is the caller's. */
function partsWith(text: string, parts: readonly unknown[]): readonly unknown[] {
  const isText = (part: unknown): part is { readonly text: string } =>
    isObject(part) && typeof part['text'] === 'string' && !/think|reason/.test(String(part['type']));
  const own = parts.filter(isText).map((part) => part.text);
  if (own.join('').trim() === text.trim()) return parts;
  return [...parts.filter((part) => !isText(part)), ...(text === '' ? [] : [textPart(text)])];
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
 * Returns a function that replaces ids that an engine would refuse, or that tell its model nothing. Unless the model wants another
 * form, a replaced id is nine letters and digits, which every known form allows: the same in every turn of a conversation, and no
 * other id's.
 */
function fittingIds(messages: readonly Message[], { form, make }: CallIds): (id: string) => string {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const taken = new Set(calls.map(({ id }) => id).filter((id) => form.test(id)));
  const fitting = new Map([...taken].map((id) => [id, id]));
  for (const [place, { id, name }] of calls.entries()) {
    if (fitting.has(id)) continue;
    let at = place;
    let replaced = make === undefined ? shortDigest(id) : make(name, at);
    while (taken.has(replaced))
      replaced = make === undefined ? shortDigest(`${replaced} ${id}`) : make(name, (at += 1));
    taken.add(replaced);
    fitting.set(id, replaced);
  }
  return (id) => fitting.get(id) ?? id;
}

/** Nine letters and digits. */
const shortDigest = (id: string): string =>
  BigInt(`0x${hash('sha256', id)}`)
    .toString(36)
    .slice(-9);
