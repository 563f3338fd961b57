import type { Surface } from './prompts.ts';

/** What the caller of a load expects back, whatever stands between it and the engine. */
export interface Expectation {
  readonly stream: boolean;
  /** Of a whole answer. Default: chat completions, the only surface whose streams are read. */
  readonly surface?: Surface;
  readonly text: string;
  readonly reasoning: string;
}

/**
 * Reads a whole answer as a client would and says what is wrong with it; undefined when it is what the engine said.
 * Costs a JSON parse per chunk, so a load asks for it on a sample and checks only the cheap signs on the rest.
 */
export function verifyAnswer(body: string, expected: Expectation): string | undefined {
  const read = expected.stream ? readStream(body) : readers[expected.surface ?? 'chat'](body);
  if (typeof read === 'string') return read;
  if (read.text !== expected.text) return 'another text than the engine sent';
  if (read.reasoning !== expected.reasoning) return 'another reasoning than the engine sent';
  if (read.finish !== 'stop') return 'no finish reason';
  return undefined;
}

interface Read {
  readonly text: string;
  readonly reasoning: string;
  readonly finish: string | undefined;
}

interface Message {
  readonly content?: string | null;
  readonly reasoning_content?: string | null;
}
interface Choices<Key extends string> {
  readonly choices?: readonly ({ readonly finish_reason?: string | null } & { readonly [key in Key]?: Message })[];
}

interface TextPart {
  readonly type: string;
  readonly text?: string;
}
const textOf = (parts: readonly TextPart[], type: string): string =>
  parts.map((part) => (part.type === type ? (part.text ?? '') : '')).join('');

const readers: Readonly<Record<Surface, (body: string) => Read | string>> = {
  chat: readChat,
  messages: (body) => {
    const answer = parse<{ readonly content?: readonly TextPart[]; readonly stop_reason?: string }>(body);
    if (answer?.content === undefined) return 'not a message';
    const finish = answer.stop_reason === 'end_turn' ? 'stop' : undefined;
    return { text: textOf(answer.content, 'text'), reasoning: textOf(answer.content, 'thinking'), finish };
  },
  responses: (body) => {
    const answer = parse<{ readonly output?: readonly Output[]; readonly status?: string }>(body);
    if (answer?.output === undefined) return 'not a response';
    const parts = answer.output.flatMap((item) => item.content ?? []);
    const finish = answer.status === 'completed' ? 'stop' : undefined;
    return { text: textOf(parts, 'output_text'), reasoning: textOf(parts, 'reasoning_text'), finish };
  },
};

interface Output {
  readonly content?: readonly TextPart[];
}

function readChat(body: string): Read | string {
  const answer = parse<Choices<'message'>>(body);
  const choice = answer?.choices?.[0];
  if (!choice) return 'not a chat completion';
  return {
    text: choice.message?.content ?? '',
    reasoning: choice.message?.reasoning_content ?? '',
    finish: choice.finish_reason ?? undefined,
  };
}

function readStream(body: string): Read | string {
  let text = '';
  let reasoning = '';
  let finish: string | undefined;
  let done = false;
  for (const line of body.split('\n')) {
    if (!line.startsWith('data: ')) continue;
    if (done) return 'data after [DONE]';
    const data = line.slice(6);
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    const chunk = parse<Choices<'delta'>>(data);
    if (!chunk) return 'a chunk that is not JSON';
    const choice = chunk.choices?.[0];
    text += choice?.delta?.content ?? '';
    reasoning += choice?.delta?.reasoning_content ?? '';
    finish = choice?.finish_reason ?? finish;
  }
  return done ? { text, reasoning, finish } : 'no [DONE]';
}

function parse<Shape>(text: string): Shape | undefined {
  try {
    return JSON.parse(text) as Shape;
  } catch {
    return undefined;
  }
}
