import { describe, expect, it } from 'vitest';
import type { Model, Route } from '../../core/catalog.ts';
import type { EngineName } from '../../core/engine-name.ts';
import type { Plan } from '../core/plan.ts';
import { credentialOf } from '../../../test/support/credential-of.ts';
import { modelOf, routeOf, targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { planForCaches } from './plan-request.ts';
import { prepareHere } from './prepare.ts';

const planOf = (route: Route, fields: Partial<Model>): Plan => ({
  model: modelOf([route], fields),
  routes: [{ route, target: targetOf(route.backend.name) }],
});

interface PlannedOptions {
  readonly endpoints?: number;
  readonly route?: Route;
  readonly workspaceId?: string;
  readonly secret?: string;
  readonly cacheSharing?: Model['cacheSharing'];
}

/** The plan of a prompt of 3,000 characters, over a route with so many endpoints. */
async function planned(options: PlannedOptions = {}) {
  const { endpoints = 2, route = routeOf('a'), secret = 'secret', cacheSharing = 'Workspace' } = options;
  const messages = [{ role: 'user', content: 'word '.repeat(600) }];
  const body = new TextEncoder().encode(JSON.stringify({ model: 'demo/tiny', messages }));
  const prepared = prepareHere(body, { surface: 'chat', countPrompt: uncounted });
  const { workspace, ...credential } = credentialOf();
  const request = {
    credential: { ...credential, workspace: { ...workspace, id: options.workspaceId ?? workspace.id } },
    watch: { progress: () => undefined, attempt: () => expect.fail(), attemptLog: () => undefined },
  };
  const health = { endpointsLeft: () => endpoints, soonest: () => undefined };
  return planForCaches(planOf(route, { cacheSharing }), { request, prepared }, { sharedSecret: () => secret, health });
}

describe('the blocks of a prompt', () => {
  it('are part of the plan where there are endpoints to pick from', async () => {
    const { poolPrompt } = await planned({ endpoints: 2 });
    expect(poolPrompt?.digests).toHaveLength(5);
    expect(poolPrompt?.ends.at(-1)).toBeLessThan(poolPrompt?.tokens ?? 0);
  });

  it('are made for one endpoint, too, so that its cache and its speed are known when another one joins it', async () => {
    expect((await planned({ endpoints: 1 })).poolPrompt?.digests).toHaveLength(5);
  });

  it('are not made where there is no endpoint, or a provider that has its own', async () => {
    const plain = routeOf('a');
    const provider = { ...plain, backend: { ...plain.backend, engine: 'fireworks' as const } };
    expect((await planned({ endpoints: 0 })).poolPrompt).toBeUndefined();
    expect((await planned({ endpoints: 3, route: provider })).poolPrompt).toBeUndefined();
  });

  it('are the same for the same workspace and secret, and for no others', async () => {
    const digests = async (of: PlannedOptions = {}) => (await planned(of)).poolPrompt?.digests;
    expect(await digests()).toEqual(await digests());
    expect(await digests({ workspaceId: 'another' })).not.toEqual(await digests());
    expect(await digests({ secret: 'another' })).not.toEqual(await digests());
  });

  it('are the same for all workspaces where the model shares its cache among all', async () => {
    const digests = async (workspaceId: string) =>
      (await planned({ workspaceId, cacheSharing: 'All' })).poolPrompt?.digests;
    expect(await digests('one')).toEqual(await digests('another'));
  });
});

describe('the first of equal routes', () => {
  const [a, b, c] = [routeOf('a'), routeOf('b'), routeOf('c')];
  const all = [a, b, c].map((route) => ({ route, target: targetOf(route.backend.name) }));
  const plain = { model: modelOf([a, b, c]), routes: [all[0], all[1], all[2]] } as Plan;

  /** The plan's routes, what `health` was asked, and what was reported. */
  async function firstOf({
    plan,
    soonest,
    endpoints = 2,
  }: {
    readonly plan: Plan;
    readonly soonest: Route | undefined;
    readonly endpoints?: number;
  }) {
    const asked: (readonly string[])[] = [];
    const reported: unknown[] = [];
    const body = new TextEncoder().encode(
      JSON.stringify({ model: 'demo/tiny', messages: [{ role: 'user', content: 'hi' }] }),
    );
    const prepared = prepareHere(body, { surface: 'chat', countPrompt: uncounted });
    const watch = {
      progress: (step: unknown) => reported.push(step),
      attempt: () => expect.fail(),
      attemptLog: () => undefined,
    };
    const health = {
      endpointsLeft: () => endpoints,
      soonest: (routes: readonly Route[]) => {
        asked.push(routes.map(({ backend }) => backend.name));
        return soonest;
      },
    };
    const { routes } = await planForCaches(
      plan,
      { request: { credential: credentialOf(), watch }, prepared },
      { sharedSecret: () => 'secret', health },
    );
    return { routes: routes.map(({ route }) => route.backend.name), asked, reported };
  }

  it('is the one with the soonest endpoint; the others keep their order', async () => {
    expect(await firstOf({ plan: { ...plain, equals: [all[0], all[2]] as Plan['equals'] }, soonest: c })).toEqual({
      ...{ routes: ['c', 'a', 'b'], asked: [['a', 'c']] },
      reported: [{ kind: 'route-picked', routeId: c.id }],
    });
  });

  it('stays where no endpoint is known, or where there are no equal routes', async () => {
    const stays = { routes: ['a', 'b', 'c'], reported: [] };
    const equals = [all[0], all[2]] as Plan['equals'];
    expect(await firstOf({ plan: { ...plain, equals }, soonest: undefined })).toEqual({
      ...stays,
      asked: [['a', 'c']],
    });
    expect(await firstOf({ plan: { ...plain, equals: [] }, soonest: c })).toEqual({ ...stays, asked: [] });
    expect(await firstOf({ plan: plain, soonest: c })).toEqual({ ...stays, asked: [] });
    expect(await firstOf({ plan: { ...plain, equals }, soonest: c, endpoints: 1 })).toEqual({ ...stays, asked: [] });
  });
});

describe('the salt of an engine’s prefix cache', () => {
  const saltOf = async (options: PlannedOptions): Promise<string | undefined> =>
    (await planned(options)).routes[0].target.cacheSalt;
  const on = (engine: EngineName): Route => {
    const plain = routeOf('a');
    return { ...plain, backend: { ...plain.backend, engine } };
  };

  it('is the same for a workspace, and another one for each other workspace and secret', async () => {
    const own = await saltOf({ workspaceId: 'one' });
    expect(own).toMatch(/^[0-9a-f]{16}$/);
    expect(await saltOf({ workspaceId: 'one', endpoints: 1 })).toBe(own);
    expect(await saltOf({ workspaceId: 'two' })).not.toBe(own);
    expect(await saltOf({ workspaceId: 'one', secret: 'another' })).not.toBe(own);
  });

  it('is sent to engines that know it, and not where all workspaces share the cache', async () => {
    expect(await saltOf({ route: on('sglang') })).toBeDefined();
    for (const engine of ['llamacpp', 'ollama', 'tgi', 'openai', 'deepseek'] as const)
      expect(await saltOf({ route: on(engine) })).toBeUndefined();
    expect(await saltOf({ cacheSharing: 'All' })).toBeUndefined();
  });
});
