/** What the caller of a load expects back, whatever stands between it and the engine. */
export interface Expectation {
  readonly stream: boolean;
  readonly text: string;
  readonly reasoning: string;
}

/**
 * Reads a whole answer as a client would and says what is wrong with it; undefined when it is what the engine said.
 * Costs a JSON parse per chunk, so a load asks for it on a sample and checks only the cheap signs on the rest.
 */
export function verifyAnswer(body: string, expected: Expectation): string | undefined {
  const read = expected.stream ? readStream(body) : readJson(body);
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

function readJson(body: string): Read | string {
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
