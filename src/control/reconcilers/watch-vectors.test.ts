import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Model, Route } from '../../core/catalog.ts';
import type { VectorReference } from '../../core/vector-reference.ts';
import type { ReferenceStore } from './store-port.ts';
import { probeEveryMs, watchVectors } from './watch-vectors.ts';

const hour = probeEveryMs;
const dimensions = 16;
const id = 'acme/embed';

const routeNamed = (backend: string, more: Partial<Route> = {}): Route =>
  routeOf(backend, { id: `${id}@${backend}`, upstreamModel: 'bge', ...more });

function modelOf(routes: readonly Route[], embedding: Partial<NonNullable<Model['embedding']>> = {}): Model {
  const facts = { dimensions, shorterDimensions: [], minSimilarity: 0.999, tokenIds: false, ...embedding };
  return { id, kind: 'embedding', contextLength: 512, embedding: facts, routes } as unknown as Model;
}

/** Vectors of a model by its number, the same in each call. A noise turns them by a known amount. */
function vectorsOf(model: number, { length = dimensions, noise = 0, scale = 1 } = {}): readonly Float32Array[] {
  return [1, 2, 3, 4].map((text) =>
    Float32Array.from(
      { length },
      (_, at) => scale * (Math.sin(model * 31 + text * 7 + at * 1.7) + noise * Math.cos(at * 5)),
    ),
  );
}

/** `batches`: its vector of a text depends on the others of the call. */
type Engine = readonly Float32Array[] | 'down' | 'batches';

/** The rows of a database that replicas share. */
function sharedStore() {
  const rows = new Map<string, VectorReference>();
  const state = { isDown: false, changes: undefined as number | undefined, reads: 0 };
  const store: ReferenceStore = {
    readVectorReferences: async (known) => {
      if (state.isDown) throw new Error('the database is down');
      state.reads += 1;
      return [...rows.values()].filter((row) => known.has(row.modelId));
    },
    keepVectorReference: async (reference, over) => {
      if (state.isDown) throw new Error('the database is down');
      const before = rows.get(reference.modelId);
      const isFree = over === undefined ? before === undefined : before?.since === over;
      if (isFree)
        rows.set(reference.modelId, {
          ...reference,
          since: Math.max(reference.since, (over ?? 0) + 1),
          isAwaited: false,
        });
      return rows.get(reference.modelId)!;
    },
    retainVectorReferences: async () => undefined,
  };
  /** As `weir model accept-vectors`. */
  const accept = (routeId: string): void => {
    const before = rows.get(id)!;
    rows.set(id, {
      ...before,
      routeId,
      isAwaited: true,
      vectors: [],
      texts: '',
      dimensions: 0,
      since: before.since + 1,
    });
  };
  return { rows, store, state, accept };
}

