/**
 * How a stream leaves the engine. `burst`: as fast as the socket takes it, in so many writes (one write is the whole
 * stream at once). `apart`: each chunk alone, so long after the one before.
 */
export type Pace =
  | { readonly kind: 'burst'; readonly writes: number }
  | { readonly kind: 'apart'; readonly gapMs: number };

/** What the mock engine is asked to do; the request names it, so that one engine serves every load. */
export interface AnswerShape {
  /** Content chunks of a streamed answer; the role, finish and usage chunks come on top. */
  readonly chunks: number;
  readonly pace: Pace;
  /** How many of the chunks carry reasoning instead of text; they come first. */
  readonly reasoningChunks: number;
}

/** An answer as the bytes that go on the wire, rendered once. */
export interface RenderedAnswer {
  readonly json: Buffer;
  /** The stream as the engine writes it; the first one carries the HTTP head, the role chunk and the first word. */
  readonly pieces: readonly Buffer[];
  readonly piecesWithUsage: readonly Buffer[];
  /** What a caller must end up with, whatever stood in between. */
  readonly text: string;
  readonly reasoning: string;
}

const completion = { id: 'chatcmpl-bench-0000000000000000', created: 1_767_225_600, model: 'bench-engine' };
const promptTokens = 25;

const shapeInPath = /^\/(\d{1,5}-(?:burst|apart)-[\w-]+)\//;
const shapeInBody = /"model"\s*:\s*"(?:[^"]*\/)?(\d{1,5}-(?:burst|apart)-[\w-]+)"/;

/** The name of the shape that a request asks for: in its path, or else in the name of its model, because gateways choose the path. */
export function askedShape(path: string, body: string): string {
  return shapeInPath.exec(path)?.[1] ?? shapeInBody.exec(body)?.[1] ?? '';
}

/** `100-apart-10-r20` is 100 chunks 10 ms apart, the first 20 of them reasoning. Any other name is 100 in one write. */
export function readShape(name: string): AnswerShape {
  const match = /^(\d{1,5})-(burst|apart)-(\d{1,5})(?:-r(\d{1,5}))?$/.exec(name);
  if (!match) return { chunks: 100, pace: { kind: 'burst', writes: 1 }, reasoningChunks: 0 };
  const chunks = Number(match[1]);
  const amount = Number(match[3]);
  return {
    chunks,
    pace: match[2] === 'burst' ? { kind: 'burst', writes: amount } : { kind: 'apart', gapMs: amount },
    reasoningChunks: Math.min(Number(match[4] ?? 0), chunks),
  };
}

/** `100-apart-10-r20`: the shape as a name that a path and a Kubernetes object may bear. */
export function shapeName({ chunks, pace, reasoningChunks }: AnswerShape): string {
  const amount = pace.kind === 'burst' ? pace.writes : pace.gapMs;
  return `${chunks}-${pace.kind}-${amount}${reasoningChunks === 0 ? '' : `-r${reasoningChunks}`}`;
}

/** The path prefix that makes the mock engine answer in this shape; the inverse of `askedShape`. */
export function shapePath(shape: AnswerShape): string {
  return `/${shapeName(shape)}/v1`;
}

/** Renders a chat completion of this shape in both transports: JSON, and chunks as OpenAI's API reference shows them. */
export function renderAnswer(shape: AnswerShape): RenderedAnswer {
  const words = Array.from({ length: shape.chunks }, (_, index) => ` word${index % 10}`);
  const reasoning = words.slice(0, shape.reasoningChunks).join('');
  const text = words.slice(shape.reasoningChunks).join('');
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: shape.chunks,
    total_tokens: promptTokens + shape.chunks,
    prompt_tokens_details: { cached_tokens: 0 },
  };
  const deltas = words.map((word, index) =>
    index < shape.reasoningChunks ? { reasoning_content: word } : { content: word },
  );
  const asWritten = (pieces: readonly Buffer[]): readonly Buffer[] =>
    shape.pace.kind === 'burst' ? group(pieces, shape.pace.writes) : pieces;
  return {
    json: renderJson({ text, reasoning, usage }),
    pieces: asWritten(renderPieces(deltas)),
    piecesWithUsage: asWritten(renderPieces(deltas, usage)),
    text,
    reasoning,
  };
}

function group(pieces: readonly Buffer[], writes: number): readonly Buffer[] {
  const each = Math.ceil(pieces.length / Math.max(1, writes));
  const groups: Buffer[] = [];
  for (let at = 0; at < pieces.length; at += each) groups.push(Buffer.concat(pieces.slice(at, at + each)));
  return groups;
}

function renderJson(answer: { readonly text: string; readonly reasoning: string; readonly usage: object }): Buffer {
  const message = {
    role: 'assistant',
    content: answer.text,
    ...(answer.reasoning === '' ? {} : { reasoning_content: answer.reasoning }),
  };
  const body = JSON.stringify({
    ...completion,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: answer.usage,
  });
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function renderPieces(deltas: readonly object[], usage?: object): readonly Buffer[] {
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n';
  const role = chunkFrame([
    { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
  ]);
  const contents = deltas.map((delta) => chunkFrame([{ index: 0, delta, logprobs: null, finish_reason: null }]));
  const finish = chunkFrame([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
  const tail = `${finish}${usage === undefined ? '' : chunkFrame([], usage)}${eventFrame('[DONE]')}0\r\n\r\n`;
  const [first = '', ...others] = contents;
  return [`${head}${role}${first}`, ...others.slice(0, -1), `${others.at(-1) ?? ''}${tail}`].map((piece) =>
    Buffer.from(piece),
  );
}

function chunkFrame(choices: readonly object[], usage?: object): string {
  const extra = usage === undefined ? {} : { usage };
  return eventFrame(JSON.stringify({ ...completion, object: 'chat.completion.chunk', choices, ...extra }));
}

/** One server-sent event in one HTTP chunk, as engines flush them (RFC 9112 §7.1). */
function eventFrame(data: string): string {
  const event = `data: ${data}\n\n`;
  return `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
}
