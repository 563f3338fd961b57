import { expect, onTestFinished, test } from 'vitest';
import { startProgrammableEngine } from '../../../test/programmable-engine/engine.ts';
import { routeOf, modelOf } from '../../../test/support/route-of.ts';
import type { Model } from '../../core/catalog.ts';
import { firstProbe } from './answering-model.ts';

const never = new AbortController().signal;

/** A model on engines that listen on these ports of this machine. */
function modelOn(id: string, ports: readonly number[], authorization?: string): Model {
  const routes = ports.map((port) => {
    const route = routeOf(`backend-${id}-${port}`);
    const cluster = {
      ...route.backend.cluster,
      endpoints: { kind: 'hosts', hosts: [{ host: '127.0.0.1', port }] },
    } as const;
    return {
      ...route,
      backend: {
        ...route.backend,
        cluster,
        ...(authorization !== undefined && { headers: [['authorization', authorization]] as const }),
      },
    };
  });
  return modelOf(routes, { id });
}

async function engineOf(options: Parameters<typeof startProgrammableEngine>[0] = {}): Promise<number> {
  const engine = await startProgrammableEngine(options);
  onTestFinished(() => engine.close());
  return engine.port;
}

/** A port that nothing listens on. */
async function deadPort(): Promise<number> {
  const engine = await startProgrammableEngine();
  await engine.close();
  return engine.port;
}

const probed = (...models: readonly Model[]) =>
  firstProbe(
    models.map(({ id }) => id),
    new Map(models.map((model) => [model.id, model])),
    never,
  );
const asked = async (...models: readonly Model[]) => (await probed(...models)).answering;

test('the example names the first model with an engine that answers', async () => {
  const [dead, live] = [await deadPort(), await engineOf()];
  expect(await asked(modelOn('a/dead', [dead]), modelOn('b/both', [dead, live]), modelOn('c/live', [live]))).toBe(
    'b/both',
  );
});

test('an engine that refuses the credentials does not answer', async () => {
  const port = await engineOf({ apiKey: 'right' });
  const refused = [modelOn('a/none', [port]), modelOn('b/wrong', [port], 'Bearer wrong')];
  expect(await asked(...refused)).toBeUndefined();
  expect(await asked(...refused, modelOn('c/right', [port], 'Bearer right'))).toBe('c/right');
});

test('no model is named where no engine answers, and the first one where nothing is known of its engines', async () => {
  expect(await asked(modelOn('a/dead', [await deadPort()]))).toBeUndefined();
  expect((await firstProbe([], new Map(), never)).answering).toBeUndefined();
  expect((await firstProbe(['a/one', 'b/two'], undefined, never)).answering).toBe('a/one');
});

test('each model without an engine that can serve it has the cause', async () => {
  const [dead, live, locked] = [await deadPort(), await engineOf(), await engineOf({ apiKey: 'right' })];
  const { faults } = await probed(
    ...[modelOn('a/dead', [dead]), modelOn('b/both', [dead, live]), modelOn('c/wrong', [locked], 'Bearer wrong')],
  );
  expect([...faults]).toEqual([
    ['a/dead', `backend-a/dead-${dead} refuses connections`],
    ['c/wrong', `backend-c/wrong-${locked} refuses the credential (HTTP 401)`],
  ]);
});

test('a model that makes no answers is named where no other one answers', async () => {
  const port = await engineOf();
  const vectors: Model = { ...modelOn('a/vectors', [port]), kind: 'embedding' };
  expect(await asked(vectors, modelOn('b/chat', [port]))).toBe('b/chat');
  expect(await asked(vectors)).toBe('a/vectors');
});