function watching(engines: Record<string, Engine>, shared = sharedStore(), clock = createFakeClock(0)) {
  const asked: string[] = [];
  const logged: string[] = [];
  const endpoints = new Map<string, readonly string[]>();
  const vectors = watchVectors({
    ...{ clock, store: shared.store, changes: () => shared.state.changes },
    endpoints: {
      of: (cluster) =>
        (endpoints.get(cluster) ?? []).map((name) => ({
          name,
          address: name,
          port: 1,
          authority: name,
          zone: undefined,
        })),
    },
    ask: async ({ model, route }, { endpoint, texts }) => {
      asked.push(`${route.id} ${endpoint.name}`);
      expect(texts).toHaveLength(4);
      const engine = engines[endpoint.name] ?? 'down';
      if (engine === 'down') return { kind: 'failed', why: 'connection refused' };
      if (engine === 'batches') {
        const vectors = vectorsOf(1);
        return { kind: 'vectors', vectors, alone: { index: 3, vector: vectorsOf(2)[3]! } };
      }
      const length = engine[0]?.length ?? 0;
      const expected = model.embedding?.dimensions;
      return length === expected ? { kind: 'vectors', vectors: engine } : { kind: 'wrong-length', length };
    },
    log: { warn: (_, text) => logged.push(text), info: (_, text) => logged.push(text) },
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
  return {
    ...shared,
    ...{ vectors, clock, engines, logged, settle },
    asked: () => asked.splice(0),
    /** Each Backend has the endpoints of its name, `a` and `a2` for `a`. */
    follow: async (model: Model, names?: Record<string, readonly string[]>): Promise<void> => {
      for (const { backend } of model.routes) {
        const own = Object.keys(engines).filter((name) => name.replace(/\d$/, '') === backend.name);
        endpoints.set(backend.cluster.name, names?.[backend.name] ?? own);
      }
      vectors.follow({ models: new Map([[model.id, model]]) });
      await settle();
    },
    begin: async (): Promise<void> => {
      const begun = vectors.begin();
      await settle();
      await begun;
    },
    pass: async (ms: number): Promise<void> => {
      // Timers that are set while time passes run, too.
      for (let left = ms; left > 0; left -= 500) {
        clock.advance(Math.min(500, left));
        await settle();
      }
    },
    served: (model: Model): readonly string[] =>
      model.routes.flatMap((route) =>
        (endpoints.get(route.backend.cluster.name) ?? []).filter((name) => vectors.admitted(route)?.(name) ?? true),
      ),
    faults: () =>
      Object.fromEntries([...vectors.faults()].map(([route, { kind }]) => [route.slice(id.length + 1), kind])),
    textOf: (backend: string) => vectors.faults().get(`${id}@${backend}`)?.text,
  };
}

it('concerns itself with embedding models alone', async () => {
  const route = routeOf('a');
  const { vectors, asked, begin } = watching({ a: vectorsOf(1) });
  vectors.follow({ models: new Map([['chat', { id: 'chat', routes: [route] } as unknown as Model]]) });
  await begin();
  expect([asked(), vectors.admitted(route), vectors.figures(), vectors.faults().size]).toEqual([[], undefined, [], 0]);
});

it('lets routes with the same vectors serve once they were compared, and the first one is the reference', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, rows, faults } = watching({ a: vectorsOf(1), b: vectorsOf(1, { noise: 0.001 }) });
  await follow(model);
  expect([served(model), faults()]).toEqual([[], { a: 'unprobed', b: 'unprobed' }]);
  await begin();
  expect([served(model), faults()]).toEqual([['a', 'b'], {}]);
  expect(rows.get(id)).toMatchObject({ routeId: `${id}@a`, upstreamModel: 'bge', dimensions });
});

it('serves no route with other vectors, and names endpoint, cosine and the usual explanation', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b'), routeNamed('c')]);
  const { begin, follow, served, faults, textOf, logged, vectors } = watching({
    ...{ a: vectorsOf(1), b: vectorsOf(2), c: vectorsOf(1, { scale: 3 }) },
  });
  await follow(model);
  await begin();
  expect([served(model), faults()]).toEqual([['a'], { b: 'differs', c: 'differs' }]);
  expect(textOf('b')).toMatch(
    /^other vectors than those of acme\/embed@a, endpoint b: lowest cosine -?0\.\d{4} \(\S+ text\), at least 0\.999 needed; usually /,
  );
  expect(textOf('c')).toMatch(/but norm .* usually only one of the two normalises its vectors$/);
  expect(logged.filter((text) => text.startsWith('endpoint vectors differ'))).toHaveLength(2);
  expect(vectors.figures().map(({ isSame }) => isSame)).toEqual([true, false, false]);
});

it('takes one endpoint of several out, and serves with the others', async () => {
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, served, textOf, faults } = watching({ a1: vectorsOf(1), a2: vectorsOf(2), a3: vectorsOf(1) });
  await follow(model);
  // The only route of a model has nothing to be mixed with.
  expect(served(model)).toEqual(['a1', 'a2', 'a3']);
  await begin();
  expect([served(model), faults()]).toEqual([['a1', 'a3'], { a: 'differs' }]);
  expect(textOf('a')).toMatch(/endpoint a2: lowest cosine/);
});

it('probes a new endpoint before it gets requests', async () => {
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, served, pass, engines } = watching({ a1: vectorsOf(1) });
  await follow(model);
  await begin();
  engines['a2'] = 'down';
  await follow(model);
  expect(served(model)).toEqual(['a1']);
  engines['a2'] = vectorsOf(1);
  await pass(2_000);
  expect(served(model)).toEqual(['a1', 'a2']);
});

it('never serves vectors of another length than the declared one, and makes no reference of them', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, rows, textOf } = watching({ a: vectorsOf(1, { length: 8 }), b: vectorsOf(1) });
  await follow(model);
  await begin();
  expect([served(model), rows.get(id)?.routeId]).toEqual([['b'], `${id}@b`]);
  expect(textOf('a')).toMatch(/vectors of 8 numbers, spec\.embedding\.dimensions declares 16; usually another model/);
});

