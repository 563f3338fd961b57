import { picoUsd } from '../cost.ts';
import { piecesIn, type StormRecord } from './storm-caller.ts';

/** What an answer says of itself, as far as its bill goes. */
export type StormAnswer =
  /** Its end came, with what it cost. */
  | { readonly kind: 'billed'; readonly id: string; readonly cost: bigint; readonly completionTokens: number }
  /** Its end came, and the caller had not asked what it cost. */
  | { readonly kind: 'whole'; readonly id: string }
  | { readonly kind: 'interrupted' | 'incomplete'; readonly id: string }
  /** An error in place of an answer. */
  | { readonly kind: 'refused'; readonly status: number }
  /** Neither its end nor an error came. */
  | { readonly kind: 'broken-off'; readonly pieces: number }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Of a whole answer, or at the end of a stream. */
const usages = {
  chat: /"usage":\{"prompt_tokens":\d+,"completion_tokens":(\d+),[^\n]*"cost":([\d.]+)\}/,
  messages: /"usage":\{"input_tokens":\d+,[^\n]*"output_tokens":(\d+)[^\n]*"cost":([\d.]+)\}/,
} as const;

/** Reads what a caller saw. */
export function readStormAnswer({ request, status, end, text }: StormRecord): StormAnswer {
  if (status === 0) return { kind: 'broken-off', pieces: 0 };
  if (status !== 200) return { kind: 'refused', status };
  const id = /"id":"((?:chatcmpl-|msg_)[^"]+)"/.exec(text)?.[1] ?? '';
  const [, tokens, cost] = usages[request.surface ?? 'chat'].exec(text) ?? [];
  if (cost !== undefined) return { kind: 'billed', id, cost: picoUsd(cost), completionTokens: Number(tokens) };
  if (text.includes('"code":"stream_interrupted"')) return { kind: 'interrupted', id };
  if (text.includes('"code":"upstream_incomplete"')) return { kind: 'incomplete', id };
  if (request.stream && text.includes('data: [DONE]')) {
    return request.includeUsage ? { kind: 'unreadable', why: 'no usage before [DONE]' } : { kind: 'whole', id };
  }
  if (end === 'clean') return { kind: 'unreadable', why: 'it ended without an end' };
  return { kind: 'broken-off', pieces: piecesIn(text) };
}
