import { checkMessagesStream } from '../../../support/messages-stream-checker.ts';
import { checkResponsesStream } from '../../../support/responses-stream-checker.ts';
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
  responses: /"usage":\{"input_tokens":\d+,[^\n]*"output_tokens":(\d+),[^\n]*"cost":([\d.]+)\}/,
} as const;

type Json = Readonly<Record<string, unknown>>;

const joined = (parts: unknown, type: string): string =>
  ((parts ?? []) as readonly Json[]).map((part) => (part['type'] === type ? String(part['text']) : '')).join('');

/** The text of a whole answer. A stream has a checker for its form, which throws. */
const texts = {
  messages: (text: string, stream: boolean): string => {
    const { content } = stream ? checkMessagesStream(text) : (JSON.parse(text) as Json);
    return joined(content, 'text');
  },
  responses: (text: string, stream: boolean): string => {
    const { output } = stream ? checkResponsesStream(text) : (JSON.parse(text) as Json);
    const items = (output ?? []) as readonly Json[];
    return items.map((item) => (item['type'] === 'message' ? joined(item['content'], 'output_text') : '')).join('');
  },
} as const;

/** What is wrong with an answer that came to its end: with the form of its stream, or with its text where the request says which it is. */
function faultOfText({ request, text }: StormRecord, isWhole: boolean): string | undefined {
  const { surface, stream, directives } = request;
  if (surface === undefined) return undefined;
  try {
    const said = texts[surface](text, stream);
    if (!isWhole || directives.content === undefined || said === directives.content) return undefined;
    return `its text is ${JSON.stringify(said)} in place of ${JSON.stringify(directives.content)}`;
  } catch (error) {
    return `its form is wrong: ${String(error)}`;
  }
}

/** Reads what a caller saw. */
export function readStormAnswer(record: StormRecord): StormAnswer {
  const { request, status, end, text } = record;
  if (status === 0) return { kind: 'broken-off', pieces: 0 };
  if (status !== 200) return { kind: 'refused', status };
  const id = /"id":"((?:chatcmpl-|msg_|resp_)[^"]+)"/.exec(text)?.[1] ?? '';
  const [, tokens, cost] = usages[request.surface ?? 'chat'].exec(text) ?? [];
  const why = end === 'clean' ? faultOfText(record, cost !== undefined) : undefined;
  if (why !== undefined) return { kind: 'unreadable', why };
  if (cost !== undefined) return { kind: 'billed', id, cost: picoUsd(cost), completionTokens: Number(tokens) };
  if (text.includes('"code":"stream_interrupted"')) return { kind: 'interrupted', id };
  if (text.includes('"code":"upstream_incomplete"')) return { kind: 'incomplete', id };
  if (request.stream && text.includes('data: [DONE]')) {
    return request.includeUsage ? { kind: 'unreadable', why: 'no usage before [DONE]' } : { kind: 'whole', id };
  }
  if (end === 'clean') return { kind: 'unreadable', why: 'it ended without an end' };
  return { kind: 'broken-off', pieces: piecesIn(text) };
}