it('serves no route until it was compared, if its engine is down at the start', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, pass, engines, asked, textOf, clock } = watching({ a: vectorsOf(1), b: 'down' });
  await follow(model);
  await begin();
  expect([served(model), textOf('b')]).toEqual([['a'], 'not probed yet: connection refused']);
  asked();
  await pass(120_000);
  // After 1, 2, 4, 8, 16, 30, 30 and 30 seconds.
  expect(asked().filter((one) => one.endsWith('b')).length).toBeLessThanOrEqual(8);
  engines['b'] = vectorsOf(2);
  await pass(31_000);
  expect(served(model)).toEqual(['a']);
  expect(clock.elapsed()).toBeLessThan(hour);
});

it('keeps the last verdict while an engine is down, and compares again when it is back', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, pass, engines, vectors, settle } = watching({ a: vectorsOf(1), b: vectorsOf(1) });
  await follow(model);
  await begin();
  engines['b'] = 'down';
  await pass(hour + 2_000);
  expect(served(model)).toEqual(['a', 'b']);
  engines['b'] = vectorsOf(2);
  vectors.recheck([model.routes[1]!]);
  await settle();
  expect(served(model)).toEqual(['a']);
});

it('probes each hour, finds an upgrade in place within it, and serves the others', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, pass, engines, faults, asked, textOf } = watching({
    a: vectorsOf(1),
    b: vectorsOf(1),
  });
  await follow(model);
  await begin();
  asked();
  await pass(hour - 3_000);
  expect(asked()).toEqual([]);
  engines['a'] = vectorsOf(1, { noise: 0.3 });
  await pass(4_000);
  expect(asked()).toHaveLength(2);
  expect([served(model), faults()]).toEqual([['b'], { a: 'changed' }]);
  expect(textOf('a')).toMatch(/^other vectors than before under the same name, endpoint a: lowest cosine/);
});

it('stops the only route of a model when its vectors change, until the operator accepts them', async () => {
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, served, pass, engines, faults, accept, rows } = watching({
    a1: vectorsOf(1),
    a2: vectorsOf(1),
  });
  await follow(model);
  await begin();
  engines['a1'] = vectorsOf(5);
  await pass(hour);
  // A rolling upgrade: one endpoint is another one, and the others still are the model.
  expect([served(model), faults()]).toEqual([['a2'], { a: 'differs' }]);
  engines['a2'] = vectorsOf(5);
  await pass(hour);
  expect([served(model), faults()]).toEqual([[], { a: 'changed' }]);
  accept(`${id}@a`);
  await pass(8_000);
  expect([served(model), faults()]).toEqual([['a1', 'a2'], {}]);
  expect(rows.get(id)).toMatchObject({ isAwaited: false, vectors: vectorsOf(5) });
});

it('keeps what it knows while accepted vectors are awaited from an engine that is down', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, pass, engines, accept, rows } = watching({ a: vectorsOf(1), b: vectorsOf(2) });
  await follow(model);
  await begin();
  engines['b'] = 'down';
  accept(`${id}@b`);
  await pass(10_000);
  expect([served(model), rows.get(id)?.isAwaited]).toEqual([['a'], true]);
  engines['b'] = vectorsOf(2);
  await pass(70_000);
  expect([served(model), rows.get(id)?.isAwaited]).toEqual([['b'], false]);
});

it('takes the first route that answers if the accepted one is not in the catalog', async () => {
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, served, pass, engines, accept, rows } = watching({ a: vectorsOf(1) });
  await follow(model);
  await begin();
  engines['a'] = vectorsOf(2);
  accept(`${id}@gone`);
  await pass(10_000);
  expect([served(model), rows.get(id)?.routeId]).toEqual([['a'], `${id}@a`]);
});

it('compares a route that takes the place of the first one with the vectors of the first one', async () => {
  const { begin, follow, served, rows, pass, engines } = watching({ a: vectorsOf(1), b: vectorsOf(2) });
  await follow(modelOf([routeNamed('a')]));
  await begin();
  const moved = modelOf([routeNamed('b')]);
  await follow(moved);
  expect([served(moved), rows.get(id)?.routeId]).toEqual([[], `${id}@a`]);
  engines['b'] = vectorsOf(1);
  await pass(hour);
  expect(served(moved)).toEqual(['b']);
});

