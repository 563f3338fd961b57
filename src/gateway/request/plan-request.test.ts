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
function planned(options: PlannedOptions = {}) {
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
  it('are part of the plan where there are endpoints to pick from', () => {
    const { poolPrompt } = planned({ endpoints: 2 });
    expect(poolPrompt?.digests).toHaveLength(5);
    expect(poolPrompt?.ends.at(-1)).toBeLessThan(poolPrompt?.tokens ?? 0);
  });

  it('are made for one endpoint, too, so that its cache and its speed are known when another one joins it', () => {
    expect(planned({ endpoints: 1 }).poolPrompt?.digests).toHaveLength(5);
  });

  it('are not made where there is no endpoint, or a provider that has its own', () => {
    const plain = routeOf('a');
    const provider = { ...plain, backend: { ...plain.backend, engine: 'fireworks' as const } };
    expect(planned({ endpoints: 0 }).poolPrompt).toBeUndefined();
    expect(planned({ endpoints: 3, route: provider }).poolPrompt).toBeUndefined();
  });

  it('are the same for the same workspace and secret, and for no others', () => {
    const digests = (of: PlannedOptions = {}) => planned(of).poolPrompt?.digests;
    expect(digests()).toEqual(digests());
    expect(digests({ workspaceId: 'another' })).not.toEqual(digests());
    expect(digests({ secret: 'another' })).not.toEqual(digests());
  });

  it('are the same for all workspaces where the model shares its cache among all', () => {
    const digests = (workspaceId: string) => planned({ workspaceId, cacheSharing: 'All' }).poolPrompt?.digests;
    expect(digests('one')).toEqual(digests('another'));
  });
});

describe('the first of equal routes', () => {
  const [a, b, c] = [routeOf('a'), routeOf('b'), routeOf('c')];
  const all = [a, b, c].map((route) => ({ route, target: targetOf(route.backend.name) }));
  const plain = { model: modelOf([a, b, c]), routes: [all[0], all[1], all[2]] } as Plan;

  /** The plan's routes, what `health` was asked, and what was reported. */
  function firstOf({
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
    const { routes } = planForCaches(
      plan,
      { request: { credential: credentialOf(), watch }, prepared },
      { sharedSecret: () => 'secret', health },
    );
    return { routes: routes.map(({ route }) => route.backend.name), asked, reported };
  }

  it('is the one with the soonest endpoint; the others keep their order', () => {
    expect(firstOf({ plan: { ...plain, equals: [all[0], all[2]] as Plan['equals'] }, soonest: c })).toEqual({
      ...{ routes: ['c', 'a', 'b'], asked: [['a', 'c']] },
      reported: [{ kind: 'route-picked', routeId: c.id }],
    });
  });

  it('stays where no endpoint is known, or where there are no equal routes', () => {
    const stays = { routes: ['a', 'b', 'c'], reported: [] };
    const equals = [all[0], all[2]] as Plan['equals'];
    expect(firstOf({ plan: { ...plain, equals }, soonest: undefined })).toEqual({
      ...stays,
      asked: [['a', 'c']],
    });
    expect(firstOf({ plan: { ...plain, equals: [] }, soonest: c })).toEqual({ ...stays, asked: [] });
    expect(firstOf({ plan: plain, soonest: c })).toEqual({ ...stays, asked: [] });
    expect(firstOf({ plan: { ...plain, equals }, soonest: c, endpoints: 1 })).toEqual({ ...stays, asked: [] });
  });
});

describe('the salt of an engine’s prefix cache', () => {
  const saltOf = (options: PlannedOptions): string | undefined => planned(options).routes[0].target.cacheSalt;
  const on = (engine: EngineName): Route => {
    const plain = routeOf('a');
    return { ...plain, backend: { ...plain.backend, engine } };
  };

  it('is the same for a workspace, and another one for each other workspace and secret', () => {
    const own = saltOf({ workspaceId: 'one' });
    expect(own).toMatch(/^[0-9a-f]{16}$/);
    expect(saltOf({ workspaceId: 'one', endpoints: 1 })).toBe(own);
    expect(saltOf({ workspaceId: 'two' })).not.toBe(own);
    expect(saltOf({ workspaceId: 'one', secret: 'another' })).not.toBe(own);
  });

  it('is sent to engines that know it, and not where all workspaces share the cache', () => {
    expect(saltOf({ route: on('sglang') })).toBeDefined();
    for (const engine of ['llamacpp', 'ollama', 'tgi', 'openai', 'deepseek'] as const)
      expect(saltOf({ route: on(engine) })).toBeUndefined();
    expect(saltOf({ cacheSharing: 'All' })).toBeUndefined();
  });
});
