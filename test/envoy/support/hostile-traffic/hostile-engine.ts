import type { ServerResponse } from 'node:http';
import { type FakeEngine, startFakeEngine } from '../../../fake-engine/fake-engine.ts';

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({
    ...{ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'demo-chat' },
    choices: [{ index: 0, delta, finish_reason: null }],
    ...more,
  })}\n\n`;
const finish = (usage: unknown): string =>
  `data: ${JSON.stringify({
    ...{ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'demo-chat' },
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    usage,
  })}\n\ndata: [DONE]\n\n`;

const piece = 'x'.repeat(16 * 1024);
/** As fast as it is read, and no more than this: the attack is on the reader, not on the machine. */
const floodBytes = 64 * 1024 * 1024;

/** What it does, one after the other. */
const answers: readonly ((response: ServerResponse) => void)[] = [
  // Comments without end, which a reader may not take for a sign of life for ever.
  (response) => flood(response, ': still here\n\n'.repeat(500)),
  // A line without end.
  (response) => flood(response, piece, 'data: {"choices":[{"delta":{"content":"'),
  // Events of nothing.
  (response) => flood(response, 'data: {}\n\n'.repeat(500)),
  // One character at a time, as fast as it goes.
  (response) => flood(response, chunk({ content: 'x' }).repeat(100)),
  ...[
    { prompt_tokens: -5, completion_tokens: 1e300, total_tokens: 3 },
    { prompt_tokens: 2 ** 53 + 2, completion_tokens: '12', total_tokens: null },
    { prompt_tokens: 2 ** 52, completion_tokens: 2 ** 52, total_tokens: 2 ** 53 },
    'lies',
  ].map((usage) => (response: ServerResponse) => void response.end(chunk({ content: 'Hello.' }) + finish(usage))),
  // Bodies that are none.
  (response) => void response.end('data: {"choices":[{"delta":{"content":"Hel\n\ndata: \0\0\0\n\n'),
  (response) => void response.end(`data: ${'['.repeat(100_000)}\n\n`),
];

/** How many different answers it gives. */
export const hostileAnswers = answers.length;

function flood(response: ServerResponse, text: string, first = ''): void {
  let left = floodBytes;
  response.write(first);
  const go = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= text.length;
      if (!response.write(text)) {
        response.once('drain', go);
        return;
      }
    }
    response.end();
  };
  go();
}

/** An engine that means harm, behind a model of its own. */
export function startHostileEngine(): Promise<FakeEngine> {
  let next = 0;
  return startFakeEngine(({ request, response }) => {
    if (request.method !== 'POST') {
      response.end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    answers[next % answers.length]?.(response);
    next += 1;
  });
}