it('starts anew with a route that names another model to the engine, and keeps what it knows with another credential', async () => {
  const { begin, follow, served, engines } = watching({ a: vectorsOf(1), b: vectorsOf(1) });
  const [a, b] = [routeNamed('a'), routeNamed('b')];
  await follow(modelOf([a, b]));
  await begin();
  engines['b'] = 'down';
  const rotated = modelOf([a, { ...b, backend: { ...b.backend, headers: [['authorization', 'Bearer new']] } }]);
  await follow(rotated);
  expect(served(rotated)).toEqual(['a', 'b']);
  const renamed = modelOf([a, routeNamed('b', { upstreamModel: 'bge-large' })]);
  await follow(renamed);
  expect(served(renamed)).toEqual(['a']);
});

it('compares again at once when the operator changes the bound', async () => {
  const routes = [routeNamed('a'), routeNamed('b')];
  const { begin, follow, served } = watching({ a: vectorsOf(1), b: vectorsOf(1, { noise: 0.1 }) });
  await follow(modelOf(routes));
  await begin();
  expect(served(modelOf(routes))).toEqual(['a']);
  const lenient = modelOf(routes, { minSimilarity: 0.9 });
  await follow(lenient);
  expect(served(lenient)).toEqual(['a', 'b']);
});

it('agrees with other replicas on the reference of the first writer', async () => {
  const shared = sharedStore();
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const engines = { a: vectorsOf(1), b: vectorsOf(2) };
  const one = watching({ ...engines, a: 'down' }, shared);
  const other = watching(engines, shared);
  await one.follow(model);
  await one.begin();
  await other.follow(model);
  await other.begin();
  expect([one.served(model), other.served(model), shared.rows.get(id)?.routeId]).toEqual([['b'], ['b'], `${id}@b`]);
});

it('knows the reference after a restart, so that an upgrade meanwhile is found', async () => {
  const shared = sharedStore();
  const model = modelOf([routeNamed('a')]);
  const before = watching({ a: vectorsOf(1) }, shared);
  await before.follow(model);
  await before.begin();
  const after = watching({ a: vectorsOf(2) }, shared);
  await after.follow(model);
  await after.begin();
  expect([after.served(model), after.faults()]).toEqual([[], { a: 'changed' }]);
});

it('compares nothing before the database has answered, and then at once', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, state, asked, pass, clock, vectors, settle } = watching({
    a: vectorsOf(1),
    b: vectorsOf(1),
  });
  state.isDown = true;
  await follow(model);
  const begun = vectors.begin();
  await settle();
  clock.advance(3_000);
  await begun;
  expect([asked(), served(model)]).toEqual([[], []]);
  state.isDown = false;
  await pass(6_000);
  expect(served(model)).toEqual(['a', 'b']);
  await begin();
});

it('lets a service start without the probes of an only route, which serves before them', async () => {
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, served, state, asked } = watching({ a: vectorsOf(1) });
  state.isDown = true;
  await follow(model);
  await begin();
  expect([asked(), served(model)]).toEqual([[], ['a']]);
});

it('asks at most four engines at a time', async () => {
  const names = Array.from({ length: 9 }, (_, index) => `a${index}`);
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, served, asked } = watching(Object.fromEntries(names.map((name) => [name, vectorsOf(1)])));
  await follow(model);
  await begin();
  expect([served(model), new Set(asked()).size]).toEqual([names, 9]);
});

it('reads references again only after a change of the database, where that is known', async () => {
  const model = modelOf([routeNamed('a')]);
  const { begin, follow, pass, state, accept, engines, served } = watching({ a: vectorsOf(1) });
  state.changes = 7;
  await follow(model);
  await begin();
  await pass(60_000);
  expect(state.reads).toBe(1);
  engines['a'] = vectorsOf(2);
  accept(`${id}@a`);
  state.changes = 8;
  await pass(6_000);
  expect([state.reads, served(model)]).toEqual([2, ['a']]);
});

it('never serves an engine whose vectors depend on the other texts of a call, and makes no reference of them', async () => {
  const model = modelOf([routeNamed('a'), routeNamed('b')]);
  const { begin, follow, served, rows, textOf } = watching({ a: 'batches', b: vectorsOf(1) });
  await follow(model);
  await begin();
  expect([served(model), rows.get(id)?.routeId]).toEqual([['b'], `${id}@b`]);
  expect(textOf('a')).toMatch(
    /between its own vectors of one text, alone and with others in a call; usually llama\.cpp/,
  );
});
