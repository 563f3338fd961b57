/** The bytes of bodies in flight, over whole requests: on every surface and every way to an end they are counted, and given back. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FakeExchange } from '../../../test/support/fake-exchange.ts';
import type { FakeCall } from '../../../test/support/fake-upstream.ts';
import {
  authorized,
  begin,
  chunk,
  events,
  expectClean,
  head,
  hello,
  type Run,
  settle,
  wholeJson,
  wholeStream,
} from '../../../test/support/pipeline-run.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { answerPaths } from '../../core/api-paths.ts';
import { type ChatSurface, chatSurfaces } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import { prepareHere } from './prepare.ts';

const KiB = 1024;
const long = 'x'.repeat(200 * KiB);
const textOf: Readonly<Record<ChatSurface, (text: string) => object>> = {
  chat: (content) => ({ messages: [{ role: 'user', content }] }),
  messages: (content) => ({ max_tokens: 100, messages: [{ role: 'user', content }] }),
  responses: (input) => ({ store: false, input }),
};

interface Asked {
  readonly surface: ChatSurface;
  readonly declares: boolean;
}

/** Sends a request with so long a prompt. */
function send(run: Run, { surface, declares }: Asked, { text = long, stream = false, more = {} } = {}): FakeExchange {
  const body = JSON.stringify({ model: 'demo/tiny', stream, ...textOf[surface](text), ...more });
  const length = declares ? { 'content-length': `${body.length}` } : {};
  return run.send({ path: answerPaths[surface], body, headers: { ...authorized, ...length } });
}

const overloaded = (): never => {
  throw new Failure('overloaded', 'The thread is gone.');
};

/** Reads bodies in a thread that dies later. */
const dying = (body: Uint8Array): PreparedRequest => ({
  ...prepareHere(body, { surface: 'chat', countPrompt: uncounted }),
  bodyFor: () => Promise.reject(new Failure('overloaded', 'The thread is gone.')),
});

/** The call with this number, while the body of its request is charged. */
async function calledWith(run: Run, number: number): Promise<FakeCall> {
  const engine = await run.upstream.called(number);
  expect(run.uploads.bytes()).toBe(256 * KiB);
  return engine;
}

interface Ending {
  readonly name: string;
  readonly run?: Parameters<typeof begin>[0];
  /** Undefined: the caller left. */
  readonly status: number | undefined;
  readonly take: (run: Run, asked: Asked) => Promise<FakeExchange>;
}

/** Waits for an answer, or for the caller's leaving. */
async function over(exchange: FakeExchange, how: 'answered' | 'left' = 'answered'): Promise<FakeExchange> {
  if (how === 'left') exchange.leave();
  else await exchange.answered;
  await settle();
  return exchange;
}

