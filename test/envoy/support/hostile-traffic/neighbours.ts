import { Agent, request as startRequest } from 'node:http';
import type { StartNeighbours } from '../hostile/neighbours.ts';
import { addressOf, host, type Target } from './target.ts';

/** How long a neighbour waits for the end of an answer that takes a fifth of a second. */
const timeoutMs = 60_000;
const prompt = 'What is on the menu? [[demo {"words": 12, "tokenDelayMs": 8}]]';

interface Kind {
  readonly path: string;
  readonly headers: (key: string) => Readonly<Record<string, string>>;
  readonly body: (model: string) => object;
  readonly isOutput: (text: string) => boolean;
  /** What the whole answer must hold. */
  readonly end: string;
}

const chat = { path: '/v1/chat/completions', headers: (key: string) => ({ authorization: `Bearer ${key}` }) };
const messages = {
  path: '/v1/messages',
  headers: (key: string) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
};
const responses = { path: '/v1/responses', headers: chat.headers };
const said = [{ role: 'user', content: prompt }];

/** Streams and whole answers on all surfaces. */
const kinds: readonly Kind[] = [
  {
    ...chat,
    body: (model) => ({ model, messages: said, stream: true }),
    isOutput: (text) => text.includes('data: '),
    end: 'data: [DONE]',
  },
  {
    ...chat,
    body: (model) => ({ model, messages: said }),
    isOutput: (text) => text.trim() !== '',
    end: '"finish_reason":"stop"',
  },
  {
    ...messages,
    body: (model) => ({ model, messages: said, max_tokens: 1000, stream: true }),
    isOutput: (text) => text.includes('content_block_delta'),
    end: 'event: message_stop',
  },
  {
    ...messages,
    body: (model) => ({ model, messages: said, max_tokens: 1000 }),
    isOutput: (text) => text.trim() !== '',
    end: '"stop_reason":"end_turn"',
  },
  {
    ...responses,
    body: (model) => ({ model, input: prompt, stream: true }),
    isOutput: (text) => text.includes('response.output_text.delta'),
    end: 'event: response.completed',
  },
  {
    ...responses,
    body: (model) => ({ model, input: prompt }),
    isOutput: (text) => text.trim() !== '',
    end: '"status":"completed"',
  },
];

/** Resolves with the time to the first output; rejects with what went wrong. */
function ask(
  kind: Kind,
  from: { readonly agent: Agent; readonly key: string; readonly target: Target },
): Promise<number> {
  const begunAt = performance.now();
  const { promise, resolve, reject: refuse } = Promise.withResolvers<number>();
  const reject = (error: Error): void => refuse(new Error(`${kind.path}: ${error.message}`));
  const request = startRequest({
    ...{ host, port: from.target.port, path: kind.path, method: 'POST', agent: from.agent },
    headers: { 'content-type': 'application/json', ...kind.headers(from.key) },
  });
  const patience = setTimeout(() => {
    reject(new Error('no end in time'));
    request.destroy();
  }, timeoutMs);
  request.on('error', (error) => reject(new Error(`connection: ${error.message}`)));
  request.on('response', (response) => {
    let text = '';
    let firstMs: number | undefined;
    response.setEncoding('utf8');
    response.on('data', (piece: string) => {
      text += piece;
      if (firstMs === undefined && kind.isOutput(text)) firstMs = performance.now() - begunAt;
    });
    response.on('error', (error) => reject(new Error(`answer: ${error.message}`)));
    response.on('close', () => {
      const status = response.statusCode ?? 0;
      const code = /"(?:code|type)":"([\w]+)"/.exec(text)?.[1] ?? '';
      if (status !== 200) reject(new Error(`status ${status} ${code}`));
      else if (!text.includes(kind.end) || firstMs === undefined) reject(new Error(`broken off ${code}`));
      else resolve(firstMs);
    });
  });
  request.end(JSON.stringify(kind.body(from.target.model)));
  return promise.finally(() => clearTimeout(patience));
}

/** Starts honest callers: so many requests a second, spread evenly, from several workspaces and addresses. A time is that to the first byte of output. */
export const startNeighbours: StartNeighbours<Target> = (target, perSecond, { count }) => {
  const callers = target.neighbourKeys.map((key, index) => ({
    ...{ key, target },
    agent: new Agent({ keepAlive: true, localAddress: addressOf('neighbour', index) }),
  }));
  let asked = 0;
  const askNext = (): void => {
    const kind = kinds[asked % kinds.length];
    const caller = callers[Math.floor(asked / kinds.length) % callers.length];
    asked += 1;
    if (kind !== undefined && caller !== undefined) count('waits', () => ask(kind, caller));
  };
  const pace = setInterval(askNext, 1000 / perSecond);
  return () => {
    clearInterval(pace);
    return () => {
      for (const { agent } of callers) agent.destroy();
    };
  };
};
