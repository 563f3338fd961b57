import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, answerTo } from './answer.ts';
import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { embeddingsOf, readEmbeddingRequest } from './embedding.ts';

export interface DemoEngineOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly host: string;
  readonly models: readonly string[];
  /** Between two tokens of a stream. */
  readonly tokenMs: number;
}

/** A running engine. */
export interface DemoEngine {
  readonly url: string;
  /** Stops listening and ends every connection. */
  readonly close: () => Promise<void>;
}

/** Starts an engine that speaks as vLLM does and has no model. Rejects when it cannot listen. */
export async function startDemoEngine(options: DemoEngineOptions): Promise<DemoEngine> {
  // A gateway keeps its connections: one that ends while a request is on its way would fail that request.
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    serve(request, response, options).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(request: IncomingMessage, response: ServerResponse, options: DemoEngineOptions): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?');
  if (path === '/health') return void response.end();
  if (path.endsWith('/models')) return reply(response, 200, { object: 'list', data: options.models.map(listed) });
  if (request.method !== 'POST') return refuse(response, 404, 'Not Found');
  const read = <Asked extends { readonly model: string }>(asked: Asked | string): Asked | undefined => {
    if (typeof asked === 'string') refuse(response, 400, asked);
    else if (options.models.includes(asked.model)) return asked;
    else refuse(response, 404, `The model \`${asked.model}\` does not exist.`);
    return undefined;
  };
  if (path.endsWith('/embeddings')) {
    const asked = read(readEmbeddingRequest(await json(request).catch(() => undefined)));
    return asked === undefined ? undefined : reply(response, 200, embeddingsOf(asked));
  }
  if (!path.endsWith('/chat/completions')) return refuse(response, 404, 'Not Found');
  const asked = read(readChatRequest(await json(request).catch(() => undefined)));
  if (asked !== undefined) await answerChat(response, asked, options.tokenMs);
}

async function answerChat(response: ServerResponse, asked: ChatRequest, tokenMs: number): Promise<void> {
  const answers = Array.from({ length: asked.choices }, (_, index) => answerTo(asked, index));
  if (asked.stream) return stream(response, { asked, answers, tokenMs });
  const choices = answers.map((answer, index) => ({
    index,
    message: messageOf(answer),
    finish_reason: answer.finishReason,
  }));
  const spent = answers.map((answer) => stepsOf(answer).length).reduce((sum, count) => sum + count, 0);
  return reply(response, 200, { ...head('chat.completion', asked), choices, usage: usageBlock(asked, spent) });
}

const listed = (id: string): object => ({ id, object: 'model', created: 0, owned_by: 'demo', max_model_len: 131_072 });

let completions = 0;

function head(object: string, { model }: ChatRequest): object {
  completions += 1;
  return { id: `chatcmpl-${completions}`, object, created: Math.floor(Date.now() / 1000), model };
}

function usageBlock({ promptTokens }: ChatRequest, completionTokens: number): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

function messageOf({ reasoning, content }: Answer): object {
  return {
    role: 'assistant',
    content: content.join(''),
    reasoning: reasoning.length === 0 ? null : reasoning.join(''),
  };
}

/** The deltas of a choice, one for each token. */
function stepsOf({ reasoning, content }: Answer): readonly object[] {
  return [...reasoning.map((piece) => ({ reasoning: piece })), ...content.map((piece) => ({ content: piece }))];
}

/** Sends the choices side by side at the engine's pace, until all are said or the caller goes. */
async function stream(
  response: ServerResponse,
  of: { readonly asked: ChatRequest; readonly answers: readonly Answer[]; readonly tokenMs: number },
): Promise<void> {
  const { asked, answers, tokenMs } = of;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const first = head('chat.completion.chunk', asked);
  let spent = 0;
  const send = (choices: readonly object[], withUsage: boolean): void => {
    const usage = withUsage ? { usage: usageBlock(asked, spent) } : {};
    response.write(`data: ${JSON.stringify({ ...first, choices, ...usage })}\n\n`);
  };
  const say = (index: number, delta: object, finish_reason: string | null = null): void =>
    send([{ index, delta, finish_reason }], asked.usage === 'in-every-event');

  const steps = answers.map(stepsOf);
  steps.forEach((_, index) => say(index, { role: 'assistant', content: '' }));
  for (let at = 0; at < Math.max(...steps.map(({ length }) => length)); at += 1) {
    await pause(tokenMs, undefined, { signal: gone.signal }).catch(() => undefined);
    if (gone.signal.aborted) return;
    steps.forEach((all, index) => {
      const step = all[at];
      if (step === undefined) return;
      spent += 1;
      say(index, step);
    });
  }
  answers.forEach(({ finishReason }, index) => say(index, {}, finishReason));
  if (asked.usage !== 'none') send([], true);
  response.end('data: [DONE]\n\n');
}

function refuse(response: ServerResponse, status: number, message: string): void {
  reply(response, status, {
    error: { message, type: status === 404 ? 'NotFoundError' : 'BadRequestError', code: status },
  });
}

function reply(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