const endings: readonly Ending[] = [
  {
    name: 'a whole answer',
    status: 200,
    take: async (run, asked) => {
      const exchange = send(run, asked);
      (await calledWith(run, 0)).answer('application/json', wholeJson);
      return over(exchange);
    },
  },
  {
    name: 'a stream, which keeps the body until its end',
    status: 200,
    take: async (run, asked) => {
      const exchange = send(run, asked, { stream: true });
      const engine = await calledWith(run, 0);
      head(engine);
      engine.data(hello);
      await settle();
      expect(run.uploads.bytes()).toBe(256 * KiB);
      engine.data(wholeStream.slice(hello.length));
      engine.end();
      return over(exchange);
    },
  },
  {
    name: 'a failover',
    status: 200,
    take: async (run, asked) => {
      const exchange = send(run, asked);
      (await calledWith(run, 0)).fail('ECONNREFUSED');
      (await calledWith(run, 1)).answer('application/json', wholeJson);
      return over(exchange);
    },
  },
  {
    name: 'a continuation of a broken stream',
    status: 200,
    take: async (run, asked) => {
      const exchange = send(run, asked, { stream: true });
      const engine = await calledWith(run, 0);
      head(engine);
      engine.data(hello);
      engine.fail('ECONNRESET');
      const other = await calledWith(run, 1);
      head(other);
      other.data(chunk({ role: 'assistant', content: ' again' }) + wholeStream.slice(hello.length));
      other.end();
      return over(exchange);
    },
  },
  {
    name: 'attempts that all fail',
    status: 502,
    take: async (run, asked) => {
      const exchange = send(run, asked);
      for (const number of [0, 1]) (await calledWith(run, number)).fail('ECONNREFUSED');
      return over(exchange);
    },
  },
  {
    name: 'a caller who leaves before the answer',
    status: undefined,
    take: async (run, asked) => {
      const exchange = send(run, asked);
      await calledWith(run, 0);
      return over(exchange, 'left');
    },
  },
  {
    name: 'a caller who leaves in the middle of the answer',
    status: 200,
    take: async (run, asked) => {
      const exchange = send(run, asked, { stream: true });
      const engine = await calledWith(run, 0);
      head(engine);
      engine.data(hello);
      return over(exchange, 'left');
    },
  },
  { name: 'a refused field', status: 400, take: (run, asked) => over(send(run, asked, { more: { model: 7 } })) },
  { name: 'an unknown model', status: 400, take: (run, asked) => over(send(run, asked, { more: { model: 'a/b' } })) },
  {
    name: 'a thread that dies while it reads',
    status: 503,
    run: { prepare: overloaded },
    take: (run, asked) => over(send(run, asked)),
  },
  {
    name: 'a thread that dies while it writes',
    status: 503,
    run: { prepare: dying },
    take: (run, asked) => over(send(run, { ...asked, surface: 'chat' })),
  },
  {
    name: 'an upload that stalls',
    status: 400,
    take: async (run, { surface }) => {
      const exchange = run.send({ path: answerPaths[surface], body: undefined });
      await settle();
      expect([run.uploads.arriving(), run.uploads.bytes()]).toEqual([1, 64 * KiB]);
      run.clock.advance(21_000);
      return over(exchange);
    },
  },
  {
    name: 'an upload whose caller leaves',
    status: undefined,
    take: async (run, { surface }) => {
      const exchange = run.send({ path: answerPaths[surface], body: undefined });
      await settle();
      return over(exchange, 'left');
    },
  },
  {
    name: 'an encoded body',
    status: 200,
    take: async (run, { surface }) => {
      const body = gzipSync(JSON.stringify({ model: 'demo/tiny', ...textOf[surface](long) }));
      const headers = { ...authorized, 'content-encoding': 'gzip', 'content-length': `${body.length}` };
      const exchange = run.send({ path: answerPaths[surface], headers, body });
      (await calledWith(run, 0)).answer('application/json', wholeJson);
      return over(exchange);
    },
  },
  {
    name: 'a body that is no gzip',
    status: 400,
    take: (run, { surface }) => {
      const headers = { ...authorized, 'content-encoding': 'gzip' };
      return over(run.send({ path: answerPaths[surface], headers, body: long }));
    },
  },
];

const all = chatSurfaces.flatMap((surface) => [true, false].map((declares) => ({ surface, declares })));

describe.each(all)('the bytes of bodies on $surface, declared: $declares, are back after', (asked) => {
  it.each(endings)('$name', async ({ run: options, status, take }) => {
    const run = begin(options);
    const exchange = await take(run, asked);
    expect(exchange.status()).toBe(status);
    expect([run.uploads.bytes(), run.uploads.arriving()]).toEqual([0, 0]);
    await expectClean(run, run.store.outcomes.length);
  });
});

describe.each(all)('a bound that bodies under way fill, on $surface, declared: $declares', (asked) => {
  it.each([
    ['refuses the next body of the workspace', 'workspaceBytes', 429, '1'],
    ['refuses the next body of the address', 'addressBytes', 429, '1'],
    ['refuses the next body', 'totalBytes', 503, undefined],
  ] as const)('%s until one ends, and no short prompt: %s', async (_, bound, status, retryAfter) => {
    const room = { workspaceBytes: 4096 * KiB, addressBytes: 4096 * KiB, totalBytes: 4096 * KiB };
    const run = begin({ uploadLimits: { ...room, [bound]: 512 * KiB } });
    const first = run.send({
      address: '203.0.113.1',
      body: JSON.stringify({ model: 'demo/tiny', ...textOf.chat(long) }),
    });
    const engine = await calledWith(run, 0);
    const body = JSON.stringify({ model: 'demo/tiny', stream: true, ...textOf[asked.surface](long) });
    const length = asked.declares ? { 'content-length': `${body.length}` } : {};
    const path = answerPaths[asked.surface];
    const given = { address: '203.0.113.1', path, headers: { ...authorized, ...length } };
    const refused = run.send({ ...given, body });
    await refused.answered;
    const limit = `upload-${bound.replace('Bytes', '')}`;
    expect([refused.status(), run.refusals.at(-1)?.limit]).toEqual([status, limit]);
    expect(refused.headers().find(([name]) => name === 'retry-after')?.[1]).toBe(retryAfter);
    expect(run.uploads.bytes()).toBe(256 * KiB);
    // The neighbour's first byte.
    const short = send(run, { ...asked, declares: false }, { text: 'Hi', stream: true });
    const other = await run.upstream.called(1);
    other.answer(events, wholeStream);
    await short.answered;
    expect(short.status()).toBe(200);
    engine.answer('application/json', wholeJson);
    await over(first);
    const again = run.send({ ...given, body });
    (await run.upstream.called(2)).answer(events, wholeStream);
    await over(again);
    expect([again.status(), run.uploads.bytes()]).toEqual([200, 0]);
  });
});
