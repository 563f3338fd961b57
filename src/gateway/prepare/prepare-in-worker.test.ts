// @suite apart
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { settle } from '../../../test/support/pipeline-run.ts';
import { type StartThread, ThreadEnded } from '../../core/worker-thread.ts';
import { prepareHere } from '../request/prepare.ts';
import { startThread } from '../../process/worker-thread.ts';
import { type PrepareWorker, startPrepareWorker } from './prepare-in-worker.ts';

const tokenizerRoot = fileURLToPath(new URL('../../../test/golden/tokens', import.meta.url));
const encode = (body: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(body));
const bodyOf = (content: unknown) => ({ model: 'demo/tiny', messages: [{ role: 'user', content }] });
let worker: PrepareWorker;

beforeEach(() => {
  worker = startPrepareWorker({ startThread, tokenizerRoot, imageHosts: 'any', keepsBillingLines: false });
});

afterEach(async () => {
  await worker.close();
});

describe('a body that is read in a worker', () => {
  it('gives the request without its messages, and the bytes for an engine', async () => {
    const bytes = encode(bodyOf('x'.repeat(1_000_000)));
    const size = bytes.length;
    const prepared = await worker.prepare(bytes, 'chat');
    expect(prepared.shape.bodyBytes).toBe(size);
    expect(prepared.request).toMatchObject({ modelName: 'demo/tiny', stream: false });
    expect(prepared.request).not.toHaveProperty('messages');
    const written = JSON.parse(new TextDecoder().decode((await prepared.bodyFor(targetOf('a'))) as Uint8Array)) as {
      messages: { content: string }[];
    };
    expect(written.messages[0]?.content).toHaveLength(1_000_000);
    // A second route, when the first has failed.
    expect(await prepared.bodyFor(targetOf('b'))).toBeInstanceOf(Uint8Array);
    prepared.release();
    await expect(prepared.bodyFor(targetOf('a'))).rejects.toMatchObject({ code: 'internal' });
  });

  it('gives the same blocks of its prompt as a body that is read here', async () => {
    const bytes = encode(bodyOf('A sentence of the prompt. '.repeat(20_000)));
    const here = prepareHere(Uint8Array.from(bytes), { surface: 'chat', countPrompt: uncounted });
    const prepared = await worker.prepare(bytes, 'chat');
    const key = { secret: 'secret', scope: 'workspace' };
    const blocks = prepared.blocksFor(key);
    expect(blocks.digests.length).toBeGreaterThan(100);
    expect(blocks).toEqual(here.blocksFor(key));
    prepared.release();
  });

  it('leaves the rest of a shared buffer alone', async () => {
    const shared = Buffer.concat([Buffer.from('before'), encode(bodyOf('hi')), Buffer.from('after')]);
    const prepared = await worker.prepare(shared.subarray(6, shared.length - 5), 'chat');
    expect(prepared.request.modelName).toBe('demo/tiny');
    expect(shared.toString().slice(0, 6) + shared.toString().slice(-5)).toBe('beforeafter');
    prepared.release();
  });

  it('reports images', async () => {
    const image = { type: 'image_url', image_url: 'https://x' };
    const prepared = await worker.prepare(encode({ ...bodyOf([image]) }), 'chat');
    expect(prepared.shape.images).toBe(1);
    prepared.release();
  });

  it('is refused with the same code and message as here', async () => {
    await expect(worker.prepare(encode(bodyOf(5)), 'chat')).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^messages\[0\]\.content: /) as string,
    });
    await expect(worker.prepare(new TextEncoder().encode('{'), 'chat')).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(worker.prepare(encode({ ...bodyOf('x'), model: 'a/b:free' }), 'chat')).rejects.toMatchObject({
      code: 'variant_not_supported',
    });
  });

  it('keeps several apart', async () => {
    const prepared = await Promise.all(
      ['a/one', 'a/two', 'a/three'].map((model) => worker.prepare(encode({ ...bodyOf(model), model }), 'chat')),
    );
    expect(prepared.map(({ request }) => request.modelName)).toEqual(['a/one', 'a/two', 'a/three']);
    const bodies = await Promise.all(prepared.map(async ({ bodyFor }) => bodyFor(targetOf('a'))));
    expect(bodies.map((body) => /a\/\w+/.exec(new TextDecoder().decode(body as Uint8Array))?.[0])).toEqual([
      'a/one',
      'a/two',
      'a/three',
    ]);
  });
});

