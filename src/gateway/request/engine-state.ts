import { createCipheriv, createDecipheriv, hash, hkdfSync } from 'node:crypto';
import { z } from 'zod';
import { jsonObject } from '../../core/body-schema.ts';
import { parseJson } from '../../core/json.ts';
import type { Message, ToolCall } from '../../core/request.ts';
import { resultHeading } from '../dialects/tool-result.ts';
import type { AnswerState, EngineCall } from '../dialects/engine/opaque-fields.ts';
import { isSealedState, statePrefix } from '../dialects/sealed-state.ts';

/**
 * What an engine wants back with the next turn: the ids of its calls, and its opaque fields. Nothing is stored, and neither may name
 * the engine to the caller. So both are sealed: a call's in our id of it, an answer's in a token that goes where clients keep such
 * tokens. Whoever changes a token changes only what their own conversation says, so a short tag is enough. It tells our ids from
 * others'.
 */
const nonceBytes = 12;
const tagBytes = 4;

let last: { readonly secret: string; readonly key: Buffer } | undefined;

/** A key for this purpose alone, since a short tag must not weaken another one. */
function keyOf(secret: string): Buffer {
  if (last?.secret !== secret) {
    last = { secret, key: Buffer.from(hkdfSync('sha256', secret, '', 'weir engine state', 32)) };
  }
  return last.key;
}

function seal(text: string, { secret, nonce }: { readonly secret: string; readonly nonce: string }): string {
  const iv = hash('sha256', nonce, 'buffer').subarray(0, nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), iv, { authTagLength: tagBytes });
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function open(sealed: Buffer, secret: string): string | undefined {
  if (sealed.length <= nonceBytes + tagBytes) return undefined;
  const iv = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), iv, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const bytes = sealed.subarray(nonceBytes, -tagBytes);
    return Buffer.concat([decipher.update(bytes), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * Seals the state of one attempt's answer.
 * `of` names the model that gets the fields back.
 */
export function createStateSealing({
  secret,
  of,
  newId,
}: {
  readonly secret: string;
  readonly of: string;
  readonly newId: () => string;
}) {
  return {
    /** Our id of a call, without its prefix. */
    callId: (call: EngineCall | undefined): string => {
      const nonce = newId();
      const { id = '', fields } = call ?? {};
      if (id === '' && fields === undefined) return nonce;
      return seal(fields === undefined ? id : JSON.stringify([id, of, fields]), { secret, nonce });
    },
    answerState: (state: AnswerState): string =>
      statePrefix + seal(JSON.stringify({ of, ...state }), { secret, nonce: newId() }),
  };
}

const sealedCall = z.tuple([z.string(), z.string(), jsonObject]);
const sealedAnswer = z.object({
  of: z.string(),
  fields: jsonObject.optional(),
  calls: z.record(z.string(), z.object({ id: z.string().optional(), fields: jsonObject.optional() })),
});
type SealedAnswer = z.output<typeof sealedAnswer>;

/** Opens an id of ours. Undefined for any other id. */
function openId(id: string, secret: string): Pick<ToolCall, 'id' | 'state'> | undefined {
  const [, token] = /^(?:call|toolu)_([\w-]+)$/.exec(id) ?? [];
  const text = token === undefined ? undefined : open(Buffer.from(token, 'base64url'), secret);
  const { data } = sealedCall.safeParse(text?.startsWith('["') === true ? parseJson(text) : undefined);
  if (data === undefined) return text === undefined ? undefined : { id: text };
  const [own, of, fields] = data;
  // Some engines give calls no ids.
  return { id: own === '' ? id : own, state: { of, fields } };
}

function openAnswer(token: string | undefined, secret: string): SealedAnswer | undefined {
  if (!isSealedState(token)) return undefined;
  const text = open(Buffer.from(token.slice(statePrefix.length), 'base64url'), secret);
  return sealedAnswer.safeParse(text === undefined ? undefined : parseJson(text)).data;
}

/**
 * Replaces our ids of calls by the engines' own, and opens the state that the caller sent back with them. A call and its result get
 * the same id. Ids that are not ours stay.
 */
export function openEngineState(messages: readonly Message[], secret: string): readonly Message[] {
  /** The engines' ids by ours, and the same for the lines that name a call. */
  const own = new Map<string, string>();

  function openCalls(calls: readonly ToolCall[], answer: SealedAnswer | undefined): readonly ToolCall[] {
    const inTurn = new Set<string>();
    return calls.map((call) => {
      const known = openId(call.id, secret);
      const late = answer?.calls[call.id];
      const engineId = known?.id ?? late?.id ?? call.id;
      // An engine can give two calls of a turn one id. Then only our ids tell their results apart.
      const id = inTurn.has(engineId) ? call.id : engineId;
      inTurn.add(id);
      own.set(call.id, id).set(resultHeading(call.id), resultHeading(id));
      const { of = '', fields } = { ...answer, ...late };
      return { ...call, id, state: fields === undefined || late === undefined ? known?.state : { of, fields } };
    });
  }

  return messages.map((message): Message => {
    switch (message.role) {
      case 'assistant': {
        const { sealedState, toolCalls, ...rest } = message;
        if (sealedState === undefined && toolCalls === undefined) return message;
        const answer = openAnswer(sealedState, secret);
        const state = answer?.fields && { of: answer.of, fields: answer.fields };
        return { ...rest, state, toolCalls: toolCalls && openCalls(toolCalls, answer) };
      }
      case 'tool': {
        const { toolCallId } = message;
        return { ...message, toolCallId: own.get(toolCallId) ?? openId(toolCallId, secret)?.id ?? toolCallId };
      }
      case 'user': {
        const { content } = message;
        if (typeof content === 'string' || own.size === 0) return message;
        // The images of a result follow in the user's turn, under a line that names the call.
        const named = content.map((part) =>
          part.type === 'text' ? { ...part, text: own.get(part.text) ?? part.text } : part,
        );
        return { ...message, content: named };
      }
      case 'system':
        return message;
    }
  });
}