it('nests as deep as it likes: it is read or refused, and harms no other', async () => {
  const deep = '{"a":'.repeat(500_000) + '1' + '}'.repeat(500_000);
  const hostile = `{"model":"m/x","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":${deep}}}]}`;
  const [harmed, other] = await Promise.allSettled([
    worker.prepare(new TextEncoder().encode(hostile), 'chat'),
    worker.prepare(encode(bodyOf('x')), 'chat'),
  ]);
  if (harmed.status === 'rejected') expect(harmed.reason).toMatchObject({ code: 'invalid_request' });
  expect(other).toMatchObject({ status: 'fulfilled' });
});

/** A thread in the hand of a test: what it was asked, and the way to answer. */
function createThread() {
  const asked: string[] = [];
  const answers: { readonly give: (result: unknown) => void; readonly die: () => void }[] = [];
  const call = (name: string, [handle]: readonly unknown[]): Promise<unknown> => {
    asked.push(`${name} ${String(handle)}`);
    return new Promise((give, reject) => {
      const end = new ThreadEnded('it died', { hadStarted: true, cause: undefined });
      answers.push({ give, die: () => reject(end) });
    });
  };
  const thread = { call, post: () => undefined, pending: () => 0, close: () => Promise.resolve() };
  return { asked, answers, startThread: (() => thread) as unknown as StartThread };
}

describe('many bodies at once', () => {
  const read = { request: { modelName: 'm' }, shape: {} };

  it('wait in front of the thread: four are read at a time, and one that was read is written before the others are read', async () => {
    const { asked, answers, startThread: fake } = createThread();
    const busy = startPrepareWorker({ startThread: fake, tokenizerRoot, imageHosts: 'any', keepsBillingLines: false });
    const prepared = Array.from({ length: 8 }, () => busy.prepare(encode(bodyOf('x')), 'chat'));
    await settle();
    const begun = ['read 0', 'read 1', 'read 2', 'read 3'];
    expect(asked).toEqual(begun);
    answers[0]?.give(read);
    void (await prepared[0])?.bodyFor(targetOf('a'));
    begun.push('read 4', 'write 0');
    expect(asked).toEqual(begun);
    // A body that is refused, or whose thread dies, makes room for the next one.
    for (const at of [1, 2]) {
      answers[at]?.die();
      await expect(prepared[at]).rejects.toMatchObject({ code: 'overloaded' });
    }
    expect(asked).toEqual([...begun, 'read 5', 'read 6']);
    for (const { give } of answers) give(read);
    await settle();
    expect(asked.at(-1)).toBe('read 7');
    answers.at(-1)?.give(read);
    await Promise.all(prepared.slice(3));
  });
});

describe('a worker that is gone', () => {
  it('when it was closed refuses what comes', async () => {
    await worker.close();
    await expect(worker.prepare(encode(bodyOf('x')), 'chat')).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('when it is closed refuses what it was doing', async () => {
    const doing = worker.prepare(encode(bodyOf('x')), 'chat');
    const [refused] = await Promise.allSettled([doing, worker.close()]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'overloaded' } });
  });

  it('when it dies refuses what it was doing, and another takes its place', async () => {
    const dying = startPrepareWorker({
      ...{ startThread, tokenizerRoot, imageHosts: 'any', keepsBillingLines: false },
      module: new URL('data:text/javascript,export const createFunctions=()=>({read:()=>process.exit(1)})'),
    });
    await expect(dying.prepare(encode(bodyOf('x')), 'chat')).rejects.toMatchObject({ code: 'overloaded' });
    // The second death shows that a second one was started.
    await expect(dying.prepare(encode(bodyOf('x')), 'chat')).rejects.toMatchObject({ code: 'overloaded' });
    await dying.close();
  });
});
